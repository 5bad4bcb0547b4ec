import { escapeLiteral, type Pool } from 'pg';
import { copyRows } from '#src/database/copy-rows.ts';

/** Leaves of one copy: a second's work even where each has thousands of entries, far from the time limit of a statement. */
export const BALLOTS_PER_COPY = 4_000;
/** Copies under way at once: the database needs longer to send ballots than a process to count them. */
const COPIES = 2;

/** A packed ballot within bytes that are good until the next one is asked for. */
export type TakeBallot = (bytes: Uint8Array, start: number, end: number, weightMicro: bigint) => void;

const [WEIGHT, ENTRIES] = [0, 1];

async function findLastLeaf(pool: Pool, eventId: string): Promise<bigint | undefined> {
  const { rows } = await pool.query<{ last: string | null }>(
    'SELECT max(leaf_index) AS last FROM ballots WHERE voting_event_id = $1',
    [eventId],
  );
  const last = rows[0]?.last;
  return last == null ? undefined : BigInt(last);
}

/**
 * Streams the ballots of the box after a leaf, in any order, without holding more than a piece of them. Leaves are only ever
 * added, so what is there up to the last one does not change while several copies read it.
 * @returns the last leaf that was read, `afterLeaf` where there was none
 */
export async function readBox(pool: Pool, eventId: string, afterLeaf: bigint, take: TakeBallot): Promise<bigint> {
  const last = await findLastLeaf(pool, eventId);
  if (last === undefined || last <= afterLeaf) return afterLeaf;
  let next = afterLeaf;
  const copy = async (): Promise<void> => {
    while (next < last) {
      const from = next;
      next += BigInt(BALLOTS_PER_COPY);
      const query = `SELECT weight_micro, entries FROM ballots WHERE voting_event_id = ${escapeLiteral(eventId)}
        AND leaf_index > ${from} AND leaf_index <= ${next < last ? next : last} ORDER BY leaf_index`;
      await copyRows(pool, query, 2, ({ bytes, starts, ends }) =>
        take(bytes, starts[ENTRIES] as number, ends[ENTRIES] as number, bytes.readBigInt64BE(starts[WEIGHT])),
      );
    }
  };
  // All of them end before a fault is told: none may go on counting into what is thrown away.
  const ended = await Promise.allSettled(Array.from({ length: COPIES }, copy));
  for (const one of ended) if (one.status === 'rejected') throw one.reason;
  return last;
}
