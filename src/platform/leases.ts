import type { Presence } from './presence.ts';
import { Turns } from './turns.ts';

/** The share of a limited resource that one account holds. `end` gives it back; a second `end` does nothing. */
export interface Lease {
  end(): void;
}

export interface LeaseLimits {
  readonly perAccount: number;
  /** Replaces `perAccount` while another account is present. */
  readonly beside?: { readonly perAccount: number; readonly presence: Presence };
  /** The amount that all accounts may hold together. Waiting accounts take turns: the one whose last turn is longest ago is next. */
  readonly inAll?: number;
  /** Maximum number of waiting requests of one account; further requests are refused at once, to save memory. */
  readonly maxWaiting?: number;
  readonly maxWaitMs?: number;
  /** Makes the refusal: `account` if the account's own limit is reached, otherwise `process`. */
  readonly refuse: (whose: 'account' | 'process') => Error;
}

interface Account {
  held: number;
  /** Callbacks of the waiting requests, in the order of their arrival; each callback lets its request go on. */
  readonly waiting: Set<() => void>;
}

const USUAL_WAIT_MS = 2_000;

/** Limits work in progress, per account and for all accounts together. The unit is a place or a byte. Waiting accounts take turns. */
export class Leases {
  readonly #limits: LeaseLimits;
  readonly #inAll: number;
  readonly #accounts = new Map<string, Account>();
  readonly #turns = new Turns();
  #held = 0;
  /** Callbacks that refuse the waiting requests. */
  readonly #refusals = new Set<() => void>();

  constructor(limits: LeaseLimits) {
    this.#limits = limits;
    this.#inAll = limits.inAll ?? Number.POSITIVE_INFINITY;
  }

  /** The amount that all accounts hold together. */
  get held(): number {
    return this.#held;
  }

  get waiting(): number {
    return this.#refusals.size;
  }

  /**
   * Takes an amount, or waits until there is room for it. `maxWaiting` may only be set if each amount is 1: a waiting request gets 1.
   * @param gone aborted when the client has disconnected; its request then stops waiting
   * @throws the refusal: at once if too many requests wait, otherwise after `maxWaitMs` (2 s by default)
   */
  async take(account: string, amount = 1, gone?: AbortSignal): Promise<Lease> {
    const { maxWaiting = 0, maxWaitMs = USUAL_WAIT_MS, refuse } = this.#limits;
    const taken = this.takeNow(account, amount);
    if (taken !== undefined) return taken;
    const own = this.#of(account);
    const mayWait = own.waiting.size < maxWaiting && gone?.aborted !== true;
    const end = mayWait ? await this.#wait(own, maxWaitMs, gone) : 'late';
    if (end !== 'came') {
      const isOwn = end === 'late' && own.held + amount > this.#mostOf(account);
      this.#forget(account, own);
      throw refuse(isOwn ? 'account' : 'process');
    }
    return this.#leaseOf(account, own, amount);
  }

  /** Takes an amount if there is room for it at once. */
  takeNow(account: string, amount = 1): Lease | undefined {
    const own = this.#of(account);
    if (!this.#hasRoom(account, own, amount)) return undefined;
    this.#give(account, own, amount);
    return this.#leaseOf(account, own, amount);
  }

  #of(account: string): Account {
    return this.#accounts.getOrInsertComputed(account, () => ({ held: 0, waiting: new Set() }));
  }

  #leaseOf(account: string, own: Account, amount: number): Lease {
    let ended = false;
    return {
      end: () => {
        if (ended) return;
        ended = true;
        own.held -= amount;
        this.#held -= amount;
        this.#forget(account, own);
        this.#next();
      },
    };
  }

  #mostOf(account: string): number {
    const { perAccount, beside } = this.#limits;
    return beside?.presence.isShared(account) === true ? beside.perAccount : perAccount;
  }

  #hasRoom(account: string, { held }: Account, amount: number): boolean {
    return held + amount <= this.#mostOf(account) && this.#held + amount <= this.#inAll;
  }

  #give(account: string, own: Account, amount: number): void {
    own.held += amount;
    this.#held += amount;
    this.#turns.took(account);
  }

  #forget(account: string, { held, waiting }: Account): void {
    if (held === 0 && waiting.size === 0) this.#accounts.delete(account);
  }

  /** Gives free places to waiting requests at once, before a new request can take them. */
  #next(): void {
    if (this.waiting === 0) return;
    const able = [...this.#accounts].filter(([name, own]) => own.waiting.size > 0 && this.#hasRoom(name, own, 1));
    const account = this.#turns.next(able.map(([name]) => name));
    const own = account === undefined ? undefined : this.#accounts.get(account);
    if (account === undefined || own === undefined) return;
    const [take] = own.waiting;
    this.#give(account, own, 1);
    take?.();
    this.#next();
  }

  /** Refuses all waiting requests. Call when no place will become free soon, for example while the database does not answer. */
  refuseWaiting(): void {
    for (const refuse of [...this.#refusals]) refuse();
  }

  /** @returns `late` if no place became free in time or the client has gone, `refused` after `refuseWaiting` */
  #wait({ waiting }: Account, maxWaitMs: number, gone: AbortSignal | undefined): Promise<'came' | 'late' | 'refused'> {
    return new Promise((resolve) => {
      const end = (how: 'came' | 'late' | 'refused'): void => {
        waiting.delete(take);
        this.#refusals.delete(refuse);
        clearTimeout(timer);
        gone?.removeEventListener('abort', leave);
        resolve(how);
      };
      const take = (): void => end('came');
      const leave = (): void => end('late');
      const refuse = (): void => end('refused');
      const timer = setTimeout(leave, maxWaitMs);
      gone?.addEventListener('abort', leave);
      waiting.add(take);
      this.#refusals.add(refuse);
    });
  }
}
