import type { Database } from '#src/database/client.ts';
import type { Caller } from '#src/http/caller.ts';
import { type Clock, SECOND_MS } from '#src/platform/clock.ts';
import { ApiError } from '#src/platform/errors.ts';
import { hashApiKey, isWellFormedApiKey } from './api-key.ts';
import type { Plans } from './plans.ts';
import { findKeyByHash, type KeyWithAccount, updateLastUsed } from './repository.ts';

const HIT_MS = 10 * SECOND_MS;
const MISS_MS = 5 * SECOND_MS;
const MAX_CACHED = 20_000;
const BEARER = /^Bearer ([^\s,]+)$/i;

interface CacheEntry {
  readonly found: KeyWithAccount | undefined;
  readonly validUntilMs: number;
}

/** The same words for a missing, malformed, unknown, revoked and expired key: nothing to learn by trying. */
function unauthorized(): ApiError {
  return new ApiError('unauthorized', 'Send a valid API key in the header Authorization: Bearer <API_KEY>.');
}

/** Turns an API key into a caller: shape, checksum, a short-lived cache, the database (API reference, "Authentication"). */
export class Authenticator {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #plans: Plans;
  readonly #cache = new Map<string, CacheEntry>();
  readonly #lastUsed = new Map<string, number>();

  constructor(db: Database, clock: Clock, plans: Plans) {
    this.#db = db;
    this.#clock = clock;
    this.#plans = plans;
  }

  /** @throws ApiError `unauthorized` */
  async authenticate(authorization: string | undefined): Promise<Caller> {
    const key = BEARER.exec(authorization ?? '')?.[1];
    if (key === undefined || !isWellFormedApiKey(key)) throw unauthorized();
    const nowMs = this.#clock.now();
    const found = await this.#find(hashApiKey(key), nowMs);
    if (found === undefined || found.key.revokedAt !== null) throw unauthorized();
    if (found.key.expiresAt !== null && found.key.expiresAt <= nowMs) throw unauthorized();
    this.#lastUsed.set(found.key.id, nowMs);
    return this.#callerOf(found);
  }

  /** Forgets a key whose hash (hex) was announced as changed. */
  forget(hash: string): void {
    this.#cache.delete(hash);
  }

  forgetAll(): void {
    this.#cache.clear();
  }

  /** Writes down when keys were last used; called once a minute, so the figure is coarse on purpose. */
  async flushLastUsed(): Promise<void> {
    if (this.#lastUsed.size === 0) return;
    const used = new Map(this.#lastUsed);
    this.#lastUsed.clear();
    await updateLastUsed(this.#db, used);
  }

  async #find(hash: Buffer, nowMs: number): Promise<KeyWithAccount | undefined> {
    const name = hash.toString('hex');
    const cached = this.#cache.get(name);
    if (cached !== undefined && cached.validUntilMs > nowMs) return cached.found;
    const found = await findKeyByHash(this.#db, hash);
    if (this.#cache.size >= MAX_CACHED) this.#cache.clear();
    this.#cache.set(name, { found, validUntilMs: nowMs + (found === undefined ? MISS_MS : HIT_MS) });
    return found;
  }

  #callerOf({ key, account }: KeyWithAccount): Caller {
    const plan = this.#plans[account.plan];
    const organizer = key.scopes.includes('read') || key.scopes.includes('write');
    return {
      keyId: key.id,
      accountId: account.id,
      accountName: account.name,
      plan: account.plan,
      scopes: key.scopes,
      votingEventId: key.votingEventId,
      keyName: key.name,
      keyHint: key.hint,
      keyExpiresAt: key.expiresAt,
      keyCreatedAt: key.createdAt,
      requestsPerMinute: organizer ? plan.organizerRequestsPerMinute : plan.voteRequestsPerMinute,
    };
  }
}
