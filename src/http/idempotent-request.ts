import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { Transaction } from '#src/database/client.ts';
import { canonicalJson } from '#src/platform/canonical-json.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import type { Answer } from './answer.ts';
import type { JsonObject } from './json/strict-json.ts';
import { rehearsalPrefix } from './rehearsal.ts';

/** In bytes: a longer answer is stored compressed. A report on an import of bad rows has 93 kB, and each repetition stores another one. */
const STORED_PLAIN = 1_024;
/** Precedes a compressed answer; no JSON begins with it. */
const COMPRESSED = Buffer.from([0]);
const NO_LOCK = Buffer.alloc(8);
/** Stored refusals of a secret event are padded to this length before encryption and get one status: both hide the reason. */
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
  /** The path, with an event's ID even if the caller sent its code. */
  readonly path: string;
  readonly query: unknown;
  readonly body: JsonObject | undefined;
  /** Present if the request is about a secret event. */
  readonly secret?: SecretKeeping | undefined;
  /** The event in rehearsal. The end of the rehearsal deletes the stored answer, so that the same request counts as new. */
  readonly rehearsal?: string | undefined;
}

/**
 * How to store a claim about a secret event. No stored length may depend on a vote: a success stores no answer (a retry makes it
 * again), and refusals are padded to one length. The fingerprint uses the event's key, and the claim is deleted when the result
 * is final. The claim's name is made as for every other event, so that one Idempotency-Key never serves two requests.
 */
export interface SecretKeeping {
  readonly eventId: string;
  readonly secrets: Secrets;
  /** Makes the answer of a successful request from its seed. If left out, the operation runs again and gives the answer. */
  readonly remake?: ((seed: Buffer) => StoredAnswer) | undefined;
}

function contentOf({ method, path, query, body }: IdempotentRequest): string {
  return canonicalJson([method, path, query ?? null, body ?? null]);
}

/** The stored form and the locks of a request with an Idempotency-Key, without any plaintext. */
export class RequestSeal {
  readonly #secrets: Secrets;

  constructor(secrets: Secrets) {
    this.#secrets = secrets;
  }

  /** Whether several secret keys are listed, so that requests may be stored under an earlier key. */
  get isRotating(): boolean {
    return this.#secrets.count > 1;
  }

  /**
   * The stored names of an Idempotency-Key: keyed hashes, because keys often name the voter. First the hash under the present secret
   * key, then the hashes under earlier secret keys, which recognise a retry after a rotation.
   */
  names(request: IdempotentRequest): string[] {
    const hashes = this.#secrets.macs('idempotency-key', `${request.apiKeyId}\n${request.key}`);
    const prefix = request.rehearsal === undefined ? '' : rehearsalPrefix(request.rehearsal);
    return hashes.map((hash) => `${prefix}${hash.toString('base64url')}`);
  }

  fingerprint(request: IdempotentRequest): Buffer {
    return this.#secretsOf(request).mac('fingerprint', contentOf(request));
  }

  /** The fingerprints of a request under every listed secret key, to recognise a retry after a rotation. */
  fingerprints(request: IdempotentRequest): Buffer[] {
    return this.#secretsOf(request).macs('fingerprint', contentOf(request));
  }

  /** Hashes of the request's key and content: one under each listed secret key, so that a retry after a rotation finds its request. */
  requestKeys(request: IdempotentRequest): Buffer[] {
    return this.fingerprints(request).map((own, index) => {
      // In a rehearsal the same request counts as new, and must not find the real payment that it began before.
      const name = canonicalJson([request.apiKeyId, request.key, own.toString('hex'), request.rehearsal ?? null]);
      return this.#secretsOf(request).macs('fingerprint', name)[index] ?? own;
    });
  }

  #secretsOf(request: IdempotentRequest): Secrets {
    return request.secret?.secrets ?? this.#secrets;
  }

  #place(request: IdempotentRequest) {
    return { table: 'idempotency_keys', column: 'body', row: `${request.apiKeyId}/${request.key}` };
  }

  /** Encrypts an answer for storage. The body is null if a retry makes the answer again, or if a refusal is too long to pad. */
  keep(request: IdempotentRequest, status: number, body: string): { status: number; body: string | null } {
    if (request.secret === undefined) {
      const isShort = body.length <= STORED_PLAIN;
      return {
        status,
        body: this.#seal(request, isShort ? body : Buffer.concat([COMPRESSED, deflateRawSync(body)])),
      };
    }
    if (status < 400) return { status, body: null };
    const text = Buffer.from(`${status} ${body}`);
    if (text.length > SECRET_REFUSAL_BYTES) return { status: SECRET_REFUSAL_STATUS, body: null };
    const padded = Buffer.concat([text, Buffer.alloc(SECRET_REFUSAL_BYTES - text.length, ' ')]);
    return { status: SECRET_REFUSAL_STATUS, body: this.#seal(request, padded.toString('utf8')) };
  }

  #seal(request: IdempotentRequest, body: string | Uint8Array): string {
    return this.#secretsOf(request).seal(body, this.#place(request));
  }

  open(request: IdempotentRequest, status: number, sealed: string): StoredAnswer {
    const bytes = this.#secretsOf(request).open(sealed, this.#place(request));
    const text = (bytes[0] === 0 ? inflateRawSync(bytes.subarray(1)) : bytes).toString('utf8');
    if (request.secret === undefined) return { status, body: text };
    return { status: Number(text.slice(0, 3)), body: text.slice(4).trimEnd() };
  }

  /**
   * Advisory lock numbers of the request (`same`) and of its Idempotency-Key alone (`all`), one per listed secret key: during
   * a rotation, any two processes have at least one number in common. The numbers are sorted, so that all processes lock in
   * one order, and one of two equal requests gets through.
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
  /** The encrypted answer, stored with the request's change; null if a retry makes it again. */
  readonly sealedAnswer: string | null;
  /** The secret event of the request; null for every other request. */
  readonly secretEventId: string | null;
}

/** The stored claim of an earlier request with the same key. */
export interface StoredClaim {
  readonly fingerprint: Buffer;
  readonly token: Buffer;
  /** Null while that request still runs. */
  readonly status: number | null;
  readonly sealedAnswer: string | null;
}

/** The claim of an idempotent request, for handlers that store their answer within their own statement or transaction. */
export interface Claim {
  /** Hashes of the request's key and content, by which a retry finds what the first run began, even after a rotation. */
  readonly requestKeys: readonly Buffer[];
  /** Stores the answer in the transaction of the change; throws if another run took the claim over, which rolls the change back. */
  store(tx: Transaction, answer: Answer, keepMs?: number): Promise<void>;
}

/** A claim that does not exist yet: the SQL statement of the request's change will insert it. */
export interface DeferredClaim extends Claim {
  /** Random parts of the answer are derived from this seed, which is the same for a retry and differs for every other request. */
  readonly seed: Buffer;
  valuesFor(answer: Answer): ClaimValues;
  /** Call when that statement has claimed the key. @param stored whether it also made the change and stored the answer */
  claimed(stored: boolean): void;
  /** The answer that an earlier request got. @throws ApiError `idempotency_mismatch`, or `conflict` while that request runs */
  replay(stored: StoredClaim): Answer;
}
