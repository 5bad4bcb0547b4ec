import { escapeLiteral } from 'pg';
import { eachItem } from '#src/ballots/block-encoding.ts';
import { readBoxEnd } from '#src/ballots/box.ts';
import { BLOCK_BALLOTS } from '#src/ballots/tables.ts';
import type { Database } from '#src/database/client.ts';
import { type CopiedRow, CopyReader, copyPieces } from '#src/database/copy-rows.ts';
import { Pauses } from '#src/platform/loop-turns.ts';

/** Most ballots of a COPY statement; and of the first statement, before the length of the ballots is known. */
export const BALLOTS_PER_COPY = 32_000;
const FIRST_BALLOTS = 500;
/** Target size of a COPY result. On a busy machine, receiving a larger result could come close to the statement timeout. */
const BYTES_PER_COPY = 512 * 1024;
/** Concurrent COPY statements: the database sends one result while another one is counted. */
const COPIES = 2;

/** Receives a packed ballot, from `start` to before `end`. The bytes are valid only during the call. */
type TakeBallot = (bytes: Uint8Array, start: number, end: number, weightMicro: bigint) => void;

const [FIRST_LEAF, BALLOTS, WEIGHTS, ENTRIES] = [0, 1, 2, 3];
/** Header of an array in PostgreSQL's binary format; each element follows its 4-byte length. */
const ARRAY_HEAD_BYTES = 20;
const WEIGHT_BYTES = 4 + 8;

/** Passes on ballots from rows of blocks: the ballots after one leaf, up to another leaf. */
class BlockReader {
  readonly #take: TakeBallot;
  #row: CopiedRow | undefined;
  #weightMicro = 0n;
  /** Whether each ballot of the block has its own weight; otherwise one weight is stored for all. */
  #isWeighted = false;
  #weightsAt = 0;
  /** Indexes in the block of the ballots to pass on: from `#from` to before `#to`. */
  #from = 0;
  #to = 0;

  constructor(take: TakeBallot) {
    this.#take = take;
  }

  read(row: CopiedRow, after: number, last: number): void {
    const { bytes, starts, ends } = row;
    const firstLeaf = Number(bytes.readBigInt64BE(starts[FIRST_LEAF]));
    const ballots = bytes.readInt32BE(starts[BALLOTS]);
    this.#readWeights(row, ballots);
    this.#row = row;
    this.#from = after + 1 - firstLeaf;
    this.#to = last + 1 - firstLeaf;
    const items = eachItem(bytes, starts[ENTRIES] as number, ends[ENTRIES] as number, this.#item);
    if (items !== ballots) throw new Error(`the block of ballots at ${firstLeaf} holds ${items} instead of ${ballots}`);
  }

  #readWeights({ bytes, starts, ends }: CopiedRow, ballots: number): void {
    this.#weightsAt = (starts[WEIGHTS] as number) + ARRAY_HEAD_BYTES + 4;
    const weights = ((ends[WEIGHTS] as number) - (starts[WEIGHTS] as number) - ARRAY_HEAD_BYTES) / WEIGHT_BYTES;
    if (weights !== 1 && weights !== ballots) throw new Error(`a block has ${weights} weights for ${ballots} ballots`);
    this.#isWeighted = weights > 1;
    // Keep the previous bigint if the weight is equal, which most ballots' weights are.
    const weightMicro = bytes.readBigInt64BE(this.#weightsAt);
    if (weightMicro !== this.#weightMicro) this.#weightMicro = weightMicro;
  }

  readonly #item = (start: number, end: number, index: number): void => {
    if (index < this.#from || index >= this.#to) return;
    const { bytes } = this.#row as CopiedRow;
    if (this.#isWeighted) this.#weightMicro = bytes.readBigInt64BE(this.#weightsAt + index * WEIGHT_BYTES);
    this.#take(bytes, start, end, this.#weightMicro);
  };
}

/**
 * Reads the logged ballots after a leaf by COPY, in any order, and keeps only a few results in memory. Leaves are only added, so
 * several COPYs can read up to the last leaf without a common snapshot. A block may appear in two COPYs; each takes only its own leaves.
 * @param expect called first, with the largest possible number of ballots
 * @param upTo the last leaf to read; by default the last logged leaf
 * @returns the last leaf that was read; `afterLeaf` if there was none
 */
export async function readBox(
  db: Database,
  eventId: string,
  afterLeaf: bigint,
  take: TakeBallot,
  expect: (ballots: number) => void = () => undefined,
  upTo?: bigint,
): Promise<bigint> {
  const last = Number(upTo ?? (await readBoxEnd(db, eventId)));
  let next = Number(afterLeaf);
  if (last <= next) return afterLeaf;
  expect(last - next);
  let together = FIRST_BALLOTS;
  const pauses = new Pauses();
  const blocks = new BlockReader(take);
  const copy = async (): Promise<void> => {
    while (next < last) {
      const after = next;
      const ballots = together;
      next = Math.min(last, after + ballots);
      const upTo = next;
      const query = `SELECT first_leaf, ballots, weights, entries FROM ballot_blocks WHERE voting_event_id = ${escapeLiteral(eventId)}
        AND first_leaf > ${after - BLOCK_BALLOTS} AND first_leaf + ballots > ${after + 1} AND first_leaf <= ${upTo}`;
      const reader = new CopyReader(4);
      const pieces = await copyPieces(db.$client, query);
      const bytesEach = pieces.reduce((sum, { length }) => sum + length, 0) / ballots;
      together = Math.min(BALLOTS_PER_COPY, Math.max(1, Math.floor(BYTES_PER_COPY / bytesEach)));
      for (const piece of pieces) {
        reader.read(piece, (row) => blocks.read(row, after, upTo));
        await pauses.take();
      }
    }
  };
  // Wait for all COPYs before throwing an error: a COPY that goes on would add to a count that is being discarded.
  const ended = await Promise.allSettled(Array.from({ length: COPIES }, copy));
  for (const one of ended) if (one.status === 'rejected') throw one.reason;
  return BigInt(last);
}
