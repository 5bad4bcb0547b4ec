import { type ClosedFigures, compareWithClose, openClose } from './check-close.ts';
import { type Configurations, checkConfigurations } from './check-configurations.ts';
import { checkOpenings, type OpenedLog } from './check-openings.ts';
import { compareAfterReversals, compareResults, compareTotals, notCompared, weightText } from './check-results.ts';
import { checkWitnesses, type Inclusion, readInclusion, type WitnessDemand } from './check-witnesses.ts';
import { type Check, Checks, demand } from './checks.ts';
import { type Fields, fieldsOf, numberOf } from './json.ts';
import {
  type LogKey,
  mendPromise,
  readCheckpoint,
  readLogKey,
  readPromise,
  type SignedHead,
  type SignedPromise,
  Unbelievable,
  Unsigned,
} from './note.ts';
import { sha256 } from './primitives.ts';
import { droppedSince, type ReadLog, readLeaves } from './read-leaves.ts';
import { MOST_BYTES, type Read, readJson, requireBytes, Unreadable } from './read-service.ts';

export interface VerifyOptions {
  readonly read: Read;
  /** ID or code of the voting event. */
  readonly event: string;
  /** A verifier key from another source. Without it, the service's own key is trusted. */
  readonly logKey?: string;
  /** An earlier checkpoint, as a signed note. */
  readonly since?: string;
  /** A voter's promise, as a signed note. */
  readonly promise?: string;
  /** A voter's confirmation code, which finds the ballot in the log. It is sent nowhere. */
  readonly code?: string;
  /** The witnesses that must have signed the head of the service's own log; not checked by default. */
  readonly witnesses?: WitnessDemand;
  /** The time with which dates are compared, in Unix ms; by default the present. */
  readonly nowMs?: number;
  readonly onProgress?: (what: string, done: number, of: number) => void;
}

export interface RollAfterOpening {
  /** Number of changes of a voter's e-mail or voter ID. The owner of a new address can vote in the voter's place. */
  readonly identityChanges: number;
  /** Number of changes of a voter's weight, group or status, and of deletions. */
  readonly rollChanges: number;
}

/** The answer to a voter's question: is my ballot in the log? */
export interface YourBallot {
  /** `void`: it is in the log, but no longer counts. `no_promise`: the given text is no promise of this log. */
  readonly answer: 'in' | 'void' | 'not_yet' | 'not_there' | 'no_promise' | 'removed';
  /** For `not_yet`: when it will be in the log, in Unix ms; null if that is a day after its confirmation. */
  readonly until: number | null;
}

export interface VerificationReport {
  /** `yes`: everything is right. `no`: something is wrong. `partial`: right, but something could not be checked. */
  readonly verified: Checks['verdict'];
  readonly checks: readonly Check[];
  /** Null if neither code nor promise was given, or the log could not be read. */
  readonly yourBallot: YourBallot | null;
  readonly size: number | null;
  readonly rootHash: string | null;
  /** How often the organizers changed the roll after the opening, by the log or else by the results; null if neither says so. */
  readonly rollAfterOpening: RollAfterOpening | null;
  /** Number of printed letters with voter keys, whose printer could have voted in the voters' place. Null if the log could not be read. */
  readonly lettersPrinted: number | null;
  /** The checkpoint to keep, and to pass as `since` the next time. */
  readonly checkpoint: string | null;
}

/** The conclusion of a report, for people. @param kept where the report is: in the output or on the page */
export function lastWords({ verified, checks }: VerificationReport, kept: string): string {
  if (verified === 'yes') return 'Everything is right.';
  if (verified === 'no')
    return `Something is wrong. Keep this ${kept} and the checkpoints you have, and show them to the organizer and to other observers.`;
  if (checks.some(({ name, status }) => name === 'reading' && status === 'left_out'))
    return 'The log could not be read. Look at the address, the event and the key; this says nothing for or against the log.';
  return 'Right as far as it goes. What is marked ○ could not be checked.';
}

/**
 * Verifies the log of an event from the outside: signed head → leaves → root → earlier checkpoint → openings → recount →
 * published results. Memory grows by only about 40 bytes for each ballot.
 * Returns a report even if the service sends wrong data or none.
 */
