import path from 'node:path';
import { listGroupIdsByName } from '#src/ballot-definition/ballot-definition.ts';
import { inTransaction, type Transaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { conflict, notFound } from '#src/platform/errors.ts';
import type { VoterAuthor } from '#src/voters/create-voters.ts';
import {
  beginImport,
  forgetImport,
  holdImport,
  type ImportProgress,
  importVoters,
  rehearseImport,
  saveImport,
  type TakeRows,
} from '#src/voters/import-voters.ts';
import { findAccess, findAnyEvent } from '#src/voting-events/access.ts';
import type { Answer, Cli } from './cli.ts';
import { answerOf, type ImportOptions, SHOWN } from './import-report.ts';
import { NO_PROGRESS, type Progress, showProgress } from './progress.ts';
import { type Roll, type RollBatch, readRoll, scanRoll } from './read-roll.ts';
import { lineReason, type RejectedLine, RejectedLines, reportFileOf } from './rejected-lines.ts';
import { listenForStop, type StopSignal } from './stop-signal.ts';

/** What one run works with. */
interface Run {
  readonly deps: Deps;
  readonly author: VoterAuthor;
  readonly roll: Roll;
  readonly options: ImportOptions;
  readonly report: RejectedLines;
  readonly bar: Progress;
  readonly groups: ReadonlyMap<string, string>;
  /** The first rejected lines of this run. */
  readonly shown: { line: number; reason: string }[];
  /** The last line of the file that is dealt with. */
  lineDone: number;
  /** When somebody asks to stop, the batch under way is finished. */
  readonly stop: StopSignal;
}

/** The operator acts for the event's account, by its plan. */
async function authorFor(deps: Deps, reference: string): Promise<VoterAuthor> {
  const { accountId, id } = await findAnyEvent(deps.db, reference);
  const access = await findAccess(deps, accountId, id);
  if (access === undefined) throw notFound();
  return { event: access.event, ownerPlan: access.ownerPlan, caller: { keyId: null } };
}

interface Outcome {
  readonly accepted: number;
  readonly existing: number;
  readonly rejected: readonly RejectedLine[];
}

/** Deals with a batch: what can be taken is, of everything else it is said why not. */
async function takeBatch(tx: Transaction, run: Run, take: TakeRows, batch: RollBatch): Promise<Outcome> {
  const sound = batch.lines.flatMap((from) => (from.input === undefined ? [] : [{ from, input: from.input }]));
  const { accepted, refused } = await take(
    tx,
    sound.map(({ input }) => input),
  );
  const passedOver = refused.filter(({ existing }) => existing && run.options.skipExisting === true);
  const rejected = [
    ...batch.lines.filter(({ input }) => input === undefined).map((from) => ({ from, issues: from.issues })),
    ...refused
      .filter((one) => !passedOver.includes(one))
      .flatMap(({ index, issues }) => {
        const from = sound[index]?.from;
        return from === undefined ? [] : [{ from, issues }];
      }),
  ];
  return {
    accepted,
    existing: passedOver.length,
    rejected: rejected.sort((one, other) => one.from.line - other.from.line),
  };
}

function tell(run: Run, progress: ImportProgress, rejected: readonly RejectedLine[]): void {
  for (const { from, issues } of rejected.slice(0, SHOWN - run.shown.length))
    run.shown.push({ line: from.line, reason: lineReason(issues) });
  run.lineDone = progress.linesDone;
  run.bar.update(progress.linesDone, progress.rejected === 0 ? '' : `${progress.rejected} rejected`);
}

const after = (before: ImportProgress, batch: RollBatch, outcome: Outcome, reportBytes: number): ImportProgress => ({
  ...before,
  linesDone: batch.lastLine,
  accepted: before.accepted + outcome.accepted,
  rejected: before.rejected + outcome.rejected.length,
  existing: before.existing + outcome.existing,
  reportBytes,
});

/** Voters, progress and report of a batch in one transaction: a run that is killed loses and doubles nothing. */
async function importAll(run: Run, begun: ImportProgress): Promise<ImportProgress> {
  const { deps, roll, report } = run;
  const take = importVoters(deps, run.author);
  let progress = begun;
  for await (const batch of readRoll(roll, progress.linesDone, run.groups)) {
    if (run.stop.stopped) return progress;
    const before = progress;
    const done = await inTransaction(deps.db, async (tx) => {
      await requireHeld(tx, before);
      const outcome = await takeBatch(tx, run, take, batch);
      const now = after(before, batch, outcome, await report.write(outcome.rejected, before.reportBytes));
      await saveImport(tx, now);
      return { now, rejected: outcome.rejected };
    });
    progress = done.now;
    tell(run, progress, done.rejected);
  }
  const finished = { ...progress, linesDone: roll.lines, finishedAt: deps.clock.now() };
  await inTransaction(deps.db, async (tx) => {
    await requireHeld(tx, progress);
    await saveImport(tx, finished);
  });
  return finished;
}

async function requireHeld(tx: Transaction, progress: ImportProgress): Promise<void> {
  if (!(await holdImport(tx, progress)))
    throw conflict(
      'import_running',
      'another run imports this file right now. Wait for it; then run the command again.',
    );
}

/** Judges every line as an import would, in one transaction that stores nothing. */
async function rehearseAll(run: Run, begun: ImportProgress): Promise<ImportProgress> {
  let progress = begun;
  await inTransaction(run.deps.db, async (tx) => {
    const take = await rehearseImport(tx, run.deps, run.author);
    for await (const batch of readRoll(run.roll, 0, run.groups)) {
      if (run.stop.stopped) return;
      const outcome = await takeBatch(tx, run, take, batch);
      const reportBytes = await run.report.write(outcome.rejected, progress.reportBytes);
      progress = after(progress, batch, outcome, reportBytes);
      tell(run, progress, outcome.rejected);
    }
    progress = { ...progress, linesDone: run.roll.lines, finishedAt: run.deps.clock.now() };
  });
  return progress;
}

/** Where this run begins: behind what an earlier one of the same file has done. */
async function beginRun(deps: Deps, eventId: string, roll: Roll, options: ImportOptions): Promise<ImportProgress> {
  const startedAt = deps.clock.now();
  if (options.dryRun === true) {
    const none = { linesDone: 0, accepted: 0, rejected: 0, existing: 0, reportBytes: 0 };
    return { votingEventId: eventId, fileHash: roll.hash, ...none, startedAt, finishedAt: null };
  }
  if (options.again === true) await forgetImport(deps.db, eventId, roll.hash);
  return beginImport(deps.db, eventId, roll.hash, startedAt);
}

/** Imports a roll, or says what an import would do. @throws ApiError, RollRefused for a file that cannot be imported */
export async function importRoll(cli: Cli, deps: Deps, options: ImportOptions): Promise<Answer> {
  const author = await authorFor(deps, options.event);
  const roll = await scanRoll(options.file, options.format, options);
  const reportFile = path.resolve(options.rejected ?? reportFileOf(roll));
  if (reportFile === path.resolve(roll.file))
    throw conflict(
      'same_file',
      'the report of rejected lines would overwrite the file itself: name another with --rejected.',
    );
  const begun = await beginRun(deps, author.event.id, roll, options);
  if (begun.finishedAt !== null) return answerOf({ roll, options, reportFile, begun, progress: begun, shown: [] });
  const report = new RejectedLines(roll, reportFile);
  const reportBytes = await report.resumeAt(begun.reportBytes);
  const run: Run = {
    deps,
    author,
    roll,
    options,
    report,
    stop: listenForStop(),
    shown: [],
    lineDone: begun.linesDone,
    bar: cli.json() ? NO_PROGRESS : showProgress(roll.lines, begun.linesDone),
    groups: await listGroupIdsByName(deps.db, author.event.id),
  };
  let progress = begun;
  try {
    // A missing report is started again; the row in the database still says how far it had come.
    progress = await (options.dryRun === true ? rehearseAll(run, begun) : importAll(run, { ...begun, reportBytes }));
    await report.close(progress.reportBytes);
  } catch (fault) {
    run.bar.stop();
    if (!cli.json() && options.dryRun !== true)
      process.stderr.write(`Stopped behind line ${run.lineDone}. The same command goes on from there.\n`);
    throw fault;
  } finally {
    run.bar.stop();
    run.stop.release();
  }
  return answerOf({ roll, options, reportFile, begun, progress, shown: run.shown });
}
