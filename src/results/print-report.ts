import type { BallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import type { Deps } from '#src/deps.ts';
import { pick } from '#src/platform/pick.ts';
import { closeTime, paperOf, secrecyOf, statusAt } from '#src/voting-events/lifecycle.ts';
import type { PaperSize } from './download-link.ts';
import type { PrintOrder } from './print-order.ts';
import { hasOtherWeights, readVoterFigures } from './repository.ts';

/** Time limit of a print, after which it is aborted. The largest report takes only a few seconds. */
const MAX_PRINT_MS = 60_000;

interface Print<T> {
  readonly controller: AbortController;
  readonly result: Promise<T>;
  callers: number;
}

/** Shares one print among all callers of the same report, and aborts it when its last caller has disconnected. */
export class SharedPrints<T> {
  readonly #prints = new Map<string, Print<T>>();

  /** @param key equal for callers that may share a report @param gone aborted when the caller disconnects */
  async print(key: string, gone: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const print = this.#prints.get(key) ?? this.#begin(key, work);
    print.callers += 1;
    const leave = (): void => {
      print.callers -= 1;
      if (print.callers > 0) return;
      this.#forget(key, print);
      print.controller.abort();
    };
    gone.addEventListener('abort', leave, { once: true });
    if (gone.aborted) leave();
    try {
      return await print.result;
    } finally {
      gone.removeEventListener('abort', leave);
    }
  }

  #begin(key: string, work: (signal: AbortSignal) => Promise<T>): Print<T> {
    const controller = new AbortController();
    const result = work(controller.signal);
    const print: Print<T> = { controller, result, callers: 0 };
    this.#prints.set(key, print);
    const forget = (): void => this.#forget(key, print);
    result.then(forget, forget);
    return print;
  }

  #forget(key: string, print: Print<T>): void {
    if (this.#prints.get(key) === print) this.#prints.delete(key);
  }
}

type PrintDeps = Pick<Deps, 'copy' | 'config' | 'counting' | 'leases' | 'threads'>;

export type PrintReport = ReturnType<typeof createPress>;

/** Prints reports in threads, because drawing would block the event loop, and with it the voters' requests. */
export function createPress(deps: PrintDeps) {
  const prints = new SharedPrints<Uint8Array<ArrayBuffer>>();
  /** The event's present report as a PDF. @param gone aborted when the caller disconnects @throws ApiError 429, 500 if too many run */
  return (definition: BallotDefinition, size: PaperSize, nowMs: number, account: string, gone: AbortSignal) => {
    const { event } = definition;
    // A caller may join a running print of the same report. That report is slightly older, and states its time.
    const key = `${event.id} ${paperOf(event)} ${size} ${statusAt(event, nowMs)}`;
    return prints.print(key, gone, async (signal) => {
      const place = await deps.leases.prints.take(account);
      try {
        const input = await orderOf(deps, definition, size, nowMs);
        const module = new URL('./print-order.ts', import.meta.url);
        const moved = input.results instanceof Uint8Array ? [input.results.buffer] : [];
        const bytes = await deps.threads.run({ module, input, moved, account, maxMs: MAX_PRINT_MS, gone: signal });
        return bytes as Uint8Array<ArrayBuffer>;
      } finally {
        place.end();
      }
    });
  };
}

async function orderOf(
  { counting, copy, config }: PrintDeps,
  definition: BallotDefinition,
  size: PaperSize,
  nowMs: number,
): Promise<PrintOrder> {
  const { event } = definition;
  const [results, { voters }, weighted] = await Promise.all([
    counting.results(definition, 'organizer', nowMs),
    readVoterFigures(copy, event.id),
    hasOtherWeights(copy, event.id),
  ]);
  const groups = new Map(definition.groups.map(({ id, name }) => [id, name]));
  const frame: PrintOrder['frame'] = {
    event: {
      ...pick(event, ['id', 'code', 'title', 'type', 'timeZone', 'language']),
      status: statusAt(event, nowMs),
      secrecy: secrecyOf(event),
      rehearsal: event.rehearsalSince !== null,
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
    unitWeights: !weighted,
    issuer: { company: config.companyName, baseUrl: config.baseUrl },
  };
  const definitions = new Map(
    definition.positions.map((own) => {
      const groupName = own.groupId === null ? null : (groups.get(own.groupId) ?? null);
      // Pass on only the withdrawn candidates: the results contain all candidates, but not which have withdrawn.
      const withdrawn = own.everCandidates.filter(({ status }) => status === 'withdrawn');
      const bare = { ...own, candidates: [], everCandidates: withdrawn, allCandidates: [] };
      return [own.id, { definition: bare, groupName }];
    }),
  );
  return { frame, definitions, groups, results, size };
}
