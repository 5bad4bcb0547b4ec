import { createHash, randomBytes } from 'node:crypto';

/** Length of the name of a shuffled order, from which the order is derived: 128 bits, so that no candidate is favoured. */
const ORDER_BYTES = 16;

function numbersFrom(order: string): (below: number) => number {
  let block = 0;
  let bytes = Buffer.alloc(0);
  let at = 0;
  const next = (): number => {
    if (at + 4 > bytes.length) {
      bytes = createHash('sha256')
        .update(JSON.stringify([order, block]))
        .digest();
      block += 1;
      at = 0;
    }
    at += 4;
    return bytes.readUInt32BE(at - 4);
  };
  return (below) => {
    // Numbers at or above the largest multiple of `below` are rejected: they would make small results more likely.
    const limit = Math.floor(2 ** 32 / below) * below;
    let value = next();
    while (value >= limit) value = next();
    return value % below;
  };
}

/** The name of an order: derived from event and seed, or random without a seed. */
export function pickOrder(seed: string | undefined, eventId: string): string {
  if (seed === undefined) return randomBytes(ORDER_BYTES).toString('hex');
  return createHash('sha256')
    .update(JSON.stringify([eventId, seed]))
    .digest()
    .subarray(0, ORDER_BYTES)
    .toString('hex');
}

/** Items in a shuffled order (Fisher–Yates), one step each. `order` determines it, on every server and after every restart. */
export function* inOrder<Item>(items: readonly Item[], order: string): Generator<Item> {
  const below = numbersFrom(order);
  const left = [...items];
  while (left.length > 0) {
    const at = below(left.length);
    const drawn = left[at] as Item;
    left[at] = left[left.length - 1] as Item;
    left.pop();
    yield drawn;
  }
}
