import { sql } from 'drizzle-orm';
import { listKeptGroupIds } from '#src/ballot-definition/ballot-definition.ts';
import { atOneMoment, type Database, type Executor, type Transaction } from '#src/database/client.ts';
import { inPages } from '#src/platform/loop-turns.ts';
import { equalSecrets, type Secrets } from '#src/platform/secrets.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { listTagged } from './repository.ts';
import { beginRollSum, forgetRollSum, listRehearsed, noteRoll } from './roll-sum.ts';
import {
  isGenuine,
  joinVoters,
  TAGGED_VOTER,
  type TaggedArray,
  type TaggedVoter,
  taggedVoter,
  tagOfParticipation,
} from './voter-tag.ts';

/** Rows per query. It bounds the memory that a large roll takes. */
const PAGE = 1_000;

const taggedRoll = (executor: Executor, eventId: string): AsyncGenerator<TaggedVoter> =>
  inPages(PAGE, (after, limit) => listTagged(executor, eventId, sql`v.id > ${after} AND v.deleted_at IS NULL`, limit));

/** Whether an election has at least `least` approved voters. Rows that other SQL inserts can make the answer false, but not true. */
export async function hasApproved(
  executor: Executor,
  secrets: Secrets,
  eventId: string,
  least: number,
): Promise<boolean> {
  const voters = await listTagged(executor, eventId, sql`v.status = 'approved' AND v.deleted_at IS NULL`, least);
  return voters.filter((voter) => isGenuine(secrets, voter)).length === least;
}

/** Participations that the service did not write. @param own the election's secrets; undefined if it never had a key, and so no ballot */
async function* forgedParticipations(
  executor: Executor,
  own: Secrets | undefined,
  eventId: string,
  onGenuine?: (voter: TaggedVoter) => void,
): AsyncGenerator<string> {
  type Row = { id: string; tag: Buffer | null; tagged: TaggedArray | null };
  const all = inPages(PAGE, async (after, limit) => {
    const { rows } = await executor.execute<Row>(sql`
      SELECT p.participant AS id, p.tag, ${sql.raw(TAGGED_VOTER)} AS tagged FROM (
        SELECT participant, tag FROM participation
        WHERE voting_event_id = ${eventId} AND participant > ${after} ORDER BY participant LIMIT ${limit}) AS p
      ${joinVoters(eventId)} AND v.deleted_at IS NULL
      ORDER BY p.participant`);
    return rows;
  });
  for await (const { id, tag, tagged } of all) {
    const voter = tagged === null ? undefined : taggedVoter(eventId, tagged);
    // Only approved voters take part, and their status cannot change afterwards.
    const isOwn = voter?.status === 'approved' && tag !== null && own !== undefined;
    if (isOwn && equalSecrets(tagOfParticipation(own, voter), tag)) onGenuine?.(voter);
    else yield id;
  }
}

/** The number of approved voters, their weight in millionths, and how many of them took part. */
interface Turnout {
  heads: number;
  weightMicro: bigint;
  voted: number;
}

/** The figures of a roll, counted from its verified rows instead of stored totals. */
export interface CheckedRoll extends Turnout {
  /** By group ID. A voter of a deleted group is in none, even if the row still names the group. */
  readonly byGroup: ReadonlyMap<string, Turnout>;
}

/**
 * Counts an election's roll, and verifies each row, the sum of all rows and the stored electorate.
 * @param own the election's secrets; undefined if it never had a key
 * @returns the roll, or the first discrepancy in words
 */
