import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { HASH_BYTES } from './merkle-tree.ts';
import { NoteRefused, type NoteSigner, type NoteVerifier, openNote, signNote } from './signed-note.ts';

/**
 * Checkpoints of the C2SP tlog-checkpoint format: a signed note of three lines, the origin, the number of leaves, and the
 * root hash in base64. The origin is `<key name>/<voting event id>`: one key signs the logs of all events, and the origin
 * distinguishes them. A fourth line, `confirmed <n>`, counts the ballots confirmed so far, those included that wait for the log.
 */
export interface Checkpoint {
  readonly origin: string;
  /** Leaves in the tree. */
  readonly size: number;
  /** 32 bytes. */
  readonly rootHash: Uint8Array;
  /** Ballots confirmed so far; undefined in checkpoints of versions up to 1.0.0. */
  readonly confirmed?: number;
}

const CONFIRMED = /^confirmed (0|[1-9]\d{0,14})$/;

/** `vote.example.org/evt_…`. @param keyName the host name by which the service is known */
export function logOrigin(keyName: string, eventId: string): string {
  return `${keyName}/${eventId}`;
}

/** The origin of an event's log as it is now: a rehearsal has one of its own, `vote.example.org/evt_…/rehearsal-1` (completions 10.5). */
export function originOf(
  keyName: string,
  { id, rehearsalSince, rehearsalNumber }: Pick<VotingEvent, 'id' | 'rehearsalSince' | 'rehearsalNumber'>,
): string {
  const origin = logOrigin(keyName, id);
  return rehearsalSince === null ? origin : `${origin}/rehearsal-${rehearsalNumber}`;
}

/** The note's text, newline at the end. */
export function checkpointBody({ origin, size, rootHash, confirmed }: Checkpoint): string {
  if (!/^[^\s+]+$/u.test(origin)) throw new RangeError('an origin has no spaces and no plus');
  if (!Number.isSafeInteger(size) || size < 0) throw new RangeError(`a tree cannot have ${size} leaves`);
  if (rootHash.length !== HASH_BYTES) throw new RangeError(`a root hash has ${HASH_BYTES} bytes`);
  const count = confirmed === undefined ? '' : `confirmed ${confirmed}\n`;
  if (count !== '' && !CONFIRMED.test(count.trimEnd()))
    throw new RangeError(`${confirmed} ballots cannot be confirmed`);
  return `${origin}\n${size}\n${Buffer.from(rootHash).toString('base64')}\n${count}`;
}

/** Reads a note's text; further lines are passed over, as the format asks. @throws NoteRefused for anything else */
export function parseCheckpointBody(text: string): Checkpoint {
  const lines = text.split('\n');
  const [origin = '', sizeText = '', rootText = '', more = ''] = lines;
  const count = CONFIRMED.exec(more)?.[1];
  const size = Number(sizeText);
  const rootHash = Buffer.from(rootText, 'base64');
  const whole = /^(0|[1-9]\d*)$/.test(sizeText) && Number.isSafeInteger(size);
  const rooted = rootHash.length === HASH_BYTES && rootHash.toString('base64') === rootText;
  const ended = lines.at(-1) === '' && !lines.slice(0, -1).includes('');
  if (!whole || !rooted || !ended) throw new NoteRefused('this is no checkpoint');
  return count === undefined ? { origin, size, rootHash } : { origin, size, rootHash, confirmed: Number(count) };
}

/** The checkpoint as a signed note. */
export function signCheckpoint(checkpoint: Checkpoint, signer: NoteSigner): string {
  return signNote(checkpointBody(checkpoint), signer);
}

/** The checkpoint of a note that the key has signed. @throws NoteRefused */
export function openCheckpoint(note: string, verifier: NoteVerifier): Checkpoint {
  return parseCheckpointBody(openNote(note, verifier));
}
