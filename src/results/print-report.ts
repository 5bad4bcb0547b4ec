import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { BallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import type { Deps } from '#src/deps.ts';
import { MICRO } from '#src/platform/decimal.ts';
import { closeTime, secrecyOf, statusAt } from '#src/voting-events/lifecycle.ts';
import type { PaperSize } from './download-link.ts';
import { PrintQueue } from './print-queue.ts';
import type { PrintOrder } from './print-worker.ts';
import { readVoterFigures } from './repository.ts';

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
