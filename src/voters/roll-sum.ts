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

// The sum of an event's roll: a keyed sum over all voters, in any order. A voter's tag proves that the service wrote the row. The sum
// proves that no row was deleted or replaced by an older version (completions 6.7). Each change of the roll stores its difference, and
// a job adds ("folds") the differences to the event's state. State and differences have a MAC under a key of the event, which is encrypted
// with the secret key. The MAC covers the version of the state, so that a folded difference cannot be replayed.

const BYTES = 16;
const MODULUS = 1n << 128n;
/** The ID of the row of `roll_sums` with the state and the key. */
const STATE = '';
const MOST_KEPT = 1_000;

export const rollKeyPlace = (eventId: string): SealedPlace => ({ table: 'roll_sums', column: 'key', row: eventId });

interface RollKey {
  readonly sealed: string;
  readonly key: HmacKey;
  readonly version: number;
}

/** Cache of key and version by event. If one is stale, the INSERT of a difference inserts nothing, and both are read again. */
const kept = new RecentMap<RollKey>(MOST_KEPT);

/** The first 16 bytes as a number. */
const numberOf = (bytes: Buffer): bigint => (bytes.readBigUInt64BE(0) << 64n) | bytes.readBigUInt64BE(8);

const partOf = (key: HmacKey, row: DecidingColumns): bigint => numberOf(key.mac(JSON.stringify(rowOfVoter(row))));

/**
 * The stored form of a sum, with a mask for each row. An unmasked difference would reveal what single voters contribute to the sum. An
 * attacker who knows many contributions could find rows that offset a change.
 */
const bytesOf = (key: HmacKey, id: string, version: number, sum: bigint): Buffer => {
  const masked = (((sum + maskOf(key, id, version)) % MODULUS) + MODULUS) % MODULUS;
  return Buffer.from(masked.toString(16).padStart(2 * BYTES, '0'), 'hex');
};

const maskOf = (key: HmacKey, id: string, version: number): bigint =>
  numberOf(key.mac(JSON.stringify(['roll mask', id, version])));

const macOf = (key: HmacKey, eventId: string, id: string, version: number, sum: Buffer): Buffer =>
  key.mac(JSON.stringify(['roll sum', eventId, id, version, sum.toString('hex')])).subarray(0, BYTES);

/** @throws ApiError 500 `rows_disagree` if the key cannot be decrypted */
function openKey(secrets: Secrets, eventId: string, sealed: string): HmacKey {
  try {
    return new HmacKey(secrets.open(sealed, rollKeyPlace(eventId)));
  } catch {
    throw refuse('rows_disagree');
  }
}

/** Reads the key of an event's roll, or makes it for the first voter. Undefined if the event is gone. */
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
    // Do not cache the new key before the commit.
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

/** How often `noteRoll` tries to store a change. A try fails if `fold`, which adds up the changes, has raised the version meanwhile. */
const TRIES = 5;

/**
 * Records a change of the roll in its sum. Call in the transaction of the change.
 * @param added voters after the change @param removed voters before the change, without rows whose tag is invalid
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
    // FOR KEY SHARE makes a fold, which locks the event, wait for this commit.
    const { rowCount } = await tx.execute(sql`
      INSERT INTO roll_sums (voting_event_id, id, version, sum, mac)
      SELECT e.id, ${id}, ${version}, ${sum}, ${mac} FROM (
        SELECT e.id FROM voting_events e WHERE e.id = ${eventId} AND e.roll_version = ${version} FOR KEY SHARE) AS e
      JOIN roll_sums s ON s.voting_event_id = e.id AND s.id = ${STATE} AND s.key = ${sealed}`);
    if (rowCount === 1) {
      const isRejected = (row: DecidingColumns | undefined) => row?.status === 'rejected';
      const mayOpen =
        added.length !== removed.length ||
        added.some((row, at) => row.groupId !== removed[at]?.groupId || isRejected(row) !== isRejected(removed[at]));
      return mayOpen ? noteRollOfUnopened(tx, eventId) : undefined;
    }
    kept.delete(eventId);
  }
  throw refuse('busy');
}

/**
 * Voters whom the current rehearsal added. The sum omits them, because the end of the rehearsal removes them. The event's tag
 * protects the rehearsal's state: outside of a rehearsal, a forged `before_rehearsal` cannot take a voter out of the sum.
 * @param ids limits the search to these voters
 */
export async function listRehearsed(executor: Executor, event: VotingEvent, ids?: string[]): Promise<Set<string>> {
  if (event.rehearsalSince === null) return new Set();
  const these = ids === undefined ? sql`true` : sql`id = ANY (${sql.param(ids)}::text[])`;
  const rehearsed = sql`SELECT id FROM voters WHERE voting_event_id = ${event.id} AND ${these} AND before_rehearsal ? 'new'`;
  return new Set(await valuesOf<string>(executor, rehearsed));
}

/** Records changed or removed voters in the sum. Skips rows that the sum does not have: rows without a valid tag, participants of polls. */
export async function noteChanges(
  tx: Transaction,
  secrets: Secrets,
  event: VotingEvent,
  changes: readonly { readonly before: TaggedVoter; readonly after?: DecidingColumns }[],
): Promise<void> {
  const ids = changes.map(({ before }) => before.id);
  const rehearsed = await listRehearsed(tx, event, ids);
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

/** The recorded sum of the roll. `nothing` before the first voter; `forged` if the service did not write one of the sum's rows. */
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
  const total = rows.reduce((sum, row) => sum + numberOf(row.sum) - maskOf(key, row.id, row.version), 0n) % MODULUS;
  return { key, version, sum: (total + MODULUS) % MODULUS };
}

/** Adds up voters as they are read, and compares with the recorded sum. @param executor the transaction that reads the voters */
export async function beginRollSum(executor: Executor, secrets: Secrets, eventId: string) {
  const recorded = await readRecorded(executor, secrets, eventId);
  let [sum, voters] = [0n, 0];
  return {
    add(row: DecidingColumns): void {
      voters += 1;
      if (typeof recorded === 'object') sum += partOf(recorded.key, row);
    },
    isRight: (): boolean =>
      typeof recorded === 'object' ? sum % MODULUS === recorded.sum : recorded === 'nothing' && voters === 0,
  };
}

/** Deletes the sum of a roll, so that the next change begins a new sum. Call with the event locked. */
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

/** Folds recorded changes into the state of each roll. Until then, other SQL could undo a change by deleting its row of `roll_sums`. */
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
      // For example, the event is locked. The next run, which comes within a minute, folds its changes.
      deps.log.warn({ event: id, fault: summariseFault(fault) }, 'the sum of a roll could not be folded');
    }
  }
}
