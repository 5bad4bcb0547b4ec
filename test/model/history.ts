/** One history from beginning to end, in a fresh world. */
import type { Driver, DriverRequest } from '#test/model/driver.ts';
import { perform } from './act.ts';
import type { Op } from './send.ts';
import { type Counts, routeOf, World } from './world.ts';

/** @param finish whether everything is compared once more when it is over */
export async function runHistory(driver: Driver, ops: readonly Op[], counts: Counts, finish = true): Promise<World> {
  await driver.reset();
  const world = new World(driver, counts);
  try {
    await world.start();
    for (const [index, op] of ops.entries()) {
      world.step = index;
      await perform(world, op);
      if (world.stopped) break;
    }
    if (!world.stopped && finish) await world.finish();
    else await driver.settle();
    if (world.held) await driver.holdMessages(false);
  } catch (error) {
    world.report(
      `the driver failed | ${String(error).slice(0, 120)}`,
      error instanceof Error ? (error.stack ?? '') : String(error),
      true,
    );
  }
  return world;
}

export type Spent = Map<string, { count: number; ms: number }>;
/** The driver, with a watch on everything that it is asked. */
export function timed(driver: Driver, spent: Spent): Driver {
  return new Proxy(driver, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function' || name === 'now')
        return typeof value === 'function' ? value.bind(target) : value;
      return async (...given: unknown[]) => {
        const began = performance.now();
        try {
          return await value.apply(target, given);
        } finally {
          const asked = given[0] as DriverRequest;
          const what = name === 'call' ? `${asked.method} ${routeOf(asked.path)}` : String(name);
          const entry = spent.get(what) ?? { count: 0, ms: 0 };
          spent.set(what, { count: entry.count + 1, ms: entry.ms + performance.now() - began });
        }
      };
    },
  });
}
