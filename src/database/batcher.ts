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
  /** Rows of a lane share statements, one at a time: what holds up one lane holds up no other. */
  readonly laneOf: (row: Row) => string;
  /** Lanes with a statement under way, at most. */
  readonly places: number;
  /** Rows with the same key never share a statement: the second must see what the first did. */
  readonly keyOf: (row: Row) => string;
  readonly maxRows: number;
  /** Rows of a lane that may wait; past it they are refused at once. */
  readonly maxWaiting: number;
  /** Whether a fault of many rows would meet each of them: none is run by itself then. */
  readonly concernsAll: (fault: unknown) => boolean;
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

const refuseThese =
  (rows: readonly Pick<Waiting<unknown, unknown>, 'reject'>[], fault: unknown): Deliver =>
  () => {
    for (const { reject } of rows) reject(fault);
  };

/**
 * Group commit: rows of a lane that arrive while a statement is under way go into the next one together and share one wait for the disk.
 * No timer: a row that arrives alone is run at once, as if nothing were here. Answers go out after the commit only.
 */
export class Batcher<Row, Outcome> {
  readonly #options: BatchOptions<Row, Outcome>;
  /** By lane. The first one is next. */
  readonly #waiting = new Map<string, Waiting<Row, Outcome>[]>();
  readonly #busy = new Set<string>();
  readonly #running = new Set<Promise<void>>();
  #free: number;

  constructor(options: BatchOptions<Row, Outcome>) {
    this.#options = options;
    this.#free = options.places;
  }

  /** @throws the refusal when too many wait; what the row's own statement throws */
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
      // What callers do with an answer is done before anything is sent that was queued meanwhile. So they hear of one statement
      // when the next is on its way: the database works while their answers are made.
      setImmediate(deliver);
      deliver = await running;
      this.#busy.delete(lane);
    }
    // In the same breath as the look at what waits: a row that came in between would wait for ever.
    this.#free += 1;
    deliver();
  }

  #nextLane(): string | undefined {
    for (const lane of this.#waiting.keys()) if (!this.#busy.has(lane)) return lane;
    return undefined;
  }

  /** The rows of a lane's next statement, sorted, so that two processes lock in one order; rows of one key wait for each other. */
  #take(lane: string): Waiting<Row, Outcome>[] {
    const taken = new Map<string, Waiting<Row, Outcome>>();
    const left: Waiting<Row, Outcome>[] = [];
    for (const one of this.#waiting.get(lane) ?? []) {
      if (taken.size < this.#options.maxRows && !taken.has(one.key)) taken.set(one.key, one);
      else left.push(one);
    }
    // What is left waits behind all other lanes.
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
