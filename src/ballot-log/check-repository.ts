import { type SQL, sql } from 'drizzle-orm';
import { WEIGHT_OF_BLOCK } from '#src/ballots/box.ts';
import { atOneMoment, type Database, readNumber, type Transaction } from '#src/database/client.ts';
import { MICRO } from '#src/platform/decimal.ts';
import type { Log } from '#src/platform/log.ts';
import { joinVoters } from '#src/voters/voter-tag.ts';
import { markDisputed } from '#src/voting-events/repository.ts';

/** Logs an alarm about a log or rows that it depends on, and marks the event as `disputed` until a check finds no fault. */
export async function raiseAlarm(
  deps: { readonly db: Database; readonly log: Log },
  eventId: string,
  finding: {
    readonly alarm: 'ballot_log_changed' | 'ballot_log_set_back' | 'rows_disagree';
    readonly [detail: string]: unknown;
  },
): Promise<void> {
  deps.log.error({ event: eventId, ...finding }, 'a ballot log is not what was signed');
  await markDisputed(deps.db, eventId, finding.alarm);
}

/** Rows per statement: reading all rows of the largest event would exceed the statement timeout. */
const ROWS_TOGETHER = 10_000;
/** Blocks per statement; a block holds up to 256 ballots. */
const BLOCKS_TOGETHER = 200;

/** The result of one statement: the key of its last row, null if it read none, and sums of its rows. */
interface Part extends Record<string, unknown> {
  readonly last: string | null;
  readonly heads: string;
  readonly weight: string | null;
  readonly is_odd: boolean | null;
}

interface Sum {
  readonly heads: bigint;
  readonly weight: bigint;
  readonly isOdd: boolean;
}

/** Sums rows page by page. The transaction must read from one snapshot. @param partAfter the query for the page after a key */
async function sumInSteps(tx: Transaction, partAfter: (last: string | null) => SQL): Promise<Sum> {
  let sum: Sum = { heads: 0n, weight: 0n, isOdd: false };
  for (let last: string | null = null; ; ) {
    const part: Part | undefined = (await tx.execute<Part>(partAfter(last))).rows[0];
    if (part === undefined || part.last === null) return sum;
    sum = {
      heads: sum.heads + BigInt(part.heads),
      weight: sum.weight + BigInt(part.weight ?? 0),
      isOdd: sum.isOdd || part.is_odd === true,
    };
    last = part.last;
  }
}

// The queries below get the event's ID as a value. With a join on the ID, the planner would expect as many rows as the largest event
// has, and scan the whole table.

/** Number and weight of an event's sealed ballots; `isOdd` if a ballot's leaf is beyond the end of the log. */
const sumBlocks = (tx: Transaction, eventId: string, size: string): Promise<Sum> =>
  sumInSteps(
    tx,
    (last) => sql`
      SELECT max(b.first_leaf)::text AS last, coalesce(sum(b.ballots), 0)::text AS heads, sum(${WEIGHT_OF_BLOCK})::text AS weight,
        bool_or(b.first_leaf + b.ballots > ${size}::bigint) AS is_odd
      FROM (SELECT first_leaf, ballots, weights FROM ballot_blocks
        WHERE voting_event_id = ${eventId} AND first_leaf > coalesce(${last}::bigint, -1)
        ORDER BY first_leaf LIMIT ${BLOCKS_TOGETHER}) AS b`,
  );

/** Number and weight of an event's queued ballots; `isOdd` if a row is marked `set_back`, that is, not written by the service. */
const sumQueue = (tx: Transaction, eventId: string): Promise<Sum> =>
  sumInSteps(
    tx,
    (last) => sql`
      SELECT max(encode(q.code_tag, 'hex') COLLATE "C") AS last, count(*)::text AS heads, sum(q.weight_micro)::text AS weight,
        bool_or(q.set_back) AS is_odd
      FROM (SELECT code_tag, weight_micro, set_back FROM ballot_queue
        WHERE voting_event_id = ${eventId} AND code_tag > decode(coalesce(${last}, ''), 'hex')
        ORDER BY code_tag LIMIT ${ROWS_TOGETHER}) AS q`,
  );

/** Number and weight of an election's participants, whose weight is frozen; `isOdd` if a participant is not on the roll. */
const sumTurnout = (tx: Transaction, eventId: string): Promise<Sum> =>
  sumInSteps(
    tx,
    (last) => sql`
      SELECT max(p.participant) AS last, count(DISTINCT p.participant)::text AS heads, sum(v.weight_micro)::text AS weight,
        count(*) <> count(v.id) AS is_odd
      -- Each once: SQL can take the primary key away, or put the same row into a table that inherits from this one.
      FROM (SELECT DISTINCT participant FROM participation WHERE voting_event_id = ${eventId} AND participant > coalesce(${last}, '')
        ORDER BY participant LIMIT ${ROWS_TOGETHER}) AS p
      ${joinVoters(eventId)}`,
  );

