import { createHash, randomUUID } from 'node:crypto';
import path from 'node:path';
import type { Input, PathClient } from '#sdk/index.ts';
import { nameKeyOf } from '#src/ballot-definition/group.ts';
import { emailKey } from '#src/platform/email-address.ts';
import type { Issue } from '#src/platform/errors.ts';
import { TAKEN } from '#src/voters/voter.ts';
import type { Answer, Cli } from './cli.ts';
import { answerOf, type ImportFigures, type ImportOptions, SHOWN } from './import-report.ts';
import { NO_PROGRESS, type Progress, showProgress } from './progress.ts';
import { FileRefused } from './read-lines.ts';
import { type Roll, type RollBatch, type RollLine, readRoll, scanRoll } from './read-roll.ts';
import { lineReason, type RejectedLine, RejectedLines, reportFileOf } from './rejected-lines.ts';
import { listenForStop } from './stop-signal.ts';

type Body = Input<'post', '/voting-events/{idOrCode}/voters/import'>['body'];

/** What one run works with. */
interface Run {
  readonly client: PathClient;
  readonly eventId: string;
  readonly options: ImportOptions;
  /** Distinguishes the requests of this run from those of an earlier one; empty where they are to be the same. */
  readonly runId: string;
  /** Identities that earlier lines of a dry run bring: the service has stored none of them. */
  readonly named: Set<string>;
}

interface Outcome {
  readonly accepted: number;
  readonly existing: number;
  readonly rejected: readonly RejectedLine[];
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

async function sendBatch(run: Run, { lines, lastLine }: RollBatch): Promise<Outcome> {
  const { client, eventId, options, named } = run;
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
    const { data } = await client.post('/voting-events/{idOrCode}/voters/import', {
      path: { idOrCode: eventId },
      body,
      // What a dry run says is of its moment.
      ...(dryRun ? {} : { idempotencyKey: nameOf(run, lastLine, body) }),
    });
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
async function readGroups(client: PathClient, idOrCode: string): Promise<ReadonlyMap<string, string>> {
  const groups = new Map<string, string>();
  for await (const { id, name } of client.rows('/voting-events/{idOrCode}/groups', { path: { idOrCode } }))
    groups.set(nameKeyOf(name), id);
  return groups;
}

interface Sent {
  readonly progress: ImportFigures;
  readonly shown: { readonly line: number; readonly reason: string }[];
}

async function sendAll(run: Run, roll: Roll, report: RejectedLines, bar: Progress): Promise<Sent> {
  const stop = listenForStop();
  const shown: { line: number; reason: string }[] = [];
  let progress: ImportFigures = {
    votingEventId: run.eventId,
    linesDone: 0,
    accepted: 0,
    rejected: 0,
    existing: 0,
    finishedAt: null,
  };
  let reportBytes = 0;
  try {
    for await (const batch of readRoll(roll, 0, await readGroups(run.client, run.eventId))) {
      if (stop.stopped) return { progress, shown };
      const { accepted, existing, rejected } = await sendBatch(run, batch);
      reportBytes = await report.write(rejected, reportBytes);
      progress = {
        ...progress,
        linesDone: batch.lastLine,
        accepted: progress.accepted + accepted,
        existing: progress.existing + existing,
        rejected: progress.rejected + rejected.length,
      };
      for (const { from, issues } of rejected.slice(0, SHOWN - shown.length))
        shown.push({ line: from.line, reason: lineReason(issues) });
      bar.update(progress.linesDone, progress.rejected === 0 ? '' : `${progress.rejected} rejected`);
    }
    // When it ended is of no interest here: that it did is.
    return { progress: { ...progress, linesDone: roll.lines, finishedAt: 0 }, shown };
  } catch (fault) {
    bar.stop();
    if (bar !== NO_PROGRESS && run.options.dryRun !== true)
      process.stderr.write(`Stopped behind line ${progress.linesDone}. The same command goes on from there.\n`);
    throw fault;
  } finally {
    stop.release();
    bar.stop();
    await report.close(reportBytes);
  }
}

/**
 * Sends a roll to a service, 500 lines at a time, or asks what would become of it (completions 10.3). A cut connection is waited
 * for; a run that was cut off is repeated within a day without a second effect. @throws FileRefused, VotingServiceError
 */
export async function sendRoll(
  cli: Pick<Cli, 'json'>,
  [client, patient]: readonly [PathClient, PathClient],
  options: ImportOptions,
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
  };
  const bar = cli.json() ? NO_PROGRESS : showProgress(roll.lines, 0);
  const { progress, shown } = await sendAll(run, roll, new RejectedLines(roll, reportFile), bar);
  return answerOf({ roll, options, reportFile, begun: { linesDone: 0, finishedAt: null }, progress, shown });
}