export function checkRoll(
  db: Database,
  secrets: Secrets,
  own: Secrets | undefined,
  event: VotingEvent,
): Promise<string | CheckedRoll> {
  // Use one snapshot, because the recorded sum must match the voters.
  return atOneMoment(db, async (tx) => {
    const sum = await beginRollSum(tx, secrets, event.id);
    const rehearsed = await listRehearsed(tx, event);
    const kept = new Set(await listKeptGroupIds(tx, event.id));
    const byGroup = new Map<string, Turnout>();
    const roll = { heads: 0, weightMicro: 0n, voted: 0, byGroup };
    const partsOf = ({ groupId }: TaggedVoter): Turnout[] => {
      if (groupId === null || !kept.has(groupId)) return [roll];
      return [roll, byGroup.getOrInsertComputed(groupId, () => ({ heads: 0, weightMicro: 0n, voted: 0 }))];
    };
    let last = '';
    for await (const voter of taggedRoll(tx, event.id)) {
      if (!isGenuine(secrets, voter)) return `the voter ${voter.id} is not as the service wrote it`;
      // This is possible only if other SQL has dropped the primary key.
      if (voter.id === last) return `the voter ${voter.id} stands on the roll twice`;
      last = voter.id;
      if (!rehearsed.has(voter.id)) sum.add(voter);
      if (voter.status !== 'approved') continue;
      for (const part of partsOf(voter)) {
        part.heads += 1;
        part.weightMicro += voter.weightMicro;
      }
    }
    if (!sum.isRight()) return 'voters are missing on the roll, or stand there as they were before';
    const { rows } = await tx.execute<{ heads: string; weight: string }>(
      sql`SELECT heads::text, weight_micro::text AS weight FROM electorate(${event.id})`,
    );
    if (Number(rows[0]?.heads) !== roll.heads || BigInt(rows[0]?.weight ?? 0) !== roll.weightMicro)
      return 'the electorate is another one than the roll';
    const took = (voter: TaggedVoter): void => {
      for (const part of partsOf(voter)) part.voted += 1;
    };
    for await (const _ of forgedParticipations(tx, own, event.id, took))
      return 'somebody took part by a row that the service did not write';
    return roll;
  });
}

/** Replaces the sum of the roll by the sum of all rows with a valid tag. Call with the event locked. */
export async function acceptRoll(tx: Transaction, secrets: Secrets, event: VotingEvent): Promise<void> {
  await forgetRollSum(tx, event.id);
  let page: TaggedVoter[] = [];
  const note = async (): Promise<void> => {
    await noteRoll(tx, secrets, event.id, page, []);
    page = [];
  };
  const rehearsed = await listRehearsed(tx, event);
  for await (const voter of taggedRoll(tx, event.id)) {
    if (isGenuine(secrets, voter) && !rehearsed.has(voter.id) && page.push(voter) === PAGE) await note();
  }
  await note();
}

/** Deletes participations that the service did not write. @returns their number */
export async function dropForgedParticipations(
  tx: Transaction,
  own: Secrets | undefined,
  eventId: string,
): Promise<number> {
  const forged = await Array.fromAsync(forgedParticipations(tx, own, eventId));
  await tx.execute(sql`
    DELETE FROM participation WHERE voting_event_id = ${eventId} AND participant = ANY (${sql.param(forged)}::text[])`);
  return forged.length;
}

type GroupTurnout = { groupId: string; voters: number; voted: number };

/** The figures of `readTurnoutByGroup`, from the verified rows. */
export const turnoutByGroup = ({ byGroup }: CheckedRoll): GroupTurnout[] =>
  [...byGroup]
    .filter(([, { heads }]) => heads >= SMALLEST_GROUP)
    .map(([groupId, { heads: voters, voted }]) => ({ groupId, voters, voted }))
    .sort((one, other) => (one.groupId < other.groupId ? -1 : 1));

/** Groups with fewer voters are not shown: their members know each other and could infer who voted. */
const SMALLEST_GROUP = 5;

/** The approved voters of each group, and how many took part. Groups below `SMALLEST_GROUP` are left out. */
export async function readTurnoutByGroup(executor: Executor, eventId: string): Promise<GroupTurnout[]> {
  const kept = sql.param(await listKeptGroupIds(executor, eventId));
  const { rows } = await executor.execute<GroupTurnout>(sql`
    SELECT f.group_id AS "groupId", sum(f.heads) FILTER (WHERE f.status = 'approved')::int AS voters, sum(f.voted)::int AS voted
    FROM roll_figures f WHERE f.voting_event_id = ${eventId} AND f.group_id = ANY (${kept}::text[])
    GROUP BY f.group_id HAVING sum(f.heads) FILTER (WHERE f.status = 'approved') >= ${SMALLEST_GROUP} ORDER BY f.group_id`);
  return rows;
}
