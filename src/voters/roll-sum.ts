import { randomBytes } from 'node:crypto';
import { and, eq, ne, sql } from 'drizzle-orm';
import { type Executor, inTransaction, type Transaction, valuesOf } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { refuse } from '#src/http/refusals.ts';
import { summariseFault } from '#src/platform/log.ts';
import { RecentMap } from '#src/platform/recent-map.ts';
import { equalSecrets, HmacKey, type SealedPlace, type Secrets } from '#src/platform/secrets.ts';
import { reportForged } from '#src/voting-events/forged-rows.ts';
import { noteRollOfUnopened } from '#src/voting-events/publish-status.ts';
import { lockEvent } from '#src/voting-events/repository.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { rollSums } from './tables.ts';
import { type DecidingColumns, isGenuine, rowOfVoter, type TaggedVoter } from './voter-tag.ts';

// What the roll of an event adds up to: a keyed sum over all of its voters, without an order. A tag shows that the service wrote a row,
// the sum that the row is still there and is the last one that was written (completions 6.7). Each statement that changes the roll
// writes the difference beside; a job folds the differences into the state of the event. All of these bear a keyed hash, under a key
// of the event that is sealed under the secret key, and the version of the state: one that was folded is never taken again.

const BYTES = 16;
const MODULUS = 1n << 128n;
/** The row of the state, which alone has a key. */
const STATE = '';
const MOST_KEPT = 1_000;

export const rollKeyPlace = (eventId: string): SealedPlace => ({ table: 'roll_sums', column: 'key', row: eventId });

interface RollKey {
  readonly sealed: string;
  readonly key: HmacKey;
  readonly version: number;
}

/** By event. A process that kept another version or key than the database has writes nothing, and reads them again. */
const kept = new RecentMap<RollKey>(MOST_KEPT);

function partOf(key: HmacKey, row: DecidingColumns): bigint {
  const mac = key.mac(JSON.stringify(rowOfVoter(row)));
  return (mac.readBigUInt64BE(0) << 64n) | mac.readBigUInt64BE(8);
}

/**
 * A sum as it is stored, under a mask of its row. A difference in clear would show the parts of single voters, and SQL that knows many parts
 * finds rows of others that make up for one it changes.
 */
const bytesOf = (key: HmacKey, id: string, version: number, sum: bigint): Buffer => {
  const masked = (((sum + maskOf(key, id, version)) % MODULUS) + MODULUS) % MODULUS;
  return Buffer.from(masked.toString(16).padStart(2 * BYTES, '0'), 'hex');
};
const sumOf = (key: HmacKey, { id, version, sum }: { id: string; version: number; sum: Buffer }): bigint =>
  BigInt(`0x${sum.toString('hex')}`) - maskOf(key, id, version);

const maskOf = (key: HmacKey, id: string, version: number): bigint =>
  BigInt(
    `0x${key
      .mac(JSON.stringify(['roll mask', id, version]))
      .subarray(0, BYTES)
      .toString('hex')}`,
  );

const macOf = (key: HmacKey, eventId: string, id: string, version: number, sum: Buffer): Buffer =>
  key.mac(JSON.stringify(['roll sum', eventId, id, version, sum.toString('hex')])).subarray(0, BYTES);

/** @throws ApiError 500 `rows_disagree` where the key does not open */
function openKey(secrets: Secrets, eventId: string, sealed: string): HmacKey {
  try {
    return new HmacKey(secrets.open(sealed, rollKeyPlace(eventId)));
  } catch {
    throw refuse('rows_disagree');
  }
}

