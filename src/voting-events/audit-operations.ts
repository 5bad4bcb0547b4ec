import { z } from 'zod';
import { answersText } from '#src/http/answer-shapes.ts';
import { idField, searchField } from '#src/http/fields.ts';
import { answersNewest, windowFields } from '#src/http/newest.ts';
import { operation } from '#src/http/operation.ts';
import { changeView } from './view-schemas.ts';

const listChangesQuery = z.strictObject({
  search: searchField().optional(),
  action: z.string().min(1, 'must not be empty').max(100, 'is not an action').optional(),
  resource: idField().optional(),
  keyId: idField().optional(),
  ...windowFields(),
  // The name that `from` had first.
  since: windowFields().from,
});

export const listChanges = operation({
  operationId: 'listChanges',
  summary: 'List what was changed in an event, by which key and when',
  method: 'GET',
  path: '/',
  scope: 'read',
  description:
    'The newest 1,000 of what the filters find, newest last; `truncated` says that there are more, and `…/audit/csv` gives all of them. Values of more than 320 characters are given as their length and SHA-256.',
  answers: answersNewest(changeView, 'The changes, newest last.'),
  query: listChangesQuery,
});

export const getChangesCsv = operation({
  operationId: 'getChangesCsv',
  summary: 'Read everything that was changed in an event as a table (CSV)',
  method: 'GET',
  path: '/csv',
  scope: 'read',
  answers: answersText('text/csv', 'The changes, oldest first; `before` and `after` as JSON texts.'),
});
