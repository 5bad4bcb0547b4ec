import { sql } from 'drizzle-orm';
import type { Pool } from 'pg';
import { Batcher } from '#src/database/batcher.ts';
import { type ArrayElement, binaryArray, type ElementType } from '#src/database/binary-array.ts';
import { type Database, databaseErrorCode, isTrue, LOCKED, runNamed, type Transaction } from '#src/database/client.ts';
import type { ClaimValues, StoredClaim } from '#src/http/idempotent-request.ts';
import { refuse } from '#src/http/refusals.ts';
import type { ApiError } from '#src/platform/errors.ts';
import { together } from '#src/platform/turns.ts';
import type { Identity } from '#src/voters/voter-identity.ts';
import type { TaggedArray } from '#src/voters/voter-tag.ts';
import type { CreditShortage } from './ballot-rules.ts';

export interface CastRow {
  readonly eventId: string;
  /** The version of the ballot definition, and the event's end, under which the ballot was validated (`paperOf`). */
  readonly paper: string;
  /** Elections: the identity that the caller claims, and the hash of the voter key that must prove it. */
  readonly voter: { readonly identity: Identity; readonly keyHash: Buffer } | undefined;
  /** The group for which the ballot was validated, '' for none; undefined if no position asks for a group. */
  readonly expectedGroup: string | undefined;
  readonly participants: readonly string[];
  /** The look-up key of the ballot (`waitingTag`). */
  readonly codeTag: Buffer;
  readonly entries: Buffer;
  /** The voter's weight, encrypted with the entries, in millionths; undefined in polls. */
  readonly sealedWeight: bigint | undefined;
  /** The number of changes of the voter's identity, encrypted with the entries. */
  readonly sealedGeneration?: bigint | undefined;
  readonly visitorId: string | null;
  readonly voterId: string | null;
  readonly email: string | null;
  readonly name: string | null;
  readonly countryCode: string | null;
  /** The ballot's cost on each quadratic position of a poll; undefined if the poll has no such position. */
  readonly credits: readonly CreditNeed[] | undefined;
}

export interface CreditNeed {
  readonly position: string;
  readonly credits: number;
  readonly base: number;
}

export interface CastVerdict {
  readonly verdict: string;
  readonly shortage: CreditShortage | undefined;
  /** The claim of an earlier request with the same Idempotency-Key. */
  readonly stored: StoredClaim | undefined;
  /** The voter's true weight in millionths, if another weight was encrypted with the ballot. */
  readonly weightMicro: bigint | undefined;
  /** Elections: the voter's row, if the voter key was right. */
  readonly tagged: TaggedArray | undefined;
}

export interface CastRequest {
  readonly row: CastRow;
  readonly claim: ClaimValues | undefined;
}

/** The array parameters of an SQL function in order: name and element type, and how to read the element from a row. */
type Columns<Row> = { readonly [Column in `${string} ${ElementType}`]: (row: Row) => ArrayElement };

const CAST_COLUMNS: Columns<CastRequest> = {
  'api_key text': ({ claim }) => claim?.apiKeyId ?? null,
  'idempotency_key text': ({ claim }) => claim?.key ?? null,
  'fingerprint bytea': ({ claim }) => claim?.fingerprint ?? null,
  'claim bytea': ({ claim }) => claim?.token ?? null,
  'answer text': ({ claim }) => claim?.sealedAnswer ?? null,
  'paper text': ({ row }) => row.paper,
  'voter jsonb': ({ row: { voter } }) =>
    voter === undefined ? null : JSON.stringify({ kind: voter.identity.kind, identity: voter.identity.key }),
  'key_hash bytea': ({ row }) => row.voter?.keyHash ?? null,
  'expected_group text': ({ row }) => row.expectedGroup ?? null,
  'participants jsonb': ({ row }) => JSON.stringify(row.participants),
  'code_tag bytea': ({ row }) => row.codeTag,
  'entries bytea': ({ row }) => row.entries,
  'visitor_id text': ({ row }) => row.visitorId,
  'voter_id text': ({ row }) => row.voterId,
  'email text': ({ row }) => row.email,
  'name text': ({ row }) => row.name,
  'country text': ({ row }) => row.countryCode,
  'credits jsonb': ({ row: { credits } }) => (credits === undefined ? null : JSON.stringify(credits)),
  'sealed_weight bigint': ({ row }) => row.sealedWeight ?? null,
  'sealed_generation bigint': ({ row }) => row.sealedGeneration ?? null,
  'secret_event text': ({ claim }) => claim?.secretEventId ?? null,
};

