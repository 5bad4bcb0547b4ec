import { Hono } from 'hono';
import type { Deps } from '#src/deps.ts';
import { created, list, ok, queued } from '#src/http/answer.ts';
import { change } from '#src/http/answer-once.ts';
import { answersCreated, answersOne, answersQueued } from '#src/http/answer-shapes.ts';
import { body } from '#src/http/body.ts';
import type { Env } from '#src/http/env.ts';
import { operation } from '#src/http/operation.ts';
import { takeIdempotencyKey } from '#src/http/replay.ts';
import { answer } from '#src/http/send.ts';
import { loadEvent, loadRow, type Organizer } from '#src/voting-events/access.ts';
import { createPosition } from './create-position.ts';
import { queueDeletion } from './delete-rows.ts';
import { listing, reading } from './part-operations.ts';
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
  const changeBody = body(updatePositionBody, (target: Organizer & { readonly row: Position }, sent, isFaulty) =>
    judgeChangeParts(deps, target, sent, isFaulty),
  );
  const router = new Hono<Env>();
  router.on(...listing('Position', positionView, listPositionsQuery), event, async (c) => {
    const rows = await listPositions(deps.db, c.get('target').event.id, c.get('query'));
    const standing = await countStanding(deps.db, c.get('target').event.id);
    return answer(c, list(rows.map((row) => viewPosition(row, standing))));
  });
  router.on(
    ...operation({
      operationId: 'createPosition',
      summary: 'Create a position',
      method: 'POST',
      path: '/',
      scope: 'write',
      answers: answersCreated(positionView, 'The new position.'),
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
    ...operation({
      operationId: 'updatePosition',
      summary: 'Change a position',
      method: 'PATCH',
      path: '/:id',
      scope: 'write',
      answers: answersOne(positionView, 'The position as it is now.'),
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
  router.on(
    ...operation({
      operationId: 'deletePosition',
      summary: 'Queue the deletion of a position',
      method: 'DELETE',
      path: '/:id',
      scope: 'write',
      answers: answersQueued('The position disappears within seconds.'),
      refusals: ['event_has_ballots', 'results_final'],
    }),
    position,
    (c) =>
      change(c, async (tx) => {
        await queueDeletion(tx, deps, c.get('target'), 'positions', c.get('target').row.id);
        return queued(c.get('target').row.id);
      }),
  );
  return router;
}
