import type { Deps } from '#src/deps.ts';
import { body } from '#src/http/body.ts';
import { changePosition, createPosition, judgeChangeParts, judgePositionParts } from './change-position.ts';
import { partRouter } from './part-operations.ts';
import { createPositionBody, listPositionsQuery, positionView, updatePositionBody, viewPosition } from './position.ts';
import { countStanding, findPosition, listPositions } from './repository.ts';
import type { Position } from './types.ts';

export function positionRouter(deps: Deps) {
  const show = async (row: Position, executor: Parameters<typeof countStanding>[0]) =>
    viewPosition(row, await countStanding(executor, row.votingEventId));
  return partRouter(deps, {
    ...{ name: 'Position', view: positionView, find: findPosition, show, query: listPositionsQuery },
    async list(reads, eventId, query) {
      const rows = await listPositions(reads, eventId, query);
      const standing = await countStanding(reads, eventId);
      return rows.map((row) => viewPosition(row, standing));
    },
    creation: {
      words: {
        refusals: ['event_has_ballots', 'results_final', 'plan_limit', 'plan_feature'],
        example: { title: 'Chair', votingMethod: 'plurality' },
      },
      body: body(createPositionBody, judgePositionParts(deps)),
      work: createPosition,
    },
    change: {
      words: {
        refusals: ['event_has_ballots', 'results_final', 'plan_feature'],
        example: { title: 'Chair of the board', tieBreak: 'lot' },
      },
      body: body(updatePositionBody, judgeChangeParts(deps), ({ row }) => show(row, deps.db)),
      work: changePosition,
    },
    deletion: { kind: 'positions', refusals: ['event_has_ballots', 'results_final'] },
  });
}
