import type { Transaction } from '#src/database/client.ts';
import type { Answer } from './answer.ts';

/** A claim as a statement makes it itself, together with its effect. */
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
