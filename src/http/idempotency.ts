import { and, between, eq, inArray, isNull, sql } from 'drizzle-orm';
import type { Database, Executor, Transaction } from '#src/database/client.ts';
import { nowMs } from '#src/database/columns.ts';
import { deleteInChunks } from '#src/database/in-chunks.ts';
import { ApiError } from '#src/platform/errors.ts';
import { takeRandomBytes } from '#src/platform/random-bytes.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import type { Answer } from './answer.ts';
import { type DeferredClaim, type IdempotentRequest, RequestSeal, type StoredAnswer } from './idempotent-request.ts';
import { refuse } from './refusals.ts';
import { idempotencyKeys } from './tables.ts';

/** Random bytes of a claim's token; they follow the 16-byte ID of the process that holds the claim. */
const TOKEN_BYTES = 16;
const STORED_ERRORS = new Set([403, 404, 409, 422]);
/** An error with Retry-After is not stored: the retry runs the request again. */
const isStored = ({ status, retryAfterSeconds }: ApiError): boolean =>
  STORED_ERRORS.has(status) && retryAfterSeconds === undefined;

type ClaimRow = Pick<typeof idempotencyKeys.$inferSelect, 'fingerprint' | 'claim' | 'status' | 'body'> & {
  /** Whether the process that holds a claim without an answer has died. */
  readonly abandoned: boolean;
};

/** The key belongs to another request, or the same request still runs. This error is never stored under the key. */
export class ClaimRefused extends Error {
  readonly error: ApiError;

  constructor(error: ApiError) {
    super(error.message);
    this.error = error;
  }
}

type ClaimOutcome =
  | { readonly kind: 'claimed'; readonly claim: HeldClaim }
  | { readonly kind: 'replay'; readonly answer: StoredAnswer }
  /** The request succeeded, and its answer is not stored: the handler runs again and gives the same answer. */
  | { readonly kind: 'again' };

interface HeldClaim extends DeferredClaim {
  /** Whether the SQL statement of the request's change has claimed the key or found a stored answer. */
  readonly taken: boolean;
  /** Stores the answer, unless the handler stored it in its own transaction. */
  storeUnlessStored(answer: Answer): Promise<void>;
  /** Stores an error that the handler decided, or frees the key for every other failure. */
  settleError(error: ApiError, body: string): Promise<void>;
  /** Frees the key, unless an answer is stored under it. */
  free(): Promise<void>;
  /** Call when the request is over. Afterwards `freeOver` may delete a claim that is left in the database. */
  end(): void;
}

/** Stores claims and answers by Idempotency-Key: requests with one key have one effect and one answer (completions 8). */
export class IdempotencyStore {
  readonly #db: Database;
  readonly #seal: RequestSeal;
  readonly #processId: Buffer;
  /** Tokens (base64) of the claims whose requests run in this process. */
  readonly #underWay = new Set<string>();

  /** @param processId unique among the processes that share the database: the claims of a dead process are free */
  constructor(db: Database, secrets: Secrets, processId: Buffer) {
    this.#db = db;
    this.#seal = new RequestSeal(secrets);
    this.#processId = processId;
  }

