import { z } from 'zod';
import { listChanges, type RecordedChange } from '#src/accounts/list-changes.ts';
import { shortened } from '#src/accounts/record-change.ts';
import type { Deps } from '#src/deps.ts';
import { csv } from '#src/http/answer-csv.ts';
import { answersText } from '#src/http/answer-shapes.ts';
import { idField, searchField } from '#src/http/fields.ts';
import { answersNewest, listNewest, windowFields } from '#src/http/newest.ts';
import { type Route, readRoute } from '#src/http/route.ts';
import { requireOrganizer } from './access.ts';
import { type ChangeView, changeView } from './view-schemas.ts';
import { writeChangesCsv } from './write-changes-csv.ts';

const listChangesQuery = z.strictObject({
  search: searchField().optional(),
  action: z.string().min(1, 'must not be empty').max(100, 'is not an action').optional(),
  resource: idField().optional(),
  keyId: idField().optional(),
  ...windowFields(),
  // The name that `from` had first.
  since: windowFields().from,
});

function viewChange(change: RecordedChange): ChangeView {
  const { keyId, keyName, keyHint, accountId, accountName } = change;
  return {
    id: change.id,
    votingEventId: change.votingEventId,
    key: keyId === null ? null : { id: keyId, name: keyName, hint: keyHint, accountId, accountName },
    action: change.action,
    resource: change.resource,
    before: shortened(change.before),
    after: shortened(change.after),
    createdAt: change.createdAt,
  };
}

/** Who changed what and when (completions 3, "Results, votes, exports", 5). `key` is null where the service or its operator acted. */
export function auditRoutes(deps: Deps): Route[] {
  return [
    readRoute({
      operationId: 'listChanges',
      summary: 'List what was changed in an event, by which key and when',
      method: 'GET',
      path: '/voting-events/:idOrCode/audit',
      scope: 'read',
      description:
        'The newest 1,000 of what the filters find, newest last; `truncated` says that there are more, and `…/audit/csv` gives all of them. Values of more than 320 characters are given as their length and SHA-256.',
      answers: answersNewest(changeView, 'The changes, newest last.'),
      query: listChangesQuery,
      find: (context) => requireOrganizer(deps, context),
      costly: ({ caller }) => caller.accountId,
      read: async ({ target, query: { since, ...query } }) => {
        const found = await listChanges(deps.reads, target.event.id, { ...query, from: query.from ?? since });
        return listNewest(found, found.rows.map(viewChange).reverse());
      },
    }),
    readRoute({
      operationId: 'getChangesCsv',
      summary: 'Read everything that was changed in an event as a table (CSV)',
      method: 'GET',
      path: '/voting-events/:idOrCode/audit/csv',
      scope: 'read',
      answers: answersText('text/csv', 'The changes, oldest first; `before` and `after` as JSON texts.'),
      find: (context) => requireOrganizer(deps, context),
      costly: ({ caller }) => caller.accountId,
      read: async ({ target }) => csv(() => writeChangesCsv(deps.reads, target.event.id)),
    }),
  ];
}
