import { Hono } from 'hono';
import type { Deps } from '#src/deps.ts';
import { created, list, ok } from '#src/http/answer.ts';
import { change } from '#src/http/answer-once.ts';
import { body } from '#src/http/body.ts';
import type { Env } from '#src/http/env.ts';
import { takeIdempotencyKey } from '#src/http/replay.ts';
import { answer, costly } from '#src/http/send.ts';
import { loadEvent, loadRow, type Organizer } from '#src/voting-events/access.ts';
import { createPosition } from './create-position.ts';
import { queueDeletion } from './delete-rows.ts';
import { changing, creating, deleting, listing, reading } from './part-operations.ts';
import { createPositionBody, listPositionsQuery, positionView, updatePositionBody, viewPosition } from './position.ts';
import { judgePositionParts } from './position-issues.ts';
import { countStanding, findPosition, listPositions } from './repository.ts';
import type { Position } from './types.ts';
import { changePosition, judgeChangeParts } from './update-position.ts';

export function positionRouter(deps: Deps): Hono<Env> {
  const event = loadEvent(deps);
  const position = loadRow(deps, findPosition);
  const view = async (row: Position, executor: Parameters<typeof countStanding>[0]) =>
    viewPosition(row, await countStanding(executor, row.votingEventId));
  const creationBody = body(createPositionBody, ({ event: of }: Organizer, sent, isFaulty) =>
    judgePositionParts(deps, of, sent, isFaulty),
  );
  const changeBody = body(
    updatePositionBody,
    (target: Organizer & { readonly row: Position }, sent, isFaulty) => judgeChangeParts(deps, target, sent, isFaulty),
    ({ row }) => view(row, deps.db),
  );
  const router = new Hono<Env>();
  router.on(...listing('Position', positionView, listPositionsQuery), event, (c) =>
    costly(c, c.get('caller').accountId, async () => {
      const { id } = c.get('target').event;
      const rows = await listPositions(deps.reads, id, c.get('query'));
      const standing = await countStanding(deps.reads, id);
      return list(rows.map((row) => viewPosition(row, standing)));
    }),
  );
  router.on(
    ...creating('Position', positionView, {
      refusals: ['event_has_ballots', 'results_final', 'plan_limit', 'plan_feature'],
      example: { title: 'Chair', votingMethod: 'plurality' },
    }),
    event,
    takeIdempotencyKey(),
    creationBody,
    (c) =>
      change(c, async (tx) => created(await view(await createPosition(tx, deps, c.get('target'), c.get('body')), tx))),
  );
  router.on(...reading('Position', positionView), position, async (c) =>
    answer(c, ok(await view(c.get('target').row, deps.db))),
  );
  router.on(
    ...changing('Position', positionView, {
      refusals: ['event_has_ballots', 'results_final', 'plan_feature'],
      example: { title: 'Chair of the board', tieBreak: 'lot' },
    }),
    position,
    changeBody,
    (c) =>
      change(c, async (tx) =>
        ok(await view(await changePosition(tx, deps, c.get('target'), c.get('target').row.id, c.get('body')), tx)),
      ),
  );
  router.on(...deleting('Position', ['event_has_ballots', 'results_final']), position, (c) =>
    change(c, (tx) => queueDeletion(tx, deps, c.get('target'), 'positions', c.get('target').row.id)),
  );
  return router;
}
