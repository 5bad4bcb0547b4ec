import { csvCell } from '#src/platform/csv.ts';
import type { EventResults } from './event-results.ts';

const COLUMNS = [
  ...['positionId', 'position', 'votingMethod', 'seats', 'ballots', 'abstentions', 'totalVotes'],
  ...['candidateId', 'candidate', 'votes', 'weight', 'winner', 'tied', 'final'],
];

/**
 * The results as people lay them out: one candidate a row, the most votes first within a position. Each row says what it
 * belongs to, so that it can be filtered and sorted.
 */
export function* writeTable({ positions, final }: EventResults): Generator<string> {
  yield `\ufeff${COLUMNS.join(',')}\r\n`;
  for (const { id, title, votingMethod, seats, ballots, abstentions, totalVotes, candidates } of positions) {
    const place = [id, title, votingMethod, seats, ballots, abstentions, totalVotes];
    for (const candidate of candidates.toSorted((one, other) => other.votesWon - one.votesWon)) {
      const { name, votesWon, weightWon, winner, tied } = candidate;
      const cells = [...place, candidate.id, name, votesWon].map((cell) => csvCell(cell));
      yield `${[...cells, csvCell(weightWon, true), csvCell(winner), csvCell(tied), csvCell(final)].join(',')}\r\n`;
    }
  }
}