const typeOf = (column: string): string => column.slice(column.indexOf(' ') + 1);

/** A statement that passes an event and many rows to a function, which returns one row for each. */
function withAllRows(name: string, columns: object): string {
  const arrays = Object.keys(columns).map((column, index) => `$${index + 2}::${typeOf(column)}[]`);
  return `SELECT * FROM ${name}($1, ${arrays.join(', ')}) ORDER BY place`;
}

/** The event, and the rows as one array for each column. */
const valuesOf = <Row>(eventId: string, columns: Columns<Row>, rows: readonly Row[]): (string | Buffer)[] => [
  eventId,
  ...Object.entries(columns).map(([column, read]) => binaryArray(typeOf(column) as ElementType, rows.map(read))),
];

function eventOf(rows: readonly { readonly eventId: string }[]): string {
  const [{ eventId } = { eventId: '' }] = rows;
  if (rows.some((row) => row.eventId !== eventId)) throw new Error('a statement is about one event');
  return eventId;
}

const CAST = withAllRows('cast_ballots_together', CAST_COLUMNS);

type VerdictRow = {
  verdict: string;
  short_position: string | null;
  required: string | null;
  available: string | null;
  stored_fingerprint?: Buffer | null;
  stored_claim?: Buffer | null;
  stored_status?: number | null;
  stored_answer?: string | null;
  voter_weight?: string | null;
  tagged?: TaggedArray | null;
};

function shortageOf(row: Pick<VerdictRow, 'short_position' | 'required' | 'available'>): CreditShortage | undefined {
  if (row.short_position === null) return undefined;
  return { positionId: row.short_position, required: Number(row.required), available: Number(row.available) };
}

function castVerdict(row: VerdictRow | undefined): CastVerdict {
  if (row === undefined) throw new Error('casting answers with a row for each ballot');
  const shortage = shortageOf(row);
  const { stored_fingerprint: fingerprint, stored_claim: token, stored_status: status, stored_answer: answer } = row;
  const stored =
    fingerprint == null || token == null
      ? undefined
      : { fingerprint, token, status: status ?? null, sealedAnswer: answer ?? null };
  const weightMicro = row.voter_weight == null ? undefined : BigInt(row.voter_weight);
  return { verdict: row.verdict, shortage, stored, weightMicro, tagged: row.tagged ?? undefined };
}

/** Stores pending ballots of one event in one statement, which commits as a whole. @returns a verdict for each ballot */
export async function castBallots(pool: Pool, requests: readonly CastRequest[]): Promise<CastVerdict[]> {
  const eventId = eventOf(requests.map(({ row }) => row));
  const values = valuesOf(eventId, CAST_COLUMNS, requests);
  return (await runNamed<VerdictRow>(pool, 'cast_ballots', CAST, values)).map(castVerdict);
}

/** Stores the pending ballot of a payment, in the transaction that fulfils it. */
export async function castPaidBallot(
  tx: Transaction,
  row: CastRow,
  paid: { readonly attemptId: string; readonly paidAtMs: number },
): Promise<CastVerdict> {
  const credits = row.credits === undefined ? null : JSON.stringify(row.credits);
  const { rows } = await tx.execute<VerdictRow>(sql`
    SELECT * FROM cast_paid_ballot(${row.eventId}, ${row.paper}, ${paid.attemptId}, ${paid.paidAtMs},
      ${sql.param(row.participants)}, ${row.codeTag}, ${row.entries}, ${row.visitorId}, ${row.voterId}, ${row.email},
      ${row.name}, ${row.countryCode}, ${credits})`);
  return castVerdict(rows[0]);
}

/** Reserves the credits of a paid ballot under its payment attempt. @returns the shortage, and reserves none, if too few are left */
export async function holdForAttempt(
  tx: Transaction,
  { eventId, visitorId, credits }: CastRow,
  attemptId: string,
): Promise<CreditShortage | undefined> {
  const { rows } = await tx.execute<Pick<VerdictRow, 'short_position' | 'required' | 'available'>>(sql`
    SELECT * FROM hold_for_attempt(${eventId}, lower(${visitorId}), ${attemptId}, ${JSON.stringify(credits)}::jsonb)`);
  const [row] = rows;
  return row && shortageOf(row);
}

