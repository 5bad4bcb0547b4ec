import type { Database, Executor } from '#src/database/client.ts';
import { notFound } from '#src/platform/errors.ts';
import { findAccess } from './access.ts';
import { findEvent } from './repository.ts';
import type { VotingEvent } from './voting-event.ts';

/** An event that an account may see, by ID or code. @throws ApiError `not_found` */
export async function findEventByReference(db: Database, accountId: string, reference: string): Promise<VotingEvent> {
  const found = await findAccess(db, accountId, reference);
  if (found === undefined) throw notFound();
  return found.event;
}

/** An event of any account, for the operator. @throws ApiError `not_found` */
export async function findAnyEvent(executor: Executor, reference: string): Promise<VotingEvent> {
  const event = await findEvent(executor, reference);
  if (event === undefined) throw notFound();
  return event;
}
