import { parentPort, type Transferable, Worker, type WorkerOptions } from 'node:worker_threads';

interface Numbered<Order> {
  readonly number: number;
  readonly order: Order;
}

type Reply<Value> =
  | { readonly number: number; readonly value: Value }
  | { readonly number: number; readonly fault: string };

interface Waiting<Value> {
  readonly resolve: (value: Value) => void;
  readonly reject: (fault: Error) => void;
}

/** A thread that answers orders: started with the first of them, and dismissed when none has come for a while. */
export class OrderThread<Order, Value> {
  readonly #file: URL;
  readonly #options: WorkerOptions;
  readonly #idleMs: number;
  readonly #waiting = new Map<number, Waiting<Value>>();
  #thread: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;
  #number = 0;

  /**
   * @param file calls `answerOrders`
   * @param idleMs how long the thread waits for the next order
   */
  constructor(file: URL, idleMs: number, options: WorkerOptions = {}) {
    this.#file = file;
    this.#idleMs = idleMs;
    this.#options = options;
  }

  /** @throws Error where the work failed, or the thread ended meanwhile */
  ask(order: Order): Promise<Value> {
    clearTimeout(this.#idle);
    const thread = this.#thread ?? this.#start();
    this.#number += 1;
    const numbered: Numbered<Order> = { number: this.#number, order };
    return new Promise((resolve, reject) => {
      this.#waiting.set(numbered.number, { resolve, reject });
      thread.postMessage(numbered);
    });
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle);
    await this.#thread?.terminate();
  }

  #start(): Worker {
    const thread = new Worker(this.#file, { execArgv: [], ...this.#options });
    // A process that has nothing else to do ends.
    thread.unref();
    this.#thread = thread;
    let fault = new Error('the thread ended');
    thread.on('error', (thrown) => {
      if (thrown instanceof Error) fault = thrown;
    });
    thread.on('exit', () => {
      // One that was dismissed has nothing to answer; what waits is another's.
      if (this.#thread !== thread) return;
      this.#thread = undefined;
      for (const { reject } of this.#waiting.values()) reject(fault);
      this.#waiting.clear();
    });
    thread.on('message', (reply: Reply<Value>) => this.#take(reply));
    return thread;
  }

  #take(reply: Reply<Value>): void {
    const waiting = this.#waiting.get(reply.number);
    this.#waiting.delete(reply.number);
    if ('fault' in reply) waiting?.reject(new Error(`the thread failed: ${reply.fault}`));
    else waiting?.resolve(reply.value);
    if (this.#waiting.size === 0) this.#idle = setTimeout(() => this.#dismiss(), this.#idleMs).unref();
  }

  /** Ends the thread; an order that comes before it has ended gets another. */
  #dismiss(): void {
    const dismissed = this.#thread;
    this.#thread = undefined;
    void dismissed?.terminate();
  }
}

/** In the thread: does the work of every order that comes. Bytes are handed over, other values are copied. */
export function answerOrders<Order>(work: (order: Order) => unknown): void {
  parentPort?.on('message', async ({ number, order }: Numbered<Order>) => {
    try {
      const value = await work(order);
      const moved: Transferable[] = value instanceof Uint8Array ? [value.buffer as ArrayBuffer] : [];
      parentPort?.postMessage({ number, value } satisfies Reply<unknown>, moved);
    } catch (fault) {
      const words = fault instanceof Error ? (fault.stack ?? fault.message) : String(fault);
      parentPort?.postMessage({ number, fault: words } satisfies Reply<unknown>);
    }
  });
}
