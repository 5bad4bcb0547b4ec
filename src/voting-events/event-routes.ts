import { isDeepStrictEqual } from 'node:util';
import { Hono } from 'hono';
import { otherCells, requireServed } from '#src/database/other-cells.ts';
import type { Deps } from '#src/deps.ts';
import { created, goneAfter, list, ok } from '#src/http/answer.ts';
import { change, takeIdempotencyKey } from '#src/http/answer-once.ts';
import { answersCreated, answersNothing, answersOne, answersPage } from '#src/http/answer-shapes.ts';
import { body } from '#src/http/body.ts';
import { cutPage, decodeCursor, encodeCursor } from '#src/http/cursor.ts';
import type { Env } from '#src/http/env.ts';
import { operation } from '#src/http/operation.ts';
import { accountMoves } from '#src/http/refusals.ts';
import { answer } from '#src/http/send.ts';
import { canonicalJson } from '#src/platform/canonical-json.ts';
import { loadEvent, withoutForgedShares } from './access.ts';
import { createEvent, judgeEventParts } from './create-event.ts';
import { deleteVotingEvent } from './delete-event.ts';
import { createEventBody, deleteEventQuery, listEventsQuery, updateEventBody } from './event-body.ts';
import { withoutForgedEnd } from './event-tag.ts';
import { listEvents, listShared } from './repository.ts';
import { countInEvents, showEvent } from './show-event.ts';
import { judgeChangeParts, updateVotingEvent } from './update-event.ts';
import { viewEvent, votingEventView } from './voting-event.ts';

/**
 * By event ID, the cell (database) of each event that is shared with an account. Read before and after a list of several cells,
 * because an event that moves meanwhile may be missing in the list. @throws ApiError 500 with `Retry-After` for an event between cells
 */
async function findShared(cells: readonly Deps[], accountId: string): Promise<Map<string, string>> {
  const found = await Promise.all(cells.map(async ({ db, cell }) => ({ cell, rows: await listShared(db, accountId) })));
  const places = new Map(
    found.flatMap(({ cell, rows }) => rows.flatMap(({ id, lives }) => (lives ? [[id, cell] as const] : []))),
  );
  if (found.some(({ rows }) => rows.some(({ id }) => !places.has(id)))) throw accountMoves();
  return places;
}

export function eventRouter(deps: Deps): Hono<Env> {
  const event = loadEvent(deps);
  const creationBody = body(createEventBody, judgeEventParts(deps));
  const changeBody = body(updateEventBody, judgeChangeParts(deps), ({ event }) =>
    showEvent(deps.db, event, deps.clock.now()),
  );
  const router = new Hono<Env>();
  router.on(
    ...operation('listVotingEvents', 'GET /', {
      summary: 'List voting events',
      scope: 'read',
      answers: answersPage(votingEventView, 'A page of voting events.'),
      query: listEventsQuery,
    }),
    async (c) => {
      const { limit, cursor, ...filter } = c.get('query');
      const { accountId, cells = [] } = c.get('caller');
      const name = canonicalJson(['voting-events', accountId, filter]);
      const after = decodeCursor(deps.secrets, name, cursor);
      const nowMs = deps.clock.now();
      const all = [deps, ...otherCells(deps).filter(({ cell }) => cells.includes(cell))];
      const before = all.length > 1 ? await findShared(all, accountId) : undefined;
      const seen = all.map(async (there) => {
        const rows = await listEvents(requireServed(there).db, { ...filter, accountId, after, nowMs }, limit);
        return rows.map((row) => ({ there, row }));
      });
      const rows = (await Promise.all(seen)).flat();
      if (all.length > 1 && !isDeepStrictEqual(await findShared(all, accountId), before)) throw accountMoves();
      if (all.length > 1) rows.sort((one, other) => (one.row.id < other.row.id ? -1 : 1));
      const { page, nextCursor } = cutPage(
        rows.slice(0, limit + 1),
        limit,
        ({ row }) => row.id,
        (key) => encodeCursor(deps.secrets, name, key),
      );
      const views = (
        await Promise.all(
          all.map(async (there) => {
            const found = page.flatMap((one) => (one.there === there ? one.row : []));
            const own = await withoutForgedShares(there, accountId, found);
            const counts = await countInEvents(there.db, own);
            return own.map((row) => viewEvent(withoutForgedEnd(deps.secrets, row), nowMs, counts.get(row.id)));
          }),
        )
      ).flat();
      if (all.length > 1) views.sort((one, other) => (one.id < other.id ? -1 : 1));
      return answer(c, list(views, nextCursor));
    },
  );
  router.on(
    ...operation('createVotingEvent', 'POST /', {
      summary: 'Create a voting event',
      scope: 'write',
      answers: answersCreated(votingEventView, 'The voting event, a draft.'),
      refusals: ['code_in_use', 'plan_limit', 'ballot_key_unavailable'],
      example: { title: 'Board of the reading club', type: 'election', timeZone: 'Europe/Berlin' },
    }),
    takeIdempotencyKey(),
    creationBody,
    (c) =>
      change(c, async (tx) =>
        created(viewEvent(await createEvent(tx, deps, c.get('caller'), c.get('body')), deps.clock.now())),
      ),
  );
  router.on(
    ...operation('getVotingEvent', 'GET /:idOrCode', {
      summary: 'Read a voting event',
      scope: 'read',
      answers: answersOne(votingEventView, 'The voting event.'),
    }),
    event,
    async (c) => answer(c, ok(await showEvent(deps.db, c.get('target').event, deps.clock.now()))),
  );
  router.on(
    ...operation('updateVotingEvent', 'PATCH /:idOrCode', {
      summary: 'Change, open or close a voting event',
      scope: 'write',
      description:
        'Any subset of the fields. `status: "open"` opens the event now, `status: "closed"` closes it. Once ballots are cast, what they depend on is frozen.',
      answers: answersOne(votingEventView, 'The voting event as it is now.'),
      refusals: [
        'code_in_use',
        'event_has_ballots',
        'not_ready',
        'not_open',
        'was_open',
        'results_final',
        'plan_feature',
        'ballot_key_unavailable',
        'log_disputed',
      ],
      example: { title: 'Board of the reading club 2027', results: { visibility: 'live' } },
    }),
    event,
    changeBody,
    (c) =>
      change(c, async (tx) =>
        ok(await showEvent(tx, await updateVotingEvent(tx, deps, c.get('target'), c.get('body')), deps.clock.now())),
      ),
  );
  router.on(
    ...operation('deleteVotingEvent', 'DELETE /:idOrCode', {
      summary: 'Delete a voting event',
      scope: 'write',
      role: 'owner',
      description:
        'An event with confirmed ballots is deleted with `?force=true` only. What was paid for in it goes back then, unless `payments=keep`; `GET /payments` shows its payments for ever.',
      answers: answersNothing('The voting event is gone.'),
      refusals: ['event_has_ballots'],
      query: deleteEventQuery,
    }),
    event,
    (c) =>
      change(c, (tx) => {
        const { force, payments } = c.get('query');
        const choice = { force: force === 'true', keepsPayments: payments === 'keep' };
        return goneAfter(deleteVotingEvent(tx, deps, c.get('target'), choice));
      }),
  );
  return router;
}
