import { Hono } from 'hono';
import { z } from 'zod';
import { listChanges, listChangesAfter, type RecordedChange, shortened } from '#src/accounts/changes.ts';
import type { Database } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { csv } from '#src/http/answer.ts';
import { answersText, timeShape } from '#src/http/answer-shapes.ts';
import { answersNewest, listNewest, windowFields } from '#src/http/cursor.ts';
import type { Env } from '#src/http/env.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { idField, searchField } from '#src/http/fields.ts';
import { operation } from '#src/http/operation.ts';
import { costly } from '#src/http/send.ts';
import { csvById } from '#src/platform/csv.ts';
import { type EventAccess, loadEvent } from './access.ts';

const COLUMNS = [
  ...(['id', 'createdAt', 'action', 'resource'] as const),
  ...(['keyId', 'keyName', 'keyHint', 'accountId', 'accountName'] as const),
] satisfies readonly (keyof RecordedChange)[];

const json = (fields: Record<string, unknown> | null): string | null => {
  const short = shortened(fields);
  return short === null ? null : JSON.stringify(short);
};

/** Every recorded change of an event as a table, oldest first; `before` and `after` are JSON texts. */
const writeChangesCsv = (db: Database, { event, role }: EventAccess): AsyncGenerator<string> =>
  csvById(
    [...COLUMNS, 'before', 'after'],
    (after, limit) => listChangesAfter(db, event.id, role === 'owner', after, limit),
    (row) => [...COLUMNS.map((column) => row[column]), json(row.before), json(row.after)],
  );

/** One line of the audit trail (completions 3, "Results, votes, exports", 5). */
const changeView = z
  .object({
    id: z.string(),
    votingEventId: z.string().nullable(),
    key: z
      .object({
        id: z.string(),
        name: z.string().nullable(),
        hint: z.string().nullable(),
        accountId: z.string().nullable(),
        accountName: z.string().nullable(),
      })
      .nullable()
      .meta({ description: 'Null where the service or its operator acted.' }),
    action: z.string().meta({ description: 'Such as `voting_event.updated`.' }),
    resource: z.string().meta({ description: 'The ID of what was changed.' }),
    before: z.looseObject({}).nullable().meta({ description: 'The fields that changed, as they were.' }),
    after: z.looseObject({}).nullable().meta({ description: 'The same fields, as they became.' }),
    createdAt: timeShape(),
  })
  .meta({
    id: 'Change',
    description: 'Who changed what, and when. Never a ballot.',
    examples: [
      {
        id: EXAMPLE.change,
        votingEventId: EXAMPLE.event,
        key: {
          id: EXAMPLE.key,
          name: 'our server',
          hint: 'vsk_…x7Qd',
          accountId: EXAMPLE.account,
          accountName: 'Reading club',
        },
        action: 'voting_event.updated',
        resource: EXAMPLE.event,
        before: { title: 'Board of the club' },
        after: { title: 'Board of the reading club' },
        createdAt: EXAMPLE.updatedAt,
      },
    ],
  });

const listChangesQuery = z.strictObject({
  search: searchField().optional(),
  action: z.string().min(1, 'must not be empty').max(100, 'is not an action').optional(),
  resource: idField().optional(),
  keyId: idField().optional(),
  ...windowFields(),
  // The former name of `from`, which is still accepted.
  since: windowFields().from,
});

function viewChange(change: RecordedChange): z.output<typeof changeView> {
  const { keyId, keyName: name, keyHint: hint, accountId, accountName, before, after, ...what } = change;
  const key = keyId === null ? null : { id: keyId, name, hint, accountId, accountName };
  return { ...what, key, before: shortened(before), after: shortened(after) };
}

/** Routes of an event's audit trail (completions 3, "Results, votes, exports", 5). */
export function auditRouter(deps: Deps): Hono<Env> {
  const event = loadEvent(deps);
  const router = new Hono<Env>();
  router.on(
    ...operation('listChanges', 'GET /', {
      summary: 'List what was changed in an event, by which key and when',
      scope: 'read',
      description:
        'The newest 1,000 of what the filters find, newest last; `truncated` says that there are more, and `…/audit/csv` gives all of them. Changes of webhook endpoints are shown to the owner alone. Values of more than 320 characters are given as their length and SHA-256.',
      answers: answersNewest(changeView, 'The changes, newest last.'),
      query: listChangesQuery,
    }),
    event,
    (c) =>
      costly(c, async () => {
        const { since, ...query } = c.get('query');
        const { event: of, role } = c.get('target');
        const found = await listChanges(deps.reads, of.id, role === 'owner', { ...query, from: query.from ?? since });
        return listNewest(found, found.rows.map(viewChange).reverse());
      }),
  );
  router.on(
    ...operation('getChangesCsv', 'GET /csv', {
      summary: 'Read everything that was changed in an event as a table (CSV)',
      scope: 'read',
      answers: answersText('text/csv', 'The changes, oldest first; `before` and `after` as JSON texts.'),
    }),
    event,
    (c) => costly(c, async () => csv(() => writeChangesCsv(deps.reads, c.get('target')))),
  );
  return router;
}
