import type { Deps } from '#src/deps.ts';
import { created, gone, list, ok } from '#src/http/answer.ts';
import { answersCreated, answersNothing, answersOne, answersPage } from '#src/http/answer-shapes.ts';
import { cutPage, decodeCursor, encodeCursor } from '#src/http/cursor.ts';
import { changeRoute, type Route, readRoute } from '#src/http/route.ts';
import { canonicalJson } from '#src/platform/canonical-json.ts';
import { requireOrganizer } from './access.ts';
import { createEvent } from './create-event.ts';
import { deleteVotingEvent } from './delete-event.ts';
import { listEvents } from './repository.ts';
import { createEventBody, deleteEventQuery, listEventsQuery, updateEventBody } from './schemas.ts';
import { updateVotingEvent } from './update-event.ts';
import { votingEventView } from './view-schemas.ts';
import { viewEvent } from './views.ts';

export function eventRoutes(deps: Deps): Route[] {
  return [
    readRoute({
      operationId: 'listVotingEvents',
      summary: 'List voting events',
      method: 'GET',
      path: '/voting-events',
      scope: 'read',
      answers: answersPage(votingEventView, 'A page of voting events.'),
      query: listEventsQuery,
      find: async ({ caller }) => caller,
      read: async ({ caller, query }) => {
        const { limit, cursor, ...filter } = query;
        const name = canonicalJson(['voting-events', caller.accountId, filter]);
        const after = decodeCursor(deps.secrets, name, cursor);
        const nowMs = deps.clock.now();
        const { search, status, type } = filter;
        const rows = await listEvents(
          deps.db,
          { accountId: caller.accountId, search, status, type, after, nowMs },
          limit,
        );
        const { page, nextCursor } = cutPage(
          rows,
          limit,
          (event) => event.id,
          (key) => encodeCursor(deps.secrets, name, key),
        );
        return list(
          page.map((event) => viewEvent(event, nowMs)),
          nextCursor,
        );
      },
    }),
    changeRoute({
      operationId: 'createVotingEvent',
      summary: 'Create a voting event',
      method: 'POST',
      path: '/voting-events',
      scope: 'write',
      answers: answersCreated(votingEventView, 'The voting event, a draft.'),
      refusals: ['code_in_use', 'plan_limit'],
      example: { title: 'Board of the reading club', type: 'election', timeZone: 'Europe/Berlin' },
      body: createEventBody,
      find: async ({ caller }) => caller,
      change: async ({ caller, body }, tx) =>
        created(viewEvent(await createEvent(tx, deps, caller, body), deps.clock.now())),
    }),
    readRoute({
      operationId: 'getVotingEvent',
      summary: 'Read a voting event',
      method: 'GET',
      path: '/voting-events/:idOrCode',
      scope: 'read',
      answers: answersOne(votingEventView, 'The voting event.'),
      find: (context) => requireOrganizer(deps, context),
      read: async ({ target }) => ok(viewEvent(target.event, deps.clock.now())),
    }),
    changeRoute({
      operationId: 'updateVotingEvent',
      summary: 'Change, open or close a voting event',
      method: 'PATCH',
      path: '/voting-events/:idOrCode',
      scope: 'write',
      description:
        'Any subset of the fields. `status: "open"` opens the event now, `status: "closed"` closes it. Once ballots are cast, what they depend on is frozen.',
      answers: answersOne(votingEventView, 'The voting event as it is now.'),
      refusals: ['code_in_use', 'event_has_ballots', 'not_ready', 'not_open', 'results_final', 'plan_feature'],
      example: { title: 'Board of the reading club 2027', results: { visibility: 'live' } },
      body: updateEventBody,
      find: (context) => requireOrganizer(deps, context),
      change: async ({ target, body }, tx) =>
        ok(viewEvent(await updateVotingEvent(tx, deps, target, body), deps.clock.now())),
    }),
    changeRoute({
      operationId: 'deleteVotingEvent',
      summary: 'Delete a voting event',
      method: 'DELETE',
      path: '/voting-events/:idOrCode',
      scope: 'write',
      role: 'owner',
      description: 'An event with confirmed ballots is deleted with `?force=true` only.',
      answers: answersNothing('The voting event is gone.'),
      refusals: ['event_has_ballots'],
      query: deleteEventQuery,
      find: (context) => requireOrganizer(deps, context),
      change: async ({ target, query }, tx) => {
        await deleteVotingEvent(tx, deps, target, query.force === 'true');
        return gone;
      },
    }),
  ];
}
