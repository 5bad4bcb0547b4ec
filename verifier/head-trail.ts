import { demand } from './checks.ts';
import { GrowingTree, leafHash } from './hash-tree.ts';
import { fieldsOf, textOf } from './json.ts';
import { type TreeHead, Unbelievable } from './note.ts';
import { sha256 } from './primitives.ts';
import { address, readSigned, splitBundle, WIDTH } from './read-leaves.ts';
import { MOST_BYTES, type Read, Unreadable } from './read-service.ts';

/** A service's own log with more leaves is not read completely. */
const MOST_LEAVES = 50_000_000;

/** Identifies an event in the service's own log. */
export const eventTag = (origin: string): string => sha256('event', origin).toString('hex');

/** The commitment to a head in the service's own log. */
export const headCommitment = ({ origin, size, root }: TreeHead): string =>
  sha256('checkpoint', `${origin}\n${size}\n${root.toString('base64')}\n`).toString('hex');

/** The heads of an event in the service's own log, in order. Each must be a head of the one log of the event that is read. */
export class HeadTrail {
  readonly #origin: string;
  readonly #commitments: readonly string[];
  #next = 0;

  constructor(origin: string, commitments: readonly string[]) {
    this.#origin = origin;
    this.#commitments = commitments;
  }

  get length(): number {
    return this.#commitments.length;
  }

  /** Number of heads that were not seen while the event's log was read. */
  get left(): number {
    return this.#commitments.length - this.#next;
  }

  /** Compares a prefix of the event's log with the next head. @param root of the first `size` leaves */
  see(size: number, root: () => Buffer): void {
    const expected = this.#commitments[this.#next];
    if (expected !== undefined && headCommitment({ origin: this.#origin, size, root: root() }) === expected)
      this.#next += 1;
  }
}

function entryOf(bytes: Buffer): { readonly tag: string; readonly commitment: string } {
  try {
    const { v, t, e, c } = fieldsOf(JSON.parse(bytes.toString('utf8')));
    if (v === 2 && t === 'checkpoint') return { tag: textOf(e), commitment: textOf(c) };
  } catch (fault) {
    throw new Unbelievable('a leaf of the service’s own log is no JSON', { cause: fault });
  }
  throw new Unbelievable('a leaf of the service’s own log is of a version that this verifier does not know');
}

/** Reads the whole log of the service, which must match its signed head, and returns the heads of one event. */
export async function readTrail(read: Read, service: TreeHead, origin: string): Promise<HeadTrail> {
  if (service.size > MOST_LEAVES) throw new Unreadable(`a log of ${service.size} leaves is too long for this verifier`);
  const tree = new GrowingTree();
  const tag = eventTag(origin);
  const commitments: string[] = [];
  for (let index = 0; tree.size < service.size; index += 1) {
    const width = Math.min(WIDTH, service.size - tree.size);
    const bundle = await readSigned(read, `/log/${address('entries', index, width)}`, MOST_BYTES.entries);
    for (const bytes of splitBundle(bundle, width)) {
      tree.add(leafHash(bytes));
      const entry = entryOf(bytes);
      if (entry.tag === tag) commitments.push(entry.commitment);
    }
  }
  demand(tree.root().equals(service.root), 'its leaves have another root than the signed one');
  return new HeadTrail(origin, commitments);
}
