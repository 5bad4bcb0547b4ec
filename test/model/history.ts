/** One history from beginning to end, in a fresh world. */
import type { Met } from '#test/harness/met.ts';
import type { Driver } from '#test/model/driver.ts';
import { perform } from './act.ts';
import type { Op } from './send.ts';
import { World } from './world.ts';

/** @param finish whether everything is compared once more when it is over */
export async function runHistory(driver: Driver, ops: readonly Op[], finish = true, met?: Met): Promise<World> {
  await driver.reset();
  const world = new World(driver, met);
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
