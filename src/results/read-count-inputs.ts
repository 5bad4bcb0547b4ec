import type { Pool } from 'pg';
import { CompactRange } from '#src/ballot-log/merkle-tree.ts';
import { VOID_AFTER_CLOSE } from '#src/ballot-log/void-ballot.ts';
import { type SealedBallot, splitBlock } from '#src/ballots/box.ts';
import { BLOCK_BALLOTS } from '#src/ballots/tables.ts';
import { runNamed } from '#src/database/client.ts';
import { DISCLOSED_TOGETHER } from '#src/voting-events/voting-event.ts';

/** A confirmed ballot that is in the log or waits for it. A waiting ballot's entries are encrypted, and are opened with `codeTag`. */
export type WaitingBallot = Pick<SealedBallot, 'entries' | 'weightMicro' | 'codeTag'>;

/** The inputs of an event's results at one moment. Ballots that the running count already contains are left out. */
export type CountInputs = Awaited<ReturnType<typeof readCountInputs>>;

/** From this number of newly logged blocks of ballots on, the ballots are streamed (`readBox`). */
export const MAX_BOX_BLOCKS = 32;

const BALLOT = 'b.weight_micro::text AS amount, b.entries, b.code_tag';

/**
 * Finds the ballot of a tag. Several indexes begin with the event, and a plan cached on a small table may use any: ORDER BY forces the
 * right one. BETWEEN ends the scan at the tag: otherwise it would go on over dead rows of ballots that have left the table.
 */
const ofTag = (table: string): string =>
  `SELECT x.weight_micro, x.entries, x.code_tag FROM ${table} x
    WHERE x.voting_event_id = v.voting_event_id AND x.code_tag BETWEEN v.code_tag AND v.code_tag ORDER BY x.code_tag LIMIT 1`;

/** Above every leaf. With an upper bound, the planner expects a narrow range, even if the lower bound is a parameter. */
const NO_LEAF = 2n ** 62n;

const BASE = `
  (SELECT 'box' AS kind, b.first_leaf::text AS number, b.weights::text AS amount, b.entries, b.tags AS code_tag FROM ballot_blocks b
    WHERE b.voting_event_id = $1 AND b.first_leaf > $2::bigint - ${BLOCK_BALLOTS} AND b.first_leaf < ${NO_LEAF} AND b.first_leaf + b.ballots > $2::bigint + 1
    ORDER BY b.first_leaf LIMIT ${MAX_BOX_BLOCKS})
  UNION ALL SELECT 'queue', '0', ${BALLOT} FROM ballot_queue b WHERE b.voting_event_id = $1
  UNION ALL SELECT CASE WHEN ${VOID_AFTER_CLOSE} THEN 'reversed' ELSE 'voided' END, '0', ${BALLOT}
    FROM voided_ballots v JOIN sealed_with($1, ARRAY(SELECT code_tag FROM voided_ballots WHERE voting_event_id = $1)) b
      ON b.code_tag = v.code_tag
    WHERE v.voting_event_id = $1 AND (v.leaf_index IS NOT NULL OR NOT ${VOID_AFTER_CLOSE})
  UNION ALL SELECT 'voided', '0', ${BALLOT} FROM voided_ballots v CROSS JOIN LATERAL (${ofTag('ballot_queue')}) b
    WHERE v.voting_event_id = $1
  UNION ALL SELECT 'log', '0', lot_seed, frontier, NULL FROM ballot_logs WHERE voting_event_id = $1
  UNION ALL SELECT 'disputed', '0', '0', NULL, NULL FROM voting_events WHERE id = $1 AND alarm IS NOT NULL
  UNION ALL SELECT 'electorate', '0', weight_micro::text, NULL, NULL FROM electorate($1)
  UNION ALL SELECT 'group', group_id, sum(weight_micro - voted_weight_micro)::text, NULL, NULL FROM roll_figures
    WHERE voting_event_id = $1 AND status = 'approved' AND group_id <> '' GROUP BY group_id
  UNION ALL SELECT 'changes', identity_changes::text, roll_changes::text, NULL, NULL FROM voting_events WHERE id = $1
  UNION ALL SELECT 'letters', (CASE WHEN rehearsal_since IS NULL THEN letters_printed ELSE rehearsal_letters END)::text, '0', NULL, NULL
    FROM voting_events WHERE id = $1
  UNION ALL (SELECT 'fractional', '0', '0', NULL, NULL FROM voters
    WHERE voting_event_id = $1 AND weight_micro % 1000000 <> 0 AND deleted_at IS NULL ORDER BY weight_micro LIMIT 1)
  UNION ALL (SELECT 'weighted', '0', '0', NULL, NULL FROM voters
    WHERE voting_event_id = $1 AND weight_micro < 1000000 AND deleted_at IS NULL ORDER BY weight_micro LIMIT 1)
  UNION ALL (SELECT 'weighted', '0', '0', NULL, NULL FROM voters
    WHERE voting_event_id = $1 AND weight_micro > 1000000 AND deleted_at IS NULL ORDER BY weight_micro LIMIT 1)`;

