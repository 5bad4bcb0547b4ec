import type { Deps } from '#src/deps.ts';
import { ok } from '#src/http/answer.ts';
import { type RequestContext, type Route, readRoute } from '#src/http/route.ts';
import { forbidden, notFound } from '#src/platform/errors.ts';
import { requireObserver, requireOrganizer, requireVoteCaller } from '#src/voting-events/access.ts';
import type { VotingEvent } from '#src/voting-events/types.ts';
import { publicResultsAvailable } from '#src/voting-events/views.ts';
import type { EventCounter } from './count-event.ts';
import { readStats } from './read-stats.ts';

export function resultRoutes(deps: Deps, counter: EventCounter): Route[] {
  const paperOf = async (event: VotingEvent) => {
    const paper = await deps.papers.take(event);
    if (paper === undefined) throw notFound();
    return paper;
  };
  return [
    readRoute({
      operationId: 'getResults',
      summary: 'Read the results, at any time',
      method: 'GET',
      path: '/voting-events/:idOrCode/results',
      scope: 'read',
      find: (context: RequestContext) => requireOrganizer(deps, context),
      read: async ({ target }) => ok(await counter.results(await paperOf(target.event), 'organizer', deps.clock.now())),
    }),
    readRoute({
      operationId: 'getStats',
      summary: 'Read the figures of a voting event',
      method: 'GET',
      path: '/voting-events/:idOrCode/stats',
      scope: ['read', 'observe'],
      find: (context: RequestContext) => requireObserver(deps, context),
      read: async ({ target }) => ok(await readStats(deps.db, counter, await paperOf(target.event), deps.clock.now())),
    }),
    readRoute({
      operationId: 'getPublicResults',
      summary: 'Read live or published results',
      method: 'GET',
      path: '/public/voting-events/:idOrCode/results',
      scope: ['vote', 'observe'],
      find: (context: RequestContext) => requireVoteCaller(deps, context),
      read: async ({ target }) => {
        const nowMs = deps.clock.now();
        if (!publicResultsAvailable(target.event, nowMs))
          throw forbidden('results_not_available', 'The results of this event are not public.');
        return ok(await counter.results(await paperOf(target.event), 'public', nowMs));
      },
    }),
  ];
}
