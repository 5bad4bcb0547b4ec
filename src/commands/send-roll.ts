import { createHash, randomUUID } from 'node:crypto';
import path from 'node:path';
import { type Input, type VotingService, VotingServiceError } from '#sdk/index.ts';
import { nameKeyOf } from '#src/ballot-definition/group.ts';
import { emailKey } from '#src/platform/email-address.ts';
import type { Issue } from '#src/platform/errors.ts';
import { TAKEN } from '#src/voters/voter.ts';
import type { Answer, Cli, RequireRoom } from './cli.ts';
import { answerOf, type ImportFigures, type ImportOptions, SHOWN } from './import-report.ts';
import { NO_PROGRESS, type Progress, showProgress } from './progress.ts';
import { FileRefused } from './read-lines.ts';
import { type Roll, type RollBatch, type RollLine, readRoll, scanRoll } from './read-roll.ts';
import { lineReason, type RejectedLine, RejectedLines, reportFileOf } from './rejected-lines.ts';
import { listenForStop } from './stop-signal.ts';

type Body = Input<'post', '/voting-events/{idOrCode}/voters/import'>['body'];

interface Run {
  readonly client: VotingService;
  readonly eventId: string;
  readonly options: ImportOptions;
  /** Distinguishes the requests of this run from those of an earlier one; empty where they are to be the same. */
  readonly runId: string;
  /** Identities that earlier lines of a dry run bring: the service has stored none of them. */
  readonly named: Set<string>;
  /** Whether the last answer was the stored one of an earlier request. */
  readonly isReplayed: () => boolean;
  /** The operator's own command: it shows what an earlier run has done as done. */
  readonly requireRoom: RequireRoom | undefined;
}

interface Outcome {
  readonly accepted: number;
  readonly existing: number;
  readonly rejected: readonly RejectedLine[];
  /** An earlier run was answered so: nothing was done now. */
  readonly isReplayed: boolean;
}

/** A line that can be sent. */
type SoundLine = RollLine & { readonly input: NonNullable<RollLine['input']> };
const isSound = (line: RollLine): line is SoundLine => line.input !== undefined;

/** The address and the ID, either of which only one voter of an event may have. */
const identitiesOf = ({ input }: SoundLine): [field: string, identity: string][] => [
  ...(input.email == null ? [] : [['email', `e:${emailKey(input.email)}`] as [string, string]]),
  ...(input.voterId == null ? [] : [['voterId', `i:${input.voterId}`] as [string, string]]),
];

/** What an earlier line of a dry run takes away from this one. */
const takenIssues = (line: SoundLine, named: ReadonlySet<string>): Issue[] =>
  identitiesOf(line).flatMap(([field, identity]) => (named.has(identity) ? [{ field, message: TAKEN }] : []));

/**
 * The name under which the service takes these lines once: the same lines of the same file have the same name, so that a run that
 * is repeated gets the answers of the first one instead of a second effect.
 */
function nameOf({ eventId, runId }: Run, lastLine: number, body: Body): string {
  const hash = createHash('sha256').update(JSON.stringify(body)).digest('hex').slice(0, 40);
  return ['roll', eventId, lastLine, hash, ...(runId === '' ? [] : [runId])].join('-');
}

/**
 * Sends lines under their name. A refusal is kept under it too, and keeps its lines out of no later run: that has the next name.
 * @param name of none in a dry run: what that says is of its moment
 */
async function post({ client, eventId, isReplayed }: Run, body: Body, name: string | undefined) {
  for (let tries = 1; ; tries += 1) {
    const idempotencyKey = tries === 1 ? name : `${name}-${tries}`;
    try {
      const input = { path: { idOrCode: eventId }, body, ...(idempotencyKey === undefined ? {} : { idempotencyKey }) };
      return await client.post('/voting-events/{idOrCode}/voters/import', input);
    } catch (fault) {
      if (!(fault instanceof VotingServiceError && name !== undefined && isReplayed())) throw fault;
    }
  }
}

async function sendBatch(run: Run, { lines, lastLine }: RollBatch): Promise<Outcome> {
  const { options, named } = run;
  const dryRun = options.dryRun === true;
  const own = lines.filter(isSound).map((line) => ({ line, taken: dryRun ? takenIssues(line, named) : [] }));
  const sent = own.filter(({ taken }) => taken.length === 0).map(({ line }) => line);
  const refused: RejectedLine[] = [
    ...lines.filter((line) => !isSound(line)).map((from) => ({ from, issues: from.issues })),
    ...own.filter(({ taken }) => taken.length > 0).map(({ line, taken }) => ({ from: line, issues: taken })),
  ];
  let accepted = 0;
  if (sent.length > 0) {
    const voters = sent.map(({ values }) => values) as Body['voters'];
    const body: Body = { mode: 'partial', voters, ...(dryRun ? { dryRun } : {}) };
    const { data } = await post(run, body, dryRun ? undefined : nameOf(run, lastLine, body));
    accepted = data.accepted;
    const places = new Map(data.rejected.map(({ index, field, message }) => [index, { field, message }]));
    for (const [index, from] of sent.entries()) {
      const issue = places.get(index);
      if (issue !== undefined) refused.push({ from, issues: [issue] });
      else if (dryRun) for (const [, identity] of identitiesOf(from)) named.add(identity);
    }
  }
  const isExisting = ({ issues }: RejectedLine): boolean => issues.every(({ message }) => message === TAKEN);
  const rejected = refused.filter((one) => !(options.skipExisting === true && isExisting(one)));
  return {
    accepted,
    existing: refused.length - rejected.length,
    rejected: rejected.sort((one, other) => one.from.line - other.from.line),
    isReplayed: sent.length > 0 && run.requireRoom !== undefined && run.isReplayed(),
  };
}

