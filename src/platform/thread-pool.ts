import { type Transferable, Worker } from 'node:worker_threads';
import { monotonicMs } from './clock.ts';
import type { Leases } from './leases.ts';
import type { Posted, Reply } from './pool-thread.ts';
import { Turns } from './turns.ts';

/** Threads beyond the limit, used after all threads were busy for `SPARE_AFTER_MS`, so that long jobs do not block other accounts. */
const SPARES = 2;
const SPARE_AFTER_MS = 300;

/** Starts a program of this service as a thread, which does not keep the process alive while it is idle. @param data its `workerData` */
export function startThread(program: URL, data: unknown, maxHeapMb: number): Worker {
  const worker = new Worker(program, {
    execArgv: [],
    workerData: data,
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
  });
  worker.unref();
  return worker;
}

interface PoolLimits {
  readonly threads: number;
  readonly maxHeapMb: number;
  /** How long an idle thread lives. The caches of its modules end with it. */
  readonly idleMs: number;
}

interface Order {
  /** A module that exports `work`, a function of the input; its value is the job's result. */
  readonly module: URL;
  readonly input: unknown;
  /** Parts of the input that are transferred to the thread instead of copied. */
  readonly moved?: readonly Transferable[];
  readonly account: string;
  /** The name of data that threads cache. The job goes to a free thread that has had a job of this name, if there is one. */
  readonly about?: string;
  /** A job that takes longer fails, and its thread is ended. */
  readonly maxMs: number;
  /** Aborted when the result is no longer wanted. */
  readonly gone?: AbortSignal;
}

interface Waiting extends Order {
  readonly resolve: (value: unknown) => void;
  readonly reject: (fault: Error) => void;
}

interface Thread {
  readonly worker: Worker;
  readonly remembers: Set<string>;
  order: Waiting | undefined;
  begunAt: number;
  /** Ends the thread, and rejects its job. */
  end(fault: Error): void;
  timer: NodeJS.Timeout | undefined;
}

/**
 * Threads for work that would block the event loop. Each runs one job (`Order`) at a time, so that a crash fails no other job. Accounts
 * take turns, and one account never occupies all threads. If long jobs occupy all threads, an account without a running job gets a spare
 * thread.
 */
export class ThreadPool {
  readonly #limits: PoolLimits;
  readonly #data: unknown;
  readonly #leases: Leases | undefined;
  readonly #threads = new Set<Thread>();
  /** Jobs that have not begun, by account. */
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #turns = new Turns();
  #spareTimer: NodeJS.Timeout | undefined;

  /** @param data the threads' `workerData` @param leases limits the waiting and running jobs; no limit when left out */
  constructor(limits: PoolLimits, data: unknown, leases?: Leases) {
    this.#limits = limits;
    this.#data = data;
    this.#leases = leases;
  }

  /** Runs a job in a thread. @throws Error if it failed, took too long or too much memory; the refusal of `leases` */
  async run(order: Order): Promise<unknown> {
    const place = await this.#leases?.take(order.account);
    try {
      order.gone?.throwIfAborted();
      return await new Promise((resolve, reject) => this.#add({ ...order, resolve, reject }));
    } finally {
      place?.end();
    }
  }

  async close(): Promise<void> {
    this.#waiting.clear();
    clearTimeout(this.#spareTimer);
    await Promise.all([...this.#threads].map(({ worker }) => worker.terminate()));
  }

  #add(order: Waiting): void {
    const { account, gone, reject } = order;
    this.#waiting.set(account, [...(this.#waiting.get(account) ?? []), order]);
    gone?.addEventListener('abort', () => {
      this.#keep(account, this.#waiting.get(account)?.filter((other) => other !== order) ?? []);
      const fault = new Error('nobody waits for this any more');
      [...this.#threads].find((thread) => thread.order === order)?.end(fault);
      reject(fault);
    });
    this.#next();
  }

  #keep(account: string, orders: Waiting[]): void {
    if (orders.length > 0) this.#waiting.set(account, orders);
    else this.#waiting.delete(account);
  }

  #next(): void {
    const busy = [...this.#threads].filter(({ order }) => order !== undefined);
    const { threads } = this.#limits;
    const isFull = busy.length >= threads;
    if (isFull && !this.#maySpare(busy)) return;
    const share = isFull ? 1 : Math.max(1, threads - 1);
    const able = [...this.#waiting.keys()].filter(
      (account) => busy.filter(({ order }) => order?.account === account).length < share,
    );
    const account = this.#turns.next(able);
    if (account === undefined) return;
    const [order, ...others] = this.#waiting.get(account) ?? [];
    this.#turns.took(account);
    this.#keep(account, others);
    if (order !== undefined) this.#begin(order);
    this.#next();
  }

  /** Whether a job may begin on a spare thread now. If it may only begin later, a timer calls `#next` at that time. */
  #maySpare(busy: readonly Thread[]): boolean {
    if (this.#waiting.size === 0 || busy.length >= this.#limits.threads + SPARES) return false;
    const wait = Math.max(...busy.map(({ begunAt }) => begunAt)) + SPARE_AFTER_MS - monotonicMs();
    if (wait <= 0) return true;
    clearTimeout(this.#spareTimer);
    this.#spareTimer = setTimeout(() => this.#next(), wait).unref();
    return false;
  }

  #begin(order: Waiting): void {
    const free = [...this.#threads].filter((thread) => thread.order === undefined);
    const { about, module, input, moved = [], maxMs } = order;
    const known = about === undefined ? undefined : free.find(({ remembers }) => remembers.has(about));
    const thread = known ?? free[0] ?? this.#start();
    if (about !== undefined) thread.remembers.add(about);
    thread.order = order;
    thread.begunAt = monotonicMs();
    clearTimeout(thread.timer);
    thread.timer = setTimeout(() => thread.end(new Error('the order took too long')), maxMs).unref();
    thread.worker.postMessage({ module: module.href, input } satisfies Posted, moved);
  }

  #start(): Thread {
    const program = new URL('./pool-thread.ts', import.meta.url);
    const worker = startThread(program, this.#data, this.#limits.maxHeapMb);
    const end = (fault: Error): void => {
      clearTimeout(thread.timer);
      if (!this.#threads.delete(thread)) return;
      void worker.terminate();
      thread.order?.reject(fault);
      this.#next();
    };
    const thread: Thread = { worker, remembers: new Set(), order: undefined, begunAt: 0, end, timer: undefined };
    worker.on('error', (fault) => end(fault instanceof Error ? fault : new Error('the thread failed')));
    worker.on('exit', () => end(new Error('the thread ended')));
    worker.on('message', (reply: Reply) => {
      clearTimeout(thread.timer);
      thread.timer = setTimeout(
        () => end(new Error('the thread was not needed any more')),
        this.#limits.idleMs,
      ).unref();
      const { order } = thread;
      thread.order = undefined;
      if ('fault' in reply) order?.reject(new Error(`the thread failed: ${reply.fault}`));
      else order?.resolve(reply.value);
      this.#next();
    });
    this.#threads.add(thread);
    return thread;
  }
}
