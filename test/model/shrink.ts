import type { Op } from './send.ts';

/** Operations that are about everything, not about one event. */
const GLOBAL = new Set(['advance', 'restart', 'rotate', 'plan', 'revoke', 'hold', 'repeat']);

/**
 * Delta debugging: drops operations as long as the difference stays. First everything about other events, then chunks
 * from the middle, which is where the random part of a history stands. @param budget how often it may be run
 */
export async function shrink(
  ops: readonly Op[],
  budget: number,
  fails: (ops: readonly Op[]) => Promise<boolean>,
): Promise<readonly Op[]> {
  let best = ops;
  let left = budget;
  const tries = async (fewer: readonly Op[]): Promise<boolean> => {
    if (left <= 0 || fewer.length === 0 || fewer.length >= best.length) return false;
    left -= 1;
    if (!(await fails(fewer))) return false;
    best = fewer;
    return true;
  };
  const event = ops.at(-1)?.e;
  const alone = ops.filter((one) => one.e === event || GLOBAL.has(one.k)).map((one) => ({ ...one, e: 0 }));
  await tries(alone.filter((one) => !GLOBAL.has(one.k)));
  await tries(alone);
  // The last operation is the one that shows it.
  for (let size = Math.ceil((best.length - 1) / 2); size >= 1 && left > 0; size = Math.floor(size / 2)) {
    for (let start = best.length - 1 - size; start > -size && left > 0; start -= size) {
      const at = Math.max(0, start);
      await tries([...best.slice(0, at), ...best.slice(Math.min(at + size, best.length - 1))]);
    }
  }
  return best;
}