/** The key of an event's roll, made with its first voter; undefined where the event is gone. */
async function takeKey(tx: Transaction, secrets: Secrets, eventId: string): Promise<RollKey | undefined> {
  const fresh = await tx.execute(
    sql`UPDATE voting_events SET roll_version = 1 WHERE id = ${eventId} AND roll_version = 0`,
  );
  if (fresh.rowCount === 1) {
    const bytes = randomBytes(32);
    const key = new HmacKey(bytes);
    const sum = bytesOf(key, STATE, 1, 0n);
    const mac = macOf(key, eventId, STATE, 1, sum);
    const sealed = secrets.seal(bytes, rollKeyPlace(eventId));
    await tx.insert(rollSums).values({ votingEventId: eventId, id: STATE, version: 1, key: sealed, sum, mac });
    // Kept by no one before it is committed.
    return { sealed, key, version: 1 };
  }
  const { rows } = await tx.execute<{ sealed: string | null; version: number }>(sql`
    SELECT s.key AS sealed, e.roll_version AS version FROM voting_events e
    LEFT JOIN roll_sums s ON s.voting_event_id = e.id AND s.id = ${STATE} WHERE e.id = ${eventId}`);
  const [row] = rows;
  if (row === undefined) return undefined;
  if (row.sealed === null) throw refuse('rows_disagree');
  const found = { sealed: row.sealed, key: openKey(secrets, eventId, row.sealed), version: row.version };
  kept.set(eventId, found);
  return found;
}

/** How often another version is read: each means that a fold has come between. */
const TRIES = 5;

/**
 * Notes a change of the roll, in its transaction.
 * @param added voters as they stand from now on; @param removed as they stood, where the service wrote them so
 */
export async function noteRoll(
  tx: Transaction,
  secrets: Secrets,
  eventId: string,
  added: readonly DecidingColumns[],
  removed: readonly DecidingColumns[],
): Promise<void> {
  if (added.length + removed.length === 0) return;
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const found = kept.get(eventId) ?? (await takeKey(tx, secrets, eventId));
    if (found === undefined) return;
    const { key, sealed, version } = found;
    let difference = 0n;
    for (const row of added) difference += partOf(key, row);
    for (const row of removed) difference -= partOf(key, row);
    const id = randomBytes(BYTES).toString('hex');
    const sum = bytesOf(key, id, version, difference);
    const mac = macOf(key, eventId, id, version, sum);
    // The event is held until the commit: no fold comes between.
    const { rowCount } = await tx.execute(sql`
      INSERT INTO roll_sums (voting_event_id, id, version, sum, mac)
      SELECT e.id, ${id}, ${version}, ${sum}, ${mac} FROM (
        SELECT e.id FROM voting_events e WHERE e.id = ${eventId} AND e.roll_version = ${version} FOR KEY SHARE) AS e
      JOIN roll_sums s ON s.voting_event_id = e.id AND s.id = ${STATE} AND s.key = ${sealed}`);
    if (rowCount === 1) {
      const movesGroups =
        added.length !== removed.length || added.some((row, at) => row.groupId !== removed[at]?.groupId);
      return movesGroups ? noteRollOfUnopened(tx, eventId) : undefined;
    }
    kept.delete(eventId);
  }
  throw refuse('busy');
}

/**
 * The voters that came with the rehearsal that is under way. They go with it, and are no part of the sum.
 * The event bears a tag: outside of a rehearsal no mark that SQL writes takes a voter out of the sum.
 * @param ids of these alone
 */
export async function listRehearsed(executor: Executor, event: VotingEvent, ids?: string[]): Promise<Set<string>> {
  if (event.rehearsalSince === null) return new Set();
  const these = ids === undefined ? sql`true` : sql`id = ANY (${sql.param(ids)}::text[])`;
  const rehearsed = sql`SELECT id FROM voters WHERE voting_event_id = ${event.id} AND ${these} AND before_rehearsal ? 'new'`;
  return new Set(await valuesOf<string>(executor, rehearsed));
}

/** Notes that voters stand otherwise, or are off the roll. Rows that SQL wrote, and participants of polls, were no part of it. */
export async function noteChanges(
  tx: Transaction,
  secrets: Secrets,
  event: VotingEvent,
  changes: readonly { readonly before: TaggedVoter; readonly after?: DecidingColumns }[],
): Promise<void> {
  const rehearsed = await listRehearsed(
    tx,
    event,
    changes.map(({ before }) => before.id),
  );
  const [added, removed]: [DecidingColumns[], DecidingColumns[]] = [[], []];
  for (const { before, after } of changes) {
    if (!isGenuine(secrets, before) || rehearsed.has(before.id)) continue;
    removed.push(before);
    if (after !== undefined) added.push(after);
  }
  await noteRoll(tx, secrets, event.id, added, removed);
}

