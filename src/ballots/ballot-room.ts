import type { BallotDefinition, BallotPosition } from '#src/ballot-definition/ballot-definition.ts';
import { MAX_ENTRIES } from '#src/voting-events/opening.ts';
import { entryBytes, varintBytes } from './ballot-encoding.ts';

/** The largest value that an entry may have, without its sign. */
function magnitudeOf(position: BallotPosition): number {
  switch (position.votingMethod) {
    case 'score':
      return Math.max(Math.abs(position.scoreMin ?? 0), Math.abs(position.scoreMax ?? 0));
    case 'cumulative':
      return position.cumulativePointBudget ?? 0;
    case 'quadratic':
      // So many votes cost their square.
      return Math.floor(Math.sqrt(position.quadraticBaseCreditBudget ?? 0));
    case 'ranked_choice':
      return position.candidates.length;
    default:
      return 1;
  }
}

const rooms = new WeakMap<BallotDefinition, number>();

/** Bytes that the packed entries of every ballot of an election's definition fit into: a waiting ballot takes all of them. */
export function roomOf(definition: BallotDefinition): number {
  const known = rooms.get(definition);
  if (known !== undefined) return known;
  let room = 1;
  let entriesLeft = MAX_ENTRIES;
  const positions = definition.positions.map((position) => {
    const entries = Math.min(position.selectionLimit, position.candidates.length);
    room += varintBytes(position.number) + varintBytes(entries);
    const lastCandidate = Math.max(0, ...position.candidates.map(({ number }) => number));
    return { entries, bytes: entryBytes(lastCandidate, magnitudeOf(position)) };
  });
  // A ballot has 200 entries at most: the bound takes the longest ones.
  for (const { entries, bytes } of positions.toSorted((one, other) => other.bytes - one.bytes)) {
    const taken = Math.min(entries, entriesLeft);
    room += taken * bytes;
    entriesLeft -= taken;
  }
  rooms.set(definition, room);
  return room;
}
