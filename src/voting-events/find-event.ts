import type { Executor } from '#src/database/client.ts';
import { notFound } from '#src/platform/errors.ts';
import { findEvent } from './repository.ts';
import type { VotingEvent } from './types.ts';

/** An account's event by ID or code. @throws ApiError `not_found` */
export async function findEventByReference(
  executor: Executor,
  accountId: string,
  reference: string,
): Promise<VotingEvent> {
  const event = await findEvent(executor, accountId, reference);
  if (event === undefined) throw notFound();
  return event;
}

/** An event of any account, for the operator. @throws ApiError `not_found` */
export async function findAnyEvent(executor: Executor, reference: string): Promise<VotingEvent> {
  const event = await findEvent(executor, undefined, reference);
  if (event === undefined) throw notFound();
  return event;
}
