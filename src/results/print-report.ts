import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { BallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import type { Deps } from '#src/deps.ts';
import { MICRO } from '#src/platform/decimal.ts';
import { ApiError } from '#src/platform/errors.ts';
import { closeTime, secrecyOf, statusAt } from '#src/voting-events/lifecycle.ts';
import type { PaperSize } from './download-link.ts';
import type { PrintOrder } from './print-worker.ts';
import { readVoterFigures } from './repository.ts';

/** Reports of one account that may wait or be drawn at once; further ones are asked to come back. */
export const PLACES = 3;
/** Reports of all accounts together: what the memory holds. */
const MAX_WAITING = 60;
const RETRY_SECONDS = 5;

interface Print<T> {
  readonly key: string;
  readonly accountId: string;
  readonly work: (signal: AbortSignal) => Promise<T>;
  readonly controller: AbortController;
  readonly result: Promise<T>;
  readonly start: () => Promise<void>;
  /** Callers who still want it. */
  callers: number;
}

/**
 * One print at a time, the accounts in turn, so that the many reports of one never stand before the first of another. All
 * who ask for the same report share one print; one without a waiting caller is not made, or is broken off.
 */
export class PrintQueue<T> {
  readonly #prints = new Map<string, Print<T>>();
  /** Prints that have not begun, by account; the accounts in the order of their turns. */
  readonly #waiting = new Map<string, Print<T>[]>();
  #busy = false;
  #lastAccount: string | undefined;

  /**
   * @param key what makes two reports the same
   * @param gone aborted when the caller goes away
   * @throws ApiError 429 where the account has as many reports under way as it may; 500 where all accounts together have
   */
  async print(
    accountId: string,
    key: string,
    gone: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const print = this.#prints.get(key) ?? this.#add(accountId, key, work);
    print.callers += 1;
    const leave = (): void => {
      print.callers -= 1;
      if (print.callers === 0) this.#drop(print);
    };
    gone.addEventListener('abort', leave, { once: true });
    if (gone.aborted) leave();
    try {
      return await print.result;
    } finally {
      gone.removeEventListener('abort', leave);
    }
  }

  #add(accountId: string, key: string, work: Print<T>['work']): Print<T> {
    const own = [...this.#prints.values()].filter((print) => print.accountId === accountId).length;
    if (own >= PLACES) {
      const message = `Only ${PLACES} reports of an account are made at once. Retry in a moment.`;
      throw new ApiError('rate_limited', message, undefined, RETRY_SECONDS);
    }
    if (this.#prints.size >= MAX_WAITING)
      throw new ApiError('internal', 'Too many reports are being made. Retry in a moment.', undefined, RETRY_SECONDS);
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const controller = new AbortController();
    const start = async (): Promise<void> => {
      try {
        resolve(await work(controller.signal));
      } catch (fault) {
        reject(fault);
      }
    };
    const print: Print<T> = { key, accountId, work, controller, result: promise, start, callers: 0 };
    // Waiting callers get the failure; without any, it is dropped.
    promise.catch(() => undefined);
    controller.signal.addEventListener('abort', () => reject(new Error('nobody waits for this report any more')));
    this.#prints.set(key, print);
    this.#waiting.set(accountId, [...(this.#waiting.get(accountId) ?? []), print]);
    void this.#work();
    return print;
  }

  #drop(print: Print<T>): void {
    if (this.#prints.get(print.key) === print) this.#prints.delete(print.key);
    const waiting = this.#waiting.get(print.accountId)?.filter((other) => other !== print) ?? [];
    if (waiting.length > 0) this.#waiting.set(print.accountId, waiting);
    else this.#waiting.delete(print.accountId);
    print.controller.abort();
  }

  async #work(): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    for (let print = this.#next(); print !== undefined; print = this.#next()) {
      await print.start();
      if (this.#prints.get(print.key) === print) this.#prints.delete(print.key);
    }
    this.#busy = false;
  }

  /** The first print of the account whose turn it is: not that of the last one, if another one waits. */
  #next(): Print<T> | undefined {
    const [first, second] = this.#waiting;
    const turn = first?.[0] === this.#lastAccount ? (second ?? first) : first;
    if (turn === undefined) return undefined;
    const [accountId, [print, ...others]] = turn;
    this.#lastAccount = accountId;
    this.#waiting.delete(accountId);
    if (others.length > 0) this.#waiting.set(accountId, others);
    return print;
  }
}

