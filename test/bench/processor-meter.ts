import { median } from './line.ts';
import type { ServerProcess } from './server-process.ts';

/** Measures what windows of load take of a server's processor, so that what limits a line is seen and not guessed. */
export class ProcessorMeter {
  readonly #server: ServerProcess;
  readonly #micros: number[] = [];
  readonly #shares: number[] = [];

  constructor(server: ServerProcess) {
    this.#server = server;
  }

  async measure<Result extends { readonly answered: number }>(window: () => Promise<Result>): Promise<Result> {
    const before = await this.#server.usage();
    const begin = performance.now();
    const result = await window();
    const ms = performance.now() - begin;
    const after = await this.#server.usage();
    const micros = after.cpuMicros - before.cpuMicros;
    this.#micros.push(micros / result.answered);
    this.#shares.push(micros / 10 / ms);
    return result;
  }

  describe(): string {
    const [micros, share] = [Math.round(median(this.#micros)), Math.round(median(this.#shares))];
    return `The one server process took ${micros} µs of a core a request and kept ${share} % of a core busy; load and database share the rest.`;
  }
}
