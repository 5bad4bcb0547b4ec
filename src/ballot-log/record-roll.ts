import { type SQL, sql } from 'drizzle-orm';
import { type Executor, readNumber, type Transaction } from '#src/database/client.ts';
import { microToDecimal } from '#src/platform/decimal.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { encodeLeaf } from './leaf.ts';
import type { LogHead } from './repository.ts';
import { appendLeaves } from './tree-store.ts';

/** @param source rows with `heads` and `weight_micro` */
async function sumVoters(executor: Executor, source: SQL) {
  const { rows } = await executor.execute<{ heads: string; weight: string }>(sql`
    SELECT coalesce(sum(s.heads), 0)::text AS heads, coalesce(sum(s.weight_micro), 0)::text AS weight FROM ${source}`);
  return { heads: Number(rows[0]?.heads ?? 0), weightMicro: BigInt(rows[0]?.weight ?? 0) };
}

/** Numbers of manual changes of the roll since the opening, from the event's row: a cached definition may be older. */
export async function readRollChanges(executor: Executor, eventId: string) {
  const { rows } = await executor.execute<{ identityChanges: number; rollChanges: number }>(sql`
    SELECT identity_changes AS "identityChanges", roll_changes AS "rollChanges" FROM voting_events WHERE id = ${eventId}`);
  return rows[0] ?? { identityChanges: 0, rollChanges: 0 };
}

export const countParticipants = (executor: Executor, eventId: string): Promise<number> =>
  readNumber(executor, sql`SELECT count(*) FROM participation WHERE voting_event_id = ${eventId}`);

/** The roll as the log records it: approved voters, their weight, and the numbers of manual changes since the opening. */
type RecordedRoll = Pick<LogHead, 'rollHeads' | 'rollWeight' | 'rollIdentityChanges' | 'rollOtherChanges'>;

export const NO_ROLL: RecordedRoll = {
  rollHeads: null,
  rollWeight: null,
  rollIdentityChanges: null,
  rollOtherChanges: null,
};

/** The roll to publish, with at least `ballots` heads; none in polls. Leaves out approvals by a first key that are not disclosed yet. */
export async function readRoll(tx: Transaction, event: VotingEvent, ballots: number): Promise<RecordedRoll> {
  if (event.type === 'poll') return NO_ROLL;
  const { heads, weightMicro } = await sumVoters(tx, sql`electorate(${event.id}) AS s`);
  const withheld = await sumVoters(tx, sql`withheld_approvals(${event.id}) AS s`);
  const { identityChanges, rollChanges } = await readRollChanges(tx, event.id);
  return {
    rollHeads: Math.max(heads - withheld.heads, ballots),
    rollWeight: microToDecimal(weightMicro - withheld.weightMicro),
    rollIdentityChanges: identityChanges,
    rollOtherChanges: rollChanges,
  };
}

/**
 * Appends a `roll` leaf if the roll differs from the last recorded roll: at once after manual changes, and before ballots are
 * sealed after new approvals.
 * @param seals whether ballots or the close follow
 * @param ballots number of ballots in the log, including the following batch
 */
export async function recordRoll(
  tx: Transaction,
  event: VotingEvent,
  head: LogHead,
  { seals, ballots, nowMs }: { readonly seals: boolean; readonly ballots: number; readonly nowMs: number },
): Promise<LogHead> {
  const isPoll = event.type === 'poll';
  if (isPoll && head.rollHeads === null) return head;
  const { identityChanges, rollChanges } = await readRollChanges(tx, event.id);
  // An event may change its type until the first ballot: an election that became a poll records that it has no roll any more.
  const changedByHand = isPoll || head.rollIdentityChanges !== identityChanges || head.rollOtherChanges !== rollChanges;
  if (!changedByHand && !seals) return head;
  const roll = await readRoll(tx, event, ballots);
  const { rollHeads: heads, rollWeight: weight } = roll;
  if (!changedByHand && head.rollHeads === heads && head.rollWeight === weight) return head;
  const seq = head.rollSeq + 1;
  const { id: e } = event;
  const figures = { heads, weight, identityChanges, rollChanges };
  await appendLeaves(tx, e, head.frontier, [encodeLeaf({ v: 2, t: 'roll', e, at: nowMs, ...figures, seq })]);
  return { ...head, ...roll, rollSeq: seq };
}
