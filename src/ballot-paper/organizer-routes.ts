import type { Deps } from '#src/deps.ts';
import { created, gone, list, ok, queued } from '#src/http/answer.ts';
import {
  answersBulkChange,
  answersCreated,
  answersList,
  answersNothing,
  answersOne,
  answersQueued,
} from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { changeRoute, type RequestContext, type Route, readRoute } from '#src/http/route.ts';
import { notFound } from '#src/platform/errors.ts';
import { type Organizer, requireOrganizer } from '#src/voting-events/access.ts';
import { deleteCandidates, rejectCandidates } from './change-candidates.ts';
import { changeGroup, createGroup } from './change-groups.ts';
import { changeSponsor, createSponsor, removeSponsor } from './change-sponsors.ts';
import { createCandidate } from './create-candidate.ts';
import { createPosition } from './create-position.ts';
import { queueDeletion } from './delete-rows.ts';
import {
  findCandidate,
  findGroup,
  findPosition,
  findSponsor,
  listCandidates,
  listGroups,
  listPositions,
  listSponsors,
} from './repository.ts';
import {
  changeCandidatesBody,
  createCandidateBody,
  createGroupBody,
  createPositionBody,
  createSponsorBody,
  listCandidatesQuery,
  listPositionsQuery,
  searchQuery,
  updateCandidateBody,
  updateGroupBody,
  updatePositionBody,
  updateSponsorBody,
} from './schemas.ts';
import type { Position } from './types.ts';
import { changeCandidate } from './update-candidate.ts';
import { changePosition } from './update-position.ts';
import { candidateView, groupView, positionView, sponsorView } from './view-schemas.ts';
import { viewCandidate, viewGroup, viewPosition, viewSponsor } from './views.ts';

type Found<Row> = Organizer & { readonly row: Row };

/** The event and the row that a path names. @throws ApiError `not_found` for either */
function finder<Row>(deps: Deps, find: (db: Deps['db'], eventId: string, id: string) => Promise<Row | undefined>) {
  return async (context: RequestContext): Promise<Found<Row>> => {
    const organizer = await requireOrganizer(deps, context);
    const row = await find(deps.db, organizer.event.id, context.params['id'] ?? '');
    if (row === undefined) throw notFound();
    return { ...organizer, row };
  };
}

export function positionRoutes(deps: Deps): Route[] {
  const event = (context: RequestContext) => requireOrganizer(deps, context);
  const position = finder(deps, findPosition);
  const view = async (row: Position, executor: Parameters<typeof listCandidates>[0]) =>
    viewPosition(row, await listCandidates(executor, row.votingEventId));
  const path = '/voting-events/:idOrCode/positions';
  return [
    readRoute({
      operationId: 'listPositions',
      summary: 'List positions',
      method: 'GET',
      path,
      scope: 'read',
      answers: answersList(positionView, 'Every position of the event.'),
      query: listPositionsQuery,
      find: event,
      read: async ({ target, query }) => {
        const rows = await listPositions(deps.db, target.event.id, query);
        const candidates = await listCandidates(deps.db, target.event.id);
        return list(rows.map((row) => viewPosition(row, candidates)));
      },
    }),
    changeRoute({
      operationId: 'createPosition',
      summary: 'Create a position',
      method: 'POST',
      path,
      scope: 'write',
      answers: answersCreated(positionView, 'The new position.'),
      refusals: ['event_has_ballots', 'results_final', 'plan_limit', 'plan_feature'],
      example: { title: 'Chair', votingMethod: 'plurality' },
      body: createPositionBody,
      find: event,
      change: async ({ target, body }, tx) => created(await view(await createPosition(tx, deps, target, body), tx)),
    }),
    readRoute({
      operationId: 'getPosition',
      summary: 'Read a position',
      method: 'GET',
      path: `${path}/:id`,
      scope: 'read',
      answers: answersOne(positionView, 'The position.'),
      find: position,
      read: async ({ target }) => ok(await view(target.row, deps.db)),
    }),
    changeRoute({
      operationId: 'updatePosition',
      summary: 'Change a position',
      method: 'PATCH',
      path: `${path}/:id`,
      scope: 'write',
      answers: answersOne(positionView, 'The position as it is now.'),
      refusals: ['event_has_ballots', 'results_final', 'plan_feature'],
      example: { title: 'Chair of the board', tieBreak: 'lot' },
      body: updatePositionBody,
      find: position,
      change: async ({ target, body }, tx) =>
        ok(await view(await changePosition(tx, deps, target, target.row.id, body), tx)),
    }),
    changeRoute({
      operationId: 'deletePosition',
      summary: 'Queue the deletion of a position',
      method: 'DELETE',
      path: `${path}/:id`,
      scope: 'write',
      answers: answersQueued('The position disappears within seconds.'),
      refusals: ['event_has_ballots', 'results_final'],
      find: position,
      change: async ({ target }, tx) => {
        await queueDeletion(tx, deps, target, 'positions', target.row.id);
        return queued(target.row.id);
      },
    }),
  ];
}

