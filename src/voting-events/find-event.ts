import type { Database, Executor } from '#src/database/client.ts';
import { refuse } from '#src/http/refusals.ts';
import { notFound } from '#src/platform/errors.ts';
import { findAccess } from './find-access.ts';
import { findEvent } from './repository.ts';
import type { VotingEvent } from './types.ts';

/** An event that an account may see, by ID or code. @throws ApiError `not_found` */
export async function findEventByReference(db: Database, accountId: string, reference: string): Promise<VotingEvent> {
  const found = await findAccess(db, accountId, reference);
  if (found === undefined) throw notFound();
  return found.event;
}

/** An account's own event by ID or code. @throws ApiError `not_found`; 403 `forbidden`, reason `role`, for one that is shared with it */
export async function findOwnEvent(db: Database, accountId: string, reference: string): Promise<VotingEvent> {
  const event = await findEventByReference(db, accountId, reference);
  if (event.accountId === accountId) return event;
  throw refuse('owner_only', { required: 'owner' });
}

/** An event of any account, for the operator. @throws ApiError `not_found` */
export async function findAnyEvent(executor: Executor, reference: string): Promise<VotingEvent> {
  const event = await findEvent(executor, reference);
  if (event === undefined) throw notFound();
  return event;
}
