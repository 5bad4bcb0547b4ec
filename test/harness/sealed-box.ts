/** SQL: the list of one item of up to two million bytes, as blocks hold it: its length as a varint, then its bytes. */
function listOf(item: string): string {
  const length = `length(${item})`;
  const bytes = (...digits: string[]): string =>
    digits.reduce(
      (text, digit, at) => `set_byte(${text}, ${at}, ${digit})`,
      `'\\x${'00'.repeat(digits.length)}'::bytea`,
    );
  return `(CASE WHEN ${length} < 128 THEN ${bytes(length)}
    WHEN ${length} < 16384 THEN ${bytes(`${length} % 128 + 128`, `${length} / 128`)}
    ELSE ${bytes(`${length} % 128 + 128`, `${length} / 128 % 128 + 128`, `${length} / 16384`)} END || ${item})`;
}

/** Columns of the box that hold a list of bytes, an item a ballot. */
type ListColumn = 'entries' | 'salts' | 'sealed_times';

/**
 * SQL that writes other bytes in the place of one ballot's, as only who takes the guards away can: `$1` the event, `$2` the leaf, `$3`
 * the bytes.
 */
export const changeItem = (column: ListColumn, value = '$3::bytea'): string =>
  `UPDATE ballot_blocks k SET ${column} = (
     SELECT string_agg(${listOf('c.item')}, '' ORDER BY c.place) FROM (
       SELECT i.place, CASE WHEN i.place = $2::bigint - k.first_leaf + 1 THEN ${value} ELSE i.item END AS item
       FROM split_list(k.${column}) WITH ORDINALITY AS i(item, place)) AS c)
   WHERE k.voting_event_id = $1 AND k.first_leaf <= $2::bigint AND k.first_leaf + k.ballots > $2::bigint`;

/**
 * SQL that puts ballots into the box of the event `$1`.
 * @param rows SQL of `leaf_index`, `id`, `code_tag`, `entries`, `weight_micro`, `salt`, `sealed_time`, without a gap between the leaves
 * @param together leaves of a block at most
 */
export function putIntoBox(rows: string, together = 256): string {
  const all = (expression: string): string => `string_agg(${expression}, ''::bytea ORDER BY r.leaf_index)`;
  const inOrder = (expression: string): string => `array_agg(${expression} ORDER BY r.leaf_index)`;
  return `INSERT INTO ballot_blocks (voting_event_id, first_leaf, ballots, entries, weights, tags, tag_heads, salts, sealed_times, ids)
    SELECT $1, min(r.leaf_index), count(*), ${all(listOf('r.entries'))}, ${inOrder('r.weight_micro')}, ${all('r.code_tag')},
      ${inOrder('tag_head(r.code_tag)')}, ${all(listOf('r.salt'))}, ${all(listOf('r.sealed_time'))}, ${inOrder('r.id')}
    FROM (${rows}) AS r GROUP BY r.leaf_index / ${together}`;
}
