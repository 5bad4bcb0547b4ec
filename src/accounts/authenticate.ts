import type { Database } from '#src/database/client.ts';
import type { Caller } from '#src/http/caller.ts';
import { refuse } from '#src/http/refusals.ts';
import { type Clock, MINUTE_MS, SECOND_MS } from '#src/platform/clock.ts';
import { ApiError } from '#src/platform/errors.ts';
import type { Log } from '#src/platform/log.ts';
import { RecentMap } from '#src/platform/recent-map.ts';
import { isTagged } from '#src/platform/row-tag.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import { hashApiKey, isWellFormedApiKey, rowOfApiKey } from './api-key.ts';
import type { Plans } from './plans.ts';
import { findKeyByHash, type KeyWithAccount, updateLastUsed } from './repository.ts';

const HIT_MS = 10 * SECOND_MS;
const MISS_MS = 5 * SECOND_MS;
/** A key that was valid so long ago is asked about whatever else comes from its address. */
const KNOWN_MS = 10 * MINUTE_MS;
const MAX_CACHED = 20_000;
const BEARER = /^Bearer ([^\s,]+)$/i;

interface CacheEntry {
  readonly found: KeyWithAccount;
  readonly readAtMs: number;
}

/** The same words for a missing, malformed, unknown, revoked and expired key: nothing to learn by trying. */
export function unauthorized(): ApiError {
  return new ApiError('unauthorized', 'Send a valid API key in the header Authorization: Bearer <API_KEY>.');
}

interface AuthenticatorDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly plans: Plans;
  readonly secrets: Secrets;
  readonly log: Log;
}

/** Turns an API key into a caller: shape, checksum, a short-lived cache, the database (API reference, "Authentication"). */
export class Authenticator {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #plans: Plans;
  readonly #secrets: Secrets;
  readonly #log: Log;
  readonly #valid = new RecentMap<CacheEntry>(MAX_CACHED);
  /** Apart from the valid ones: invented keys push out no valid one. By the hash, until when it is unknown. */
  readonly #unknown = new RecentMap<number>(MAX_CACHED);
  /** Look-ups under way, by the hash. */
  readonly #asking = new Map<string, Promise<KeyWithAccount | undefined>>();
  /** Counts what was forgotten: a key that was read meanwhile may be from before the change. */
  #changes = 0;
  readonly #lastUsed = new Map<string, number>();

  constructor({ db, clock, plans, secrets, log }: AuthenticatorDeps) {
    this.#secrets = secrets;
    this.#log = log;
    this.#db = db;
    this.#clock = clock;
    this.#plans = plans;
  }

  /**
   * @param mayAsk whether the database may be asked about a key that was not valid lately
   * @throws ApiError `unauthorized`
   */
  async authenticate(authorization: string | undefined, mayAsk: () => boolean = () => true): Promise<Caller> {
    const key = BEARER.exec(authorization ?? '')?.[1];
    if (key === undefined || !isWellFormedApiKey(key)) throw unauthorized();
    const nowMs = this.#clock.now();
    const found = await this.#find(hashApiKey(key), nowMs, mayAsk);
    if (found === undefined || found.key.revokedAt !== null) throw unauthorized();
    if (found.key.expiresAt !== null && found.key.expiresAt <= nowMs) throw unauthorized();
    this.#lastUsed.set(found.key.id, nowMs);
    return this.#callerOf(found);
  }

  /** The account of a key that was valid a moment ago; nothing is asked. */
  accountOf(authorization: string): string | undefined {
    const key = BEARER.exec(authorization)?.[1];
    if (key === undefined || !isWellFormedApiKey(key)) return undefined;
    return this.#valid.get(hashApiKey(key).toString('hex'))?.found.account.id;
  }

  /** Forgets a key whose hash (hex) was announced as changed. */
  forget(hash: string): void {
    this.#changes += 1;
    this.#valid.delete(hash);
    this.#unknown.delete(hash);
  }

  /** Forgets the keys of an account that was announced as changed. */
  forgetAccount(accountId: string): void {
    this.#changes += 1;
    for (const [name, { found }] of this.#valid) if (found.account.id === accountId) this.#valid.delete(name);
  }

  forgetAll(): void {
    this.#changes += 1;
    this.#valid.clear();
    this.#unknown.clear();
  }

  /** Writes down when keys were last used; called once a minute, so the figure is coarse on purpose. */
  async flushLastUsed(): Promise<void> {
    if (this.#lastUsed.size === 0) return;
    const used = new Map(this.#lastUsed);
    this.#lastUsed.clear();
    await updateLastUsed(this.#db, used);
  }

  async #find(hash: Buffer, nowMs: number, mayAsk: () => boolean): Promise<KeyWithAccount | undefined> {
    const name = hash.toString('hex');
    const kept = this.#valid.get(name);
    const ageMs = kept === undefined ? Number.POSITIVE_INFINITY : nowMs - kept.readAtMs;
    if (kept !== undefined && ageMs < HIT_MS) return kept.found;
    if ((this.#unknown.get(name) ?? 0) > nowMs) return undefined;
    // Requests that come together with one key share a look-up, and count as one.
    const asking = this.#asking.get(name);
    if (asking !== undefined) return asking;
    if (ageMs >= KNOWN_MS && !mayAsk()) return undefined;
    const mine = this.#ask(hash, name, nowMs).finally(() => this.#asking.delete(name));
    this.#asking.set(name, mine);
    return mine;
  }

  async #ask(hash: Buffer, name: string, nowMs: number): Promise<KeyWithAccount | undefined> {
    const changes = this.#changes;
    const found = await findKeyByHash(this.#db, hash);
    if (found !== undefined && !isTagged(this.#secrets, found.key.tag, rowOfApiKey(found.key))) {
      this.#log.error({ alarm: 'rows_disagree', key: found.key.id }, 'an API key was written from outside');
      // No 401, which would say that the key was revoked: it may be the secret key that was replaced.
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
