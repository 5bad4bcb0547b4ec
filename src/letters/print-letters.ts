import { z } from 'zod';
import { changeBy, recordChange } from '#src/accounts/changes.ts';
import { recordLetters } from '#src/ballot-log/record-letters.ts';
import { inTransaction, type Transaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import type { Deps } from '#src/deps.ts';
import { defineJob, enqueue, type Job } from '#src/jobs/queue.ts';
import { MINUTE_MS } from '#src/platform/clock.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import { endPrintedKeys, type PrintedKey, printKeys } from '#src/voters/print-keys.ts';
import { voterPageUrl, votingTimes } from '#src/voting-events/event-mail.ts';
import { isGenuineEvent } from '#src/voting-events/event-tag.ts';
import { reportForged } from '#src/voting-events/forged-rows.ts';
import { statusAt } from '#src/voting-events/lifecycle.ts';
import { REHEARSED_MS } from '#src/voting-events/rehearsal.ts';
import { lockEvent } from '#src/voting-events/repository.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import type { LetterOrder } from './draw-letters.ts';
import {
  deleteParts,
  endUnfinished,
  holdLetters,
  insertParts,
  isGenuineRun,
  LETTERS_A_FILE,
  type LetterRun,
  lockLetters,
  partPlace,
  updateLetters,
} from './letter-run.ts';

const payload = z.strictObject({ eventId: z.string(), runId: z.string() });
type PrintLetters = z.output<typeof payload>;
/** Letters have their own group of job places: a file takes minutes, and in a shared group it would delay the closing of events. */
export const PRINT_LETTERS = { name: 'print_letters', maxAttempts: 25, group: 'letters', payload } as const;

/** Voters per transaction. The transaction locks the event, and casts wait for this lock. */
const VOTERS_AT_A_TIME = 200;
/** Time limit of drawing, below that of a job. 5,000 letters take 60 s of processor time, or 300 s with the longest names and addresses. */
const MAX_DRAW_MS = 14 * MINUTE_MS;
const PART_BYTES = 512 * 1024;

/** Prints a run's letters, one file per job. An interrupted job prints its file again, with the same keys. */
export const printLettersJob = (deps: Deps): Job<PrintLetters> =>
  defineJob({
    ...PRINT_LETTERS,
    async work(request) {
      const again = await printNext(deps, request);
      if (!again) return;
      const later = again === 'rests' ? { runAtMs: (await readNow(deps.db)) + REHEARSED_MS } : {};
      await enqueue(deps.db, PRINT_LETTERS, request, { key: request.runId, ...later });
    },
  });

/** Locks the event and the run. @returns both, or why no letter may be printed now: a run of the real vote `rests` during a rehearsal */
async function lockStep(tx: Transaction, deps: Deps, { eventId, runId }: PrintLetters) {
  const event = await lockEvent(tx, eventId);
  const run = await lockLetters(tx, eventId, runId);
  if (event === undefined || run === undefined) return 'over';
  if (!isGenuineEvent(deps.secrets, event) || !isGenuineRun(deps.secrets, run)) return 'forged';
  if (run.finishedAt !== null) {
    if (run.printed > 0 || run.listedTo >= run.listUntil) return 'over';
    // The run was ended early. Delete its file, if a job stored one meanwhile, and its keys: a voter with a key would get no invitation.
    await deleteParts(tx, eventId, runId);
    const listedTo = run.rehearsal ? run.listUntil : await endPrintedKeys(tx, eventId, run);
    await updateLetters(tx, deps.secrets, run, { listedTo });
    return 'ends';
  }
  if (event.rehearsalSince !== null && !run.rehearsal) return 'rests';
  // End the run if the event has closed, or is a draft or a poll now. The end of a rehearsal deletes its runs.
  const status = statusAt(event, event.lockedAt);
  if (event.type === 'poll' || status === 'closed' || status === 'draft') {
    await endUnfinished(tx, deps.secrets, run, event.lockedAt);
    return 'ends';
  }
  return { event, run };
}

/** @returns whether another job must continue the run: at once, or later if it `rests` */
async function printNext(deps: Deps, request: PrintLetters): Promise<boolean | 'rests'> {
  const found = await inTransaction(deps.db, (tx) => lockStep(tx, deps, request));
  if (typeof found === 'string') {
    if (found === 'forged') await reportForged(deps, request.eventId);
    return found === 'rests' ? found : found === 'ends';
  }
  const { event, run } = found;
  if (run.listedTo >= run.listUntil) return finish(deps, request);
  const own = await deps.ballotKeys.find(event);
  if (own === undefined) return false;
  const keys: PrintedKey[] = [];
  let [looked, listedTo] = [0, run.listedTo];
  for (let size = VOTERS_AT_A_TIME; size === VOTERS_AT_A_TIME && looked < LETTERS_A_FILE; ) {
    const limit = Math.min(VOTERS_AT_A_TIME, LETTERS_A_FILE - looked);
    const page = await inTransaction(deps.db, async (tx) => {
      const step = await lockStep(tx, deps, request);
      if (typeof step === 'string' || step.run.listedTo !== run.listedTo) return undefined;
      return printKeys(tx, { secrets: deps.secrets, ownSecrets: own }, step.event, run, listedTo, limit);
    });
    if (page === undefined) return true;
    for (const voterId of page.forged) await reportForged(deps, event.id, voterId);
    keys.push(...page.keys);
    looked += page.looked;
    listedTo = page.last ?? listedTo;
    size = page.looked;
  }
  // The counted `total` cannot show the last file: since the count, voters have joined and left the audience.
  const isLast = looked < LETTERS_A_FILE;
  const sealed = keys.length === 0 ? [] : sealParts(own, run, await draw(deps, event, run, keys));
  // Store the file without the event's lock, for which casts wait: it has tens of megabytes. If it is not counted below, it is replaced.
  await inTransaction(deps.db, async (tx) => {
    const current = await holdLetters(tx, event.id, run.id);
    const isOurs = current?.listedTo === run.listedTo && current.finishedAt === null;
    if (isOurs) await insertParts(tx, run, fileOf(run), sealed);
  });
  const isCounted = await inTransaction(deps.db, async (tx) => {
    const step = await lockStep(tx, deps, request);
    if (typeof step === 'string' || step.run.listedTo !== run.listedTo) return false;
    const total = Math.max(run.total, run.done + looked);
    const [done, printed] = [isLast ? total : run.done + looked, run.printed + keys.length];
    const files = isLast ? fileOf(run) - (keys.length === 0 ? 1 : 0) : Math.max(run.files, fileOf(run));
    const upTo = isLast ? run.listUntil : listedTo;
    await updateLetters(tx, deps.secrets, step.run, { total, done, printed, listedTo: upTo, files });
    return true;
  });
  return isCounted && isLast ? finish(deps, request) : true;
}

/** Number of the file that a run prints next: all files before it are full. */
const fileOf = ({ done }: LetterRun): number => Math.floor(done / LETTERS_A_FILE) + 1;

/** Draws the file in a thread. Only the thread's input contains the keys in clear, and it is passed only in memory. */
async function draw(deps: Deps, event: VotingEvent, run: LetterRun, keys: readonly PrintedKey[]): Promise<Uint8Array> {
  const nowMs = await readNow(deps.db);
  const input: LetterOrder = {
    paper: run.paper,
    language: event.language,
    title: event.title,
    author: deps.config.companyName,
    madeAt: nowMs,
    rehearsal: event.rehearsalSince !== null,
    times: votingTimes(event, nowMs),
    contactEmail: event.contactEmail,
    letters: keys.map(({ name, key, voterId, email }) => ({
      ...{ name, key },
      identity: voterId === null ? { kind: 'email', value: email ?? '' } : { kind: 'voterId', value: voterId },
      link: voterPageUrl(event.votingPageUrl, { voterKey: key, voterId, email }),
    })),
  };
  const module = new URL('./draw-letters.ts', import.meta.url);
  const drawn = await deps.letterThreads.run({ module, input, account: event.accountId, maxMs: MAX_DRAW_MS });
  return drawn as Uint8Array;
}

function sealParts(own: Secrets, run: LetterRun, bytes: Uint8Array): string[] {
  const parts = Math.ceil(bytes.length / PART_BYTES);
  return Array.from({ length: parts }, (_, part) =>
    own.seal(bytes.subarray(part * PART_BYTES, (part + 1) * PART_BYTES), partPlace(run, fileOf(run), part, parts)),
  );
}

/** Ends the run: counts its letters, also in the log, before any can be read. @returns whether it was ended, and has keys to take back */
async function finish(deps: Deps, request: PrintLetters): Promise<boolean> {
  return inTransaction(deps.db, async (tx) => {
    await deps.logRecorder.hold(tx, request.eventId);
    const step = await lockStep(tx, deps, request);
    if (typeof step === 'string') return step === 'ends';
    const { event, run } = step;
    const { audience, printed, keyId } = run;
    if (printed > 0) await recordLetters(tx, deps, event, printed);
    await updateLetters(tx, deps.secrets, run, { finishedAt: event.lockedAt });
    const author = { event, caller: { keyId } };
    await recordChange(tx, deps, changeBy(author, 'letters.printed', run.id, { after: { audience, printed } }));
    return false;
  });
}