export async function verifyLog(options: VerifyOptions): Promise<VerificationReport> {
  const checks = new Checks();
  let note: string | null = null;
  let head: SignedHead | undefined;
  let rollAfterOpening: RollAfterOpening | null = null;
  let lettersPrinted: number | null = null;
  let yourBallot: YourBallot | null = null;
  try {
    const base = `/public/voting-events/${encodeURIComponent(options.event)}/log`;
    const logKey = await readKey(options, checks);
    // Read this before the head: then all heads in the service's own log belong to the log that is read afterwards.
    const inclusion =
      options.witnesses === undefined ? undefined : await readInclusion(options.read, base, logKey, checks);
    const text = (await requireBytes(options.read, `${base}/checkpoint`, MOST_BYTES.note)).toString('utf8');
    // A proxy may answer anything, so only a signed note counts as the service's answer.
    if (!/^— \S+ \S+$/mu.test(text)) throw new Unreadable(`${base}/checkpoint is no signed note`);
    head = await checks.run(
      'signature',
      () => readHead(text, logKey, options.event),
      ({ size }) => `a head of ${size} leaves, signed by ${logKey.name}`,
    );
    noteRehearsal(checks, head);
    note = text;
    const { log, earlier, promised } = await checkLeaves(options, checks, base, logKey, head, inclusion);
    lettersPrinted = log.letters;
    yourBallot = findBallot(options, log, head, promised);
    if (options.witnesses === undefined) checks.notAsked('witnesses', 'no key of a witness was given');
    if (inclusion !== undefined) await checkWitnesses(checks, log, head, inclusion, options.witnesses);
    const results = await readResults(options.read, options.event);
    const readAgain = () => requireBytes(options.read, `${base}/checkpoint`, MOST_BYTES.note);
    if (results === undefined)
      checks.leaveOut('not disputed', 'the results, which would say so, are not public, or take another key');
    else
      await checkDisputes(
        checks,
        log,
        results,
        async () => readHead(String(await readAgain()), logKey, options.event).size,
      );
    rollAfterOpening = readRollChanges(log, results);
    const configured = await checkConfigurations(options.read, base, log, earlier);
    checks.list.push(configured.check);
    await checkContent(options, checks, base, log, results, configured, head);
  } catch (fault) {
    // Data that this program cannot understand are wrong, too, because an honest service does not send such data.
    if (fault instanceof Unreadable) checks.leaveOut('reading', fault.message);
    else if (!(fault instanceof Unbelievable))
      checks.list.push({ name: 'reading', status: 'failed', detail: `what was sent makes no sense: ${String(fault)}` });
  }
  return {
    verified: checks.verdict,
    checks: checks.list,
    yourBallot,
    size: head?.size ?? null,
    rootHash: head?.root.toString('base64') ?? null,
    rollAfterOpening,
    lettersPrinted,
    checkpoint: note,
  };
}

async function readKey({ read, logKey }: VerifyOptions, checks: Checks): Promise<LogKey> {
  const served = (await requireBytes(read, '/.well-known/voting-log-key', MOST_BYTES.note)).toString('utf8').trim();
  if (!/^[^\s+]+\+[0-9a-f]{8}\+\S+$/.test(served)) throw new Unreadable('/.well-known/voting-log-key is no key');
  return checks.run(
    'key',
    () => {
      demand(
        logKey === undefined || logKey.trim() === served,
        'the service signs with another key than the one you know',
      );
      return readLogKey(served);
    },
    () => (logKey === undefined ? 'as the service gives it; compare it with one from elsewhere' : 'the one you know'),
  );
}

/** @param event must match the checkpoint if it is an ID; a code does not occur in the log's name */
function readHead(note: string, logKey: LogKey, event: string): SignedHead {
  const head = readCheckpoint(note, logKey);
  const real = head.origin.replace(REHEARSAL, '');
  const [named, id = ''] = [real.slice(0, real.lastIndexOf('/')), eventIdOf(head)];
  const expected = EVENT_ID.test(event) ? event : id;
  demand(named === logKey.name && id === expected && EVENT_ID.test(id), `it speaks of another log: ${head.origin}`);
  return head;
}

