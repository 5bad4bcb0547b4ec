import { type Fields, fieldsOf, isFields, listOf, numberOf, textOf } from './json.ts';
import { Unbelievable } from './note.ts';

/** What the counters need of a position, as the configuration of the log gives it. */
export interface BallotPosition {
  readonly id: string;
  readonly title: string;
  readonly method: string;
  readonly seats: number;
  readonly tieBreak: string;
  /** Not every voter could answer it. */
  readonly grouped: boolean;
  readonly rules: Fields;
  /** What a ballot that answers gives to a candidate whom it leaves out: 0 but on a scale without it. */
  readonly leftOut: number;
  /** A share that a winner must exceed; null where none is asked for. */
  readonly majority: Fields | null;
  /** How many a ballot that answers chose at least: `minSelections`, or fewer where fewer candidates stood for a while. */
  readonly least: number;
  /** The position as the configuration has it: bounds, scale and budgets. */
  readonly settings: Fields;
  /** In candidate order: by their sort order, then by ID. */
  readonly candidates: readonly BallotCandidate[];
}

export interface BallotCandidate {
  readonly id: string;
  readonly name: string;
  readonly withdrawn: boolean;
  readonly role: string;
}

/** A score that is left out: the lowest mark where the scale does not hold 0. */
function leftOutScore(position: Fields): number {
  const [lowest, highest] = [numberOf(position['scoreMin']), numberOf(position['scoreMax'])];
  const withoutZero = position['votingMethod'] === 'score' && (lowest > 0 || highest < 0);
  return withoutZero ? lowest : 0;
}

/**
 * Reads positions and candidates from the configuration whose hash stands in the log.
 * @param fewest the fewest candidates that ever stood for a position, by its ID
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
