import type { BallotDefinition, BallotPosition } from '#src/ballot-definition/ballot-definition.ts';
import { MAX_ENTRIES } from '#src/voting-events/opening.ts';
import { varintBytes } from './ballot-encoding.ts';

/** The largest absolute value that an entry may have. */
function magnitudeOf(position: BallotPosition): number {
  switch (position.votingMethod) {
    case 'score':
      return Math.max(Math.abs(position.scoreMin ?? 0), Math.abs(position.scoreMax ?? 0));
    case 'cumulative':
      return position.cumulativePointBudget ?? 0;
    case 'quadratic':
      // n votes cost n² credits.
      return Math.floor(Math.sqrt(position.quadraticBaseCreditBudget ?? 0));
    case 'ranked_choice':
      return position.candidates.length;
    default:
      return 1;
  }
}

const rooms = new WeakMap<BallotDefinition, number>();

/** The size in bytes of the largest packed ballot of a definition. Election ballots are padded to it, so that sizes reveal nothing. */
export const roomOf = (definition: BallotDefinition): number => rooms.getOrInsertComputed(definition, measure);

function measure(definition: BallotDefinition): number {
  let room = 1;
  let entriesLeft = MAX_ENTRIES;
  const positions = definition.positions.map((position) => {
    const entries = Math.min(position.selectionLimit, position.candidates.length);
    room += varintBytes(position.number) + varintBytes(entries);
    const lastCandidate = Math.max(0, ...position.candidates.map(({ number }) => number));
    // A value is packed as an unsigned number of twice its size (`zigzag`).
    return { entries, bytes: varintBytes(lastCandidate) + varintBytes(2 * magnitudeOf(position)) };
  });
  // A ballot has at most `MAX_ENTRIES` entries: assume the longest entries.
  for (const { entries, bytes } of positions.toSorted((one, other) => other.bytes - one.bytes)) {
    const taken = Math.min(entries, entriesLeft);
    room += taken * bytes;
    entriesLeft -= taken;
  }
  return room;
}