/** The end of the origin of a rehearsal's log. */
const REHEARSAL = /\/rehearsal-(\d+)$/;
const EVENT_ID = /^evt_[A-Za-z0-9]+$/;
/** The event's ID in an origin, which is `<name of the key>/<ID of the event>`, in a rehearsal followed by `/rehearsal-<round>`. */
const eventIdOf = ({ origin }: SignedHead): string => origin.replace(REHEARSAL, '').split('/').at(-1) ?? '';

/** Reports that the log is of a rehearsal. As a check that is left out, so that no rehearsal is found right as a whole. */
function noteRehearsal(checks: Checks, { origin }: SignedHead): void {
  const [, round] = REHEARSAL.exec(origin) ?? [];
  if (round === undefined) return;
  checks.leaveOut(
    'rehearsal',
    `this is round ${round} of a rehearsal: its log goes with it, no witness sees it, and nothing in it counts`,
  );
}

/** Reads the leaves, and compares their root with the present signed head, and with earlier ones. */
async function checkLeaves(
  options: VerifyOptions,
  checks: Checks,
  base: string,
  logKey: LogKey,
  head: SignedHead,
  inclusion: Inclusion | undefined,
): Promise<CheckedLeaves> {
  const { read, since } = options;
  const event = eventIdOf(head);
  const earlier =
    since === undefined
      ? undefined
      : await readGiven(
          ['earlier checkpoint', 'checkpoint'],
          () => readHead(since, logKey, event),
          ({ size }) => `${size} leaves`,
          checks,
        );
  const promise = mendPromise(options.promise ?? '');
  const promised =
    options.promise === undefined
      ? undefined
      : await readGiven(
          ['promise', 'promise'],
          () => readPromise(promise, logKey),
          () => 'signed by the service',
          checks,
        );
  if (earlier !== undefined && earlier.size > head.size) {
    const lost = `the log had ${earlier.size} leaves and has ${head.size} now: leaves were removed`;
    await checks.run(
      'consistency',
      () => demand(false, lost),
      () => '',
    );
  }
  const log = await checks.run(
    'leaves',
    async () => {
      const onProgress = (leaves: number): void => options.onProgress?.('leaves', leaves, head.size);
      const questions = {
        eventId: event,
        isRehearsal: REHEARSAL.test(head.origin),
        size: head.size,
        sizes: [earlier?.size, inclusion?.head.size].filter((size) => size !== undefined),
      };
      return readLeaves(read, base, {
        ...questions,
        leafHashes: promised === undefined ? [] : [promised.leaf],
        codeTag: options.code === undefined ? undefined : tagOfCode(options.code),
        ...(inclusion === undefined ? {} : { trail: inclusion.trail }),
        onProgress,
      });
    },
    describeLeaves,
  );
  await checks.run(
    'root',
    () => demand(log.root.equals(head.root), 'the leaves have another root than the signed one'),
    () => 'the leaves have the signed root',
  );
  if (since === undefined) checks.notAsked('consistency', 'no earlier checkpoint was given');
  else if (earlier !== undefined) {
    const same = log.rootAt.get(earlier.size)?.equals(earlier.root) === true;
    const fork = `the first ${earlier.size} leaves are not those that were signed then: the log was rewritten`;
    await checks.run(
      'consistency',
      () => demand(same, fork),
      () => 'everything that was in the log then is in it now',
    );
  }
  await checkConfirmed(checks, log, head, earlier);
  checkCode(options, checks, log, head);
  if (options.promise === undefined) checks.notAsked('promise kept', 'no promise was given');
  else if (promised !== undefined) await checkPromise(options, checks, log, head, promised);
  return { log, earlier, promised };
}

interface CheckedLeaves {
  readonly log: ReadLog;
  readonly earlier: SignedHead | undefined;
  readonly promised: SignedPromise | undefined;
}

/** Reads a note that a person pasted. A text that was cut off or mistyped was never signed, and is no fault of the service. */
async function readGiven<Note>(
  [name, what]: readonly [string, string],
  read: () => Note,
  detail: (note: Note) => string,
  checks: Checks,
): Promise<Note | undefined> {
  const unsigned = whyUnsigned(read);
  if (unsigned === undefined) return checks.run(name, read, detail);
  checks.leaveOut(name, `this is no whole ${what}: ${unsigned}. Copy it again, from its first line to its last`);
  return undefined;
}

