import { and, eq, sql } from 'drizzle-orm';
import { type PlanName, planLimit } from '#src/accounts/plans.ts';
import type { Executor, Transaction } from '#src/database/client.ts';
import { notFound } from '#src/platform/errors.ts';
import { lifeRefusal } from '#src/voting-events/life.ts';
import { lifeOf } from '#src/voting-events/lifecycle.ts';
import { votingEvents } from '#src/voting-events/tables.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import type { VoterDeps } from './take-rows.ts';
import type { Voter } from './voter.ts';

/** Voters of an event by how they count: what the organizer added, registrations that hold a place, and rejected ones, which hold none. */
type VoterPlace = 'organizer' | 'registration' | 'rejected_registration';

/** The place that a voter takes. Those of the organizer keep theirs whatever their status is. */
export function placeOf({ source, status }: Pick<Voter, 'source' | 'status'>): VoterPlace {
  if (source !== 'registration') return 'organizer';
  return status === 'rejected' ? 'rejected_registration' : 'registration';
}

/** How the counters of an event change when it has more voters of a place, or fewer. */
function countVoters(place: VoterPlace, count: number) {
  return {
    voterCount: sql`greatest(${votingEvents.voterCount} + ${count}, 0)`,
    ...(place === 'registration'
      ? { registrationCount: sql`greatest(${votingEvents.registrationCount} + ${count}, 0)` }
      : {}),
    ...(place === 'rejected_registration'
      ? { rejectedRegistrationCount: sql`greatest(${votingEvents.rejectedRegistrationCount} + ${count}, 0)` }
      : {}),
  };
}

/** The organizer's own voters: all but those that registered themselves. */
const organizersOwn = sql`${votingEvents.voterCount} - ${votingEvents.registrationCount} - ${votingEvents.rejectedRegistrationCount}`;

/**
 * Takes room for voters from the plan of the event's account. Registrations have a ceiling of their own, as high as the
 * plan's: however many strangers register, the organizer's voters find room. The last step of a transaction that adds them:
 * all that add to the same event wait from here to the commit. One conditional update counts them while the roll is open,
 * which no race can pass, neither with other voters nor with the close.
 * @throws ApiError 409 `event_closed`, 422 `plan_limit`: both undo what was added
 */
export async function takeRoomForVoters(
  tx: Transaction,
  { plans }: Pick<VoterDeps, 'plans'>,
  event: VotingEvent,
  plan: PlanName,
  place: 'organizer' | 'registration',
  count: number,
): Promise<void> {
  const limit = plans[plan].votersPerEvent;
  const held = place === 'registration' ? sql`${votingEvents.registrationCount}` : organizersOwn;
  const rows = await tx
    .update(votingEvents)
    .set(countVoters(place, count))
    .where(
      and(
        eq(votingEvents.id, event.id),
        sql`${held} + ${count} <= ${limit}`,
        sql`(event_status(${sql.raw(lifeOf('voting_events'))}, now_ms()) <> 'closed' OR rehearsal_since IS NOT NULL)`,
      ),
    )
    .returning({ id: votingEvents.id });
  if (rows.length === 1) return;
  const { rows: found } = await tx.execute<{ status: string }>(
    sql`SELECT event_status(${sql.raw(lifeOf('e'))}, now_ms()) AS status FROM voting_events e WHERE id = ${event.id}`,
  );
  // Deleted meanwhile.
  if (found.length === 0) throw notFound();
  if (found[0]?.status === 'closed') throw lifeRefusal('event_closed');
  throw planLimit(place === 'registration' ? 'voter_registrations_per_event' : 'voters_per_event', limit);
}

/** Whether the plan has room for more voters of the organizer's own; nothing is taken. @throws ApiError 422 `plan_limit` */
export async function requireRoomForVoters(
  executor: Executor,
  { plans }: Pick<VoterDeps, 'plans'>,
  eventId: string,
  plan: PlanName,
  count: number,
): Promise<void> {
  const [row] = await executor
    .select({ present: sql<number>`${organizersOwn}` })
    .from(votingEvents)
    .where(eq(votingEvents.id, eventId));
  const limit = plans[plan].votersPerEvent;
  if ((row?.present ?? 0) + count > limit) throw planLimit('voters_per_event', limit);
}

/** Gives places back, when voters are deleted or change their place. */
export async function giveVotersBack(
  tx: Transaction,
  eventId: string,
  place: VoterPlace,
  count: number,
): Promise<void> {
  await tx.update(votingEvents).set(countVoters(place, -count)).where(eq(votingEvents.id, eventId));
}

/** Counts registrations as rejected: their places are free for others. */
export async function keepRejected(tx: Transaction, eventId: string, count: number): Promise<void> {
  await giveVotersBack(tx, eventId, 'registration', count);
  await tx.update(votingEvents).set(countVoters('rejected_registration', count)).where(eq(votingEvents.id, eventId));
}
