import { AsyncLocalStorage } from 'node:async_hooks';
import { promiseHooks } from 'node:v8';
import type { Context, MiddlewareHandler } from 'hono';
import { MINUTE_MS, monotonicMs } from '#src/platform/clock.ts';
import { every } from '#src/platform/within.ts';
import type { Env } from './env.ts';

/** Code that blocks the event loop for this long is reported: it delays all other requests of the process. */
const HELD_MS = 200;
const BEAT_MS = 50;
/** This number of computing holds within `REPEATED_WITHIN_MS` counts as repeated. */
const [REPEATED, REPEATED_WITHIN_MS] = [3, 10 * MINUTE_MS];

/** A time in which code blocked the event loop without a pause. */
export interface Hold {
  readonly ms: number;
  /** CPU time of this thread meanwhile. If it is far less than `ms`, the thread waited for a disk or for a busy CPU. */
  readonly cpuMs: number;
  /** The route pattern of the request that the code ran for; `none` for jobs and everything else. */
  readonly route: string;
  readonly requestId: string | undefined;
  readonly account: string | undefined;
  /** Whether this is the `REPEATED`th computing hold within `REPEATED_WITHIN_MS`. */
  readonly isRepeated: boolean;
}

interface Turn {
  request: Context<Env> | undefined;
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/**
 * Detects code that blocks the event loop, and the request that the code runs for. The code of a request runs in promise reactions: a hook
 * before each reaction reads the request from the async context. A turn of a request ends when another turn begins or no reaction is left.
 */
export class LoopWatch {
  readonly #turns = new AsyncLocalStorage<Turn>();
  #onHeld: (hold: Hold) => void = () => undefined;
  #running: Turn | undefined;
  #since = 0;
  /** Time of the last beat of the timer, and this thread's CPU time at that moment. */
  #beat = { at: 0, cpuMs: 0 };
  #computingHolds: number[] = [];

  readonly middleware: MiddlewareHandler<Env> = (c, next) => {
    const turn: Turn = { request: c };
    // A database connection that this request opens keeps its async context for life. The context must not hold the body.
    c.env.outgoing.once('close', () => {
      turn.request = undefined;
    });
    // Not `run`: the answer is sent after the handlers have returned, and still belongs to this turn.
    this.#turns.enterWith(turn);
    this.#turnTo(turn);
    return next();
  };

  start(signal: AbortSignal, onHeld: (hold: Hold) => void): void {
    this.#onHeld = onHeld;
    this.#beat = { at: monotonicMs(), cpuMs: cpuMs() };
    const unhook = promiseHooks.onBefore(() => {
      const turn = this.#turns.getStore();
      if (turn !== this.#running) this.#turnTo(turn);
    }) as () => void;
    signal.addEventListener('abort', unhook);
    every(BEAT_MS, signal, () => this.#look());
  }

  #turnTo(turn: Turn | undefined): void {
    const now = monotonicMs();
    const ms = now - this.#since;
    if (this.#running !== undefined && ms >= HELD_MS) this.#note(now, ms, this.#running.request);
    // Runs when no promise reaction is left to run.
    if (turn !== undefined && this.#running === undefined) process.nextTick(() => this.#turnTo(undefined));
    this.#running = turn;
    this.#since = now;
  }

  /** Detects blocking code that runs for no request. */
  #look(): void {
    const now = monotonicMs();
    const ms = now - this.#beat.at - BEAT_MS;
    if (ms >= HELD_MS) this.#note(now, ms, undefined);
    else this.#beat = { at: now, cpuMs: cpuMs() };
  }

  #note(now: number, ms: number, request: Context<Env> | undefined): void {
    const beat = { at: now, cpuMs: cpuMs() };
    const computed = Math.min(ms, beat.cpuMs - this.#beat.cpuMs);
    this.#beat = beat;
    this.#computingHolds = this.#computingHolds.filter((at) => now - at < REPEATED_WITHIN_MS);
    if (computed >= HELD_MS) this.#computingHolds.push(now);
    const isRepeated = this.#computingHolds.length >= REPEATED;
    if (isRepeated) this.#computingHolds = [];
    this.#onHeld({
      ...{ ms: Math.round(ms), cpuMs: Math.round(computed), isRepeated },
      ...{ route: request?.get('operation')?.path ?? 'none', requestId: request?.get('requestId') },
      account: request?.get('known')?.accountId,
    });
  }
}
