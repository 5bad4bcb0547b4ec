import { Hono } from 'hono';
import type { Executor } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { created, gone, list, ok } from '#src/http/answer.ts';
import { change } from '#src/http/answer-once.ts';
import { body } from '#src/http/body.ts';
import { cutPage, decodeCursor, encodeCursor } from '#src/http/cursor.ts';
import type { Env } from '#src/http/env.ts';
import { replayIfAnswered } from '#src/http/replay.ts';
import { answer } from '#src/http/send.ts';
import { canonicalJson } from '#src/platform/canonical-json.ts';
import { loadEvent, type Organizer } from './access.ts';
import { createEvent, judgeEventParts } from './create-event.ts';
import { deleteVotingEvent } from './delete-event.ts';
import * as operations from './operations.ts';
import { listEvents, listWaiting } from './repository.ts';
import { createEventBody, updateEventBody } from './schemas.ts';
import type { VotingEvent } from './types.ts';
import { judgeChangeParts, updateVotingEvent } from './update-event.ts';
import { viewEvent } from './views.ts';

export function eventRouter(deps: Deps): Hono<Env> {
  const event = loadEvent(deps);
  const creationBody = body(createEventBody, (_target, sent, isFaulty, caller) =>
    judgeEventParts(deps, caller, sent, isFaulty),
  );
  const changeBody = body(updateEventBody, (target: Organizer, sent, isFaulty) =>
    judgeChangeParts(deps, target, sent, isFaulty),
  );
  const router = new Hono<Env>();
  router.on(...operations.listVotingEvents, async (c) => {
    const { limit, cursor, ...filter } = c.get('query');
    const name = canonicalJson(['voting-events', c.get('caller').accountId, filter]);
    const after = decodeCursor(deps.secrets, name, cursor);
    const nowMs = deps.clock.now();
    const { search, status, type } = filter;
    const rows = await listEvents(
      deps.db,
      { accountId: c.get('caller').accountId, search, status, type, after, nowMs },
      limit,
    );
    const { page, nextCursor } = cutPage(
      rows,
      limit,
      (row) => row.id,
      (key) => encodeCursor(deps.secrets, name, key),
    );
    const waiting = await listWaiting(
      deps.db,
      page.map(({ id }) => id),
    );
    return answer(
      c,
      list(
        page.map((row) => viewEvent(row, nowMs, waiting.has(row.id))),
        nextCursor,
      ),
    );
  });
  router.on(...operations.createVotingEvent, replayIfAnswered(), creationBody, (c) =>
    change(c, async (tx) =>
      created(viewEvent(await createEvent(tx, deps, c.get('caller'), c.get('body')), deps.clock.now())),
    ),
  );
  const viewWaiting = async (executor: Executor, row: VotingEvent) =>
    viewEvent(row, deps.clock.now(), (await listWaiting(executor, [row.id])).has(row.id));
  router.on(...operations.getVotingEvent, event, async (c) =>
    answer(c, ok(await viewWaiting(deps.db, c.get('target').event))),
  );
  router.on(...operations.updateVotingEvent, event, changeBody, (c) =>
    change(c, async (tx) =>
      ok(await viewWaiting(tx, await updateVotingEvent(tx, deps, c.get('target'), c.get('body')))),
    ),
  );
  router.on(...operations.deleteVotingEvent, event, (c) =>
    change(c, async (tx) => {
      await deleteVotingEvent(tx, deps, c.get('target'), c.get('query').force === 'true');
      return gone;
    }),
  );
  return router;
}