const KEPT_BACK = `
  UNION ALL SELECT 'snapshot', '0', '0', sealed, NULL FROM public_snapshots WHERE voting_event_id = $1
  UNION ALL (SELECT 'undisclosed', '0', '0', NULL, NULL FROM undisclosed_voters WHERE voting_event_id = $1 LIMIT ${DISCLOSED_TOGETHER})
  UNION ALL SELECT 'rare', '0', '0', NULL, NULL WHERE has_rare_weight($1)
  UNION ALL SELECT 'withheld', group_id, weight_micro::text, NULL, NULL FROM withheld_approvals($1)`;

interface MomentRow {
  /** The kind of the row, as the statement names it. */
  readonly kind: string;
  readonly number: string;
  readonly amount: string;
  readonly entries: Buffer | null;
  readonly code_tag: Buffer | null;
}

function ballotOf({ amount, entries, code_tag }: MomentRow): WaitingBallot {
  if (entries === null || code_tag === null) throw new Error('a stored ballot lacks its entries');
  return { entries, weightMicro: BigInt(amount), codeTag: code_tag };
}

/** The ballots of blocks that come after a leaf. @throws BlockSpoilt */
function boxOf(blocks: readonly MomentRow[], afterLeaf: bigint) {
  let last = afterLeaf;
  const ballots = blocks.flatMap(({ number, amount, entries, code_tag }): WaitingBallot[] => {
    if (entries === null || code_tag === null) throw new Error('a block lacks its ballots');
    const first = BigInt(number);
    const block = splitBlock(Number(number), { entries, weights: amount.slice(1, -1).split(','), tags: code_tag });
    last = first + BigInt(block.length) - 1n;
    return block.slice(Math.max(0, Number(afterLeaf + 1n - first)));
  });
  return { ballots, last };
}

/**
 * Reads everything in one statement, so from one snapshot: a ballot that is logged meanwhile is either in the queue or in the box (the
 * table of logged ballots). Reads only new rows, by index, however many ballots and voters there are.
 * @param keepsBack whether the event is secret and not final; then also reads what must be kept back
 */
export async function readCountInputs(pool: Pool, eventId: string, afterLeaf: bigint, keepsBack: boolean) {
  const [name, text] = keepsBack ? ['read_moment_of_secret', BASE + KEPT_BACK] : ['read_moment', BASE];
  const rows = await runNamed<MomentRow>(pool, name, text, [eventId, afterLeaf]);
  const of = (kind: string): MomentRow[] => rows.filter((row) => row.kind === kind);
  const box = of('box');
  const [log] = of('log');
  const [electorate] = of('electorate');
  const [changes] = of('changes');
  const sumOf = (found: readonly MomentRow[]): bigint => found.reduce((sum, { amount }) => sum + BigInt(amount), 0n);
  const withheld = of('withheld');
  const withheldOf = (group: string): bigint => sumOf(withheld.filter(({ number }) => number === group));
  return {
    /** Logged ballots after the given leaf; undefined if they are too many for one statement. */
    box: box.length === MAX_BOX_BLOCKS ? undefined : boxOf(box, afterLeaf),
    /** Confirmed ballots that are not in the log yet. */
    queue: of('queue').map(ballotOf),
    /**
     * Confirmed ballots that became void before the close. They do not count, although they are logged or queued. Payments of an election
     * are never reversed: there, SQL wrote the row, which must not exclude a ballot.
     */
    voided: keepsBack ? [] : of('voided').map(ballotOf),
    /** Ballots whose `void` leaf comes after the `close` leaf. The final result counts them; `afterReversals` does not. */
    reversed: keepsBack ? [] : of('reversed').map(ballotOf),
    /** Number of undisclosed voters, at most five. Like `snapshot` and `rare`, it is read only if the event keeps something back. */
    undisclosed: of('undisclosed').length,
    /** The encrypted `PublicSnapshot`; undefined before the first disclosure step. */
    snapshot: of('snapshot')[0]?.entries ?? undefined,
    /** Whether there is a weight that fewer than five voters have. */
    rare: of('rare').length > 0,
    log: log?.entries == null ? new CompactRange() : CompactRange.fromBytes(log.entries),
    /** The encrypted seed of the lot; undefined until the log has opened. */
    seed: log?.amount,
    /** Whether a check found that the ballots or their log differ from the signed data. */
    disputed: of('disputed').length > 0,
    /** Weight of the approved voters. */
    electorate: {
      weightMicro: BigInt(electorate?.amount ?? 0) - sumOf(withheld),
      byGroup: new Map(of('group').map(({ number, amount }) => [number, BigInt(amount) - withheldOf(number)])),
    },
    /** Whether some voter's weight is not whole. */
    fractional: of('fractional').length > 0,
    /** Whether some voter's weight is not 1. */
    weighted: of('weighted').length > 0,
    /** Number of printed letters with voter keys. */
    letters: Number(of('letters')[0]?.number ?? 0),
    /** Numbers of changes of the roll after the opening. */
    changes: { identity: Number(changes?.number ?? 0), roll: Number(changes?.amount ?? 0) },
  };
}
