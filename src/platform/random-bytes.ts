import { randomFillSync } from 'node:crypto';

const STOCK_BYTES = 4_096;

const stock = Buffer.alloc(STOCK_BYTES);
let used = STOCK_BYTES;

/** Memory for a key, which can be wiped. A small `Buffer.alloc` lies in the heap, where garbage collection moves it and leaves a copy. */
export const makeClearable = (bytes: number): Buffer<ArrayBuffer> => Buffer.from(new ArrayBuffer(bytes));

/** Random bytes of the system. 4 KiB are fetched at a time, because a small fetch takes as long. Returned bytes are wiped here. */
export function takeRandomBytes(count: number): Buffer<ArrayBuffer> {
  if (count > STOCK_BYTES) return randomFillSync(Buffer.alloc(count));
  if (used + count > STOCK_BYTES) {
    randomFillSync(stock);
    used = 0;
  }
  const taken = Buffer.allocUnsafe(count);
  stock.copy(taken, 0, used, used + count);
  stock.fill(0, used, used + count);
  used += count;
  return taken;
}
