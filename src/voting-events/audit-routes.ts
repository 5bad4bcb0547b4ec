import { z } from 'zod';
import { listChanges, type RecordedChange } from '#src/accounts/list-changes.ts';
import type { Deps } from '#src/deps.ts';
import { list } from '#src/http/answer.ts';
import { answersList } from '#src/http/answer-shapes.ts';
import { idField, searchField } from '#src/http/fields.ts';
import { type Route, readRoute } from '#src/http/route.ts';
import { requireOrganizer } from './access.ts';
import { type ChangeView, changeView } from './view-schemas.ts';

const momentField = () =>
  z
    .string()
    .regex(/^\d{1,15}$/, 'must be a time in Unix milliseconds')
    .transform(Number)
    .meta({ shownAs: { type: 'integer', minimum: 0, description: 'Unix time in milliseconds, included.' } });

const listChangesQuery = z.strictObject({
  search: searchField().optional(),
  action: z.string().min(1, 'must not be empty').max(100, 'is not an action').optional(),
  resource: idField().optional(),
  keyId: idField().optional(),
  since: momentField().optional(),
  until: momentField().optional(),
});

function viewChange(change: RecordedChange): ChangeView {
  const { keyId, keyName, keyHint, accountId, accountName } = change;
  return {
    id: change.id,
    votingEventId: change.votingEventId,
    key: keyId === null ? null : { id: keyId, name: keyName, hint: keyHint, accountId, accountName },
    action: change.action,
    resource: change.resource,
    before: change.before,
    after: change.after,
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
      description: 'The newest 5,000 of what the filters find, newest last. `since` and `until` are Unix milliseconds.',
      answers: answersList(changeView, 'The changes, newest last.'),
      query: listChangesQuery,
      find: (context) => requireOrganizer(deps, context),
      read: async ({ target, query }) => list((await listChanges(deps.db, target.event.id, query)).map(viewChange)),
    }),
  ];
}