/** Why a note is not signed. Undefined for a signed note, even if it has other faults. */
function whyUnsigned(read: () => unknown): string | undefined {
  try {
    read();
  } catch (fault) {
    if (fault instanceof Unsigned) return fault.message;
  }
  return undefined;
}

function describeLeaves({ size, ballots, voided, reversed, configurations, ends }: ReadLog): string {
  const configs = configurations.length - 1;
  return [
    `${size} leaves, ${ballots} ballots, ${voided.size} of them void`,
    ...(reversed.size === 0 ? [] : [`${reversed.size} reversed after the result`]),
    // This is allowed, and recorded. Only people can judge whether it was right.
    ...(configs === 0 ? [] : [`texts, candidates or rules changed ${configs} times after the opening`]),
    ...(ends === 0 ? [] : [`the end moved ${ends} times`]),
  ].join(', ');
}

/** Checks that all ballots of the log were confirmed, that no confirmed ballot is gone, and that none waits after the close. */
async function checkConfirmed(
  checks: Checks,
  log: ReadLog,
  { confirmed: now }: SignedHead,
  earlier: SignedHead | undefined,
): Promise<void> {
  const before = earlier?.confirmed ?? 0;
  const waiting = now - log.ballots;
  const dropped = droppedSince(log.drops, 0);
  await checks.run(
    'confirmed',
    () => {
      demand(
        now + droppedSince(log.drops, earlier?.size ?? 0) >= before,
        `${before} ballots were confirmed then and ${now} are now: ballots were removed`,
      );
      demand(now + dropped >= log.confirmed, `${log.confirmed} ballots were confirmed at a change, and ${now} are now`);
      demand(waiting >= 0, `${now} ballots were confirmed, and ${log.ballots} are in the log`);
      demand(log.close === undefined || waiting === 0, `${waiting} ballots were left out at the close`);
    },
    () =>
      [
        `${now} ballots were confirmed`,
        ...(log.close === undefined ? [`${waiting} of them wait for others`] : []),
        ...(dropped === 0 ? [] : [`the operator dropped ${dropped} waiting ones whose rows were changed from outside`]),
      ].join(', '),
  );
}

/** The form in which the service writes codes: Crockford's base32 in capitals, where letters that look like digits are digits. */
const plainCode = (code: string): string =>
  code.toUpperCase().replaceAll(/[\s-]/g, '').replaceAll('O', '0').replaceAll(/[IL]/g, '1');
const CODE = /^[0-9A-HJKMNP-TV-Z]{26}$/;

const tagOfCode = (code: string): string => sha256('code', plainCode(code)).toString('hex');

/** Looks for the ballot of a code. A code that is not found may be mistyped, so only a promise proves something against the service. */
function checkCode(
  { code }: VerifyOptions,
  checks: Checks,
  { leafOfCode, voided, reversed, ballots }: ReadLog,
  { confirmed }: SignedHead,
): void {
  const name = 'your ballot';
  if (code === undefined) {
    checks.notAsked(name, 'no confirmation code was given');
    return;
  }
  if (leafOfCode === undefined) {
    const waiting = confirmed - ballots;
    const other =
      waiting > 0
        ? `It may be among those that wait for others: ${waiting} ${waiting === 1 ? 'ballot waits' : 'ballots wait'}`
        : 'A promise from the confirmation would prove that the ballot was removed';
    checks.leaveOut(name, `no ballot of this confirmation code is in the log: look at the code again. ${other}`);
    return;
  }
  const isVoid = voided.has(leafOfCode) || reversed.has(leafOfCode);
  const detail = `the ballot of your confirmation code is leaf ${leafOfCode}${isVoid ? ', and became void' : ''}`;
  checks.list.push({ name, status: 'verified', detail });
}

