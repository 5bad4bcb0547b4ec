import { sql } from 'drizzle-orm';
import type { Pool } from 'pg';
import { runNamed, type Transaction } from '#src/database/client.ts';
import type { Identity } from '#src/voters/identity.ts';

export interface CastRow {
  readonly eventId: string;
  readonly paperVersion: number;
  /** Elections: who says to be whom, and the hash of the key that shall prove it. */
  readonly voter:
    | { readonly identity: Identity; readonly keyHash: Buffer; readonly failureIdentity: Buffer }
    | undefined;
  /** The group under which the ballot was judged, '' for none; undefined where no position asks for a group. */
  readonly expectedGroup: string | undefined;
  readonly participants: readonly string[];
  readonly codeTag: Buffer;
  readonly entries: Buffer;
  readonly visitorId: string | null;
  readonly voterId: string | null;
  readonly email: string | null;
  readonly name: string | null;
  readonly countryCode: string | null;
  /** What the ballot costs on each quadratic position of a poll; undefined where there is none. */
  readonly credits: readonly CreditNeed[] | undefined;
}

export interface CreditNeed {
  readonly position: string;
  readonly credits: number;
  readonly base: number;
}

/** A position whose credits do not suffice. */
export interface CreditShortage {
  readonly positionId: string;
  readonly required: number;
  readonly available: number;
}

export interface CastVerdict {
  readonly verdict: string;
  readonly retryAfterMs: number;
  readonly shortage: CreditShortage | undefined;
}

const CAST = 'SELECT * FROM cast_ballot($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)';

function castValues(row: CastRow): unknown[] {
  const voter =
    row.voter === undefined
      ? null
      : JSON.stringify({ kind: row.voter.identity.kind, identity: row.voter.identity.key });
  return [
    [row.eventId, row.paperVersion, voter, row.voter?.keyHash ?? null, row.voter?.failureIdentity ?? null],
    [row.expectedGroup ?? null, row.participants, row.codeTag, row.entries],
    [row.visitorId, row.voterId, row.email, row.name, row.countryCode],
    [row.credits === undefined ? null : JSON.stringify(row.credits)],
  ].flat(1);
}

type CastResult = {
  verdict: string;
  retry_after_ms?: string | null;
  short_position: string | null;
  required: string | null;
  available: string | null;
};

function castVerdict(rows: readonly CastResult[]): CastVerdict {
  const [row] = rows;
  if (row === undefined) throw new Error('cast_ballot answers with one row');
  const shortage =
    row.short_position === null
      ? undefined
      : { positionId: row.short_position, required: Number(row.required), available: Number(row.available) };
  return { verdict: row.verdict, retryAfterMs: Number(row.retry_after_ms ?? 0), shortage };
}

/** Stores a pending ballot in one statement, or says why not. */
export async function castBallot(pool: Pool, row: CastRow): Promise<CastVerdict> {
  return castVerdict(await runNamed<CastResult>(pool, 'cast_ballot', CAST, castValues(row)));
}

/** The same within a transaction, which also stores the answer of an idempotent request. */
export async function castBallotIn(tx: Transaction, row: CastRow): Promise<CastVerdict> {
  const values = castValues(row).map((value) => (Array.isArray(value) ? sql.param(value) : sql`${value}`));
  const parameters = sql.join(values, sql`, `);
  const { rows } = await tx.execute<CastResult>(sql`SELECT * FROM cast_ballot(${parameters})`);
  return castVerdict(rows);
}

/** Stores the pending ballot of a payment, in the transaction that fulfils it. */
export async function castPaidBallot(
  tx: Transaction,
  row: CastRow,
  paid: { readonly attemptId: string; readonly paidAtMs: number },
): Promise<CastVerdict> {
  const credits = row.credits === undefined ? null : JSON.stringify(row.credits);
  const { rows } = await tx.execute<CastResult>(sql`
    SELECT * FROM cast_paid_ballot(${row.eventId}, ${row.paperVersion}, ${paid.attemptId}, ${paid.paidAtMs},
      ${sql.param(row.participants)}, ${row.codeTag}, ${row.entries}, ${row.visitorId}, ${row.voterId}, ${row.email},
      ${row.name}, ${row.countryCode}, ${credits})`);
  return castVerdict(rows);
}