/** The largest report takes a few seconds and a few hundred megabytes; what takes more is given up, alone. */
const MAX_PRINT_MS = 60_000;
const MAX_HEAP_MB = 512;
/** The thread keeps its fonts for the next report so long. */
const IDLE_MS = 60_000;

function startWorker(): Worker {
  const worker = new Worker(new URL('./print-worker.ts', import.meta.url), {
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  });
  // A process that has nothing else to do ends.
  worker.unref();
  // Callers who wait for a report get its failure from `once`; there is no one else to notify.
  worker.on('error', () => undefined);
  return worker;
}

/**
 * Prints one report at a time, in a thread of its own: drawing is work of the processor, and would hold up everybody who
 * votes meanwhile.
 */
export class ReportPress {
  readonly #deps: Pick<Deps, 'db' | 'config' | 'counting'>;
  readonly #queue = new PrintQueue<Uint8Array<ArrayBuffer>>();
  #worker: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(deps: Pick<Deps, 'db' | 'config' | 'counting'>) {
    this.#deps = deps;
  }

  /**
   * The result report of an event at this moment, as a PDF (completions 3, "Results, votes, exports").
   * @param gone aborted when the caller goes away: a report without a waiting caller is not made
   */
  print(
    definition: BallotDefinition,
    size: PaperSize,
    nowMs: number,
    accountId: string,
    gone: AbortSignal,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const { event } = definition;
    // A caller who asks while the same report is made gets that one: it shows a moment before, and says which.
    const key = `${event.id} ${event.definitionVersion} ${size} ${statusAt(event, nowMs)}`;
    return this.#queue.print(accountId, key, gone, async (signal) =>
      this.#draw(await this.#order(definition, size, nowMs), signal),
    );
  }

  /** A thread that failed, hangs or draws without a caller is ended, and the next report gets a new one. */
  async #draw(order: PrintOrder, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>> {
    signal.throwIfAborted();
    clearTimeout(this.#idle);
    const worker = this.#worker ?? startWorker();
    this.#worker = worker;
    try {
      const answer = once(worker, 'message', { signal: AbortSignal.any([signal, AbortSignal.timeout(MAX_PRINT_MS)]) });
      worker.postMessage(order, order.results instanceof Uint8Array ? [order.results.buffer] : []);
      const [bytes] = (await answer) as [Uint8Array<ArrayBuffer>];
      this.#idle = setTimeout(() => this.#dismiss(), IDLE_MS).unref();
      return bytes;
    } catch (fault) {
      this.#dismiss();
      throw fault;
    }
  }

  #dismiss(): void {
    void this.#worker?.terminate();
    this.#worker = undefined;
  }

  async #order(definition: BallotDefinition, size: PaperSize, nowMs: number): Promise<PrintOrder> {
    const { event } = definition;
    const [results, { voters }] = await Promise.all([
      this.#deps.counting.forThread(definition, nowMs),
      readVoterFigures(this.#deps.db, event.id),
    ]);
    const groups = new Map(definition.groups.map(({ id, name }) => [id, name]));
    const frame: PrintOrder['frame'] = {
      event: {
        id: event.id,
        code: event.code,
        title: event.title,
        type: event.type,
        status: statusAt(event, nowMs),
        secrecy: secrecyOf(event),
        timeZone: event.timeZone,
        openedAt: event.openedAt ?? event.startsAt,
        closesAt: closeTime(event),
      },
      roll:
        event.type === 'poll'
          ? null
          : {
              approved: voters.approved,
              voted: voters.voted,
              approvedWeightMicro: BigInt(voters.approvedWeight),
              votedWeightMicro: BigInt(voters.votedWeight),
            },
      unitWeights: BigInt(voters.weight) === BigInt(voters.total) * MICRO,
      issuer: { company: this.#deps.config.companyName, baseUrl: this.#deps.config.baseUrl },
    };
    const definitions = new Map(
      definition.positions.map((own) => {
        const groupName = own.groupId === null ? null : (groups.get(own.groupId) ?? null);
        // The candidates stand in the results.
        return [own.id, { definition: { ...own, candidates: [], everCandidates: [], allCandidates: [] }, groupName }];
      }),
    );
    return { frame, definitions, results, size };
  }
}
