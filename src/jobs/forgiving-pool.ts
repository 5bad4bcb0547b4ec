import type { Pool, PoolClient } from 'pg';

type Release = (fault?: Error | boolean) => void;
type Connected = (fault: Error | undefined, client: PoolClient | undefined, release: Release | undefined) => void;

/** The pool as one runner of the queue's library uses it. */
export interface ForgivingPool {
  readonly pool: Pool;
  /** Closes the connection on which the runner listens, if it still holds it: a runner that hangs never gives it back. */
  close(): void;
}

/**
 * When a connection on which the library listens breaks while its runner stops, the library gives it back twice, and nothing
 * catches what the pool throws then: the process would end. The second time is passed over.
 */
export function forgivingPool(pool: Pool): ForgivingPool {
  const held = new Set<Release>();
  let closed = false;
  const connect = (callback?: Connected): Promise<PoolClient> | undefined => {
    if (callback === undefined) return pool.connect();
    pool.connect((fault, client, release: Release | undefined) => {
      // There is nothing to give back where no connection was had.
      if (release === undefined) return callback(fault, client, release);
      const giveBack: Release = (why) => {
        if (held.delete(giveBack)) release(why);
      };
      held.add(giveBack);
      callback(fault, client, giveBack);
      if (closed) giveBack(true);
    });
    return undefined;
  };
  const forgiving = new Proxy(pool, {
    get(target, name) {
      if (name === 'connect') return connect;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return {
    pool: forgiving,
    close() {
      closed = true;
      for (const giveBack of [...held]) giveBack(true);
    },
  };
}
