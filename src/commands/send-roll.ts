import { createHash, randomUUID } from 'node:crypto';
import path from 'node:path';
import { type Input, type PathClient, VotingServiceError } from '#sdk/index.ts';
import { nameKeyOf } from '#src/ballot-definition/group.ts';
import { emailKey } from '#src/platform/email-address.ts';
import type { Issue } from '#src/platform/errors.ts';
import { TAKEN } from '#src/voters/voter.ts';
import { type Answer, type Cli, commandOf, type RequireRoom } from './cli.ts';
import { listenForStop, NO_PROGRESS, type Progress, showProgress } from './progress.ts';
import { FileRefused } from './read-lines.ts';
import { type Roll, type RollBatch, type RollLine, type RollReading, readRoll, scanRoll } from './read-roll.ts';
import { lineReason, type RejectedLine, RejectedLines, reportFileOf } from './rejected-lines.ts';

export interface ImportOptions extends RollReading {
  readonly event: string;
  readonly file: string;
  readonly dryRun?: boolean;
  readonly skipExisting?: boolean;
  readonly again?: boolean;
  readonly rejected?: string;
}

/** Rejected lines that the terminal shows; the report has all of them. */
const SHOWN = 10;

type Body = Input<'post', '/voting-events/{idOrCode}/voters/import'>['body'];

interface Run {
  readonly client: PathClient;
  readonly eventId: string;
  readonly options: ImportOptions;
  /** Part of the idempotency keys: a random ID with `--again`, otherwise empty, so that a repeated run replays earlier answers. */
  readonly runId: string;
  /** Identities in earlier lines of a dry run, to find duplicates here: the service stores no voters of a dry run to compare with. */
  readonly named: Set<string>;
  /** Whether the last answer was a replay of an earlier run's answer. */
  readonly isReplayed: () => boolean;
  readonly requireRoom: RequireRoom | undefined;
}

type SoundLine = RollLine & { readonly input: NonNullable<RollLine['input']> };
const isSound = (line: RollLine): line is SoundLine => line.input !== undefined;

/** A voter's e-mail address and voter ID, each of which is unique in an event. */
const identitiesOf = ({ input }: SoundLine): [field: string, identity: string][] => [
  ...(input.email == null ? [] : [['email', `e:${emailKey(input.email)}`] as [string, string]]),
  ...(input.voterId == null ? [] : [['voterId', `i:${input.voterId}`] as [string, string]]),
];

/** An issue for each e-mail address or voter ID of a line that an earlier line of the dry run already uses. */
const takenIssues = (line: SoundLine, named: ReadonlySet<string>): Issue[] =>
  identitiesOf(line).flatMap(([field, identity]) => (named.has(identity) ? [{ field, message: TAKEN }] : []));

/** The idempotency key of a batch: the same for the same lines at the same place, so that a repeated run has no second effect. */
function nameOf({ eventId, runId }: Run, lastLine: number, body: Body): string {
  const hash = createHash('sha256').update(JSON.stringify(body)).digest('hex').slice(0, 40);
  return ['roll', eventId, lastLine, hash, ...(runId === '' ? [] : [runId])].join('-');
}

