import { type Fields, fieldsOf, isFields, listOf, numberOf, textOf } from './json.ts';
import { Unbelievable } from './note.ts';

/** The data of a position that the counters need, from the configuration in the log. */
export interface BallotPosition {
  readonly id: string;
  readonly title: string;
  readonly method: string;
  readonly seats: number;
  readonly tieBreak: string;
  /** Whether only a group of voters could answer the position. */
  readonly grouped: boolean;
  readonly rules: Fields;
  /** The score that an answering ballot gives to a candidate whom it does not name: 0, except on a scale without 0. */
  readonly leftOut: number;
  /** The share that a winner must exceed; null if none is required. */
  readonly majority: Fields | null;
  /** The fewest choices of an answering ballot: `minSelections`, or fewer if fewer candidates stood for a while. */
  readonly least: number;
  /** The position as in the configuration, with bounds, scale and budgets. */
  readonly settings: Fields;
  /** In candidate order: by sort order, then by ID. */
  readonly candidates: readonly BallotCandidate[];
}

export interface BallotCandidate {
  readonly id: string;
  readonly name: string;
  readonly withdrawn: boolean;
  readonly role: string;
}

/** The score of a candidate who is not named: 0, or the lowest mark if the scale does not contain 0. */
function leftOutScore(position: Fields): number {
  const [lowest, highest] = [numberOf(position['scoreMin']), numberOf(position['scoreMax'])];
  const withoutZero = position['votingMethod'] === 'score' && (lowest > 0 || highest < 0);
  return withoutZero ? lowest : 0;
}

/**
 * Reads positions and candidates from the configuration whose hash is in the log.
 * @param fewest by position ID: the fewest candidates that ever stood
 */
export function readBallotDefinition(
  { v, positions, candidates }: Fields,
  fewest: ReadonlyMap<string, number> = new Map(),
): BallotPosition[] {
  if (v !== 2) throw new Unbelievable('the configuration is of a version that this verifier does not know');
  const standing = listOf(candidates)
    .map(fieldsOf)
    .toSorted(
      (a, b) => numberOf(a['sortOrder']) - numberOf(b['sortOrder']) || (textOf(a['id']) < textOf(b['id']) ? -1 : 1),
    );
  return listOf(positions).map((value) => {
    const position = fieldsOf(value);
    const id = textOf(position['id']);
    return {
      id,
      title: textOf(position['title']),
      method: textOf(position['votingMethod']),
      seats: numberOf(position['seats']),
      tieBreak: textOf(position['tieBreak']),
      grouped: position['groupId'] !== null,
      rules: fieldsOf(position['rules']),
      leftOut: leftOutScore(position),
      majority: isFields(position['majorityRequired']) ? position['majorityRequired'] : null,
      least: Math.min(numberOf(position['minSelections']), fewest.get(id) ?? Number.POSITIVE_INFINITY),
      settings: position,
      candidates: standing
        .filter((candidate) => listOf(candidate['positionIds']).includes(id))
        .map((candidate) => ({
          id: textOf(candidate['id']),
          name: textOf(candidate['name']),
          withdrawn: candidate['status'] === 'withdrawn',
          role: textOf(candidate['referendumRole']),
        })),
    };
  });
}
