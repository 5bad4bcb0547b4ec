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
}

export interface CastVerdict {
  readonly verdict: string;
  readonly retryAfterMs: number;
}

const CAST =
  'SELECT verdict, retry_after_ms FROM cast_ballot($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)';

function castValues(row: CastRow): unknown[] {
  const voter =
    row.voter === undefined
      ? null
      : JSON.stringify({ kind: row.voter.identity.kind, identity: row.voter.identity.key });
  return [
    [row.eventId, row.paperVersion, voter, row.voter?.keyHash ?? null, row.voter?.failureIdentity ?? null],
    [row.expectedGroup ?? null, row.participants, row.codeTag, row.entries],
    [row.visitorId, row.voterId, row.email, row.name, row.countryCode],
  ].flat(1);
}

type CastResult = { verdict: string; retry_after_ms: string | null };

function castVerdict(rows: readonly CastResult[]): CastVerdict {
  const [row] = rows;
  if (row === undefined) throw new Error('cast_ballot answers with one row');
  return { verdict: row.verdict, retryAfterMs: Number(row.retry_after_ms ?? 0) };
}

/** Stores a pending ballot in one statement, or says why not. */
export async function castBallot(pool: Pool, row: CastRow): Promise<CastVerdict> {
  return castVerdict(await runNamed<CastResult>(pool, 'cast_ballot', CAST, castValues(row)));
}

/** The same within a transaction, which also stores the answer of an idempotent request. */
export async function castBallotIn(tx: Transaction, row: CastRow): Promise<CastVerdict> {
  const values = castValues(row).map((value) => (Array.isArray(value) ? sql.param(value) : sql`${value}`));
  const parameters = sql.join(values, sql`, `);
  const { rows } = await tx.execute<CastResult>(sql`SELECT verdict, retry_after_ms FROM cast_ballot(${parameters})`);
  return castVerdict(rows);
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
  const { rowCount } = await pool.query(`
    DELETE FROM pending_ballots b USING voting_events e
    WHERE e.id = b.voting_event_id AND (b.cast_at <= now_ms() - 24 * 60 * 60 * 1000
      OR (event_status(e, now_ms()) = 'closed' AND least(e.closed_at, e.ends_at) <= now_ms() - 15 * 60 * 1000))`);
  return rowCount ?? 0;
}
