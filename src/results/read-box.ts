import { escapeLiteral, type Pool } from 'pg';
import { CopyReader, copyPieces } from '#src/database/copy-rows.ts';
import { Pauses } from '#src/platform/pauses.ts';

/** Leaves of one copy at most, and of the first one, whose ballots may be of any length. */
export const BALLOTS_PER_COPY = 4_000;
const FIRST_BALLOTS = 500;
/**
 * What a copy is meant to hold. While one is counted, the next is read a socket's buffer at a time, in the pauses of the
 * count: a larger one could come close to the time limit of a statement on a busy machine.
 */
const BYTES_PER_COPY = 512 * 1024;
/** Copies under way at once: the database sends ballots while others are counted. */
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
 * Reads the ballots of the box after a leaf, in any order, without holding more than a few thousand of them. Leaves are only
 * ever added, so what is there up to the last one does not change while several copies read it.
 * @returns the last leaf that was read, `afterLeaf` where there was none
 */
export async function readBox(pool: Pool, eventId: string, afterLeaf: bigint, take: TakeBallot): Promise<bigint> {
  const last = await findLastLeaf(pool, eventId);
  if (last === undefined || last <= afterLeaf) return afterLeaf;
  let next = afterLeaf;
  let together = FIRST_BALLOTS;
  const pauses = new Pauses();
  const copy = async (): Promise<void> => {
    while (next < last) {
      const from = next;
      const ballots = together;
      next += BigInt(ballots);
      const query = `SELECT weight_micro, entries FROM ballots WHERE voting_event_id = ${escapeLiteral(eventId)}
        AND leaf_index > ${from} AND leaf_index <= ${next < last ? next : last} ORDER BY leaf_index`;
      const reader = new CopyReader(2);
      const pieces = await copyPieces(pool, query);
      const bytesEach = pieces.reduce((sum, { length }) => sum + length, 0) / ballots;
      together = Math.min(BALLOTS_PER_COPY, Math.max(1, Math.floor(BYTES_PER_COPY / bytesEach)));
      for (const piece of pieces) {
        reader.read(piece, ({ bytes, starts, ends }) =>
          take(bytes, starts[ENTRIES] as number, ends[ENTRIES] as number, bytes.readBigInt64BE(starts[WEIGHT])),
        );
        await pauses.take();
      }
    }
  };
  // All of them end before a fault is thrown: none may go on counting into what is thrown away.
  const ended = await Promise.allSettled(Array.from({ length: COPIES }, copy));
  for (const one of ended) if (one.status === 'rejected') throw one.reason;
  return last;
}
