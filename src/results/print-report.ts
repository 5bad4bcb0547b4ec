import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { BallotPaper } from '#src/ballot-paper/paper.ts';
import type { Deps } from '#src/deps.ts';
import { MICRO } from '#src/platform/decimal.ts';
import { ApiError } from '#src/platform/errors.ts';
import { closeTime, secrecyOf, statusAt } from '#src/voting-events/lifecycle.ts';
import type { EventCounter } from './count-event.ts';
import type { PaperSize } from './download-link.ts';
import type { PrintOrder } from './print-worker.ts';
import type { ReportInput, ReportPosition } from './report/report-input.ts';
import { readVoterFigures } from './repository.ts';

/** Reports that may wait for their turn; a caller beyond that is asked to come back. */
const MAX_WAITING = 16;
const RETRY_SECONDS = 5;
/** The largest report takes a few seconds and a few hundred megabytes; what takes more is given up, alone. */
const MAX_PRINT_MS = 60_000;
const MAX_HEAP_MB = 1_024;
/** The thread keeps its fonts for the next report so long. */
const IDLE_MS = 60_000;

function startWorker(): Worker {
  const worker = new Worker(new URL('./print-worker.ts', import.meta.url), {
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  });
  // A process that has nothing else to do ends.
  worker.unref();
  // Who waits for a report is told of its failure by `once`; nobody else needs to be.
  worker.on('error', () => undefined);
  return worker;
}

/**
 * Prints one report at a time, in a thread of its own: drawing is work of the processor, and would hold up everybody who
 * votes meanwhile.
 */
export class ReportPress {
  readonly #deps: Pick<Deps, 'db' | 'config'>;
  readonly #counter: EventCounter;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #worker: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(deps: Pick<Deps, 'db' | 'config'>, counter: EventCounter) {
    this.#deps = deps;
    this.#counter = counter;
  }

  /** The result report of an event at this moment, as a PDF (completions 3, "Results, votes, exports"). */
  async print(paper: BallotPaper, size: PaperSize, nowMs: number): Promise<Uint8Array<ArrayBuffer>> {
    if (this.#waiting >= MAX_WAITING) {
      const message = 'Too many reports are being made. Retry in a moment.';
      throw new ApiError('internal', message, undefined, RETRY_SECONDS);
    }
    this.#waiting += 1;
    const work = (): Promise<Uint8Array<ArrayBuffer>> => this.#print(paper, size, nowMs);
    const mine = this.#last.then(work, work);
    this.#last = mine.catch(() => undefined);
    try {
      return await mine;
    } finally {
      this.#waiting -= 1;
    }
  }

  /** A thread that failed or hangs is ended, and the next report gets a new one. */
  async #draw(order: PrintOrder): Promise<Uint8Array<ArrayBuffer>> {
    clearTimeout(this.#idle);
    const worker = this.#worker ?? startWorker();
    this.#worker = worker;
    try {
      const answer = once(worker, 'message', { signal: AbortSignal.timeout(MAX_PRINT_MS) });
      worker.postMessage(order);
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

  async #print(paper: BallotPaper, size: PaperSize, nowMs: number): Promise<Uint8Array<ArrayBuffer>> {
    const { event } = paper;
    const [results, { voters }] = await Promise.all([
      this.#counter.results(paper, 'organizer', nowMs),
      readVoterFigures(this.#deps.db, event.id),
    ]);
    const groups = new Map(paper.groups.map(({ id, name }) => [id, name]));
    const positions = results.positions.flatMap((result): ReportPosition[] => {
      const own = paper.positionById.get(result.id);
      if (own === undefined) return [];
      return [
        {
          result,
          paper: own,
          groupName: own.groupId === null ? null : (groups.get(own.groupId) ?? null),
        },
      ];
    });
    const input: ReportInput = {
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
      final: results.final,
      asOf: results.asOf,
      ballots: results.stats.ballots,
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
      positions,
      log: results.log,
      lot: results.lot,
      issuer: { company: this.#deps.config.companyName, baseUrl: this.#deps.config.baseUrl },
    };
    return this.#draw({ input, size });
  }
}
