/** What one account holds of something that is shared. It is given back by `end`, which does nothing the second time. */
export interface Lease {
  end(): void;
}

interface LeaseLimits {
  /** How much one account may hold at a time. */
  readonly perAccount: number;
  /** How much all accounts may hold together. */
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

/** Counts what is under way: places of one kind, or bytes. Each account has a limit of its own, and takes nothing from others. */
export class Leases {
  readonly #limits: LeaseLimits;
  readonly #accounts = new Map<string, Account>();
  #held = 0;

  constructor(limits: LeaseLimits) {
    this.#limits = limits;
  }

  /** What all accounts hold. */
  get held(): number {
    return this.#held;
  }

  /**
   * Takes an amount, as soon as the account has room for it. Only single places are waited for.
   * @param gone aborted when the caller goes away: who is gone waits no longer
   * @throws the refusal, after some time without a place (2 s unless the limits say otherwise) or at once where too many wait
   */
  async take(account: string, amount = 1, gone?: AbortSignal): Promise<Lease> {
    const {
      perAccount,
      inAll = Number.POSITIVE_INFINITY,
      maxWaiting = 0,
      maxWaitMs = USUAL_WAIT_MS,
      refuse,
    } = this.#limits;
    const own = this.#accounts.get(account) ?? { held: 0, waiting: new Set() };
    if (own.held + amount > perAccount) {
      if (own.waiting.size >= maxWaiting || gone?.aborted || !(await waitForPlace(own, maxWaitMs, gone)))
        throw refuse('account');
    } else {
      if (this.#held + amount > inAll) throw refuse('process');
      own.held += amount;
      this.#held += amount;
      this.#accounts.set(account, own);
    }
    let ended = false;
    return {
      end: () => {
        if (ended) return;
        ended = true;
        const [next] = own.waiting;
        // The place goes from hand to hand: no request that comes now gets in between.
        if (next !== undefined) return next();
        own.held -= amount;
        this.#held -= amount;
        if (own.held === 0) this.#accounts.delete(account);
      },
    };
  }
}

/** @returns false where none came in time */
function waitForPlace({ waiting }: Account, maxWaitMs: number, gone: AbortSignal | undefined): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (came: boolean): void => {
      waiting.delete(take);
      clearTimeout(timer);
      gone?.removeEventListener('abort', leave);
      resolve(came);
    };
    const take = (): void => end(true);
    const leave = (): void => end(false);
    const timer = setTimeout(leave, maxWaitMs);
    gone?.addEventListener('abort', leave);
    waiting.add(take);
  });
}
