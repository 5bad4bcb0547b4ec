import { eq, sql } from 'drizzle-orm';
import type { Config } from '#src/config.ts';
import type { Executor, Transaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import { aboutOf, type VotingEvent } from '#src/voting-events/voting-event.ts';
import { publish, type RecordDeps } from '#src/webhooks/record-event.ts';
import { type CompactRange, HASH_BYTES } from './merkle-tree.ts';
import { countQueue, type LogHead } from './repository.ts';
import {
  createNoteSigner,
  NoteRefused,
  type NoteSigner,
  type NoteVerifier,
  openNote,
  signNote,
} from './signed-note.ts';
import { ballotLogs, checkpointQueue, logCheckpoints } from './tables.ts';

export { findCheckpointAt } from './repository.ts';

/** Signs checkpoints and promises. The database stores the key's name and public key from the first start on (`service_identity`). */
export function createLogKey(
  { baseUrl, logName, logSigningKey }: Pick<Config, 'baseUrl' | 'logName' | 'logSigningKey'>,
  secrets: Secrets,
): NoteSigner {
  return createNoteSigner(logName ?? new URL(baseUrl).hostname, logSigningKey ?? secrets.derive('log-signing'));
}

/** The head of a tree (C2SP tlog-checkpoint). Its signed note has three lines: origin, number of leaves, and root hash in base64. */
export interface TreeHead {
  readonly origin: string;
  /** Leaves in the tree. */
  readonly size: number;
  /** 32 bytes. */
  readonly rootHash: Uint8Array;
}

/** The head of an event's log. A fourth line, `confirmed <n>`, counts the ballots confirmed so far, logged or still queued. */
export interface Checkpoint extends TreeHead {
  readonly confirmed: number;
}

const CONFIRMED = /^confirmed (0|[1-9]\d{0,14})$/;

/** `vote.example.org/evt_…`. @param keyName the host name by which the service is known */
export const logOrigin = (keyName: string, eventId: string): string => `${keyName}/${eventId}`;

/** The origin of an event's present log. A rehearsal's log has its own: `vote.example.org/evt_…/rehearsal-1` (completions 10.5). */
export function originOf(
  keyName: string,
  { id, rehearsalSince, rehearsalNumber }: Pick<VotingEvent, 'id' | 'rehearsalSince' | 'rehearsalNumber'>,
): string {
  const origin = logOrigin(keyName, id);
  return rehearsalSince === null ? origin : `${origin}/rehearsal-${rehearsalNumber}`;
}

/** The three lines of a head, newline at the end. */
export function headBody({ origin, size, rootHash }: TreeHead): string {
  if (!/^[^\s+]+$/u.test(origin)) throw new RangeError('an origin has no spaces and no plus');
  if (!Number.isSafeInteger(size) || size < 0) throw new RangeError(`a tree cannot have ${size} leaves`);
  if (rootHash.length !== HASH_BYTES) throw new RangeError(`a root hash has ${HASH_BYTES} bytes`);
  return `${origin}\n${size}\n${Buffer.from(rootHash).toString('base64')}\n`;
}

/** The note's text, newline at the end. */
export function checkpointBody(checkpoint: Checkpoint): string {
  const line = `confirmed ${checkpoint.confirmed}`;
  if (!CONFIRMED.test(line)) throw new RangeError(`${checkpoint.confirmed} ballots cannot be confirmed`);
  return `${headBody(checkpoint)}${line}\n`;
}

/** Reads a note's text of three lines and `more` further lines. @throws NoteRefused for any other text */
function parseLines(text: string, more: number): { readonly head: TreeHead; readonly last: string } {
  const lines = text.split('\n');
  const [origin = '', sizeText = '', rootText = '', last = ''] = lines;
  const size = Number(sizeText);
  const rootHash = Buffer.from(rootText, 'base64');
  const whole = /^(0|[1-9]\d*)$/.test(sizeText) && Number.isSafeInteger(size);
  const rooted = rootHash.length === HASH_BYTES && rootHash.toString('base64') === rootText;
  const ended = lines.length === 4 + more && lines.indexOf('') === lines.length - 1;
  if (!whole || !rooted || !ended) throw new NoteRefused('this is no checkpoint');
  return { head: { origin, size, rootHash }, last };
}

/** @throws NoteRefused if the text is not an event's checkpoint */
export function parseCheckpointBody(text: string): Checkpoint {
  const { head, last } = parseLines(text, 1);
  const confirmed = CONFIRMED.exec(last)?.[1];
  if (confirmed === undefined) throw new NoteRefused('this checkpoint does not say how many ballots were confirmed');
  return { ...head, confirmed: Number(confirmed) };
}

/** The head of the service's own log as a signed note. */
export const signHead = (head: TreeHead, signer: NoteSigner): string => signNote(headBody(head), signer);

/** Verifies and reads a note of `signHead`. @throws NoteRefused */
export const openHead = (note: string, verifier: NoteVerifier): TreeHead =>
  parseLines(openNote(note, verifier), 0).head;

export const signCheckpoint = (checkpoint: Checkpoint, signer: NoteSigner): string =>
  signNote(checkpointBody(checkpoint), signer);

/** Verifies and reads a note of `signCheckpoint`. @throws NoteRefused */
export const openCheckpoint = (note: string, verifier: NoteVerifier): Checkpoint =>
  parseCheckpointBody(openNote(note, verifier));

/**
 * Signs the head of a log, stores it as a checkpoint and publishes `log.checkpoint`, in the transaction that
 * appended to the log. The only place that creates checkpoints.
 * @param confirmed ballots confirmed so far, logged or queued
 * @returns the signed note
 */
export async function recordCheckpoint(
  tx: Transaction,
  deps: RecordDeps & { readonly logKey: NoteSigner },
  event: VotingEvent,
  frontier: CompactRange,
  confirmed: number,
): Promise<string> {
  const { id: votingEventId, rehearsalSince } = event;
  const { size } = frontier;
  const rootHash = Buffer.from(frontier.root());
  const note = await renewNote(tx, deps, event, frontier, confirmed);
  await tx.insert(logCheckpoints).values({ votingEventId, size, rootHash, note, createdAt: await readNow(tx) });
  // The service's own log does not record checkpoints of a rehearsal, whose log is wiped.
  if (rehearsalSince === null) await tx.insert(checkpointQueue).values({ votingEventId, size });
  const fact = { votingEventId, size, rootHash: rootHash.toString('base64'), checkpoint: note };
  await publish(tx, deps, aboutOf(event), 'log.checkpoint', [fact]);
  return note;
}

/** Records a checkpoint after an append, and counts the queue for its `confirmed` line. Call with the log's head locked. */
export const recordGrown = async (
  tx: Transaction,
  deps: RecordDeps & { readonly logKey: NoteSigner },
  event: VotingEvent,
  { frontier, ballots }: Pick<LogHead, 'frontier' | 'ballots'>,
): Promise<string> => recordCheckpoint(tx, deps, event, frontier, ballots + (await countQueue(tx, event.id)));

/** Signs the present head with the number of ballots confirmed so far, and stores the note as the latest; adds no checkpoint row. */
export async function renewNote(
  tx: Transaction,
  { logKey }: { readonly logKey: NoteSigner },
  event: VotingEvent,
  frontier: CompactRange,
  confirmed: number,
): Promise<string> {
  const head = { origin: originOf(logKey.name, event), size: frontier.size, rootHash: frontier.root() };
  const note = signCheckpoint({ ...head, confirmed }, logKey);
  await tx.update(ballotLogs).set({ confirmed, note }).where(eq(ballotLogs.votingEventId, event.id));
  return note;
}

/** Reads the queue of checkpoints for the service's own log, an event's smaller sizes first. Skips rows that are locked. */
export async function readQueuedCheckpoints(executor: Executor, limit: number) {
  const { rows } = await executor.execute<{ eventId: string; size: number; rootHash: Buffer }>(sql`
    SELECT q.voting_event_id AS "eventId", q.size::float8 AS size, c.root_hash AS "rootHash" FROM checkpoint_queue q
    JOIN log_checkpoints c ON c.voting_event_id = q.voting_event_id AND c.size = q.size
    ORDER BY q.voting_event_id, q.size LIMIT ${limit} FOR UPDATE OF q SKIP LOCKED`);
  return rows;
}

/** Deletes checkpoints from the queue once the service's own log has their leaves. */
export async function forgetQueuedCheckpoints(
  executor: Executor,
  queued: readonly { readonly eventId: string; readonly size: number }[],
): Promise<void> {
  if (queued.length === 0) return;
  const [events, sizes] = [queued.map(({ eventId }) => eventId), queued.map(({ size }) => size)];
  await executor.execute(sql`
    DELETE FROM checkpoint_queue q USING unnest(${sql.param(events)}::text[], ${sql.param(sizes)}::bigint[]) AS t (id, size)
    WHERE q.voting_event_id = t.id AND q.size = t.size`);
}
