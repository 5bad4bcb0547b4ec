import { Turns } from './turns.ts';

/** What one account holds of something that is shared. It is given back by `end`, which does nothing the second time. */
export interface Lease {
  end(): void;
}

interface LeaseLimits {
  readonly perAccount: number;
  /** How much all accounts may hold together; the one whose last turn is longest ago is next. */
  readonly inAll?: number;
  /** Requests of one account that may wait for a place: more would only hold memory until they are refused. */
  readonly maxWaiting?: number;
  readonly maxWaitMs?: number;
  /** The refusal, by whose limit is reached. */
  readonly refuse: (whose: 'account' | 'process') => Error;
}

interface Account {
  held: number;
  /** What gives a place to the one who waits, in the order in which they came. */
  readonly waiting: Set<() => void>;
}

const USUAL_WAIT_MS = 2_000;

/** Counts what is under way: places of one kind, or bytes. Each account has a limit of its own; places of all are given in turns. */
export class Leases {
  readonly #limits: LeaseLimits;
  readonly #inAll: number;
  readonly #accounts = new Map<string, Account>();
  readonly #turns = new Turns();
  #held = 0;
  /** What refuses each caller that waits. */
  readonly #refusals = new Set<() => void>();

  constructor(limits: LeaseLimits) {
    this.#limits = limits;
    this.#inAll = limits.inAll ?? Number.POSITIVE_INFINITY;
  }

  /** What all accounts hold. */
  get held(): number {
    return this.#held;
  }

  get waiting(): number {
    return this.#refusals.size;
  }

  /**
   * Takes an amount, as soon as there is room for it. Only single places are waited for.
   * @param gone aborted when the caller goes away: who is gone waits no longer
   * @throws the refusal, after some time without a place (2 s unless the limits say otherwise) or at once where too many wait
   */
  async take(account: string, amount = 1, gone?: AbortSignal): Promise<Lease> {
    const { maxWaiting = 0, maxWaitMs = USUAL_WAIT_MS, refuse } = this.#limits;
    const own = this.#accounts.get(account) ?? { held: 0, waiting: new Set() };
    this.#accounts.set(account, own);
    if (this.#hasRoom(own, amount)) this.#give(account, own, amount);
    else {
      const mayWait = own.waiting.size < maxWaiting && gone?.aborted !== true;
      const end = mayWait ? await this.#wait(own, maxWaitMs, gone) : 'late';
      if (end !== 'came') {
        const isOwn = end === 'late' && own.held + amount > this.#limits.perAccount;
        this.#forget(account, own);
        throw refuse(isOwn ? 'account' : 'process');
      }
    }
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

  #hasRoom({ held }: Account, amount: number): boolean {
    return held + amount <= this.#limits.perAccount && this.#held + amount <= this.#inAll;
  }

  #give(account: string, own: Account, amount: number): void {
    own.held += amount;
    this.#held += amount;
    this.#turns.took(account);
  }

  #forget(account: string, { held, waiting }: Account): void {
    if (held === 0 && waiting.size === 0) this.#accounts.delete(account);
  }

  /** Gives what is free away at once: no request that comes now gets in between. */
  #next(): void {
    if (this.waiting === 0) return;
    const able = [...this.#accounts].filter(([, own]) => own.waiting.size > 0 && this.#hasRoom(own, 1));
    const account = this.#turns.next(able.map(([name]) => name));
    const own = account === undefined ? undefined : this.#accounts.get(account);
    if (account === undefined || own === undefined) return;
    const [take] = own.waiting;
    this.#give(account, own, 1);
    take?.();
    this.#next();
  }

  /** Refuses all who wait: what they wait for does not come. */
  refuseWaiting(): void {
    for (const refuse of [...this.#refusals]) refuse();
  }

  /** @returns `late` where none came in time, `refused` where none will come */
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
