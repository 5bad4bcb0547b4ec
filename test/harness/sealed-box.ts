import type { Pool } from 'pg';

/** Columns of the box that hold a list of bytes, an item a ballot. */
type ListColumn = 'entries' | 'salts' | 'sealed_times';

/**
 * SQL that writes other bytes in the place of one ballot's, as only who takes the guards away can: `$1` the event, `$2` the leaf, `$3`
 * the bytes.
 */
export const changeItem = (column: ListColumn, value = '$3::bytea'): string =>
  `UPDATE ballot_blocks k SET ${column} = (
     SELECT string_agg(list_of(CASE WHEN i.place = $2::bigint - k.first_leaf + 1 THEN ${value} ELSE i.item END), '' ORDER BY i.place)
     FROM split_list(k.${column}) WITH ORDINALITY AS i(item, place))
   WHERE k.voting_event_id = $1 AND k.first_leaf <= $2::bigint AND k.first_leaf + k.ballots > $2::bigint`;

/** Takes all rows of an event into blocks, whatever recurring jobs do. @returns how many ballots */
export async function packAll(pool: Pool, eventId: string): Promise<number> {
  for (let all = 0; ; ) {
    const { rows } = await pool.query<{ packed: number }>('SELECT pack_ballots($1) AS packed', [eventId]);
    const packed = rows[0]?.packed ?? 0;
    if (packed === 0) return all;
    all += packed;
  }
}
