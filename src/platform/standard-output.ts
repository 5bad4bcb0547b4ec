import { write, writeSync } from 'node:fs';
import type { DestinationStream } from 'pino';
import { monotonicMs, SECOND_MS, systemClock } from './clock.ts';

const STDOUT = 1;
/** Maximum characters that wait for a full disk or a reader who has stopped. Further lines are counted and dropped. */
const MOST_WAITING = 4 * 1024 * 1024;
/** Pause before the same bytes are offered again. A full pipe (EAGAIN) is read on within milliseconds; a disk has no room for longer. */
const pauseOf = ({ code }: NodeJS.ErrnoException): number => (code === 'EAGAIN' ? 10 : SECOND_MS);
/** The most bytes that a pipe takes as a whole or not at all (PIPE_BUF of Linux): lines of processes that share it stay whole. */
const WHOLE = 4096;
/** The number of bytes to write next: whole lines. A longer line is written alone. */
const nextOf = (bytes: Uint8Array): number =>
  bytes.lastIndexOf(0x0a, WHOLE - 1) + 1 || bytes.indexOf(0x0a) + 1 || bytes.length;
/** How long a process that exits waits for the reader of its last lines. */
const LAST_MS = SECOND_MS;

/**
 * Writes lines to standard output in order, and never holds up or ends the process: pino's own writer ends it at the first line that a full
 * disk does not take, and waits for ever when the process exits.
 */
class StandardOutput implements DestinationStream {
  #waiting: string[] = [];
  #length = 0;
  #dropped = 0;
  /** What was taken from the waiting lines and is not written yet. Its first `#underWay` bytes are being written. */
  #rest: Uint8Array = Buffer.alloc(0);
  #underWay = 0;

  constructor() {
    process.once('exit', () => this.#writeLast());
  }

  write(line: string): void {
    if (this.#length + line.length > MOST_WAITING) {
      this.#dropped += 1;
      return;
    }
    this.#waiting.push(line);
    this.#length += line.length;
    if (this.#rest.length === 0) this.#writeOn();
  }

  #writeOn(): void {
    if (this.#rest.length === 0) this.#rest = this.#take();
    if (this.#rest.length === 0) return;
    const bytes = this.#rest;
    this.#underWay = nextOf(bytes);
    write(STDOUT, bytes, 0, this.#underWay, (fault, written) => {
      this.#underWay = 0;
      if (fault === null) this.#rest = bytes.subarray(written);
      if (fault === null) this.#writeOn();
      else setTimeout(() => this.#writeOn(), pauseOf(fault)).unref();
    });
  }

  #take(): Uint8Array {
    const lines = this.#waiting;
    if (this.#dropped > 0)
      lines.push(
        `{"level":40,"time":${systemClock.now()},"lines":${this.#dropped},"msg":"lines of the log found no room"}\n`,
      );
    [this.#waiting, this.#length, this.#dropped] = [[], 0, 0];
    return Buffer.from(lines.join(''));
  }

  /** A write that is under way at the exit is finished by Node, before or after these lines. */
  #writeLast(): void {
    let last = Buffer.concat([this.#rest.subarray(this.#underWay), this.#take()]);
    const until = monotonicMs() + LAST_MS;
    while (last.length > 0 && monotonicMs() < until) {
      try {
        last = last.subarray(writeSync(STDOUT, last, 0, nextOf(last)));
      } catch (fault) {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseOf(fault as NodeJS.ErrnoException));
      }
    }
  }
}

export const standardOutput: DestinationStream = new StandardOutput();
