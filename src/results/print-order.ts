import type { BallotPosition } from '#src/ballot-definition/ballot-definition.ts';
import { pick } from '#src/platform/pick.ts';
import type { PaperSize } from './download-link.ts';
import type { EventResults } from './event-results.ts';
import type { GroupTurnout, ReportInput } from './report/report-input.ts';
import { writeReport } from './report/write-report.ts';

export interface PrintOrder {
  readonly frame: Omit<
    ReportInput,
    'positions' | 'groups' | 'final' | 'disputed' | 'asOf' | 'ballots' | 'ballotsAfterReversals' | 'log' | 'lot'
  >;
  readonly definitions: ReadonlyMap<string, { readonly definition: BallotPosition; readonly groupName: string | null }>;
  readonly groups: ReadonlyMap<string, string>;
  /** The results. For a large event, they are the JSON text of the API, which this thread parses in place of the main thread. */
  readonly results: EventResults | Uint8Array<ArrayBuffer>;
  readonly size: PaperSize;
}

/** The fewest voters in a line of the turnout: a line of fewer could show who has voted (completions 5.6). */
const SMALLEST = 5;

/**
 * Turnout by group. The page also states the total, from which readers could calculate the line of all other voters. So that line also
 * needs five voters: if it has fewer, the smallest groups are moved into it.
 * @param names group names in display order; a group without a name counts as other voters
 */
export function groupTurnout(
  { byGroup, log }: Pick<EventResults, 'byGroup' | 'log'>,
  names: ReadonlyMap<string, string>,
): GroupTurnout[] {
  const { electorate = null, participants = null } = log.close ?? {};
  if (byGroup === null || electorate === null || participants === null) return [];
  const order = [...names.keys()];
  const shown = byGroup
    .filter(({ groupId, voters }) => voters >= SMALLEST && names.has(groupId))
    .toSorted((one, other) => one.voters - other.voters);
  const sum = (what: 'voters' | 'voted'): number => shown.reduce((total, group) => total + group[what], 0);
  const rest = () => ({ name: null, voters: electorate.heads - sum('voters'), voted: participants - sum('voted') });
  while (shown.length > 0 && rest().voters !== 0 && rest().voters < SMALLEST) shown.shift();
  const others = rest();
  if (shown.length === 0) return [];
  return [
    ...shown
      .toSorted((one, other) => order.indexOf(one.groupId) - order.indexOf(other.groupId))
      .map(({ groupId, voters, voted }) => ({ name: names.get(groupId) ?? null, voters, voted })),
    ...(others.voters === 0 ? [] : [others]),
  ];
}

function inputOf({ frame, definitions, groups, results }: PrintOrder): ReportInput {
  const read: EventResults =
    results instanceof Uint8Array ? JSON.parse(Buffer.from(results.buffer).toString('utf8')).data : results;
  return {
    ...frame,
    ...pick(read, ['final', 'disputed', 'asOf', 'log', 'lot']),
    groups: groupTurnout(read, groups),
    ballots: read.stats.ballots,
    ballotsAfterReversals: read.afterReversals?.ballots ?? null,
    positions: read.positions.flatMap((result) => {
      const own = definitions.get(result.id);
      return own === undefined ? [] : [{ result, ...own }];
    }),
  };
}

/** Runs in the thread. @returns the bytes of the PDF */
export const work = (order: PrintOrder): Promise<Uint8Array<ArrayBuffer>> => writeReport(inputOf(order), order.size);
