import { sql } from 'drizzle-orm';
import { type Executor, isTrue } from '#src/database/client.ts';

/**
 * Whether a participant of a poll, by any of its identities, has a confirmed ballot or a paid one that waits for its
 * confirmation. The one rule for casts, paid casts, credits and the eligibility check; the database holds it (`has_voted`).
 * @param repeatVotes where one participant may vote any number of times: then no one has
 */
export const hasVoted = (
  executor: Executor,
  eventId: string,
  participants: readonly string[],
  repeatVotes: boolean,
): Promise<boolean> =>
  isTrue(executor, sql`SELECT voted FROM has_voted(${eventId}, ${sql.param(participants)}::text[], ${repeatVotes})`);
