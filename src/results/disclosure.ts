import { setImmediate } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { openCheckpoint, originOf } from '#src/ballot-log/checkpoint.ts';
import { type NoteVerifier, unlessRefused } from '#src/ballot-log/signed-note.ts';
import { countBallots } from '#src/ballots/box.ts';
import { inTransaction, type Transaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { monotonicMs } from '#src/platform/clock.ts';
import { summariseFault } from '#src/platform/log.ts';
import { RecentMap } from '#src/platform/recent-map.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import { discloseVoters, listUndisclosed, type StepMoment } from '#src/voters/disclose-voters.ts';
import { reportForged } from '#src/voting-events/forged-rows.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import { DISCLOSED_TOGETHER, type VotingEvent } from '#src/voting-events/voting-event.ts';
import { judgeWaiting } from './ask-count.ts';
import type { StoredBallot } from './running-count.ts';

/** The ballots that the public count includes while an event keeps back who has voted (completions 5.6). */
export interface PublicSnapshot {
  /** The snapshot includes all logged ballots up to this leaf; -1 for none. */
  readonly lastLeaf: bigint;
  /** Number of logged ballots up to `lastLeaf`. */
  readonly boxBallots: number;
  /** The ballots that were waiting for the log when the snapshot was made. */
  readonly waiting: readonly StoredBallot[];
}

export const NOTHING_SHOWN: PublicSnapshot = { lastLeaf: -1n, boxBallots: 0, waiting: [] };

export const ballotsOf = ({ boxBallots, waiting }: PublicSnapshot): number => boxBallots + waiting.length;

const HEAD_BYTES = 8 + 8 + 4;
/** Header of each ballot: its weight, and the length of its entries. */
const BALLOT_BYTES = 8 + 4;

const placeOf = (eventId: string) => ({ table: 'public_snapshots', column: 'sealed', row: eventId });

/**
 * Encrypts a snapshot: leaf (8 bytes), number of logged ballots (8), number of waiting ballots (4); for each waiting ballot the weight
 * (8, millionths), the length of its packed entries (4) and the entries; zeros up to `room`. Numbers are big-endian.
 * @param room bytes of the waiting ballots as stored, which have equal lengths: so the snapshot's length reveals no choices
 */
function sealSnapshot(secrets: Secrets, eventId: string, snapshot: PublicSnapshot, room: number): Buffer {
  const { lastLeaf, boxBallots, waiting } = snapshot;
  const plain = Buffer.alloc(HEAD_BYTES + BALLOT_BYTES * waiting.length + room);
  plain.writeBigInt64BE(lastLeaf, 0);
  plain.writeBigInt64BE(BigInt(boxBallots), 8);
  plain.writeUInt32BE(waiting.length, 16);
  let at = HEAD_BYTES;
  for (const { entries, weightMicro } of waiting) {
    plain.writeBigInt64BE(weightMicro, at);
    plain.writeUInt32BE(entries.length, at + 8);
    plain.set(entries, at + BALLOT_BYTES);
    at += BALLOT_BYTES + entries.length;
  }
  const sealed = secrets.sealBytes(plain, placeOf(eventId));
  plain.fill(0);
  return sealed;
}

/** Decrypts a snapshot; undefined if it is not encrypted with the event's key. */
export function openSnapshot(secrets: Secrets, eventId: string, sealed: Buffer): PublicSnapshot | undefined {
  const plain = secrets.openForeign(sealed, placeOf(eventId));
  if (plain === undefined) return undefined;
  let at = HEAD_BYTES;
  const waiting = Array.from({ length: plain.readUInt32BE(16) }, (): StoredBallot => {
    const start = at + BALLOT_BYTES;
    const [weightMicro, length] = [plain.readBigInt64BE(at), plain.readUInt32BE(at + 8)];
    at = start + length;
    return { weightMicro, entries: plain.subarray(start, at) };
  });
  return { lastLeaf: plain.readBigInt64BE(0), boxBallots: Number(plain.readBigInt64BE(8)), waiting };
}

/** Rolls a step back. With rows that other SQL wrote, the step would reveal the choices of fewer than five ballots. */
class StepRefused extends Error {}

/** A step stores all ballots that are not sealed yet, and takes longer with each: above MANY_WAITING one in 10 s, above MOST_WAITING none. */
const MANY_WAITING = 1_000;
const MOST_WAITING = 10_000;
const MANY_EVERY_MS = 10_000;
/** Number of elections whose last step is remembered. */
const MOST_REMEMBERED = 10_000;

type DisclosureDeps = Pick<Deps, 'db' | 'ballotKeys' | 'log'> & { readonly logKey: NoteVerifier };

/** Discloses who has voted in elections, and the public count, in steps of at least five ballots. Remembers the progress of each event. */
export class Disclosure {
  readonly #deps: DisclosureDeps;
  /** Most ballots shown, by the ID of the event's key. A step from an older snapshot, restored by SQL, would reveal single ballots. */
  readonly #shown = new RecentMap<number>(MOST_REMEMBERED);
  /** The latest key of each event. */
  readonly #keys = new RecentMap<string>(MOST_REMEMBERED);
  readonly #steppedAt = new RecentMap<number>(MOST_REMEMBERED);

  constructor(deps: DisclosureDeps) {
    this.#deps = deps;
  }

  /** Makes the step of an event for a request, if a step is due (completions 5.6) and no change has locked the event. */
  async step(eventId: string): Promise<void> {
    await this.#make(eventId, { waits: false, goesOn: false });
  }

  /** Makes every step that is due, in as many calls as needed. The turnout of a final result is right after the last step. */
  async stepToEnd(eventId: string): Promise<void> {
    for (let goesOn = false; await this.#make(eventId, { waits: true, goesOn }); goesOn = true) await setImmediate();
  }

  /** @returns whether some voters are not disclosed yet */
  async #make(eventId: string, how: { readonly waits: boolean; readonly goesOn: boolean }): Promise<boolean> {
    const since = monotonicMs() - (this.#steppedAt.get(eventId) ?? Number.NEGATIVE_INFINITY);
    const most = since < MANY_EVERY_MS ? MANY_WAITING : MOST_WAITING;
    try {
      const { isMore, stored } = await inTransaction(this.#deps.db, async (tx) => {
        const ballotKey = this.#keys.get(eventId) ?? null;
        const shown = { ballotKey, ballots: this.#shown.get(ballotKey ?? '') ?? 0 };
        const step = await discloseVoters(tx, eventId, { most, shown, ...how });
        const event = step.moment && (await findEventById(tx, eventId));
        return { ...step, stored: event && step.moment && (await this.#store(tx, event, step.moment)) };
      });
      if (stored === undefined) return isMore;
      this.remember(stored.event, ballotsOf(stored.snapshot));
      this.#steppedAt.set(eventId, monotonicMs());
      if (stored.isForged) await reportForged(this.#deps, eventId);
      return isMore;
    } catch (fault) {
      if (!(fault instanceof StepRefused)) throw fault;
      return false;
    }
  }

  async stepAll(): Promise<void> {
    for (const id of await listUndisclosed(this.#deps.db)) {
      try {
        await this.stepToEnd(id);
      } catch (fault) {
        this.#deps.log.error({ event: id, fault: summariseFault(fault) }, 'who voted could not be disclosed');
      }
    }
  }

  /** Notes that a snapshot of this many ballots was shown. */
  remember({ id, ballotKey }: Pick<VotingEvent, 'id' | 'ballotKey'>, ballots: number): void {
    if (ballotKey === null) return;
    this.#keys.set(id, ballotKey);
    this.#shown.set(ballotKey, Math.max(ballots, this.#shown.get(ballotKey) ?? 0));
  }

  /** @throws StepRefused */
  async #store(tx: Transaction, event: VotingEvent, { lastLeaf, note, queue, before }: StepMoment) {
    const secrets = await this.#deps.ballotKeys.find(event);
    if (secrets === undefined) throw new StepRefused();
    const opened = before === undefined ? undefined : openSnapshot(secrets, event.id, before);
    const known = opened ?? NOTHING_SHOWN;
    const { sound } = await judgeWaiting(tx, secrets, event, queue, lastLeaf);
    const boxBallots = known.boxBallots + (await countBallots(tx, event.id, known.lastLeaf, lastLeaf));
    const snapshot = { lastLeaf, boxBallots, waiting: sound };
    // The log has more ballots than its signed head confirms: SQL inserted some, and a single real ballot would stand out beside them.
    if (boxBallots > this.#confirmedOf(event, note)) throw new StepRefused();
    this.remember(event, ballotsOf(known));
    const shown = Math.max(ballotsOf(known), this.#shown.get(event.ballotKey ?? '') ?? 0);
    if (ballotsOf(snapshot) < shown + DISCLOSED_TOGETHER) throw new StepRefused();
    const room = queue.reduce((sum, { entries }) => sum + entries.length, 0);
    const sealed = sealSnapshot(secrets, event.id, snapshot, room);
    await tx.execute(sql`
      INSERT INTO public_snapshots (voting_event_id, sealed) VALUES (${event.id}, ${sealed})
      ON CONFLICT (voting_event_id) DO UPDATE SET sealed = excluded.sealed`);
    return { event, snapshot, isForged: before !== undefined && opened === undefined };
  }

  /** Number of ballots that the signed head of the log confirms; 0 without a valid head. */
  #confirmedOf(event: VotingEvent, note: string | undefined): number {
    const { logKey } = this.#deps;
    const signed = note === undefined ? undefined : unlessRefused(() => openCheckpoint(note, logKey));
    return signed?.origin === originOf(logKey.name, event) ? signed.confirmed : 0;
  }
}
