import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { changeBy, recordChange } from '#src/accounts/changes.ts';
import { inTransaction } from '#src/database/client.ts';
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

type HandOutDeps = Pick<Deps, 'db' | 'log' | 'secrets' | 'ballotKeys' | 'ids' | 'clock'>;

/**
 * The download ends with small pieces and pauses, because socket buffers accept a whole small file even if no one reads it. A receiver
 * that is gone answers the first small piece with a reset, and the second piece then fails. A receiver that only closed its sending side
 * goes on reading. The file is marked as downloaded before its last piece, without which it is no valid PDF.
 */
const PROBES = 4;
const PROBE_BYTES = 64;
const PROBE_MS = 150;

/**
 * Hands out a file of letters once: marks it as downloaded before its last bytes leave, and deletes it after they have left. If the
 * download breaks off in between, the mark is removed. @throws ApiError 409 `letters_dropped` if the event's key is gone
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
  const reader = randomUUID();
  const parts = await beginReading(deps.db, run, number, reader);
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
    await mark(deps, file, await readNow(deps.db));
    endWith(deps, c, file);
    yield bytes.subarray(last + PROBES * PROBE_BYTES);
  }
}

/** @param at time of the download; undefined removes the mark @throws ApiError 404 if the event was deleted, or moved to another cell */
async function mark(
  deps: HandOutDeps,
  { event, run, number, keyId }: LetterFile,
  at: number | undefined,
): Promise<void> {
  await inTransaction(deps.db, async (tx) => {
    // A move to another cell (database) waits for this lock, and copies the mark. If it began earlier, the lock and the download fail.
    await holdForChange(tx, event.id);
    const now = await lockLetters(tx, run.votingEventId, run.id);
    if (now === undefined || !isGenuineRun(deps.secrets, now)) throw refuse('rows_disagree');
    const { [String(number)]: before, ...others } = now.downloads;
    if (at === undefined) return updateLetters(tx, deps.secrets, now, { downloads: others });
    if (before !== undefined) throw refuse('already_downloaded');
    requireReadable(now, number, at);
    await updateLetters(tx, deps.secrets, now, { downloads: { ...others, [String(number)]: at } });
    const author = { event, caller: { keyId } };
    await recordChange(tx, deps, changeBy(author, 'letters.downloaded', run.id, { after: { file: number } }));
  });
}

/** Deletes the file after the whole answer was sent. If the answer broke off, removes the mark: the file can be downloaded again. */
function endWith(deps: HandOutDeps, c: RequestContext, file: LetterFile): void {
  const { outgoing } = c.env;
  const end = async (): Promise<void> => {
    if (outgoing.writableFinished) await deleteParts(deps.db, file.run.votingEventId, file.run.id, file.number);
    else await mark(deps, file, undefined);
  };
  const close = (): void => {
    end().catch((fault: unknown) =>
      deps.log.error(
        { run: file.run.id, fault: summariseFault(fault) },
        'the end of a download of letters was not noted',
      ),
    );
  };
  if (outgoing.destroyed) close();
  else outgoing.once('close', close);
}