/** Whether a participant has a confirmed ballot, or a paid one that waits for its confirmation. */
export async function hasVoted(pool: Pool, eventId: string, participants: readonly string[]): Promise<boolean> {
  const rows = await runNamed<{ found: boolean }>(
    pool,
    'has_voted',
    `SELECT EXISTS (SELECT 1 FROM participation WHERE voting_event_id = $1 AND participant = ANY ($2))
       OR EXISTS (SELECT 1 FROM pending_ballots WHERE voting_event_id = $1 AND participant = $3 AND payment_attempt_id IS NOT NULL) AS found`,
    [eventId, participants, participants[0] ?? ''],
  );
  return rows[0]?.found === true;
}

/** Drops a ballot that was cast and not confirmed; false when there is none of this code. */
export async function dropPendingBallot(tx: Transaction, eventId: string, codeTag: Buffer): Promise<boolean> {
  const { rows } = await tx.execute<{ dropped: boolean }>(
    sql`SELECT drop_pending_ballot(${eventId}, ${codeTag}) AS dropped`,
  );
  return rows[0]?.dropped === true;
}

export interface ConfirmRow {
  readonly eventId: string;
  readonly codeTag: Buffer;
  readonly ballotId: string;
  readonly salt: Buffer;
  readonly sealedTime: Buffer;
  readonly atMs: number;
  readonly newVoterId: string;
}

export interface ConfirmVerdict {
  readonly verdict: string;
  readonly entries: Buffer;
  readonly sealedTime: Buffer;
  readonly salt: Buffer;
  readonly weightMicro: bigint;
  /** The event's status at that moment. */
  readonly status: string;
}

type ConfirmResult = {
  verdict: string;
  entries: Buffer | null;
  weight_micro: string | null;
  sealed_time: Buffer | null;
  salt: Buffer | null;
  status: string | null;
};

const NOTHING = Buffer.alloc(0);

function confirmVerdict(rows: readonly ConfirmResult[]): ConfirmVerdict {
  const [row] = rows;
  if (row === undefined) throw new Error('confirm_ballot answers with one row');
  return {
    verdict: row.verdict,
    entries: row.entries ?? NOTHING,
    sealedTime: row.sealed_time ?? NOTHING,
    salt: row.salt ?? NOTHING,
    weightMicro: BigInt(row.weight_micro ?? 0),
    status: row.status ?? '',
  };
}

const CONFIRM = 'SELECT * FROM confirm_ballot($1, $2, $3, $4, $5, $6, $7)';

function confirmValues(row: ConfirmRow): unknown[] {
  return [row.eventId, row.codeTag, row.ballotId, row.salt, row.sealedTime, row.atMs, row.newVoterId];
}

/** Moves a pending ballot into the box in one statement, or says why not. @throws SQLSTATE `VS001` for a participant who has voted */
export async function confirmBallot(pool: Pool, row: ConfirmRow): Promise<ConfirmVerdict> {
  return confirmVerdict(await runNamed<ConfirmResult>(pool, 'confirm_ballot', CONFIRM, confirmValues(row)));
}

export async function confirmBallotIn(tx: Transaction, row: ConfirmRow): Promise<ConfirmVerdict> {
  const parameters = sql.join(
    confirmValues(row).map((value) => sql`${value}`),
    sql`, `,
  );
  const { rows } = await tx.execute<ConfirmResult>(sql`SELECT * FROM confirm_ballot(${parameters})`);
  return confirmVerdict(rows);
}

/** Drops ballots that can no longer be confirmed: a day old, or past the time after the close. */
export async function dropExpiredBallots(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ dropped: number }>('SELECT drop_expired_ballots() AS dropped');
  return rows[0]?.dropped ?? 0;
}
