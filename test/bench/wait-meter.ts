import type { Bench } from './bench-service.ts';
import { median } from './line.ts';

/**
 * Measures what callers wait for beside work: the write-ahead log being forced to the disk, and the collection of garbage in the
 * service, which stops it.
 */
export class WaitMeter {
  readonly #bench: Bench;
  readonly #pausesMs: number[] = [];
  /** The mean of each window. */
  readonly #syncMs: number[] = [];
  #windowsMs = 0;

  constructor(bench: Bench) {
    this.#bench = bench;
  }

  async #syncs(): Promise<{ count: number; ms: number }> {
    const { rows } = await this.#bench.pool.query<{ count: string; ms: number }>(
      "SELECT coalesce(sum(fsyncs), 0) AS count, coalesce(sum(fsync_time), 0) AS ms FROM pg_stat_io WHERE object = 'wal'",
    );
    return { count: Number(rows[0]?.count), ms: Number(rows[0]?.ms) };
  }

  async measure<Result>(window: () => Promise<Result>): Promise<Result> {
    await this.#bench.server.usage();
    const before = await this.#syncs();
    const begin = performance.now();
    const result = await window();
    this.#windowsMs += performance.now() - begin;
    const after = await this.#syncs();
    this.#pausesMs.push(...(await this.#bench.server.usage()).pausesMs);
    if (after.count > before.count) this.#syncMs.push((after.ms - before.ms) / (after.count - before.count));
    return result;
  }

  /** Forgets what was measured so far: a warm-up. */
  clear(): void {
    this.#pausesMs.length = 0;
    this.#syncMs.length = 0;
    this.#windowsMs = 0;
  }

  describe(): string {
    const ms = (value: number): string => value.toFixed(1);
    const [fastest, slowest] = [Math.min(...this.#syncMs), Math.max(...this.#syncMs)];
    const stopped = this.#pausesMs.reduce((sum, one) => sum + one, 0) / this.#windowsMs;
    return (
      `Forcing the log to the disk took ${ms(median(this.#syncMs))} ms (${ms(fastest)} to ${ms(slowest)} by window). Garbage ` +
      `stopped the process for ${Math.round(stopped * 100)} % of the time: ${ms(median(this.#pausesMs))} ms each, ${ms(Math.max(...this.#pausesMs))} at most.`
    );
  }
}
