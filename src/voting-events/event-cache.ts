import type { Database } from '#src/database/client.ts';
import { SECOND_MS } from '#src/platform/clock.ts';
import { type EventAccess, findAccess, findOpenAccess } from './access.ts';
import { statusAt } from './lifecycle.ts';

/** How old what is kept may be, whatever happened to the announcement of a change: an edit is seen everywhere by then. */
const KEPT_MS = SECOND_MS;
const MAX_KEPT = 20_000;

interface Kept {
  readonly access: EventAccess;
  /** By the clock of `performance.now()`, from before it was asked for. */
  readonly readAt: number;
}

/**
 * Keeps the events that voters' servers ask about with every request. What is kept can be a second old, so nothing is
 * decided by it alone: the statements that write check the event's state and the version of its definition themselves.
 * Drafts and unknown events are not kept, so that an event is there the moment it is published.
 */
export class EventCache {
  readonly #db: Database;
  readonly #kept = new Map<string, Kept>();
  readonly #namesOf = new Map<string, Set<string>>();
  readonly #reading = new Map<string, Promise<EventAccess | undefined>>();
  /** Counts what was forgotten: an event that was read meanwhile may be from before the change. */
  #changes = 0;

  constructor(db: Database) {
    this.#db = db;
  }

  /** The event that an ID or code names for an account, at most a second old; undefined where there is none to see. */
  find(accountId: string, named: string, nowMs: number): Promise<EventAccess | undefined> {
    return this.#find(`${accountId} ${named}`, nowMs, () => findAccess(this.#db, accountId, named));
  }

  /** The event that an ID or code names for those without a key, at most a second old; undefined unless its log is open. */
  findOpen(named: string, nowMs: number): Promise<EventAccess | undefined> {
    return this.#find(` ${named}`, nowMs, () => findOpenAccess(this.#db, named));
  }

  async #find(
    name: string,
    nowMs: number,
    ask: () => Promise<EventAccess | undefined>,
  ): Promise<EventAccess | undefined> {
    const kept = this.#kept.get(name);
    if (kept !== undefined && performance.now() - kept.readAt < KEPT_MS) return kept.access;
    const reading = this.#reading.get(name);
    if (reading !== undefined) return reading;
    const read = this.#read(name, nowMs, ask).finally(() => {
      if (this.#reading.get(name) === read) this.#reading.delete(name);
    });
    this.#reading.set(name, read);
    return read;
  }

  /** Forgets an event that was changed, or may have been. */
  forget(eventId: string): void {
    this.#changes += 1;
    this.#reading.clear();
    for (const name of this.#namesOf.get(eventId) ?? []) this.#kept.delete(name);
    this.#namesOf.delete(eventId);
  }

  forgetAll(): void {
    this.#changes += 1;
    this.#reading.clear();
    this.#kept.clear();
    this.#namesOf.clear();
  }

  async #read(
    name: string,
    nowMs: number,
    ask: () => Promise<EventAccess | undefined>,
  ): Promise<EventAccess | undefined> {
    const [changes, readAt] = [this.#changes, performance.now()];
    const access = await ask();
    if (access === undefined || statusAt(access.event, nowMs) === 'draft' || changes !== this.#changes) return access;
    if (this.#kept.size >= MAX_KEPT) this.forgetAll();
    this.#kept.set(name, { access, readAt });
    const names = this.#namesOf.get(access.event.id) ?? new Set();
    this.#namesOf.set(access.event.id, names.add(name));
    return access;
  }
}
