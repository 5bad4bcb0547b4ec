import type { Database } from '#src/database/client.ts';
import type { Caller } from '#src/http/caller.ts';
import type { RequestContext } from '#src/http/route.ts';
import type { Clock } from '#src/platform/clock.ts';
import { notFound } from '#src/platform/errors.ts';
import { statusAt } from './lifecycle.ts';
import { findEvent } from './repository.ts';
import type { VotingEvent } from './types.ts';

/** Somebody who may see or change an event, as their key shows. */
export interface Organizer {
  readonly caller: Caller;
  readonly event: VotingEvent;
}

/** A customer's server that speaks for voters of an event. */
export interface VoteCaller {
  readonly caller: Caller;
  readonly event: VotingEvent;
}

interface AccessDeps {
  readonly db: Database;
  readonly clock: Clock;
}

/** The event that the path names, for its organizer. @throws ApiError `not_found` for every event the key may not see */
export async function requireOrganizer(deps: AccessDeps, context: RequestContext): Promise<Organizer> {
  const event = await findEvent(deps.db, context.caller.accountId, context.params['idOrCode'] ?? '');
  if (event === undefined) throw notFound();
  return { caller: context.caller, event };
}

/** The event that the path names, for a vote or observe key. A draft is not there yet; an observer sees its one event. */
export async function requireVoteCaller(deps: AccessDeps, context: RequestContext): Promise<VoteCaller> {
  const { caller } = context;
  const event = await findEvent(deps.db, caller.accountId, context.params['idOrCode'] ?? '');
  if (event === undefined || statusAt(event, deps.clock.now()) === 'draft') throw notFound();
  if (caller.votingEventId !== null && caller.votingEventId !== event.id) throw notFound();
  return { caller, event };
}

/** The event that the path names, for its organizer or for an observer whose key was made for it. */
export async function requireObserver(deps: AccessDeps, context: RequestContext): Promise<Organizer> {
  const organizer = await requireOrganizer(deps, context);
  const { votingEventId } = context.caller;
  if (votingEventId !== null && votingEventId !== organizer.event.id) throw notFound();
  return organizer;
}