export function candidateRoutes(deps: Deps): Route[] {
  const event = (context: RequestContext) => requireOrganizer(deps, context);
  const candidate = finder(deps, findCandidate);
  const path = '/voting-events/:idOrCode/candidates';
  return [
    readRoute({
      operationId: 'listCandidates',
      summary: 'List candidates',
      method: 'GET',
      path,
      scope: 'read',
      answers: answersList(candidateView, 'Every candidate of the event.'),
      query: listCandidatesQuery,
      find: event,
      read: async ({ target, query }) =>
        list((await listCandidates(deps.db, target.event.id, query)).map(viewCandidate)),
    }),
    changeRoute({
      operationId: 'createCandidate',
      summary: 'Create a candidate',
      method: 'POST',
      path,
      scope: 'write',
      answers: answersCreated(candidateView, 'The new candidate.'),
      refusals: ['results_final', 'plan_limit'],
      example: { name: 'Greta Lind', positionIds: [EXAMPLE.position] },
      body: createCandidateBody,
      find: event,
      change: async ({ target, body }, tx) => created(viewCandidate(await createCandidate(tx, deps, target, body))),
    }),
    changeRoute({
      operationId: 'changeCandidates',
      summary: 'Reject or delete up to 1,000 candidates, all or none',
      method: 'POST',
      path: `${path}/bulk`,
      scope: 'write',
      description:
        'What would be refused for one of them refuses them all. An unknown ID is named as `candidateIds[<index>]`. Rejected registrations free their place under the ceiling.',
      answers: answersBulkChange('How many candidates were changed: those that were rejected before stay as they are.'),
      refusals: ['event_has_ballots', 'results_final'],
      example: { action: 'reject', candidateIds: [EXAMPLE.candidate] },
      body: changeCandidatesBody,
      find: event,
      change: async ({ target, body: { action, candidateIds } }, tx) => {
        const change = { reject: rejectCandidates, delete: deleteCandidates }[action];
        return ok({ action, changed: await change(tx, deps, target, candidateIds) });
      },
    }),
    readRoute({
      operationId: 'getCandidate',
      summary: 'Read a candidate',
      method: 'GET',
      path: `${path}/:id`,
      scope: 'read',
      answers: answersOne(candidateView, 'The candidate.'),
      find: candidate,
      read: async ({ target }) => ok(viewCandidate(target.row)),
    }),
    changeRoute({
      operationId: 'updateCandidate',
      summary: 'Change a candidate, or approve, reject or withdraw it',
      method: 'PATCH',
      path: `${path}/:id`,
      scope: 'write',
      answers: answersOne(candidateView, 'The candidate as it is now.'),
      refusals: ['event_has_ballots', 'results_final', 'plan_limit'],
      example: { description: 'Reads two books a week.' },
      body: updateCandidateBody,
      find: candidate,
      change: async ({ target, body }, tx) =>
        ok(viewCandidate(await changeCandidate(tx, deps, target, target.row.id, body))),
    }),
    changeRoute({
      operationId: 'deleteCandidate',
      summary: 'Queue the deletion of a candidate',
      method: 'DELETE',
      path: `${path}/:id`,
      scope: 'write',
      answers: answersQueued('The candidate disappears within seconds.'),
      refusals: ['event_has_ballots', 'results_final'],
      find: candidate,
      change: async ({ target }, tx) => {
        await queueDeletion(tx, deps, target, 'candidates', target.row.id);
        return queued(target.row.id);
      },
    }),
  ];
}

