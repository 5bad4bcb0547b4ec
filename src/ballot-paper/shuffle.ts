import { createHash, randomInt } from 'node:crypto';

/** A seed picks one of this many orders of a ballot, so that the answers of one paper stay few enough to be kept. */
const ORDERS = 256;

function numbersFrom(...parts: string[]): (below: number) => number {
  let block = 0;
  let bytes = Buffer.alloc(0);
  let at = 0;
  const next = (): number => {
    if (at + 4 > bytes.length) {
      bytes = createHash('sha256')
        .update(JSON.stringify([...parts, block]))
        .digest();
      block += 1;
      at = 0;
    }
    at += 4;
    return bytes.readUInt32BE(at - 4);
  };
  return (below) => {
    // Numbers above the largest multiple would favour the first places.
    const limit = Math.floor(2 ** 32 / below) * below;
    let value = next();
    while (value >= limit) value = next();
    return value % below;
  };
}

/** Which of the orders a seed picks for an event; a random one without a seed. */
export function pickOrder(seed: string | undefined, eventId: string): number {
  if (seed === undefined) return randomInt(ORDERS);
  return (
    createHash('sha256')
      .update(JSON.stringify([eventId, seed]))
      .digest()
      .readUInt8(0) % ORDERS
  );
}

/** The same order for the same position and number, on every server and after every restart (Fisher–Yates). */
export function inOrder<Item>(items: readonly Item[], positionId: string, order: number): Item[] {
  const below = numbersFrom(positionId, String(order));
  const shuffled = [...items];
  for (let index = shuffled.length - 1; index > 0; index -= 1) {
    const other = below(index + 1);
    const moved = shuffled[index] as Item;
    shuffled[index] = shuffled[other] as Item;
    shuffled[other] = moved;
  }
  return shuffled;
}
