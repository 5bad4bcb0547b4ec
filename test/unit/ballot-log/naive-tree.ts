import { createHash } from 'node:crypto';

/** RFC 6962, section 2.1, word for word: what the faster tree is measured against. */
export function naiveRoot(leaves: readonly Uint8Array[]): Buffer {
  const [only] = leaves;
  if (only === undefined) return createHash('sha256').digest();
  if (leaves.length === 1) return naiveLeaf(only);
  let split = 1;
  while (split * 2 < leaves.length) split *= 2;
  const [left, right] = [naiveRoot(leaves.slice(0, split)), naiveRoot(leaves.slice(split))];
  return createHash('sha256').update(Buffer.of(1)).update(left).update(right).digest();
}

export function naiveLeaf(data: Uint8Array): Buffer {
  return createHash('sha256').update(Buffer.of(0)).update(data).digest();
}

/** Leaves that differ, and do not change from run to run. */
export function someLeaves(count: number): Buffer[] {
  return Array.from({ length: count }, (_, index) => Buffer.from(`leaf ${index}`));
}