interface Account {
  readonly box: Sum;
  /** Undefined in a poll. */
  readonly turnout: Sum | undefined;
  readonly dropped: bigint;
  readonly confirmed: bigint;
}

async function readAccount(tx: Transaction, eventId: string): Promise<(Account & { fault?: string }) | undefined> {
  const { rows } = await tx.execute<{ type: string; size: string; confirmed: string; dropped: string }>(sql`
    SELECT e.type, l.size::text AS size, l.confirmed::text AS confirmed, l.dropped::text AS dropped
    FROM ballot_logs l JOIN voting_events e ON e.id = l.voting_event_id WHERE l.voting_event_id = ${eventId}`);
  const [log] = rows;
  if (log === undefined) return undefined;
  const [blocks, queue] = [await sumBlocks(tx, eventId, log.size), await sumQueue(tx, eventId)];
  return {
    box: { heads: blocks.heads + queue.heads, weight: blocks.weight + queue.weight, isOdd: false },
    turnout: log.type === 'election' ? await sumTurnout(tx, eventId) : undefined,
    dropped: BigInt(log.dropped),
    confirmed: BigInt(log.confirmed),
    ...(blocks.isOdd ? { fault: 'a ballot stands behind the end of the log' } : {}),
    ...(!blocks.isOdd && queue.isOdd ? { fault: 'waiting ballots are set back' } : {}),
  };
}

/** Whether the ballots weigh more than their voters (1 each in a poll), or less although no operator dropped ballots. */
function weighsOtherwise({ box, turnout, dropped }: Account): boolean {
  // The weight of a participant who is not on the roll is unknown.
  if (turnout?.isOdd === true) return false;
  const due = turnout === undefined ? MICRO * box.heads : turnout.weight;
  return box.weight > due || (box.weight < due && dropped === 0n);
}

/**
 * Number and weight of the ballots that count, and whether all ballots agree in weight with their voters. Call when neither ballots nor
 * voters can change any more, no ballot is queued, and every void ballot has its `void` leaf.
 */
export async function sumAtClose(tx: Transaction, eventId: string) {
  const account = await readAccount(tx, eventId);
  if (account === undefined) throw new Error('a log is closed that was never opened');
  // Only ballots of polls become void, and each weighs 1.
  const voided = await readNumber(
    tx,
    sql`SELECT count(*) FROM voided_ballots WHERE voting_event_id = ${eventId} AND leaf_index IS NOT NULL`,
  );
  const { heads, weight } = account.box;
  return {
    ballots: Number(heads) - voided,
    weightMicro: weight - MICRO * BigInt(voided),
    agree: !weighsOtherwise(account),
  };
}

/** Faults that the leaves do not show: rows beyond the end of the log, or ballots without a voter. @returns the first, or undefined */
export function findUnaccounted(db: Database, eventId: string): Promise<string | undefined> {
  return atOneMoment(db, async (tx) => {
    const { rows } = await tx.execute<{ fault: string | null }>(sql`
      SELECT CASE
        WHEN EXISTS (SELECT 1 FROM log_leaves x WHERE x.voting_event_id = ${eventId} AND x.leaf_index >= l.size) THEN 'a leaf stands behind the end of the log'
        WHEN EXISTS (SELECT 1 FROM log_tiles x WHERE x.voting_event_id = ${eventId}
          AND x.tile_index >= div(l.size::numeric, power(256::numeric, x.level + 1))) THEN 'a tile stands behind the end of the log'
        WHEN EXISTS (SELECT 1 FROM log_checkpoints x WHERE x.voting_event_id = ${eventId} AND x.size > l.size) THEN 'a checkpoint stands behind the end of the log'
        WHEN EXISTS (SELECT 1 FROM voided_ballots x JOIN voting_events e ON e.id = x.voting_event_id
          WHERE x.voting_event_id = ${eventId} AND e.type = 'election') THEN 'a ballot of an election is said to be void'
      END AS fault FROM ballot_logs l WHERE l.voting_event_id = ${eventId}`);
    const account = await readAccount(tx, eventId);
    if (account === undefined) return undefined;
    const { box, turnout, confirmed, dropped } = account;
    const fault = rows[0]?.fault ?? account.fault;
    if (fault !== undefined) return fault;
    if (box.heads < confirmed) return 'the log was signed with more ballots than there are';
    if (turnout !== undefined && turnout.heads < box.heads) return 'there are more ballots than participants';
    if (turnout !== undefined && turnout.heads > box.heads + dropped) return 'there are more participants than ballots';
    return weighsOtherwise(account) ? 'the ballots weigh something else than their voters' : undefined;
  });
}