/** Drops an unconfirmed ballot; false if no ballot with this code is pending. */
export const dropPendingBallot = (tx: Transaction, eventId: string, codeTag: Buffer): Promise<boolean> =>
  isTrue(tx, sql`SELECT drop_pending_ballot(${eventId}, ${codeTag})`);

/** Drops a ballot that can never be confirmed, and refunds its payment. Leaves an unpaid ballot alone. */
export async function returnPaidBallot(db: Database, { eventId, codeTag }: ConfirmRow): Promise<void> {
  await db.execute(sql`
    SELECT return_pending_ballot(${eventId}, b.code_tag) FROM waiting_ballot(${eventId}, ${codeTag}) AS b
    WHERE b.payment_attempt_id IS NOT NULL`);
}

export interface ConfirmRow {
  readonly eventId: string;
  /** The look-up key of the ballot while it is pending or queued (`waitingTag`). */
  readonly codeTag: Buffer;
  /** The look-up key of the ballot in the box: SHA-256 of "code" and the confirmation code. */
  readonly leafTag: Buffer;
  readonly ballotId: string;
  readonly salt: Buffer;
  readonly sealedTime: Buffer;
  readonly atMs: number;
  readonly newVoterId: string;
  /** The event's end as the caller read it (`endsOf`): the date of the log promise follows from it. */
  readonly ends: string;
  /** Elections: verifies the rows of the ballot and its voter; undefined if direct SQL changed one of them. */
  readonly admit: ((waiting: WaitingVoter) => Admitted | undefined) | undefined;
}

export interface Admitted {
  /** Null for a voter who is not approved: the statement refuses the ballot, even if direct SQL changes the status meanwhile. */
  readonly participant: string | null;
  readonly tag: Buffer;
}

/** A pending ballot of an election, with the row of its voter. */
export interface WaitingVoter {
  readonly participant: string;
  readonly entries: Buffer;
  readonly tagged: TaggedArray;
}

type ConfirmResult = {
  verdict: string;
  entries?: Buffer | null;
  weight_micro?: string | null;
  sealed_time?: Buffer | null;
  salt?: Buffer | null;
  status?: string | null;
};

const NOTHING = Buffer.alloc(0);

export type ConfirmVerdict = Readonly<ReturnType<typeof confirmVerdict>>;

function confirmVerdict(row: ConfirmResult | undefined) {
  if (row === undefined) throw new Error('confirming answers with a row for each ballot');
  return {
    verdict: row.verdict,
    entries: row.entries ?? NOTHING,
    sealedTime: row.sealed_time ?? NOTHING,
    salt: row.salt ?? NOTHING,
    weightMicro: BigInt(row.weight_micro ?? 0),
    status: row.status ?? '',
  };
}

interface ConfirmRequest {
  readonly row: ConfirmRow;
  readonly admitted?: Admitted | undefined;
}

const CONFIRM_COLUMNS: Columns<ConfirmRequest> = {
  'code_tag bytea': ({ row }) => row.codeTag,
  'ballot text': ({ row }) => row.ballotId,
  'salt bytea': ({ row }) => row.salt,
  'sealed_time bytea': ({ row }) => row.sealedTime,
  'at bigint': ({ row }) => row.atMs,
  'new_voter text': ({ row }) => row.newVoterId,
  'leaf_tag bytea': ({ row }) => row.leafTag,
  'ends text': ({ row }) => row.ends,
  'participant text': ({ admitted }) => admitted?.participant ?? null,
  'participation_tag bytea': ({ admitted }) => admitted?.tag ?? null,
};
const CONFIRM = withAllRows('confirm_ballots_together', CONFIRM_COLUMNS);

const FORGED: ConfirmResult = { verdict: 'rows_disagree' };

/** The voters of pending election ballots; `forged` if direct SQL changed the row of a voter or ballot. */
async function admitVoters(
  pool: Pool,
  eventId: string,
  rows: readonly ConfirmRow[],
): Promise<Map<ConfirmRow, Admitted | 'forged'>> {
  const asked = rows.filter(({ admit }) => admit !== undefined);
  if (asked.length === 0) return new Map();
  const found = await runNamed<{ place: number } & Omit<WaitingVoter, 'tagged'> & { tagged: TaggedArray | null }>(
    pool,
    'waiting_voters',
    'SELECT * FROM waiting_voters($1, $2::bytea[])',
    valuesOf(eventId, { 'code_tag bytea': ({ codeTag }: ConfirmRow) => codeTag }, asked),
  );
  return new Map(
    found.flatMap(({ place, participant, entries, tagged }): [ConfirmRow, Admitted | 'forged'][] => {
      const row = asked[place - 1];
      // The voter was deleted: the confirm statement refuses the ballot.
      if (row?.admit === undefined || tagged === null) return [];
      return [[row, row.admit({ participant, entries, tagged }) ?? 'forged']];
    }),
  );
}

