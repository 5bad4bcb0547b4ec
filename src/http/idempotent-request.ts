import type { Transaction } from '#src/database/client.ts';
import { canonicalJson } from '#src/platform/canonical-json.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import type { Answer } from './answer.ts';
import type { JsonObject } from './json/strict-json.ts';
import { rehearsalPrefix } from './rehearsal.ts';

const NO_LOCK = Buffer.alloc(8);
/** Every refusal that is kept about a secret event is as long as this before it is sealed, and stands under one status. */
const SECRET_REFUSAL_BYTES = 2_048;
const SECRET_REFUSAL_STATUS = 409;

export interface StoredAnswer {
  readonly status: number;
  readonly body: string;
}

export interface IdempotentRequest {
  readonly apiKeyId: string;
  readonly key: string;
  readonly method: string;
  /** The resource that the address names: an event by its ID, whichever way the caller named it. */
  readonly path: string;
  readonly query: unknown;
  readonly body: JsonObject | undefined;
  /** Present where the request is about a secret event. */
  readonly secret?: SecretKeeping | undefined;
  /** The event that is rehearsed with it: the answer goes when the rehearsal ends, and the same request is a new one then. */
  readonly rehearsal?: string | undefined;
}

/**
 * How a claim about a secret event is kept. A choice changes the length of nothing in it: an answer that succeeded is made again, and a
 * refusal is sealed at one length. Its fingerprint stands under the key of the event, and it goes when the result is final. The name
 * under which it is found stays that of every other claim, so that no Idempotency-Key is used for two requests.
 */
export interface SecretKeeping {
  readonly eventId: string;
  readonly secrets: Secrets;
  /** The answer of a request that succeeded, from its seed. Without it the operation itself gives it again. */
  readonly remake?: ((seed: Buffer) => StoredAnswer) | undefined;
}

function contentOf({ method, path, query, body }: IdempotentRequest): string {
  return canonicalJson([method, path, query ?? null, body ?? null]);
}

/** What a request with an Idempotency-Key is stored and locked as: nothing of it in clear. */
export class RequestSeal {
  readonly #secrets: Secrets;

  constructor(secrets: Secrets) {
    this.#secrets = secrets;
  }

  /** Whether requests may be stored under an earlier secret key too. */
  get isRotating(): boolean {
    return this.#secrets.count > 1;
  }

  /**
   * What a key is stored as: a keyed hash, because keys often name the voter. The present name comes first, then those under
   * earlier secret keys: who repeats a request is not taken for a new one.
   */
  names(request: IdempotentRequest): string[] {
    const hashes = this.#secrets.macs('idempotency-key', `${request.apiKeyId}\n${request.key}`);
    const prefix = request.rehearsal === undefined ? '' : rehearsalPrefix(request.rehearsal);
    return hashes.map((hash) => `${prefix}${hash.toString('base64url')}`);
  }

  fingerprint(request: IdempotentRequest): Buffer {
    return this.#secretsOf(request).mac('fingerprint', contentOf(request));
  }

  /** The same request under every secret key that is listed: a repeat after a rotation is still a repeat. */
  fingerprints(request: IdempotentRequest): Buffer[] {
    return this.#secretsOf(request).macs('fingerprint', contentOf(request));
  }

  /** What names the request beside others, under each secret key by its own fingerprint, as when that key was the present one. */
  requestKeys(request: IdempotentRequest): Buffer[] {
    return this.fingerprints(request).map((own, index) => {
      const name = canonicalJson([request.apiKeyId, request.key, own.toString('hex')]);
      return this.#secretsOf(request).macs('fingerprint', name)[index] ?? own;
    });
  }

  #secretsOf(request: IdempotentRequest): Secrets {
    return request.secret?.secrets ?? this.#secrets;
  }

  #place(request: IdempotentRequest) {
    return { table: 'idempotency_keys', column: 'body', row: `${request.apiKeyId}/${request.key}` };
  }

  /** An answer as it is stored; without a body where it is made again, or is a refusal too long for the one length. */
  keep(request: IdempotentRequest, status: number, body: string): { status: number; body: string | null } {
    if (request.secret === undefined) return { status, body: this.#seal(request, body) };
    if (status < 400) return { status, body: null };
    const text = Buffer.from(`${status} ${body}`);
    if (text.length > SECRET_REFUSAL_BYTES) return { status: SECRET_REFUSAL_STATUS, body: null };
    const padded = Buffer.concat([text, Buffer.alloc(SECRET_REFUSAL_BYTES - text.length, ' ')]);
    return { status: SECRET_REFUSAL_STATUS, body: this.#seal(request, padded.toString('utf8')) };
  }

  #seal(request: IdempotentRequest, body: string): string {
    return this.#secretsOf(request).seal(body, this.#place(request));
  }

  open(request: IdempotentRequest, status: number, sealed: string): StoredAnswer {
    const text = this.#secretsOf(request).open(sealed, this.#place(request)).toString('utf8');
    if (request.secret === undefined) return { status, body: text };
    return { status: Number(text.slice(0, 3)), body: text.slice(4).trimEnd() };
  }

  /**
   * Numbers that stand for the request (`same`) and for its key alone (`all`), under each listed secret key: processes in
   * the middle of a rotation have one of them in common. In one order for all processes, whichever key each has in front:
   * of two that are given the same request at the same time, one gets through.
   */
  locksOf(request: IdempotentRequest): { readonly same: string[]; readonly all: string[] } {
    const lockOf = (mac: Buffer): string => mac.readBigInt64BE().toString();
    const prints = this.fingerprints(request).map((print) => print.toString('hex'));
    const whole = `${request.apiKeyId}\n${request.key}`;
    return {
      same: prints
        .map((print, ring) => this.#secrets.macs('idempotency-key', `${whole}\n${print}`)[ring] ?? NO_LOCK)
        .map(lockOf)
        .sort(),
      all: this.#secrets.macs('idempotency-key', whole).map(lockOf).sort(),
    };
  }
}

export interface ClaimValues {
  readonly apiKeyId: string;
  readonly key: string;
  readonly fingerprint: Buffer;
  readonly token: Buffer;
  /** The answer, as it is kept when the effect happens; null where it is made again. */
  readonly sealedAnswer: string | null;
  /** The secret event that it is about; null for every other request. */
  readonly secretEventId: string | null;
}

/** What an earlier request with the same key left. */
export interface StoredClaim {
  readonly fingerprint: Buffer;
  readonly token: Buffer;
  /** Null while it still runs. */
  readonly status: number | null;
  readonly sealedAnswer: string | null;
}

/** The claim of an idempotent request, for handlers that store their answer within their own statement or transaction. */
export interface Claim {
  /** Name this request by its key and content, without telling either, the present name first: what it began is found again, under earlier secret keys too. */
  readonly requestKeys: readonly Buffer[];
  /** Stores the answer in the transaction of the effect; throws when the claim was lost meanwhile, which undoes the effect. */
  store(tx: Transaction, answer: Answer, keepMs?: number): Promise<void>;
}

/** An idempotent request that nothing has claimed yet: the statement of its effect will. */
export interface DeferredClaim extends Claim {
  /** Random parts of the answer are derived from it: a repeat has the same one, no other request has. */
  readonly seed: Buffer;
  valuesFor(answer: Answer): ClaimValues;
  /** Notes that the statement has claimed it, and stored its answer if there was an effect. */
  claimed(stored: boolean): void;
  /** The answer that an earlier request got. @throws ApiError `idempotency_mismatch`, or `conflict` while that one runs */
  replay(stored: StoredClaim): Answer;
}
