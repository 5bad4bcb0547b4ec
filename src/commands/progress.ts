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
