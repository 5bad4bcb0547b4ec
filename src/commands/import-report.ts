import { type Answer, commandLine } from './cli.ts';
import type { Roll, RollFormat, RollReading } from './read-roll.ts';

/** What `voters import` is asked for. */
export interface ImportOptions extends RollReading {
  readonly event: string;
  readonly file: string;
  readonly format?: RollFormat;
  readonly dryRun?: boolean;
  readonly skipExisting?: boolean;
  readonly again?: boolean;
  readonly rejected?: string;
}

/** Rejected lines that are shown at once; all of them stand in the report. */
export const SHOWN = 10;

/** How far an import has come. */
export interface ImportFigures {
  readonly votingEventId: string;
  readonly linesDone: number;
  readonly accepted: number;
  readonly rejected: number;
  readonly existing: number;
  readonly finishedAt: number | null;
}

interface Ended {
  readonly roll: Roll;
  readonly options: ImportOptions;
  readonly reportFile: string;
  readonly begun: Pick<ImportFigures, 'linesDone' | 'finishedAt'>;
  readonly progress: ImportFigures;
  readonly shown: readonly { readonly line: number; readonly reason: string }[];
}

function nextOf({ options, progress, begun, reportFile }: Ended): string[] {
  const again = `voters import --event ${options.event} --file ${options.file}`;
  if (begun.finishedAt !== null)
    return [
      `This file was imported before: nothing was done. To take it once more: ${commandLine(`${again} --again`)}`,
    ];
  if (progress.finishedAt === null)
    return [`Stopped. To go on behind line ${progress.linesDone}: ${commandLine(again)}`];
  const mend = `Mend ${reportFile} and import it as it is: ${commandLine(`voters import --event ${options.event} --file …`)}`;
  return [
    ...(progress.rejected === 0 ? [] : [mend]),
    ...(options.dryRun === true ? [`Nothing was stored. To import: ${commandLine(again)}`] : []),
    ...(options.dryRun !== true && progress.rejected === 0
      ? ['Voters ask for their keys on the voting page (POST …/voter-key/request), and get them by e-mail.']
      : []),
  ];
}

export function answerOf(ended: Ended): Answer {
  const { roll, options, begun, progress, shown, reportFile } = ended;
  const { accepted, rejected, existing } = progress;
  const figures = {
    votingEventId: progress.votingEventId,
    file: roll.file,
    lines: roll.lines,
    accepted,
    rejected,
    existing,
    dryRun: options.dryRun === true,
    finished: progress.finishedAt !== null,
    resumedAfterLine: begun.linesDone,
    rejectedFile: rejected > 0 ? reportFile : null,
  };
  const more = rejected - shown.length;
  const lines = Object.fromEntries(shown.map(({ line, reason }) => [`line ${line}`, reason]));
  return {
    value: { ...figures, problems: shown },
    shown: { ...figures, ...lines, ...(shown.length > 0 && more > 0 ? { '…': `and ${more} more` } : {}) },
    next: nextOf(ended),
    refused: rejected > 0 || progress.finishedAt === null,
  };
}
