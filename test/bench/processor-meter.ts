import type { Bench } from './bench-service.ts';
import { alsoOf, type Figure, median, type ProcessorMicros } from './line.ts';
import { TICKS_A_SECOND, ticksOf, ticksOfTree } from './processor-ticks.ts';

const MICROS_A_TICK = 1_000_000 / TICKS_A_SECOND;

/**
 * Measures what windows of load take of the processor for each request: in the service, in the database with all its
 * processes, and in this process, which sends the load. What limits a line is then seen and not guessed.
 */
export class ProcessorMeter {
  readonly #service: number | undefined;
  readonly #database: number;
  readonly #seen: ProcessorMicros[] = [];
  readonly #shares: number[] = [];

  /** @param service the process that is asked; undefined where pgbench asks the database by itself */
  constructor({ databasePid, server }: Bench, service: number | undefined = server.pid) {
    this.#service = service;
    this.#database = databasePid;
  }

  #ticks() {
    return {
      service: this.#service === undefined ? 0 : ticksOfTree(this.#service),
      database: ticksOfTree(this.#database),
      load: ticksOf(process.pid),
    };
  }

  async measure<Result extends { readonly answered: number }>(window: () => Promise<Result>): Promise<Result> {
    const before = this.#ticks();
    const begin = performance.now();
    const result = await window();
    const ms = performance.now() - begin;
    const after = this.#ticks();
    const micros = (name: keyof ProcessorMicros): number =>
      ((after[name] - before[name]) * MICROS_A_TICK) / result.answered;
    this.#seen.push({ service: micros('service'), database: micros('database'), load: micros('load') });
    this.#shares.push((100_000 * (after.service - before.service)) / TICKS_A_SECOND / ms);
    return result;
  }

  /** Forgets what was measured so far: a warm-up. */
  clear(): void {
    this.#seen.length = 0;
    this.#shares.length = 0;
  }

  /** Microseconds of a core for each request, in the windows that count for another figure of theirs. */
  figure(name: keyof ProcessorMicros, windows: Figure): Figure {
    return alsoOf(
      this.#seen.map((one) => one[name]),
      windows,
    );
  }

  /** Medians of the windows, in microseconds of a core for each request. */
  micros(): ProcessorMicros {
    const of = (name: keyof ProcessorMicros): number => median(this.#seen.map((one) => one[name]));
    return { service: of('service'), database: of('database'), load: of('load') };
  }

  describe(): string {
    const { service, database, load } = this.micros();
    const [a, b, c] = [service, database, load].map(Math.round);
    return `A request took ${a} µs of a core in the service, ${b} in the database, ${c} in the load generator; the one server process kept ${Math.round(median(this.#shares))} % of a core busy.`;
  }
}
