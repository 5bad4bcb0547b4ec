import type { Pool, PoolClient } from 'pg';

type Release = (fault?: Error | boolean) => void;
type Connected = (fault: Error | undefined, client: PoolClient | undefined, release: Release) => void;

/**
 * The pool as the queue's library uses it. When a connection on which it listens breaks while its runner stops, the library
 * gives it back twice, and nothing catches what the pool throws then: the process would end. The second time is passed over.
 */
export function forgivingPool(pool: Pool): Pool {
  const connect = (callback?: Connected): Promise<PoolClient> | undefined => {
    if (callback === undefined) return pool.connect();
    pool.connect((fault, client, release) => {
      let released = false;
      callback(fault, client, (why) => {
        if (released) return;
        released = true;
        release(why);
      });
    });
    return undefined;
  };
  return new Proxy(pool, {
    get(target, name) {
      if (name === 'connect') return connect;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
