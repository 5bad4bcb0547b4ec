import { findTarget } from '#src/http/find-target.ts';
import type { Clock } from '#src/platform/clock.ts';
import { notFound } from '#src/platform/errors.ts';
import { requireVoteCaller } from '#src/voting-events/access.ts';
import type { EventCache } from '#src/voting-events/event-cache.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import type { BallotDefinition, BallotDefinitionCache } from './ballot-definition.ts';

/** The ballot of an event. @throws ApiError `not_found` where the event is gone meanwhile */
export async function requireBallotDefinition(
  definitions: BallotDefinitionCache,
  event: VotingEvent,
): Promise<BallotDefinition> {
  const definition = await definitions.get(event);
  if (definition === undefined) throw notFound();
  return definition;
}

/** 404 and 403 of an operation for a vote key, with the ballot of the event. */
export const loadPublicBallotDefinition = (deps: {
  events: EventCache;
  definitions: BallotDefinitionCache;
  clock: Clock;
}) =>
  findTarget(async (c) => {
    const caller = await requireVoteCaller(deps, c);
    return { ...caller, definition: await requireBallotDefinition(deps.definitions, caller.event) };
  });
