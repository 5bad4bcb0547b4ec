import type { BallotPosition } from '#src/ballot-definition/ballot-definition.ts';
import type { PaperSize } from './download-link.ts';
import type { EventResults } from './event-results.ts';
import { groupTurnout } from './report/group-turnout.ts';
import type { ReportInput } from './report/report-input.ts';
import { writeReport } from './report/write-report.ts';

export interface PrintOrder {
  readonly frame: Omit<
    ReportInput,
    'positions' | 'groups' | 'final' | 'disputed' | 'asOf' | 'ballots' | 'ballotsAfterReversals' | 'log' | 'lot'
  >;
  readonly definitions: ReadonlyMap<string, { readonly definition: BallotPosition; readonly groupName: string | null }>;
  readonly groups: ReadonlyMap<string, string>;
  /** Results; of a large event as the API's JSON text, which this thread parses to spare the main thread. */
  readonly results: EventResults | Uint8Array<ArrayBuffer>;
  readonly size: PaperSize;
}

function inputOf({ frame, definitions, groups, results }: PrintOrder): ReportInput {
  const read: EventResults =
    results instanceof Uint8Array ? JSON.parse(Buffer.from(results.buffer).toString('utf8')).data : results;
  const { positions, final, disputed, asOf, stats, log, lot, afterReversals } = read;
  return {
    ...frame,
    groups: groupTurnout(read, groups),
    final,
    disputed,
    asOf,
    ballots: stats.ballots,
    ballotsAfterReversals: afterReversals?.ballots ?? null,
    log,
    lot,
    positions: positions.flatMap((result) => {
      const own = definitions.get(result.id);
      return own === undefined ? [] : [{ result, ...own }];
    }),
  };
}

/** Runs in the thread. @returns the bytes of the PDF */
export const work = (order: PrintOrder): Promise<Uint8Array<ArrayBuffer>> => writeReport(inputOf(order), order.size);
