import { z } from 'zod';
import { requireFeature } from '#src/accounts/plans.ts';
import type { BallotPaper } from '#src/ballot-paper/paper.ts';
import type { Deps } from '#src/deps.ts';
import { list, ok } from '#src/http/answer.ts';
import { answersOne, answersPage } from '#src/http/answer-shapes.ts';
import { cursorField, decodeCursor, encodeCursor, limitField } from '#src/http/cursor.ts';
import { idField, searchField } from '#src/http/fields.ts';
import { type RequestContext, type Route, readRoute } from '#src/http/route.ts';
import { canonicalJson } from '#src/platform/canonical-json.ts';
import { forbidden, notFound } from '#src/platform/errors.ts';
import { requireObserver, requireOrganizer, requireVoteCaller } from '#src/voting-events/access.ts';
import type { VotingEvent } from '#src/voting-events/types.ts';
import { publicResultsAvailable } from '#src/voting-events/views.ts';
import type { Audience } from './count-event.ts';
import { listVotes } from './list-votes.ts';
import { readStats } from './read-stats.ts';
import { resultsView, roundsView, statsView, voteView } from './view-schemas.ts';

const listVotesQuery = z.strictObject({
  limit: limitField(),
  cursor: cursorField(),
  positionId: idField().optional(),
  candidateId: idField().optional(),
  search: searchField().optional(),
});

const ROUNDS_DESCRIPTION =
  'At most 2,000 tallies an answer: go on with `fromRound` of `nextRound` until that is null. Other methods have no rounds.';

const roundsQuery = z.strictObject({
  positionId: idField(),
  fromRound: z.coerce.number().int().min(1).max(100_000).default(1),
});

export function resultRoutes(deps: Deps): Route[] {
  const { counting } = deps;
  const paperOf = async (event: VotingEvent) => {
    const paper = await deps.papers.take(event);
    if (paper === undefined) throw notFound();
    return paper;
  };
  const roundsOf = async (paper: BallotPaper, audience: Audience, question: z.output<typeof roundsQuery>) => {
    const page = await counting.rounds(paper, audience, deps.clock.now(), question);
    if (page === undefined) throw notFound();
    return { positionId: question.positionId, ...page };
  };
  return [
    readRoute({
      operationId: 'getResults',
      summary: 'Read the results, at any time',
      method: 'GET',
      path: '/voting-events/:idOrCode/results',
      scope: 'read',
      answers: answersOne(resultsView, 'The results so far; `final` tells whether anything can still change.'),
      find: (context: RequestContext) => requireOrganizer(deps, context),
      read: async ({ target }) => counting.answer(await paperOf(target.event), 'organizer', deps.clock.now()),
    }),
    readRoute({
      operationId: 'getResultRounds',
      summary: 'Read the rounds of a ranked count, in pages',
      method: 'GET',
      path: '/voting-events/:idOrCode/results/rounds',
      scope: 'read',
      description: ROUNDS_DESCRIPTION,
      answers: answersOne(roundsView, 'Rounds from `fromRound` on.'),
      query: roundsQuery,
      find: (context: RequestContext) => requireOrganizer(deps, context),
      read: async ({ target, query }) => ok(await roundsOf(await paperOf(target.event), 'organizer', query)),
    }),
    readRoute({
      operationId: 'listVotes',
      summary: 'List the votes of confirmed ballots',
      method: 'GET',
      path: '/voting-events/:idOrCode/votes',
      scope: 'read',
      description:
        'Each vote once, whatever is confirmed or sealed between two pages; a page of a search may hold fewer votes than `limit`. In a secret event sealed ballots alone are listed, and nothing tells who voted, or when.',
      answers: answersPage(voteView, 'A page of votes.'),
      refusals: ['plan_feature'],
      query: listVotesQuery,
      costly: ({ caller }) => caller.accountId,
      find: async (context: RequestContext) => {
        const organizer = await requireOrganizer(deps, context);
        requireFeature(deps.plans[organizer.ownerPlan], 'data_export');
        return organizer;
      },
      read: async ({ target, query }) => {
        const { limit, cursor, positionId, candidateId, search } = query;
        const name = canonicalJson(['votes', target.event.id, positionId ?? null, candidateId ?? null, search ?? null]);
        const after = decodeCursor(deps.secrets, name, cursor);
        const filter = { positionId, candidateId, search };
        const { votes, next } = await listVotes(
          { ...deps, db: deps.reads },
          await paperOf(target.event),
          filter,
          after,
          limit,
        );
        return list(votes, next === null ? null : encodeCursor(deps.secrets, name, next));
      },
    }),
    readRoute({
      operationId: 'getStats',
      summary: 'Read the figures of a voting event',
      method: 'GET',
      path: '/voting-events/:idOrCode/stats',
      scope: ['read', 'observe'],
      answers: answersOne(statsView, 'The figures.'),
      find: (context: RequestContext) => requireObserver(deps, context),
      costly: ({ caller }) => caller.accountId,
      read: async ({ target }) =>
        ok(await readStats(deps.reads, counting, await paperOf(target.event), deps.clock.now())),
    }),
    readRoute({
      operationId: 'getPublicResults',
      summary: 'Read live or published results',
      method: 'GET',
      path: '/public/voting-events/:idOrCode/results',
      scope: ['vote', 'observe'],
      description:
        'While a secret event is open, its public count moves when at least five ballots are new, by all of them.',
      answers: answersOne(resultsView, 'The results.'),
      refusals: ['results_not_available'],
      find: (context: RequestContext) => requireVoteCaller(deps, context),
      read: async ({ target }) => {
        const nowMs = deps.clock.now();
        if (!publicResultsAvailable(target.event, nowMs))
          throw forbidden('results_not_available', 'The results of this event are not public.');
        return counting.answer(await paperOf(target.event), 'public', nowMs);
      },
    }),
    readRoute({
      operationId: 'getPublicResultRounds',
      summary: 'Read the rounds of live or published results, in pages',
      method: 'GET',
      path: '/public/voting-events/:idOrCode/results/rounds',
      scope: ['vote', 'observe'],
      description: ROUNDS_DESCRIPTION,
      answers: answersOne(roundsView, 'Rounds from `fromRound` on.'),
      refusals: ['results_not_available'],
      query: roundsQuery,
      find: (context: RequestContext) => requireVoteCaller(deps, context),
      read: async ({ target, query }) => {
        if (!publicResultsAvailable(target.event, deps.clock.now()))
          throw forbidden('results_not_available', 'The results of this event are not public.');
        return ok(await roundsOf(await paperOf(target.event), 'public', query));
      },
    }),
  ];
}