function reportPathOf(roll: Roll, options: ImportOptions): string {
  const reportFile = path.resolve(options.rejected ?? reportFileOf(roll));
  if (reportFile === path.resolve(roll.file))
    throw new FileRefused(
      'the report of rejected lines would overwrite the file itself: name another with --rejected.',
    );
  return reportFile;
}

/** The groups of an event by the key of their names. */
async function readGroups(client: VotingService, idOrCode: string): Promise<ReadonlyMap<string, string>> {
  const groups = new Map<string, string>();
  for await (const { id, name } of client.rows('/voting-events/{idOrCode}/groups', { path: { idOrCode } }))
    groups.set(nameKeyOf(name), id);
  return groups;
}

interface Sent {
  readonly begun: Pick<ImportFigures, 'linesDone' | 'finishedAt'>;
  readonly progress: ImportFigures;
  readonly shown: { readonly line: number; readonly reason: string }[];
}

async function sendAll(run: Run, roll: Roll, report: RejectedLines, bar: Progress): Promise<Sent> {
  const stop = listenForStop();
  const shown: { line: number; reason: string }[] = [];
  const none = { linesDone: 0, accepted: 0, rejected: 0, existing: 0, finishedAt: null };
  let progress: ImportFigures = { votingEventId: run.eventId, ...none };
  /** What an earlier run has done. */
  let doneBefore = 0;
  try {
    for await (const batch of readRoll(roll, await readGroups(run.client, run.eventId))) {
      if (stop.stopped) return { begun: { linesDone: doneBefore, finishedAt: null }, progress, shown };
      const { accepted, existing, rejected, isReplayed } = await sendBatch(run, batch);
      await report.write(rejected);
      progress = {
        ...progress,
        linesDone: batch.lastLine,
        accepted: progress.accepted + accepted,
        existing: progress.existing + existing,
        rejected: progress.rejected + rejected.length,
      };
      if (isReplayed) doneBefore = batch.lastLine;
      else
        for (const { from, issues } of rejected.slice(0, SHOWN - shown.length))
          shown.push({ line: from.line, reason: lineReason(issues) });
      bar.update(progress.linesDone, progress.rejected === 0 ? '' : `${progress.rejected} rejected`);
    }
    if (run.options.dryRun === true) await run.requireRoom?.(progress.accepted);
    const isDoneBefore = doneBefore > 0 && doneBefore === progress.linesDone;
    // When it ended is of no interest here: that it did is.
    progress = { ...progress, linesDone: roll.lines, finishedAt: 0 };
    return { begun: isDoneBefore ? progress : { linesDone: doneBefore, finishedAt: null }, progress, shown };
  } catch (fault) {
    bar.stop();
    if (bar !== NO_PROGRESS && run.options.dryRun !== true)
      process.stderr.write(`Stopped behind line ${progress.linesDone}. The same command goes on from there.\n`);
    throw fault;
  } finally {
    stop.release();
    bar.stop();
    await report.close();
  }
}

/**
 * Sends a roll to a service, 500 lines at a time, or asks what would become of it (completions 10.3). A cut connection is waited
 * for; a run that was cut off is repeated within a day without a second effect.
 * @param requireRoom of the operator's own command. @throws FileRefused, VotingServiceError
 */
export async function sendRoll(
  cli: Pick<Cli, 'json'>,
  [client, patient, isReplayed = () => false]: readonly [VotingService, VotingService, (() => boolean)?],
  options: ImportOptions,
  requireRoom?: RequireRoom,
): Promise<Answer> {
  const roll = await scanRoll(options.file, options.format, options);
  const reportFile = reportPathOf(roll, options);
  const { data: event } = await client.get('/voting-events/{idOrCode}', { path: { idOrCode: options.event } });
  const run: Run = {
    client: patient,
    options,
    eventId: event.id,
    named: new Set<string>(),
    runId: options.again === true ? randomUUID() : '',
    isReplayed,
    requireRoom,
  };
  const bar = cli.json() ? NO_PROGRESS : showProgress(roll.lines, 0);
  const sent = await sendAll(run, roll, new RejectedLines(roll, reportFile), bar);
  return answerOf({ roll, options, reportFile, ...sent });
}
