import { sql } from 'drizzle-orm';
import { type PlanName, planLimit } from '#src/accounts/plans.ts';
import { type Executor, type Transaction, valuesOf } from '#src/database/client.ts';
import { notFound } from '#src/platform/errors.ts';
import { lifeRefusal } from '#src/voting-events/life.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import type { VoterDeps } from './take-rows.ts';

/** More voters than transactions of one moment add to an event: four imports of an account, in five processes. */
const NEAR_THE_LIMIT = 100_000;

/**
 * Takes room from the plan of the event's account for the voters that this transaction has added. Its last step, as those behind it
 * may wait for its commit. @see take_places
 * @throws ApiError 404, 409 `event_closed`, 422 `plan_limit`: each undoes what was added
 */
export async function takeRoomForVoters(
  tx: Transaction,
  { plans }: Pick<VoterDeps, 'plans'>,
  event: VotingEvent,
  plan: PlanName,
  place: 'organizer' | 'registration',
): Promise<void> {
  const limit = plans[plan].votersPerEvent;
  const taking = sql`SELECT take_places(${event.id}, ${place}, ${limit}, ${NEAR_THE_LIMIT})`;
  const [found] = await valuesOf<'room' | 'full' | 'closed' | 'gone'>(tx, taking);
  if (found === 'gone') throw notFound();
  if (found === 'closed') throw lifeRefusal('event_closed', event);
  if (found === 'full')
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
  const [present = 0] = await valuesOf<number>(executor, sql`SELECT organizer::int FROM voter_places(${eventId})`);
  const limit = plans[plan].votersPerEvent;
  if (present + count > limit) throw planLimit('voters_per_event', limit);
}