/** The one answer to a voter. The voter may have mistyped something, so only a promise proves that a ballot was removed. */
function findBallot(
  { code, promise, nowMs }: VerifyOptions,
  { leafOfCode, found, voided, reversed, close, end, ballots }: ReadLog,
  head: SignedHead,
  promised: SignedPromise | undefined,
): YourBallot | null {
  const answer = (what: YourBallot['answer'], until: number | null = null): YourBallot => ({ answer: what, until });
  if (leafOfCode !== undefined) return answer(voided.has(leafOfCode) || reversed.has(leafOfCode) ? 'void' : 'in');
  if (code !== undefined && !CODE.test(plainCode(code))) return answer('not_there');
  if (promised !== undefined && promised.origin === head.origin) {
    // `in` would be read as an answer about the code, but the code is not that of the promised ballot.
    if (code !== undefined && found.has(promised.leaf.toString('hex'))) return answer('not_there');
    if (found.has(promised.leaf.toString('hex'))) return answer('in');
    const isDue = close !== undefined || promised.untilMs < (nowMs ?? Date.now());
    return isDue ? answer('removed') : answer('not_yet', promised.untilMs);
  }
  if (promise !== undefined) return answer('no_promise');
  if (code === undefined) return null;
  if (head.confirmed <= ballots || close !== undefined) return answer('not_there');
  return answer('not_yet', end === undefined ? null : end.end + CONFIRM_MS);
}

/** For this long after the end, ballots that were cast before may be confirmed. Waiting ballots are logged after that. */
const CONFIRM_MS = 900_000;

/** A promised leaf must be in the log once its date has passed, and in a closed log in any case. */
async function checkPromise(
  { nowMs }: VerifyOptions,
  checks: Checks,
  log: ReadLog,
  head: SignedHead,
  { origin, leaf, untilMs }: SignedPromise,
): Promise<void> {
  const name = 'promise kept';
  if (origin !== head.origin) {
    checks.leaveOut(name, `it promises a leaf of another log, ${origin}: look at the event again`);
    return;
  }
  const kept = log.found.has(leaf.toString('hex'));
  const broken = untilMs < (nowMs ?? Date.now());
  if (!kept && !broken && log.close === undefined) {
    const due = new Date(untilMs).toISOString();
    checks.leaveOut(name, `not due yet: the ballot waits for others, it will be in the log by ${due}`);
    return;
  }
  const why = broken ? 'its date is past' : 'the log is closed';
  const missing = `the promised ballot is not in the log, and ${why}: the promise proves that it was removed`;
  await checks.runAlone(
    name,
    () => demand(kept, missing),
    () => 'the promised ballot is in the log',
  );
}

/** Opens the ballots, counts them again, and compares the count with the published results. */
async function checkContent(
  options: VerifyOptions,
  checks: Checks,
  base: string,
  log: ReadLog,
  results: Fields | undefined,
  { last: configuration, fewest }: Configurations,
  head: SignedHead,
): Promise<void> {
  const { read } = options;
  const { close } = log;
  const published = fieldsOf(results?.['log'])['close'];
  let figures: ClosedFigures | undefined;
  if (close === undefined) await checkDue(options, checks, log);
  else if (results !== undefined) figures = await checkClose(checks, log, close, results, published, head);
  if (configuration === undefined) {
    checks.leaveOut('openings', 'needs the configuration that ballots were counted by');
    checks.leaveOut('recount', 'needs the openings');
    return;
  }
  const opened = await checks.run<OpenedLog | undefined>(
    'openings',
    () =>
      checkOpenings(read, base, log, configuration, fewest, (ballots) =>
        options.onProgress?.('openings', ballots, log.ballots),
      ),
    (all) => (all === undefined ? '' : `${log.ballots} ballots opened, each with the content it is committed to`),
  );
  if (opened === undefined) {
    checks.list.pop();
    if (close !== undefined && results === undefined)
      checks.leaveOut('close', 'what it commits to is not opened to this key, or not yet');
    checks.leaveOut('openings', 'the ballots are not opened to this key, or not yet');
    checks.leaveOut('recount', 'needs the openings');
    return;
  }
  if (close === undefined) {
    checks.leaveOut('recount', 'the log is not closed: more ballots may come');
    return;
  }
  if (results === undefined) figures = await checkClose(checks, log, close, undefined, opened.close, head);
  await checks.runAlone(
    'weight',
    () => demand(figures?.weight === weightText(opened.weight), 'the ballots have another weight than the close says'),
    () => `${opened.ballots} ballots of weight ${weightText(opened.weight)} count`,
  );
  if (results === undefined) {
    checks.leaveOut('recount', 'the results are not public, or take another key');
    return;
  }
  await checks.run(
    'recount',
    () => {
      const by = { electorate: figures?.electorate ?? null };
      const wrong = [
        ...compareResults(opened, results, by),
        ...compareTotals(opened, results, log),
        ...compareAfterReversals(opened, results, log.size, by),
      ];
      demand(wrong.length === 0, `counted again, these differ: ${wrong.slice(0, 5).join('; ')}`);
    },
    () => `counted again, every figure and winner is as published. Not compared: ${notCompared(opened, results)}`,
  );
}

