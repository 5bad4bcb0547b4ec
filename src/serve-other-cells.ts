import { setTimeout as delay } from 'node:timers/promises';
import { finishMoves, showMovedAccounts } from '#src/cells/finish-move.ts';
import { setOlderAside } from '#src/cells/move-account.ts';
import { noteGuests, watchCells } from '#src/cells/open-cells.ts';
import { servedCells } from '#src/database/other-cells.ts';
import { SECOND_MS } from '#src/platform/clock.ts';
import { summariseFault } from '#src/platform/log.ts';
import { repeat } from '#src/platform/within.ts';
import { joinCell } from '#src/prepare-start.ts';
import type { Deps } from './deps.ts';
import type { RunningCell } from './start-cell.ts';

const AGAIN_MS = 2 * SECOND_MS;

interface Others {
  /** The dependencies of the main cell. */
  readonly deps: Deps;
  readonly databaseUrl: string;
  readonly start: (cell: Deps, url: string) => Promise<RunningCell>;
  /** From now on, requests for the cell are accepted. */
  readonly add: (running: RunningCell) => void;
  readonly stopping: AbortSignal;
}

/** Serves all other cells (databases). Returns once every cell that answers now is served; any other is served when it answers. */
export async function serveOthers({ deps, databaseUrl, start, add, stopping }: Others): Promise<void> {
  const { config, cells, log } = deps;
  const tolerate = <T>(name: string, work: () => Promise<T>): Promise<T | undefined> =>
    work().catch((fault: unknown) => {
      log.warn({ cell: name, fault: summariseFault(fault) }, 'a cell cannot be served yet');
      return undefined;
    });
  /** Begins a cell, which is not served yet. @returns undefined if that failed */
  const begin = async (name: string, url: string): Promise<RunningCell | undefined> => {
    const cell = cells.get(name);
    if (cell === undefined) return undefined;
    return tolerate(name, async () => {
      await joinCell(config, databaseUrl, { name, url });
      return start(cell, url);
    });
  };
  /** Sets older states of accounts aside, and notes guests, in the cells that are served and in `begun`. @returns those that must not be served yet */
  const compare = async (begun: readonly (RunningCell | undefined)[]) => {
    const all = [deps, ...servedCells(deps), ...begun.flatMap((running) => running?.deps ?? [])];
    const unclear = await setOlderAside(all);
    await noteGuests(all);
    return unclear;
  };
  const serve = async (name: string, running: RunningCell): Promise<boolean> => {
    running.deps.standing.isServed = true;
    add(running);
    return (await tolerate(name, () => running.begin().then(() => true))) === true;
  };
  const pause = () => delay(AGAIN_MS, undefined, { signal: stopping, ref: false }).catch(() => undefined);
  const keepTrying = async (name: string, url: string, begun: RunningCell | undefined): Promise<void> => {
    let running = begun;
    for (await pause(); !stopping.aborted; await pause()) {
      running ??= await begin(name, url);
      if (running === undefined || (await compare([running])).size > 0) continue;
      if (await serve(name, running)) return;
    }
  };
  const begun = await Promise.all(config.databaseCells.map(async ({ name, url }) => begin(name, url)));
  // Only once all were asked: the later state of an account may be in any of them.
  let unclear = await compare(begun);
  // The main cell is served from the first request on, which therefore waits.
  for (; unclear.has(deps) && !stopping.aborted; unclear = await compare(begun)) await pause();
  for (const [at, { name, url }] of config.databaseCells.entries()) {
    const running = begun[at];
    if (running !== undefined && !unclear.has(running.deps) && (await serve(name, running))) continue;
    keepTrying(name, url, running).catch((fault: unknown) =>
      log.error({ cell: name, fault: summariseFault(fault) }, 'no cell'),
    );
  }
  repeat(SECOND_MS, stopping, log, 'cells were not looked at', watchCells(deps));
  if (!config.worker) return;
  const inEach = (work: (cell: Deps) => Promise<void>) => async (): Promise<void> => {
    const ends = await Promise.allSettled([deps, ...servedCells(deps)].map(work));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  };
  repeat(5 * SECOND_MS, stopping, log, 'moves that were cut off were not looked for', inEach(showMovedAccounts));
  repeat(5 * SECOND_MS, stopping, log, 'older states of accounts were not looked for', () => compare([]));
  // A separate task, because no account should wait until the rows of another account are deleted.
  repeat(5 * SECOND_MS, stopping, log, 'what moves left was not looked for', inEach(finishMoves));
}
