import { z } from 'zod';
import { answersOne, answersPage } from '#src/http/answer-shapes.ts';
import { cursorField, limitField } from '#src/http/cursor.ts';
import { idField, searchField } from '#src/http/fields.ts';
import { operation } from '#src/http/operation.ts';
import { resultsView, roundsView, statsView, voteView } from './view-schemas.ts';

const ROUNDS_DESCRIPTION =
  'At most 2,000 tallies an answer: go on with `fromRound` of `nextRound` until that is null. Other methods have no rounds.';

const listVotesQuery = z.strictObject({
  limit: limitField(),
  cursor: cursorField(),
  positionId: idField().optional(),
  candidateId: idField().optional(),
  search: searchField().optional(),
});
const roundsQuery = z.strictObject({
  positionId: idField(),
  fromRound: z.coerce.number().int().min(1).max(100_000).default(1),
});

export const getResults = operation({
  operationId: 'getResults',
  summary: 'Read the results, at any time',
  method: 'GET',
  path: '/voting-events/:idOrCode/results',
  scope: 'read',
  answers: answersOne(resultsView, 'The results so far; `final` tells whether anything can still change.'),
  refusals: ['ballot_key_unavailable'],
});

export const getResultRounds = operation({
  operationId: 'getResultRounds',
  summary: 'Read the rounds of a ranked count, in pages',
  method: 'GET',
  path: '/voting-events/:idOrCode/results/rounds',
  scope: 'read',
  description: ROUNDS_DESCRIPTION,
  answers: answersOne(roundsView, 'Rounds from `fromRound` on.'),
  refusals: ['ballot_key_unavailable'],
  query: roundsQuery,
});

export const listVotes = operation({
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
});

export const getStats = operation({
  operationId: 'getStats',
  summary: 'Read the figures of a voting event',
  method: 'GET',
  path: '/voting-events/:idOrCode/stats',
  scope: ['read', 'observe'],
  answers: answersOne(statsView, 'The figures.'),
});

export const getPublicResults = operation({
  operationId: 'getPublicResults',
  summary: 'Read live or published results',
  method: 'GET',
  path: '/public/voting-events/:idOrCode/results',
  scope: ['vote', 'observe'],
  description:
    'While a secret event is open, its public count moves when at least five ballots are new, by all of them.',
  answers: answersOne(resultsView, 'The results.'),
  refusals: ['results_not_available', 'ballot_key_unavailable'],
});

export const getPublicResultRounds = operation({
  operationId: 'getPublicResultRounds',
  summary: 'Read the rounds of live or published results, in pages',
  method: 'GET',
  path: '/public/voting-events/:idOrCode/results/rounds',
  scope: ['vote', 'observe'],
  description: ROUNDS_DESCRIPTION,
  answers: answersOne(roundsView, 'Rounds from `fromRound` on.'),
  refusals: ['results_not_available', 'ballot_key_unavailable'],
  query: roundsQuery,
});
