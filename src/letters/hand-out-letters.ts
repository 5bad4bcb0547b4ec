import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { changeBy, recordChange } from '#src/accounts/changes.ts';
import { inPatientTransaction, inTransaction, type Transaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import type { Deps } from '#src/deps.ts';
import type { RequestContext } from '#src/http/env.ts';
import { refuse } from '#src/http/refusals.ts';
import { summariseFault } from '#src/platform/log.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import { holdForChange } from '#src/voting-events/guard-change.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import {
  beginReading,
  deleteParts,
  isGenuineRun,
  keyedFor,
  type LetterRun,
  lockLetters,
  partPlace,
  readPart,
  requireReadable,
  updateLetters,
} from './letter-run.ts';

interface LetterFile {
  readonly event: VotingEvent;
  readonly run: LetterRun;
  readonly number: number;
  readonly keyId: string;
}

type HandOutDeps = Pick<Deps, 'db' | 'log' | 'secrets' | 'ballotKeys' | 'ids' | 'clock' | 'processId'>;

/**
 * The download ends with small pieces and pauses, because socket buffers accept a whole small file even if no one reads it. A receiver
 * that is gone answers the first small piece with a reset, and the second piece then fails. A receiver that only closed its sending side
 * goes on reading. The file is marked as downloaded before its last piece, without which it is no valid PDF.
 */
const PROBES = 4;
const PROBE_BYTES = 64;
const PROBE_MS = 150;

/**
 * Hands out a file of letters once (completions 10.9): marks it as downloaded before its last bytes leave, and deletes it when they
 * have left. A download that breaks off takes its mark back; the mark of a process that has died counts no more while the file is
 * there. @throws ApiError 409 `letters_dropped` without the event's key
 */
export async function handOut(
  deps: HandOutDeps,
  c: RequestContext,
  file: LetterFile,
): Promise<() => AsyncIterable<Uint8Array>> {
  const own = await deps.ballotKeys.find(keyedFor(file.event, file.run));
  if (own === undefined) throw refuse('letters_dropped');
  return () => readFile(deps, c, own, file);
}

async function* readFile(
  deps: HandOutDeps,
  c: RequestContext,
  own: Secrets,
  file: LetterFile,
): AsyncGenerator<Uint8Array> {
  const { run, number } = file;
  const { gone } = c.get('life');
  const reader = `${deps.processId.toString('hex')}/${randomUUID()}`;
  const parts = await inTransaction(deps.db, (tx) => takeFile(tx, deps, file, reader));
  if (parts === 0) throw refuse('letters_dropped');
  for (let part = 0; part < parts; part += 1) {
    const sealed = await readPart(deps.db, run, number, part, reader);
    if (sealed === undefined) throw new Error('another download of these letters has begun');
    const bytes = own.open(sealed, partPlace(run, number, part, parts));
    if (part < parts - 1) {
      yield bytes;
      continue;
    }
    const last = Math.max(0, bytes.length - (PROBES + 1) * PROBE_BYTES);
    yield bytes.subarray(0, last);
    for (let at = last; at < last + PROBES * PROBE_BYTES; at += PROBE_BYTES) {
      await setTimeout(PROBE_MS, undefined, { signal: gone });
      yield bytes.subarray(at, at + PROBE_BYTES);
    }
    await setTimeout(PROBE_MS, undefined, { signal: gone });
    const at = await readNow(deps.db);
    const marking = mark(deps, file, reader, at);
    // Registered before the answer to the mark, which may be lost after the mark was stored.
    endWith(deps, c, file, at, marking);
    await marking;
    yield bytes.subarray(last + PROBES * PROBE_BYTES);
  }
}

/**
 * Makes a download the only reader of its file. The mark and its reader change together: the mark of a download that was cut off would
 * count again beside a reader whose process lives. @param at time of the download, to mark it @returns the number of parts; 0 if the file is gone
 */
async function takeFile(
  tx: Transaction,
  { secrets }: HandOutDeps,
  { run, number }: LetterFile,
  reader: string,
  at?: number,
): Promise<number> {
  const now = await lockLetters(tx, run.votingEventId, run.id);
  if (now === undefined || !isGenuineRun(secrets, now)) throw refuse('rows_disagree');
  await requireReadable(tx, now, number, await readNow(tx));
  const { [String(number)]: cutOff, ...others } = now.downloads;
  const downloads = at === undefined ? others : { ...others, [String(number)]: at };
  if (cutOff !== at) await updateLetters(tx, secrets, now, { downloads });
  return beginReading(tx, run, number, reader);
}

/** @param at time of the download @throws ApiError 404 if the event was deleted, or moved to another cell */
async function mark(deps: HandOutDeps, file: LetterFile, reader: string, at: number): Promise<void> {
  const { event, run, number, keyId } = file;
  await inTransaction(deps.db, async (tx) => {
    // A move to another cell (database) waits for this lock, and copies the mark. If it began earlier, the lock and the download fail.
    await holdForChange(tx, event.id);
    if ((await takeFile(tx, deps, file, reader, at)) === 0) throw refuse('letters_dropped');
    const author = { event, caller: { keyId } };
    await recordChange(tx, deps, changeBy(author, 'letters.downloaded', run.id, { after: { file: number } }));
  });
}

/** Removes the mark of a download, if it was stored. After a move it stays in the new cell, where its process does not live. */
async function takeBack(tx: Transaction, { secrets }: HandOutDeps, { run, number }: LetterFile, at: number) {
  const now = await lockLetters(tx, run.votingEventId, run.id);
  const { [String(number)]: marked, ...others } = now?.downloads ?? {};
  if (now === undefined || marked !== at || !isGenuineRun(secrets, now)) return;
  await updateLetters(tx, secrets, now, { downloads: others });
}

/** Deletes the file once the answer was sent; if it broke off, allows another download. */
function endWith(deps: HandOutDeps, c: RequestContext, file: LetterFile, at: number, marking: Promise<void>): void {
  const { outgoing } = c.env;
  const { run, number } = file;
  const end = async (): Promise<void> => {
    await Promise.allSettled([marking]);
    await inPatientTransaction(deps.db, (tx) =>
      outgoing.writableFinished ? deleteParts(tx, run.votingEventId, run.id, number) : takeBack(tx, deps, file, at),
    );
  };
  const close = (): void => {
    end().catch((fault: unknown) =>
      deps.log.error({ run: run.id, fault: summariseFault(fault) }, 'the end of a download of letters was not noted'),
    );
  };
  if (outgoing.destroyed) close();
  else outgoing.once('close', close);
}