/** Checks that the log was closed by the due date that it states itself. */
async function checkDue({ nowMs }: VerifyOptions, checks: Checks, { end }: ReadLog): Promise<void> {
  if (end === undefined || end.closeDue >= (nowMs ?? Date.now())) {
    const due = end === undefined ? '' : `, and will be closed by ${new Date(end.closeDue).toISOString()}`;
    checks.leaveOut('close', `the log is not closed: more may come${due}`);
    return;
  }
  const { closeDue } = end;
  await checks.runAlone(
    'close',
    () => demand(false, `the log should have been closed by ${new Date(closeDue).toISOString()}, and is not`),
    () => '',
  );
}

/**
 * Checks that the service does not say that the result is disputed, nor that it is final while the log is not closed.
 * @param readSize reads the size of the present signed log, which may have grown since the log was read
 */
async function checkDisputes(
  checks: Checks,
  log: ReadLog,
  results: Fields,
  readSize: () => Promise<number>,
): Promise<void> {
  const { disputed, final } = results;
  const { size, close } = fieldsOf(results['log']);
  const isEnded = final === true || close !== null;
  const isLonger = isEnded && numberOf(size) > log.size;
  const signed = isLonger ? await readSize() : log.size;
  await checks.runAlone(
    'not disputed',
    () => {
      demand(disputed === false, 'the service itself says that the ballots or their log are not what was signed');
      demand(!isEnded || numberOf(size) <= signed, 'the result is of a longer log than the service signs');
      demand(isLonger || log.close !== undefined || !isEnded, 'the result is called final without a close');
    },
    () => 'the service finds ballots and log in agreement',
  );
  if (isLonger && numberOf(size) <= signed)
    checks.leaveOut('results', 'the log grew while it was read: run this again');
}

async function readResults(read: Read, event: string): Promise<Fields | undefined> {
  const results = await readJson(read, `/public/voting-events/${encodeURIComponent(event)}/results`);
  return results === undefined ? undefined : fieldsOf(fieldsOf(results)['data']);
}

function readRollChanges(log: ReadLog, results: Fields | undefined): RollAfterOpening | null {
  if (log.roll !== undefined) return { identityChanges: log.roll.identityChanges, rollChanges: log.roll.rollChanges };
  if (results === undefined) return null;
  const { identityChanges, rollChanges } = fieldsOf(results['stats']);
  const [identity, roll] = [numberOf(identityChanges), numberOf(rollChanges)];
  return Number.isInteger(identity + roll) ? { identityChanges: identity, rollChanges: roll } : null;
}

/**
 * Checks that the close opens to the content to which the log commits, and that the published results have this content.
 * @param opening from the results or the openings
 * @returns the figures to which the close commits; undefined if it is wrong
 */
async function checkClose(
  checks: Checks,
  log: ReadLog,
  close: Fields,
  results: Fields | undefined,
  opening: unknown,
  { origin }: SignedHead,
): Promise<ClosedFigures | undefined> {
  let figures: ClosedFigures | undefined;
  await checks.runAlone(
    'close',
    () => {
      figures = openClose(log, close, opening);
      const wrong = results === undefined ? [] : compareWithClose(log, results, REHEARSAL.test(origin));
      demand(wrong.length === 0, `the published results are not those that the log commits to: ${wrong.join(', ')}`);
    },
    () =>
      results === undefined
        ? 'opens to the ballots and the configuration of the log'
        : 'the published results are those that the log commits to',
  );
  return figures;
}
