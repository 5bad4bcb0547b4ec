import { databaseErrorCode } from './client.ts';

/** Whether no server listens or answers, so that the next try fails too. A single lost connection does not count. */
function isDatabaseUnanswering(fault: unknown): boolean {
  if (databaseErrorCode(fault) === '57P03') return true;
  for (let error = fault; error instanceof Error; error = error.cause) {
    if (/^(ECONNREFUSED|ENOENT)$/.test(String(Reflect.get(error, 'code')))) return true;
    if (/timeout exceeded when trying to connect|Query read timeout|gives no answer/.test(error.message)) return true;
  }
  return false;
}

interface BatchOptions<Row, Outcome> {
  /** Runs many rows as one statement, committed as a whole; the outcomes are in the order of the rows. */
  readonly runTogether: (rows: readonly Row[]) => Promise<readonly Outcome[]>;
  /** Runs one row. Must be idempotent: the row may have been committed by a statement whose answer was lost. */
  readonly runAlone: (row: Row) => Promise<Outcome>;
  /** Rows of a lane share statements, which run one at a time; lanes do not wait for each other. */
  readonly laneOf: (row: Row) => string;
  /** Maximum number of lanes with a running statement. */
  readonly places: number;
  /** Rows with the same key never share a statement: the second must see what the first did. */
  readonly keyOf: (row: Row) => string;
  readonly maxRows: number;
  /** Maximum number of queued rows per lane; further rows are refused at once. */
  readonly maxWaiting: number;
  /** Whether an error of a batch would also fail each row alone; no row is then retried alone. */
  readonly concernsAll: (fault: unknown) => boolean;
  /** Makes the error with which a refused row is rejected. */
  readonly refusal: () => Error;
}

interface Waiting<Row, Outcome> {
  readonly row: Row;
  readonly key: string;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (fault: unknown) => void;
}

/** Settles the promises of a statement's callers. */
type Deliver = () => void;

const refuseThese =
  (rows: readonly Pick<Waiting<unknown, unknown>, 'reject'>[], fault: unknown): Deliver =>
  () => {
    for (const { reject } of rows) reject(fault);
  };

/** Group commit: rows that arrive while a statement runs share the next. There is no timer: a lone row runs at once. */
export class Batcher<Row, Outcome> {
  readonly #options: BatchOptions<Row, Outcome>;
  /** Queued rows by lane, in insertion order: the first lane that is not busy is next. */
  readonly #waiting = new Map<string, Waiting<Row, Outcome>[]>();
  readonly #busy = new Set<string>();
  readonly #running = new Set<Promise<void>>();
  #free: number;

  constructor(options: BatchOptions<Row, Outcome>) {
    this.#options = options;
    this.#free = options.places;
  }

  /** @throws `refusal` if the lane's queue is full, or the error of the row's statement */
  submit(row: Row): Promise<Outcome> {
    const { laneOf, keyOf, maxWaiting, refusal } = this.#options;
    const lane = laneOf(row);
    const waiting = this.#waiting.get(lane) ?? [];
    if (waiting.length >= maxWaiting) return Promise.reject(refusal());
    return new Promise((resolve, reject) => {
      waiting.push({ row, key: keyOf(row), resolve, reject });
      this.#waiting.set(lane, waiting);
      if (this.#free === 0 || this.#busy.has(lane)) return;
      this.#free -= 1;
      const running = this.#runAll().finally(() => this.#running.delete(running));
      this.#running.add(running);
    });
  }

  /** Waits until everything that was submitted has its answer. */
  async drain(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  async #runAll(): Promise<void> {
    let deliver: Deliver = () => undefined;
    for (let lane = this.#nextLane(); lane !== undefined; lane = this.#nextLane()) {
      this.#busy.add(lane);
      const running = this.#run(this.#take(lane));
      // Outcomes are delivered only after the next statement was sent, so that the database works while callers
      // process them.
      setImmediate(deliver);
      deliver = await running;
      this.#busy.delete(lane);
    }
    // No `await` may stand between the look at the queue and this line: a row submitted in between would never run.
    this.#free += 1;
    deliver();
  }

  #nextLane(): string | undefined {
    for (const lane of this.#waiting.keys()) if (!this.#busy.has(lane)) return lane;
    return undefined;
  }

  /** The rows of a lane's next statement, one per key, sorted by key so that all processes lock in the same order. */
  #take(lane: string): Waiting<Row, Outcome>[] {
    const taken = new Map<string, Waiting<Row, Outcome>>();
    const left: Waiting<Row, Outcome>[] = [];
    for (const one of this.#waiting.get(lane) ?? []) {
      if (taken.size < this.#options.maxRows && !taken.has(one.key)) taken.set(one.key, one);
      else left.push(one);
    }
    // The remaining rows go behind all other lanes.
    this.#waiting.delete(lane);
    if (left.length > 0) this.#waiting.set(lane, left);
    return [...taken.values()].sort((one, other) => (one.key < other.key ? -1 : 1));
  }

  async #run(batch: readonly Waiting<Row, Outcome>[]): Promise<Deliver> {
    const [only] = batch;
    if (batch.length === 1 && only !== undefined) return this.#runAlone(only);
    let outcomes: readonly Outcome[];
    try {
      outcomes = await this.#options.runTogether(batch.map(({ row }) => row));
      if (outcomes.length !== batch.length) throw new Error('a batch answered with another number of rows');
    } catch (fault) {
      if (isDatabaseUnanswering(fault)) return this.#refuseAll(batch, fault);
      if (this.#options.concernsAll(fault)) return refuseThese(batch, fault);
      // Runs each row alone, so that only the faulty row fails.
      const alone = await Promise.all(batch.map((one) => this.#runAlone(one)));
      return () => {
        for (const deliver of alone) deliver();
      };
    }
    return () =>
      batch.forEach(({ resolve }, index) => {
        resolve(outcomes[index] as Outcome);
      });
  }

  /** Refuses the batch and all queued rows when the database is down: each would wait for the same error in turn. */
  #refuseAll(batch: readonly Waiting<Row, Outcome>[], fault: unknown): Deliver {
    const waiting = [...this.#waiting.values()].flat();
    this.#waiting.clear();
    return refuseThese([...batch, ...waiting], fault);
  }

  async #runAlone(one: Waiting<Row, Outcome>): Promise<Deliver> {
    try {
      const outcome = await this.#options.runAlone(one.row);
      return () => one.resolve(outcome);
    } catch (fault) {
      return isDatabaseUnanswering(fault) ? this.#refuseAll([one], fault) : refuseThese([one], fault);
    }
  }
}
