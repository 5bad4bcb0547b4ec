import { setTimeout as pause } from 'node:timers/promises';
import { Presets, SingleBar } from 'cli-progress';

export interface Progress {
  /** @param done of the total @param note what else is worth knowing, such as how many were rejected */
  update(done: number, note: string): void;
  stop(): void;
}

/** Between two lines where no bar can be drawn. */
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

/**
 * Shows how far a long work has come, on standard error: a bar on a terminal, a line now and then elsewhere.
 * @param unit of what is counted, in the plural
 */
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
 * Waits until a work of the service is done, or Ctrl-C, and shows how far it is.
 * @param shown what of it is counted, the unit in the plural, and what else is worth knowing
 * @param pausesMs between two looks: the last one again and again
 * @returns the work as it was seen last
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

/** Ctrl-C and SIGTERM, for a work that ends at a good place when it is asked to. */
export interface StopSignal {
  readonly stopped: boolean;
  /** Waits so many milliseconds, or until the work is asked to stop. */
  sleep(ms: number): Promise<void>;
  /** From here on a signal ends the program as usual. */
  release(): void;
}

export function listenForStop(): StopSignal {
  const asked = new AbortController();
  const { signal } = asked;
  const stop = (): void => asked.abort();
  process.once('SIGINT', stop).once('SIGTERM', stop);
  return {
    get stopped() {
      return signal.aborted;
    },
    // It fails for no other reason than the signal.
    sleep: (ms) => pause(ms, undefined, { signal }).catch(() => undefined),
    release: () => void process.off('SIGINT', stop).off('SIGTERM', stop),
  };
}
