import { escapeLiteral, type Pool } from 'pg';
import { copyRows } from '#src/database/copy-rows.ts';

/** Ballots of one copy: a second's work at most, so that no copy comes near the time limit of a statement. */
export const BALLOTS_PER_COPY = 100_000;

/** A packed ballot within bytes that are good until the next one is asked for. */
export type TakeBallot = (bytes: Uint8Array, start: number, end: number, weightMicro: bigint) => void;

const [LEAF, WEIGHT, ENTRIES] = [0, 1, 2];

/**
 * Streams the box from the ballot after a leaf to its end, in the order of the log, without holding more than a piece of
 * it. Leaves are only ever added, so several copies make one box.
 * @returns the last leaf that was read, `afterLeaf` where there was none
 */
export async function readBox(pool: Pool, eventId: string, afterLeaf: bigint, take: TakeBallot): Promise<bigint> {
  let last = afterLeaf;
  for (;;) {
    let read = 0;
    const query = `SELECT leaf_index, weight_micro, entries FROM ballots
      WHERE voting_event_id = ${escapeLiteral(eventId)} AND leaf_index > ${last} ORDER BY leaf_index LIMIT ${BALLOTS_PER_COPY}`;
    let lastStart = last;
    await copyRows(pool, query, 3, ({ bytes, starts, ends }) => {
      take(bytes, starts[ENTRIES] as number, ends[ENTRIES] as number, bytes.readBigInt64BE(starts[WEIGHT]));
      lastStart = bytes.readBigInt64BE(starts[LEAF]);
      read += 1;
    });
    last = lastStart;
    if (read < BALLOTS_PER_COPY) return last;
  }
}
