import { databaseErrorCode } from './client.ts';

/**
 * Whether a fault says that the next try would fail too: nothing listens, or nothing answers. A single connection that was
 * lost says nothing of the others.
 */
function isDatabaseUnanswering(fault: unknown): boolean {
  if (databaseErrorCode(fault) === '57P03') return true;
  for (let error = fault; error instanceof Error; error = error.cause) {
    if (/^(ECONNREFUSED|ENOENT)$/.test(String(Reflect.get(error, 'code')))) return true;
    if (/timeout exceeded when trying to connect|Query read timeout|gives no answer/.test(error.message)) return true;
  }
  return false;
}

/** How a batcher turns rows into one statement, and what it falls back to. */
interface BatchOptions<Row, Outcome> {
  /** Runs many rows as one statement; the outcomes stand in the order of the rows. All or none of it is committed. */
  readonly runTogether: (rows: readonly Row[]) => Promise<readonly Outcome[]>;
  /** Runs one row. Must bear being run again after a statement whose end is unknown. */
  readonly runAlone: (row: Row) => Promise<Outcome>;
  /** Rows with the same key never share a statement: the second must see what the first did. */
  readonly keyOf: (row: Row) => string;
  /** Rows a statement holds at most. */
  readonly maxRows: number;
  /** Rows that may wait; past it they are refused at once. */
  readonly maxWaiting: number;
  /** What the caller of a refused row gets. */
  readonly refusal: () => Error;
}

interface Waiting<Row, Outcome> {
  readonly row: Row;
  readonly key: string;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (fault: unknown) => void;
}

/** Gives the callers of a statement their outcomes. */
type Deliver = () => void;

/**
 * Group commit: rows that arrive while a statement is under way go into the next one together and share one wait for the disk.
 * No timer: a row that arrives alone is run at once, as if nothing were here. Answers go out after the commit only.
 */
export class Batcher<Row, Outcome> {
  readonly #options: BatchOptions<Row, Outcome>;
  #waiting: Waiting<Row, Outcome>[] = [];
  #running: Promise<void> | undefined;

  constructor(options: BatchOptions<Row, Outcome>) {
    this.#options = options;
  }

  /** @throws the refusal when too many wait; what the row's own statement throws */
  submit(row: Row): Promise<Outcome> {
    if (this.#waiting.length >= this.#options.maxWaiting) return Promise.reject(this.#options.refusal());
    return new Promise((resolve, reject) => {
      this.#waiting.push({ row, key: this.#options.keyOf(row), resolve, reject });
      this.#running ??= this.#runAll();
    });
  }

  /** Waits until everything that was submitted has its answer. */
  async drain(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  async #runAll(): Promise<void> {
    let deliver: Deliver = () => undefined;
    while (this.#waiting.length > 0) {
      const running = this.#run(this.#take());
      // What callers do with an answer is done before anything is sent that was queued meanwhile. So they hear of one statement
      // when the next is on its way: the database works while their answers are made.
      setImmediate(deliver);
      deliver = await running;
    }
    // In the same breath as the look at what waits: a row that came in between would wait for ever.
    this.#running = undefined;
    deliver();
  }

  /** The next statement's rows, sorted, so that two processes lock in one order; rows of one key wait for each other. */
  #take(): Waiting<Row, Outcome>[] {
    const taken = new Map<string, Waiting<Row, Outcome>>();
    const left: Waiting<Row, Outcome>[] = [];
    for (const one of this.#waiting) {
      if (taken.size < this.#options.maxRows && !taken.has(one.key)) taken.set(one.key, one);
      else left.push(one);
    }
    this.#waiting = left;
    return [...taken.values()].sort((one, other) => (one.key < other.key ? -1 : 1));
  }

  /** Runs a statement for these rows. */
  async #run(batch: readonly Waiting<Row, Outcome>[]): Promise<Deliver> {
    const [only] = batch;
    if (batch.length === 1 && only !== undefined) return this.#runAlone(only);
    let outcomes: readonly Outcome[];
    try {
      outcomes = await this.#options.runTogether(batch.map(({ row }) => row));
      if (outcomes.length !== batch.length) throw new Error('a batch answered with another number of rows');
    } catch (fault) {
      if (isDatabaseUnanswering(fault)) return this.#refuseAll(batch, fault);
      // One row may have spoilt it for all: each is run for itself, and fails or succeeds by itself.
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

  /** Where the database gives no answer, what waits would only wait for the same fault, one after another. */
  #refuseAll(batch: readonly Waiting<Row, Outcome>[], fault: unknown): Deliver {
    const waiting = this.#waiting;
    this.#waiting = [];
    return () => {
      for (const { reject } of [...batch, ...waiting]) reject(fault);
    };
  }

  async #runAlone(one: Waiting<Row, Outcome>): Promise<Deliver> {
    try {
      const outcome = await this.#options.runAlone(one.row);
      return () => one.resolve(outcome);
    } catch (fault) {
      return isDatabaseUnanswering(fault) ? this.#refuseAll([one], fault) : () => one.reject(fault);
    }
  }
}