/**
 * Queues pending ballots of one event for the box in one statement, or returns why not, for each ballot. It commits as a whole.
 * @throws SQLSTATE `VS001` if a participant has already voted, which also rolls back the other ballots of the statement
 */
export async function confirmBallots(pool: Pool, rows: readonly ConfirmRow[]): Promise<ConfirmVerdict[]> {
  const eventId = eventOf(rows);
  const admitted = await admitVoters(pool, eventId, rows);
  const sound = rows.flatMap((row): ConfirmRequest[] => {
    const voter = admitted.get(row);
    return voter === 'forged' ? [] : [{ row, admitted: voter }];
  });
  const values = valuesOf(eventId, CONFIRM_COLUMNS, sound);
  const results = sound.length === 0 ? [] : await runNamed<ConfirmResult>(pool, 'confirm_ballots', CONFIRM, values);
  const resultOf = new Map(sound.map(({ row }, place) => [row, results[place]]));
  return rows.map((row) => confirmVerdict(admitted.get(row) === 'forged' ? FORGED : resultOf.get(row)));
}

const MAX_ROWS = 64;
const MAX_WAITING = 2_000;
/** At most 4 events have a cast statement running, and 4 a confirm statement: locked events leave a third of the connections free. */
const EVENTS_AT_A_TIME = 4;

/** Thrown when the queue is full. Nothing was written; the client may retry. */
const overloaded = (): ApiError => refuse('too_many_ballots');

/**
 * Whether the event's row stayed locked. Then no row is retried alone: each retry would hold a connection for as long again. In every
 * language of the server, the context of the error begins with the place of the row, such as (0,1), and its table. A lock without a place
 * may be of one voter, whose ballot alone must fail.
 */
function isEventLocked(fault: unknown): boolean {
  const [place = ''] = String(Reflect.get(Object(fault), 'where')).split('\n', 1);
  return databaseErrorCode(fault) === LOCKED && /\(\d+,\d+\)/.test(place) && /\bvoting_events\b/.test(place);
}

function createWriter<Row, Verdict>(
  run: (rows: readonly Row[]) => Promise<Verdict[]>,
  laneOf: (row: Row) => string,
  keyOf: (row: Row) => string,
) {
  return new Batcher<Row, Verdict>({
    runTogether: run,
    async runAlone(row) {
      const [verdict] = await run([row]);
      if (verdict === undefined) throw new Error('a statement for one ballot answered none');
      return verdict;
    },
    laneOf,
    places: EVENTS_AT_A_TIME,
    keyOf,
    maxRows: MAX_ROWS,
    maxWaiting: MAX_WAITING,
    concernsAll: isEventLocked,
    refusal: overloaded,
  });
}

/** Group commit: ballots that arrive while a statement of their event runs share the next one and its wait for the disk. */
export class BallotWriter {
  readonly #casts;
  readonly #confirms;

  constructor(pool: Pool) {
    this.#casts = createWriter((requests: readonly CastRequest[]) => castBallots(pool, requests), castLane, castKey);
    const confirm = (rows: readonly ConfirmRow[]) => confirmBallots(pool, rows);
    this.#confirms = createWriter(
      confirm,
      ({ eventId }) => eventId,
      ({ codeTag }) => codeTag.toString('hex'),
    );
  }

  cast(request: CastRequest): Promise<CastVerdict> {
    return together(this.#casts.submit(request));
  }

  confirm(row: ConfirmRow): Promise<ConfirmVerdict> {
    return together(this.#confirms.submit(row));
  }
}

/** Ballots of an election and of a poll need separate statements, even for one event whose type has just changed. */
const castLane = ({ row }: CastRequest): string => `${row.eventId} ${row.voter === undefined}`;

/** Ballots of one participant need separate statements, so that the second sees the effect of the first. */
const castKey = ({ row }: CastRequest): string => row.voter?.identity.key ?? row.participants[0] ?? '';
