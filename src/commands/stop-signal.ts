import { setTimeout as pause } from 'node:timers/promises';

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
