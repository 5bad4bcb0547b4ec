import type { Deps } from '#src/deps.ts';
import type { Caller } from '#src/http/caller.ts';
import { refuse } from '#src/http/refusals.ts';
import { MINUTE_MS, SECOND_MS } from '#src/platform/clock.ts';
import { ApiError } from '#src/platform/errors.ts';
import { RecentMap } from '#src/platform/recent-map.ts';
import { isTagged } from '#src/platform/row-tag.ts';
import { hashApiKey, isWellFormedApiKey, rowOfApiKey } from './api-key.ts';
import { findKeyByHash, type KeyWithAccount, updateLastUsed } from './repository.ts';

const HIT_MS = 10 * SECOND_MS;
const MISS_MS = 5 * SECOND_MS;
/** A key that was valid within this time is always looked up, even if `mayAsk` refuses look-ups of unknown keys. */
const KNOWN_MS = 10 * MINUTE_MS;
const MAX_CACHED = 20_000;
const BEARER = /^Bearer ([^\s,]+)$/i;

interface CacheEntry {
  readonly found: KeyWithAccount;
  readonly readAtMs: number;
}

/** The hash of the key in an Authorization header, in hexadecimal; undefined unless it can be a key. */
export function hashOfKey(authorization: string | undefined): string | undefined {
  const key = BEARER.exec(authorization ?? '')?.[1];
  return key === undefined || !isWellFormedApiKey(key) ? undefined : hashApiKey(key).toString('hex');
}

/** The same message for a missing, malformed, unknown, revoked or expired key, so that guessing reveals nothing. */
export function unauthorized(): ApiError {
  return new ApiError('unauthorized', 'Send a valid API key in the header Authorization: Bearer <API_KEY>.');
}

type AuthenticatorDeps = Pick<Deps, 'db' | 'clock' | 'plans' | 'secrets' | 'log'>;

/** Turns an API key into a caller: checks shape and checksum, then asks a cache, then the database (API reference, "Authentication"). */
export class Authenticator {
  readonly #deps: AuthenticatorDeps;
  readonly #valid = new RecentMap<CacheEntry>(MAX_CACHED);
  /** Unknown keys by hash, with the time at which the entry expires. Separate from valid keys, so that invented keys evict none of them. */
  readonly #unknown = new RecentMap<number>(MAX_CACHED);
  /** Running look-ups, by hash. */
  readonly #asking = new Map<string, Promise<KeyWithAccount | undefined>>();
  /** Counts invalidations: a key whose look-up began before an invalidation may be stale, and is not cached. */
  #changes = 0;
  readonly #lastUsed = new Map<string, number>();

  constructor(deps: AuthenticatorDeps) {
    this.#deps = deps;
  }

  /** @param mayAsk whether to query the database for a key that was not valid within `KNOWN_MS` @throws ApiError `unauthorized` */
  async authenticate(authorization: string | undefined, mayAsk: () => boolean = () => true): Promise<Caller> {
    const hash = hashOfKey(authorization);
    if (hash === undefined) throw unauthorized();
    const nowMs = this.#deps.clock.now();
    const found = await this.#find(hash, nowMs, mayAsk);
    if (found === undefined || found.key.revokedAt !== null) throw unauthorized();
    if (found.key.expiresAt !== null && found.key.expiresAt <= nowMs) throw unauthorized();
    this.#lastUsed.set(found.key.id, nowMs);
    return this.#callerOf(found);
  }

  /** The account of a cached valid key; never queries the database. */
  accountOf(authorization: string): string | undefined {
    const hash = hashOfKey(authorization);
    return hash === undefined ? undefined : this.#valid.get(hash)?.found.account.id;
  }

  /** Removes a key from the caches after a notification of its change. @param hash in hexadecimal */
  forget(hash: string): void {
    this.#changes += 1;
    this.#valid.delete(hash);
    this.#unknown.delete(hash);
  }

  /** Removes an account's keys from the cache after a notification of its change. */
  forgetAccount(accountId: string): void {
    this.#changes += 1;
    for (const [name, { found }] of this.#valid) if (found.account.id === accountId) this.#valid.delete(name);
  }

  forgetAll(): void {
    this.#changes += 1;
    this.#valid.clear();
    this.#unknown.clear();
  }

  /** Stores when keys were last used. Called once a minute, so that the time is coarse on purpose. */
  async flushLastUsed(): Promise<void> {
    if (this.#lastUsed.size === 0) return;
    const used = new Map(this.#lastUsed);
    this.#lastUsed.clear();
    await updateLastUsed(this.#deps.db, used);
  }

  async #find(name: string, nowMs: number, mayAsk: () => boolean): Promise<KeyWithAccount | undefined> {
    const kept = this.#valid.get(name);
    const ageMs = kept === undefined ? Number.POSITIVE_INFINITY : nowMs - kept.readAtMs;
    if (kept !== undefined && ageMs < HIT_MS) return kept.found;
    if ((this.#unknown.get(name) ?? 0) > nowMs) return undefined;
    // Concurrent requests with one key share a look-up, so `mayAsk` counts them once.
    if (!this.#asking.has(name) && ageMs >= KNOWN_MS && !mayAsk()) return undefined;
    const ask = () => this.#ask(name, nowMs).finally(() => this.#asking.delete(name));
    return this.#asking.getOrInsertComputed(name, ask);
  }

  async #ask(name: string, nowMs: number): Promise<KeyWithAccount | undefined> {
    const changes = this.#changes;
    const found = await findKeyByHash(this.#deps.db, Buffer.from(name, 'hex'));
    if (found !== undefined && !isTagged(this.#deps.secrets, found.key.tag, rowOfApiKey(found.key))) {
      this.#deps.log.error({ alarm: 'rows_disagree', key: found.key.id }, 'an API key was written from outside');
      // Not 401, which would mean a revoked key: the cause may be a replaced secret key.
      throw refuse('rows_disagree');
    }
    if (found === undefined) {
      this.#valid.delete(name);
      this.#unknown.set(name, nowMs + MISS_MS);
    } else if (changes === this.#changes) {
      this.#valid.set(name, { found, readAtMs: nowMs });
    }
    return found;
  }

  #callerOf({ key, account }: KeyWithAccount): Caller {
    const plan = this.#deps.plans[account.plan];
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