export function groupRoutes(deps: Deps): Route[] {
  const event = (context: RequestContext) => requireOrganizer(deps, context);
  const group = finder(deps, findGroup);
  const path = '/voting-events/:idOrCode/groups';
  return [
    readRoute({
      operationId: 'listGroups',
      summary: 'List groups',
      method: 'GET',
      path,
      scope: 'read',
      answers: answersList(groupView, 'Every group of the event.'),
      query: searchQuery,
      find: event,
      read: async ({ target, query }) =>
        list((await listGroups(deps.db, target.event.id, query.search)).map(viewGroup)),
    }),
    changeRoute({
      operationId: 'createGroup',
      summary: 'Create a group',
      method: 'POST',
      path,
      scope: 'write',
      answers: answersCreated(groupView, 'The new group.'),
      refusals: ['name_in_use', 'plan_limit'],
      example: { name: 'North' },
      body: createGroupBody,
      find: event,
      change: async ({ target, body }, tx) => created(viewGroup(await createGroup(tx, deps, target, body))),
    }),
    readRoute({
      operationId: 'getGroup',
      summary: 'Read a group',
      method: 'GET',
      path: `${path}/:id`,
      scope: 'read',
      answers: answersOne(groupView, 'The group.'),
      find: group,
      read: async ({ target }) => ok(viewGroup(target.row)),
    }),
    changeRoute({
      operationId: 'updateGroup',
      summary: 'Change a group',
      method: 'PATCH',
      path: `${path}/:id`,
      scope: 'write',
      answers: answersOne(groupView, 'The group as it is now.'),
      refusals: ['name_in_use', 'results_final'],
      example: { description: 'North of the river.' },
      body: updateGroupBody,
      find: group,
      change: async ({ target, body }, tx) => ok(viewGroup(await changeGroup(tx, deps, target, target.row.id, body))),
    }),
    changeRoute({
      operationId: 'deleteGroup',
      summary: 'Queue the deletion of a group',
      method: 'DELETE',
      path: `${path}/:id`,
      scope: 'write',
      answers: answersQueued('The group disappears within seconds.'),
      refusals: ['event_has_ballots', 'results_final', 'group_in_use'],
      find: group,
      change: async ({ target }, tx) => {
        await queueDeletion(tx, deps, target, 'groups', target.row.id);
        return queued(target.row.id);
      },
    }),
  ];
}

export function sponsorRoutes(deps: Deps): Route[] {
  const event = (context: RequestContext) => requireOrganizer(deps, context);
  const sponsor = finder(deps, findSponsor);
  const path = '/voting-events/:idOrCode/sponsors';
  return [
    readRoute({
      operationId: 'listSponsors',
      summary: 'List sponsors',
      method: 'GET',
      path,
      scope: 'read',
      answers: answersList(sponsorView, 'Every sponsor of the event.'),
      query: searchQuery,
      find: event,
      read: async ({ target, query }) =>
        list((await listSponsors(deps.db, target.event.id, query.search)).map(viewSponsor)),
    }),
    changeRoute({
      operationId: 'createSponsor',
      summary: 'Create a sponsor',
      method: 'POST',
      path,
      scope: 'write',
      answers: answersCreated(sponsorView, 'The new sponsor.'),
      refusals: ['plan_limit'],
      example: { name: 'The corner bookshop', websiteUrl: 'https://bookshop.example/', tier: 'gold' },
      body: createSponsorBody,
      find: event,
      change: async ({ target, body }, tx) => created(viewSponsor(await createSponsor(tx, deps, target, body))),
    }),
    readRoute({
      operationId: 'getSponsor',
      summary: 'Read a sponsor',
      method: 'GET',
      path: `${path}/:id`,
      scope: 'read',
      answers: answersOne(sponsorView, 'The sponsor.'),
      find: sponsor,
      read: async ({ target }) => ok(viewSponsor(target.row)),
    }),
    changeRoute({
      operationId: 'updateSponsor',
      summary: 'Change a sponsor',
      method: 'PATCH',
      path: `${path}/:id`,
      scope: 'write',
      answers: answersOne(sponsorView, 'The sponsor as it is now.'),
      example: { tier: 'silver' },
      body: updateSponsorBody,
      find: sponsor,
      change: async ({ target, body }, tx) =>
        ok(viewSponsor(await changeSponsor(tx, deps, target, target.row.id, body))),
    }),
    changeRoute({
      operationId: 'deleteSponsor',
      summary: 'Delete a sponsor',
      method: 'DELETE',
      path: `${path}/:id`,
      scope: 'write',
      answers: answersNothing('The sponsor is gone.'),
      find: sponsor,
      change: async ({ target }, tx) => {
        await removeSponsor(tx, deps, target, target.row.id);
        return gone;
      },
    }),
  ];
}