/**
 * Sends lines under their idempotency key. Tries again with the next key if the answer replays the refusal of an earlier run.
 * @param name the key; undefined in a dry run, whose answer must be current
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

async function sendBatch(run: Run, { lines, lastLine }: RollBatch) {
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
    // The answer replays the answer to an earlier run: this run stored nothing.
    isReplayed: sent.length > 0 && run.isReplayed(),
  };
}

function reportPathOf(roll: Roll, options: ImportOptions): string {
  const reportFile = path.resolve(options.rejected ?? reportFileOf(roll.file));
  if (reportFile === path.resolve(roll.file))
    throw new FileRefused(
      'the report of rejected lines would overwrite the file itself: name another with --rejected.',
    );
  return reportFile;
}

async function readGroups(client: PathClient, idOrCode: string): Promise<ReadonlyMap<string, string>> {
  const groups = new Map<string, string>();
  for await (const { id, name } of client.rows('/voting-events/{idOrCode}/groups', { path: { idOrCode } }))
    groups.set(nameKeyOf(name), id);
  return groups;
}

type Sent = Awaited<ReturnType<typeof sendAll>>;

/** @returns also the voters that an earlier run stored, and the last line that it processed */
async function sendAll(run: Run, roll: Roll, report: RejectedLines, bar: Progress) {
  const stop = listenForStop();
  const figures = { linesDone: 0, accepted: 0, importedBefore: 0, rejected: 0, existing: 0, resumedAfterLine: 0 };
  const shown: { readonly line: number; readonly reason: string }[] = [];
  const sent = { ...figures, isFinished: false, shown };
  try {
    for await (const batch of readRoll(roll, await readGroups(run.client, run.eventId))) {
      if (stop.stopped) return sent;
      const { accepted, existing, rejected, isReplayed } = await sendBatch(run, batch);
      await report.write(rejected);
      sent.linesDone = batch.lastLine;
      sent[isReplayed ? 'importedBefore' : 'accepted'] += accepted;
      sent.existing += existing;
      sent.rejected += rejected.length;
      if (isReplayed) sent.resumedAfterLine = batch.lastLine;
      else
        for (const { from, issues } of rejected.slice(0, SHOWN - sent.shown.length))
          sent.shown.push({ line: from.line, reason: lineReason(issues) });
      bar.update(sent.linesDone, sent.rejected === 0 ? '' : `${sent.rejected} rejected`);
    }
    if (run.options.dryRun === true) await run.requireRoom?.(sent.accepted);
    if (sent.resumedAfterLine > 0 && sent.resumedAfterLine === sent.linesDone) sent.resumedAfterLine = roll.lines;
    return { ...sent, linesDone: roll.lines, isFinished: true };
  } catch (fault) {
    bar.stop();
    if (bar !== NO_PROGRESS && run.options.dryRun !== true)
      process.stderr.write(`Stopped behind line ${sent.linesDone}. The same command goes on from there.\n`);
    throw fault;
  } finally {
    stop.release();
    bar.stop();
    await report.close();
  }
}

function nextOf(options: ImportOptions, reportFile: string | null, lines: number, sent: Sent): string[] {
  const again = (more: Partial<ImportOptions> = {}): string => commandOf('voters import', { ...options, ...more });
  if (sent.resumedAfterLine === lines)
    return [
      `These rows were imported already, and nothing was stored. To take the file once more: ${again({ again: true })}`,
    ];
  if (!sent.isFinished) return [`Stopped. To go on behind line ${sent.linesDone}: ${again()}`];
  const stored = { dryRun: false };
  const { rejected: _taken, ...others } = options;
  return [
    ...(reportFile === null
      ? []
      : [
          `Mend ${reportFile} and import it as it is: ${commandOf('voters import', { ...others, ...stored, file: reportFile })}`,
        ]),
    ...(options.dryRun === true ? [`Nothing was stored. To import: ${again(stored)}`] : []),
    ...(options.dryRun !== true && sent.rejected === 0
      ? ['Voters ask for their keys on the voting page (POST …/voter-key/request), and get them by e-mail.']
      : []),
  ];
}

/**
 * Imports a roll into a service, 500 lines per request, or checks it in a dry run (completions 10.3). Waits for a service that does
 * not answer; an interrupted run can be repeated within a day without a second effect.
 * @param requireRoom checks the plan's limit after a dry run on the operator's own service @throws FileRefused, VotingServiceError
 */
export async function sendRoll(
  cli: Pick<Cli, 'json'>,
  [client, patient, isReplayed = () => false]: readonly [PathClient, PathClient, (() => boolean)?],
  options: ImportOptions,
  requireRoom?: RequireRoom,
): Promise<Answer> {
  const roll = await scanRoll(options.file, options);
  const report = new RejectedLines(roll, reportPathOf(roll, options));
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
  const sent = await sendAll(run, roll, report, bar);
  const { accepted, importedBefore, rejected, existing, isFinished: finished, resumedAfterLine, shown } = sent;
  const figures = {
    ...{ votingEventId: event.id, file: roll.file, lines: roll.lines, accepted, importedBefore, rejected, existing },
    ...{ dryRun: options.dryRun === true, finished, resumedAfterLine },
    rejectedFile: report.file,
  };
  const more = rejected - shown.length;
  const lines = Object.fromEntries(shown.map(({ line, reason }) => [`line ${line}`, reason]));
  return {
    value: { ...figures, problems: shown },
    shown: { ...figures, ...lines, ...(shown.length > 0 && more > 0 ? { '…': `and ${more} more` } : {}) },
    next: nextOf(options, report.file, roll.lines, sent),
    refused: rejected > 0 || !finished,
  };
}