interface Recorded {
  readonly key: HmacKey;
  readonly version: number;
  readonly sum: bigint;
}

/** What the roll adds up to as it was noted: `nothing` before the first voter, `forged` where a row of it is not the service's. */
async function readRecorded(
  executor: Executor,
  secrets: Secrets,
  eventId: string,
): Promise<Recorded | 'nothing' | 'forged'> {
  const [event] = (
    await executor.execute<{ version: number }>(
      sql`SELECT roll_version AS version FROM voting_events WHERE id = ${eventId}`,
    )
  ).rows;
  const rows = await executor.select().from(rollSums).where(eq(rollSums.votingEventId, eventId));
  const state = rows.find(({ id }) => id === STATE);
  if (event === undefined || (event.version === 0 && rows.length === 0)) return 'nothing';
  if (state?.key == null) return 'forged';
  const { version } = event;
  const key = openKey(secrets, eventId, state.key);
  const genuine = rows.every(
    (row) => row.version === version && equalSecrets(macOf(key, eventId, row.id, row.version, row.sum), row.mac),
  );
  if (!genuine) return 'forged';
  const total = rows.reduce((sum, row) => sum + sumOf(key, row), 0n) % MODULUS;
  return { key, version, sum: (total + MODULUS) % MODULUS };
}

/** Adds up voters that are read one after another, and compares with what was noted. */
export class RollSum {
  readonly #recorded: Recorded | 'nothing' | 'forged';
  #sum = 0n;
  #voters = 0;

  private constructor(recorded: Recorded | 'nothing' | 'forged') {
    this.#recorded = recorded;
  }

  /** @param executor at the same moment at which the voters are read */
  static async read(executor: Executor, secrets: Secrets, eventId: string): Promise<RollSum> {
    return new RollSum(await readRecorded(executor, secrets, eventId));
  }

  add(row: DecidingColumns): void {
    this.#voters += 1;
    if (typeof this.#recorded === 'object') this.#sum += partOf(this.#recorded.key, row);
  }

  isRight(): boolean {
    if (typeof this.#recorded !== 'object') return this.#recorded === 'nothing' && this.#voters === 0;
    return this.#sum % MODULUS === this.#recorded.sum;
  }
}

/** Begins the sum of a roll again, with none of its voters. Call with the event locked. */
export async function forgetRollSum(tx: Transaction, eventId: string): Promise<void> {
  await tx.delete(rollSums).where(eq(rollSums.votingEventId, eventId));
  await tx.execute(sql`UPDATE voting_events SET roll_version = 0 WHERE id = ${eventId}`);
  kept.delete(eventId);
}

async function fold(tx: Transaction, secrets: Secrets, eventId: string): Promise<boolean> {
  const recorded = await readRecorded(tx, secrets, eventId);
  if (typeof recorded === 'string') return recorded === 'nothing';
  const version = recorded.version + 1;
  const sum = bytesOf(recorded.key, STATE, version, recorded.sum);
  const mac = macOf(recorded.key, eventId, STATE, version, sum);
  const ofEvent = eq(rollSums.votingEventId, eventId);
  await tx.delete(rollSums).where(and(ofEvent, ne(rollSums.id, STATE)));
  await tx.update(rollSums).set({ version, sum, mac }).where(ofEvent);
  await tx.execute(sql`UPDATE voting_events SET roll_version = ${version} WHERE id = ${eventId}`);
  return true;
}

/** Folds what was noted since the last time. From then on nothing of it can be taken back without a trace. */
export async function foldRolls(deps: Pick<Deps, 'db' | 'secrets' | 'log'>): Promise<void> {
  const due = sql`SELECT DISTINCT voting_event_id FROM roll_sums WHERE id <> ${STATE} LIMIT 1000`;
  for (const id of await valuesOf<string>(deps.db, due)) {
    try {
      const isRight = await inTransaction(
        deps.db,
        async (tx) => (await lockEvent(tx, id)) === undefined || (await fold(tx, deps.secrets, id)),
      );
      if (!isRight) await reportForged(deps, id);
    } catch (fault) {
      // The event is busy: the next turn comes within a minute.
      deps.log.warn({ event: id, fault: summariseFault(fault) }, 'the sum of a roll could not be folded');
    }
  }
}