  #newToken(): Buffer {
    return Buffer.concat([this.#processId, takeRandomBytes(TOKEN_BYTES)]);
  }

  /**
   * Frees claims of this process whose requests are over. Such a claim remains if the database was unreachable when the request ended,
   * or inserted the claim afterwards. `#underWay` holds each token before its claim is sent, so a claim without an entry is over.
   */
  async freeOver(): Promise<void> {
    const last = Buffer.concat([this.#processId, Buffer.alloc(TOKEN_BYTES, 0xff)]);
    const held = and(isNull(idempotencyKeys.status), between(idempotencyKeys.claim, this.#processId, last));
    const rows = await this.#db.select({ claim: idempotencyKeys.claim }).from(idempotencyKeys).where(held);
    const over = rows.map(({ claim }) => claim).filter((claim) => !this.#underWay.has(claim.toString('base64')));
    if (over.length > 0) await this.#db.delete(idempotencyKeys).where(and(held, inArray(idempotencyKeys.claim, over)));
  }

  /**
   * Looks a key up without claiming it: a request whose body will be refused must not claim a key.
   * @returns the answer of the same request; undefined if there is none, or if the handler has to run again to give it
   * @throws ApiError `idempotency_mismatch`, or `conflict` while the first still runs
   */
  async find(request: IdempotentRequest): Promise<StoredAnswer | undefined> {
    const row = await this.#find(request);
    return row === undefined ? undefined : this.#judge(request, row);
  }

  /** Whether claims may be stored under an earlier secret key too, so that a look-up under the present key can miss them. */
  get isRotating(): boolean {
    return this.#seal.isRotating;
  }

  /** @returns undefined if no answer is stored: the handler runs again */
  #judge(
    request: IdempotentRequest,
    { fingerprint, claim, status, body }: Omit<ClaimRow, 'abandoned'>,
  ): StoredAnswer | undefined {
    if (!this.#seal.fingerprints(request).some((own) => own.equals(fingerprint))) throw mismatch();
    if (status === null) throw refuse('idempotency_in_progress');
    if (body !== null) return this.#seal.open(request, status, body);
    return status < 300 ? request.secret?.remake?.(seedOf(this.#seal.fingerprint(request), claim)) : undefined;
  }

  /**
   * Holds the key by advisory locks of the transaction: a crash leaves no claim behind.
   * @returns the stored answer of the same request, if there is one
   * @throws ClaimRefused for `idempotency_mismatch`, and for `conflict` while the first still runs
   */
  async hold(tx: Transaction, request: IdempotentRequest): Promise<StoredAnswer | undefined> {
    const { same, all } = this.#seal.locksOf(request);
    // Takes the locks one by one and stops at the first lock that is taken: a request that will be refused must hold no lock that
    // the running request still needs.
    const { rows } = await tx.execute<{ missed: number | null }>(sql`
      WITH RECURSIVE taken (place, got) AS (
        SELECT 0, true
        UNION ALL
        SELECT place + 1, pg_try_advisory_xact_lock((${sql.param([...same, ...all])}::bigint[])[place + 1])
        FROM taken WHERE got AND place < ${same.length + all.length}::int)
      SELECT min(place) FILTER (WHERE NOT got) AS missed FROM taken`);
    const missed = rows[0]?.missed ?? null;
    if (missed !== null) throw new ClaimRefused(missed <= same.length ? refuse('idempotency_in_progress') : mismatch());
    // A separate statement: its snapshot, taken under the lock, shows an answer that was committed just before.
    const row = await this.#find(request, tx);
    if (row === undefined) return undefined;
    try {
      return this.#judge(request, row);
    } catch (fault) {
      if (row.status === null && row.abandoned && fault instanceof ApiError && fault.code === 'conflict')
        return undefined;
      throw fault instanceof ApiError ? new ClaimRefused(fault) : fault;
    }
  }

  /** Stores the answer of a request whose key is held, in the transaction of its change. */
  async keep(tx: Transaction, request: IdempotentRequest, answer: Answer): Promise<void> {
    if (!(await this.#insert(tx, request, answer.status, bodyText(answer))))
      throw new ClaimRefused(refuse('idempotency_in_progress'));
  }

  /** Stores an error that a handler decided, after its transaction was undone. */
  async keepError(request: IdempotentRequest, error: ApiError, body: string): Promise<void> {
    if (isStored(error)) await this.#insert(this.#db, request, error.status, body);
  }

  async #insert(executor: Executor, request: IdempotentRequest, status: number, body: string): Promise<boolean> {
    const [name] = this.#seal.names(request);
    const { rowCount } = await executor.execute(sql`
      SELECT 1 FROM claim_requests(ARRAY[${request.apiKeyId}], ARRAY[${name}], ARRAY[${this.#seal.fingerprint(request)}]::bytea[],
        ARRAY[${this.#newToken()}]::bytea[], ${status}, ARRAY[${this.#seal.keep(request, status, body).body}], ARRAY[NULL], '{}')`);
    return rowCount === 1;
  }

  /** Claims the key, or finds the stored answer. @throws ApiError `idempotency_mismatch`, or `conflict` while the first still runs. */
  async claim(request: IdempotentRequest): Promise<ClaimOutcome> {
    const { claim, named, earlier } = this.#begin(request);
    try {
      const { rowCount } = await this.#db.$client.query(
        "SELECT 1 FROM claim_requests(ARRAY[$1], ARRAY[$2], ARRAY[$3]::bytea[], ARRAY[$4]::bytea[], NULL, '{NULL}', ARRAY[$5], $6)",
        [named.apiKeyId, named.key, named.fingerprint, named.token, named.secretEventId, earlier],
      );
      if (rowCount === 1) return { kind: 'claimed', claim };
    } catch (fault) {
      claim.end();
      throw fault;
    }
    claim.end();
    const row = await this.#find(request);
    // The claim was freed between the two statements: a retry may claim the key.
    if (row === undefined) throw refuse('idempotency_in_progress');
    const answer = this.#judge(request, row);
    return answer === undefined ? { kind: 'again' } : { kind: 'replay', answer };
  }

  /**
   * Claims an Idempotency-Key for all cells, in the cell of its account, while a request with it runs in any cell. The line break in the
   * claim's name prevents a collision with a key, because no header can contain one.
   * @returns a function that frees the claim @throws ApiError `idempotency_mismatch`, or `conflict` while the same request runs
   */
  async takeTurn(request: IdempotentRequest): Promise<() => Promise<void>> {
    const outcome = await this.claim({ ...request, key: `turn\n${request.key}` });
    if (outcome.kind !== 'claimed') throw refuse('idempotency_in_progress');
    const { claim } = outcome;
    // `freeOver` frees the claim if the database cannot do so now.
    return () =>
      claim
        .free()
        .catch(() => undefined)
        .finally(claim.end);
  }

  /** Prepares a claim that the SQL statement of the request's change will insert. */
  defer(request: IdempotentRequest): HeldClaim {
    return this.#begin(request).claim;
  }

  async #find(request: IdempotentRequest, executor: Executor = this.#db): Promise<ClaimRow | undefined> {
    const { rows } = await executor.execute<ClaimRow>(sql`
      SELECT fingerprint, claim, status, body, is_claim_abandoned(claim) AS abandoned FROM idempotency_keys
      WHERE api_key_id = ${request.apiKeyId} AND key = ANY (${sql.param(this.#seal.names(request))}) AND expires_at > now_ms()`);
    return rows[0];
  }

  /** Registers a token before its claim is sent. @returns also the values to insert, and the key's names under earlier secret keys */
  #begin(request: IdempotentRequest) {
    const [db, seal, underWay] = [this.#db, this.#seal, this.#underWay];
    const { apiKeyId } = request;
    const [key = '', ...earlier] = seal.names(request);
    const [fingerprint, token] = [seal.fingerprint(request), this.#newToken()];
    const named = { apiKeyId, key, fingerprint, token, secretEventId: request.secret?.eventId ?? null };
    underWay.add(token.toString('base64'));
    // A function, because a claim that the change's SQL statement inserts and answers never needs this condition.
    const held = () =>
      and(eq(idempotencyKeys.apiKeyId, apiKeyId), eq(idempotencyKeys.key, key), eq(idempotencyKeys.claim, token));
    const save = async (executor: Executor, status: number, body: string, keepMs?: number): Promise<boolean> => {
      const expiresAt = sql`${nowMs} + coalesce(${keepMs ?? null}::bigint, idempotency_kept_ms())`;
      const kept = { ...seal.keep(request, status, body), expiresAt };
      return (await executor.update(idempotencyKeys).set(kept).where(held())).rowCount === 1;
    };
    const release = async (): Promise<void> => {
      await db.delete(idempotencyKeys).where(and(held(), isNull(idempotencyKeys.status)));
    };
    let [taken, stored] = [false, false];
    const claim: HeldClaim = {
      seed: seedOf(fingerprint, token),
      get requestKeys() {
        return seal.requestKeys(request);
      },
      get taken() {
        return taken;
      },
      end: () => void underWay.delete(token.toString('base64')),
      valuesFor: (answer) => ({ ...named, sealedAnswer: seal.keep(request, answer.status, bodyText(answer)).body }),
      free: release,
      claimed(withAnswer) {
        taken = true;
        stored = withAnswer;
      },
      replay: (found) => {
        taken = true;
        stored = true;
        const answer = this.#judge(request, { ...found, claim: found.token, body: found.sealedAnswer });
        // The earlier request was refused without a stored answer. The statement takes such a claim over, unless another retry already has.
        if (answer === undefined) throw refuse('idempotency_in_progress');
        return { status: answer.status as Answer['status'], replayed: answer.body };
      },
      async store(tx, answer, keepMs) {
        // A run that lost its claim must roll back: the run that took the claim over makes the change.
        if (!(await save(tx, answer.status, bodyText(answer), keepMs))) throw refuse('idempotency_in_progress');
        stored = true;
      },
      storeUnlessStored: async (answer) => {
        if (stored) return;
        // 402 asks for a payment: the client repeats the same call after paying, so the key must be free.
        if (answer.status === 402) await release();
        else await save(db, answer.status, bodyText(answer));
      },
      settleError: async (error, body) => {
        if (isStored(error)) await save(db, error.status, body);
        else await release();
      },
    };
    return { claim, named, earlier };
  }
}

/** Seed of an answer's random parts. Because of the fingerprint, a token that SQL copies into another claim gives another seed. */
const seedOf = (fingerprint: Buffer, token: Buffer): Buffer => Buffer.concat([fingerprint, token]);

function bodyText(answer: Answer): string {
  return answer.text?.content ?? (answer.body === undefined ? '' : JSON.stringify(answer.body));
}

function mismatch(): ApiError {
  return new ApiError(
    'idempotency_mismatch',
    'This Idempotency-Key was used with another request. Use a new key for a new request.',
  );
}

export async function deleteExpiredKeys(db: Database): Promise<void> {
  await deleteInChunks(db, 'idempotency_keys', sql`expires_at <= ${nowMs}`);
}
