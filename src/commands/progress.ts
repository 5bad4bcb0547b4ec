import { setTimeout as pause } from 'node:timers/promises';
import { Presets, SingleBar } from 'cli-progress';

export interface Progress {
  /** @param done count so far, of the total @param note further information, such as the number of rejected lines */
  update(done: number, note: string): void;
  stop(): void;
}

/** Time between two lines of progress if standard error is no terminal. */
const PLAIN_PAUSE_MS = 5_000;

function plainProgress(total: number, unit: string): Progress {
  let toldAtMs = performance.now();
  return {
    update(done, note) {
      if (performance.now() - toldAtMs < PLAIN_PAUSE_MS) return;
      toldAtMs = performance.now();
      const share = total === 0 ? 100 : Math.floor((done / total) * 100);
      process.stderr.write(`${done} of ${total} ${unit} (${share} %)${note === '' ? '' : `, ${note}`}\n`);
    },
    stop: () => undefined,
  };
}

/** Shows progress on standard error: a bar on a terminal, elsewhere a line every few seconds. @param unit what is counted, in the plural */
export function showProgress(total: number, done: number, unit = 'lines'): Progress {
  if (!process.stderr.isTTY) return plainProgress(total, unit);
  const format = `{bar} {percentage} % | {value} of {total} ${unit} | about {eta_formatted} left {note}`;
  const bar = new SingleBar(
    { format, stream: process.stderr, hideCursor: true, etaBuffer: 50 },
    Presets.shades_classic,
  );
  bar.start(total, done, { note: '' });
  return {
    update: (now, note) => bar.update(now, { note: note === '' ? '' : `| ${note}` }),
    stop: () => bar.stop(),
  };
}

export const NO_PROGRESS: Progress = { update: () => undefined, stop: () => undefined };

interface Work {
  readonly total: number;
  readonly finishedAt: number | null;
}

/**
 * Waits until a task of the service is finished, or until Ctrl-C, and shows its progress.
 * @param shown `done` counts the finished part, `unit` names it in the plural, `note` adds further information
 * @param pausesMs pauses between requests; the last pause repeats
 * @returns the task as last read
 */
export async function waitForEnd<Row extends Work>(
  json: boolean,
  read: () => Promise<Row>,
  shown: { readonly done: (row: Row) => number; readonly unit: string; readonly note?: (row: Row) => string },
  pausesMs: readonly number[],
): Promise<Row> {
  let row = await read();
  const bar = json || row.finishedAt !== null ? NO_PROGRESS : showProgress(row.total, shown.done(row), shown.unit);
  const stop = listenForStop();
  try {
    for (let tries = 0; row.finishedAt === null && !stop.stopped; tries += 1) {
      await stop.sleep(pausesMs[tries] ?? pausesMs.at(-1) ?? 0);
      row = await read();
      bar.update(shown.done(row), shown.note?.(row) ?? '');
    }
    return row;
  } finally {
    bar.stop();
    stop.release();
  }
}

/** Catches Ctrl-C and SIGTERM, so that a task can stop at a safe point. */
export function listenForStop() {
  const asked = new AbortController();
  const { signal } = asked;
  const stop = (): void => asked.abort();
  process.once('SIGINT', stop).once('SIGTERM', stop);
  return {
    signal,
    get stopped() {
      return signal.aborted;
    },
    /** Waits until the time has passed or a signal arrives. `pause` can only fail because a signal aborted it. */
    sleep: (ms: number) => pause(ms, undefined, { signal }).catch(() => undefined),
    /** Restores the default: a signal ends the program. */
    release: () => void process.off('SIGINT', stop).off('SIGTERM', stop),
  };
}
