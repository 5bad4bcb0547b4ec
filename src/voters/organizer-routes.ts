import { z } from 'zod';
import type { Deps } from '#src/deps.ts';
import { created, list, ok, queued } from '#src/http/answer.ts';
import { answersBulkChange, answersCreated, answersOne, answersPage, answersQueued } from '#src/http/answer-shapes.ts';
import { decodeCursor, encodeCursor } from '#src/http/cursor.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { changeRoute, type RequestContext, type Route, readRoute } from '#src/http/route.ts';
import { canonicalJson } from '#src/platform/canonical-json.ts';
import { notFound } from '#src/platform/errors.ts';
import { type Organizer, requireOrganizer } from '#src/voting-events/access.ts';
import { batchField, createVoters, singleField } from './create-voters.ts';
import { deleteVoter, deleteVoters } from './delete-voter.ts';
import { rejectVoters } from './reject-voters.ts';
import { findVoter, listVoters } from './repository.ts';
import { mailVoterKeyAgain } from './request-voter-key.ts';
import { changeVotersBody, createVoterBody, createVotersBody, listVotersQuery, updateVoterBody } from './schemas.ts';
import type { Voter } from './types.ts';
import { changeVoter } from './update-voter.ts';
import { voterView } from './view-schemas.ts';
import { viewVoter } from './views.ts';

export function voterRoutes(deps: Deps): Route[] {
  const event = (context: RequestContext) => requireOrganizer(deps, context);
  const voter = async (context: RequestContext): Promise<Organizer & { row: Voter }> => {
    const organizer = await requireOrganizer(deps, context);
    const row = await findVoter(deps.db, organizer.event.id, context.params['id'] ?? '');
    if (row === undefined) throw notFound();
    return { ...organizer, row };
  };
  const path = '/voting-events/:idOrCode/voters';
  return [
    readRoute({
      operationId: 'listVoters',
      summary: 'List voters',
      method: 'GET',
      path,
      scope: 'read',
      answers: answersPage(voterView, 'A page of voters.'),
      query: listVotersQuery,
      description: 'A page of a filter may hold fewer rows than `limit`, even none, and still have a `nextCursor`.',
      find: event,
      costly: ({ caller, query: { search, voted } }) =>
        search === undefined && voted === undefined ? undefined : caller.accountId,
      read: async ({ target, query }) => {
        const { limit, cursor, voted, ...filter } = query;
        const name = canonicalJson(['voters', target.event.id, filter, voted ?? null]);
        const after = decodeCursor(deps.secrets, name, cursor);
        const { search, status, groupId, keyStatus } = filter;
        const wanted = {
          search,
          status,
          groupId,
          keyStatus,
          after,
          voted: voted === undefined ? undefined : voted === 'true',
        };
        const page = await listVoters(deps.reads, target.event.id, wanted, limit);
        const nextCursor = page.after === null ? null : encodeCursor(deps.secrets, name, page.after);
        return list(page.voters.map(viewVoter), nextCursor);
      },
    }),
    changeRoute({
      operationId: 'createVoter',
      summary: 'Create a voter',
      method: 'POST',
      path,
      scope: 'write',
      answers: answersCreated(voterView, 'The new voter.'),
      refusals: ['voter_exists', 'roll_closed', 'plan_limit'],
      example: { name: 'Vera Okafor', email: 'vera@club.example' },
      body: createVoterBody,
      find: event,
      change: async ({ target, body }, tx) => {
        const [row] = await createVoters(tx, deps, target, [body], singleField);
        return created(row === undefined ? null : viewVoter(row));
      },
    }),
    changeRoute({
      operationId: 'createVoters',
      summary: 'Create up to 100 voters, all or none',
      method: 'POST',
      path: `${path}/batch`,
      scope: 'write',
      description: 'One bad or duplicate row refuses them all, and is named as `voters[<index>].<field>`.',
      answers: answersCreated(z.array(voterView), 'The new voters, in the order sent.'),
      refusals: ['voter_exists', 'roll_closed', 'plan_limit'],
      example: {
        voters: [
          { name: 'Vera Okafor', email: 'vera@club.example' },
          { name: 'Tomás Ruiz', voterId: 'M-1042', weight: 1.5 },
        ],
      },
      body: createVotersBody,
      find: event,
      change: async ({ target, body }, tx) =>
        created((await createVoters(tx, deps, target, body.voters, batchField)).map(viewVoter)),
    }),
    changeRoute({
      operationId: 'changeVoters',
      summary: 'Reject or delete up to 1,000 voters, all or none',
      method: 'POST',
      path: `${path}/bulk`,
      scope: 'write',
      description:
        'What would be refused for one of them refuses them all. An unknown ID is named as `voterIds[<index>]`. Rejected registrations free their place under the ceiling.',
      answers: answersBulkChange('How many voters were changed: those that were rejected before stay as they are.'),
      refusals: ['event_has_ballots', 'roll_closed'],
      example: { action: 'reject', voterIds: [EXAMPLE.voter] },
      body: changeVotersBody,
      find: event,
      change: async ({ target, body: { action, voterIds } }, tx) => {
        const change = { reject: rejectVoters, delete: deleteVoters }[action];
        return ok({ action, changed: await change(tx, deps, target, voterIds) });
      },
    }),
    readRoute({
      operationId: 'getVoter',
      summary: 'Read a voter',
      method: 'GET',
      path: `${path}/:id`,
      scope: 'read',
      answers: answersOne(voterView, 'The voter.'),
      find: voter,
      read: async ({ target }) => ok(viewVoter(target.row)),
    }),
    changeRoute({
      operationId: 'updateVoter',
      summary: 'Change, approve or reject a voter',
      method: 'PATCH',
      path: `${path}/:id`,
      scope: 'write',
      description: 'Weight and group of somebody who voted are frozen.',
      answers: answersOne(voterView, 'The voter as it is now.'),
      refusals: ['voter_exists', 'event_has_ballots', 'roll_closed', 'results_final', 'plan_limit'],
      example: { status: 'approved', name: 'Vera Okafor-Lind' },
      body: updateVoterBody,
      find: voter,
      change: async ({ target, body }, tx) => ok(viewVoter(await changeVoter(tx, deps, target, target.row.id, body))),
    }),
    changeRoute({
      operationId: 'deleteVoter',
      summary: 'Queue the deletion of a voter',
      method: 'DELETE',
      path: `${path}/:id`,
      scope: 'write',
      answers: answersQueued('The voter disappears within seconds.'),
      refusals: ['event_has_ballots', 'roll_closed'],
      find: voter,
      change: async ({ target }, tx) => {
        await deleteVoter(tx, deps, target, target.row.id);
        return queued(target.row.id);
      },
    }),
    changeRoute({
      operationId: 'mailVoterKey',
      summary: 'E-mail a voter key again',
      method: 'POST',
      path: `${path}/:id/voter-key`,
      scope: 'write',
      answers: answersQueued('The mail is on its way; `keyStatus` of the voter tells what became of it.'),
      refusals: ['not_an_election', 'no_email'],
      find: voter,
      change: async ({ target }, tx) => {
        await mailVoterKeyAgain(tx, deps, target, target.row.id);
        return queued(target.row.id);
      },
    }),
  ];
}
