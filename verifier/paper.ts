import { type Fields, fieldsOf, listOf, numberOf, textOf } from './json.ts';

/** What the counters need of a position, as the configuration of the log gives it. */
export interface PaperPosition {
  readonly id: string;
  readonly title: string;
  readonly method: string;
  readonly seats: number;
  readonly tieBreak: string;
  /** Not every voter could answer it. */
  readonly grouped: boolean;
  readonly rules: Fields;
  /** In candidate order: by their sort order, then by ID. */
  readonly candidates: readonly PaperCandidate[];
}

export interface PaperCandidate {
  readonly id: string;
  readonly withdrawn: boolean;
  readonly role: string;
}

/** Reads positions and candidates from the configuration whose hash stands in the log. */
export function readPaper(configuration: unknown): PaperPosition[] {
  const { positions, candidates } = fieldsOf(configuration);
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
      candidates: standing
        .filter((candidate) => listOf(candidate['positionIds']).includes(id))
        .map((candidate) => ({
          id: textOf(candidate['id']),
          withdrawn: candidate['status'] === 'withdrawn',
          role: textOf(candidate['referendumRole']),
        })),
    };
  });
}
