import { Hono, type MiddlewareHandler } from 'hono';
import { z } from 'zod';
import { requireBallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import type { Deps } from '#src/deps.ts';
import { list, ok } from '#src/http/answer.ts';
import { answersOne, answersPage } from '#src/http/answer-shapes.ts';
import type { Caller } from '#src/http/caller.ts';
import { decodeCursor, encodeCursor } from '#src/http/cursor.ts';
import type { Env, RequestContext } from '#src/http/env.ts';
import { idField } from '#src/http/fields.ts';
import { findTarget } from '#src/http/middleware.ts';
import { operation } from '#src/http/operation.ts';
import { type RefusalCase, refuse } from '#src/http/refusals.ts';
import { answer, costly } from '#src/http/send.ts';
import { canonicalJson } from '#src/platform/canonical-json.ts';
import { orNotFound } from '#src/platform/errors.ts';
import {
  loadEvent,
  loadEventWith,
  loadShownEvent,
  type Organizer,
  requireObserver,
  type VoteCaller,
} from '#src/voting-events/access.ts';
import { publicResultsAvailable, type VotingEvent } from '#src/voting-events/voting-event.ts';
import type { ResultsAudience } from './count-event.ts';
import { hasLargeResults } from './counting.ts';
import { resultsView, roundsView } from './event-results.ts';
import { listVotes, listVotesQuery, voteView } from './list-votes.ts';
import { readStats, statsView } from './read-stats.ts';

const roundsQuery = z.strictObject({
  positionId: idField(),
  fromRound: z.coerce.number().int().min(1).max(100_000).default(1),
});

/** Observers always read final results, earlier ones as the public does (completions 2.1). @throws ApiError 403 `results_not_available` */
function requireAvailable({ scopes }: Pick<Caller, 'scopes'>, event: VotingEvent, nowMs: number): void {
  if (scopes.includes('observe') && event.finalAt !== null) return;
  if (!publicResultsAvailable(event, nowMs)) throw refuse('results_not_available');
}

type Words = { readonly operationId: string; readonly summary: string; readonly description?: string };

/** The routes to an event's results for one audience. */
interface ResultsAddress<Target> {
  readonly path: string;
  readonly scope: 'read' | readonly ['vote', 'observe'];
  readonly audience: ResultsAudience;
  readonly event: MiddlewareHandler<Env & { Variables: { target: Target } }>;
  readonly results: Words;
  readonly answered: string;
  readonly rounds: Words;
  readonly refusals: readonly RefusalCase[];
}

/** Adds the routes of the results, and of the pages of a ranked count's rounds. */
function addResults<Target extends Organizer | VoteCaller>(
  router: Hono<Env>,
  deps: Deps,
  address: ResultsAddress<Target>,
): void {
  const { path, scope, audience, event, refusals, results, rounds } = address;
  /** @throws ApiError 403 `results_not_available` */
  const readable = async (c: RequestContext, { caller, event: row }: Target, nowMs: number) => {
    if (audience === 'public') requireAvailable(caller, row, nowMs);
    const definition = await requireBallotDefinition(deps.definitions, row);
    const life = c.get('life');
    if (hasLargeResults(definition)) await life.rest(life.take(deps.leases.results, caller.accountId));
    return definition;
  };
  router.on(
    ...operation(results.operationId, `GET ${path}`, {
      ...{ scope, refusals, ...results },
      answers: answersOne(resultsView, address.answered),
    }),
    event,
    async (c) => {
      const nowMs = deps.clock.now();
      const definition = await readable(c, c.get('target'), nowMs);
      return answer(c, await deps.counting.answer(definition, audience, nowMs));
    },
  );
  router.on(
    ...operation(rounds.operationId, `GET ${path}/rounds`, {
      ...{ scope, refusals, query: roundsQuery, ...rounds },
      description:
        'At most 2,000 tallies an answer: go on with `fromRound` of `nextRound` until that is null. Other methods have no rounds.',
      answers: answersOne(roundsView, 'Rounds from `fromRound` on.'),
    }),
    event,
    async (c) => {
      const nowMs = deps.clock.now();
      const definition = await readable(c, c.get('target'), nowMs);
      const question = c.get('query');
      const page = orNotFound(await deps.counting.rounds(definition, audience, nowMs, question));
      const mark = definition.event.rehearsalSince === null ? {} : { rehearsal: true as const };
      return answer(c, ok({ ...mark, positionId: question.positionId, ...page }));
    },
  );
}

export function resultRouter(deps: Deps): Hono<Env> {
  const { counting } = deps;
  const observedEvent = findTarget((c) => requireObserver(deps, c));
  const exportedEvent = loadEventWith('data_export', deps);
  const definitionOf = (row: VotingEvent) => requireBallotDefinition(deps.definitions, row);
  const router = new Hono<Env>();
  router.on(
    ...operation('listVotes', 'GET /voting-events/:idOrCode/votes', {
      summary: 'List the votes of confirmed ballots',
      scope: 'read',
      description:
        'Each vote once, whatever is confirmed or sealed between two pages; a page of a search may hold fewer votes than `limit`. In a secret event sealed ballots alone are listed, and nothing tells who voted, or when.',
      answers: answersPage(voteView, 'A page of votes.'),
      refusals: ['plan_feature'],
      query: listVotesQuery,
    }),
    exportedEvent,
    (c) =>
      costly(c, async () => {
        const { limit, cursor, ...filter } = c.get('query');
        const { positionId = null, candidateId = null, search = null } = filter;
        const definition = await definitionOf(c.get('target').event);
        const name = canonicalJson(['votes', definition.event.id, positionId, candidateId, search]);
        const after = decodeCursor(deps.secrets, name, cursor);
        const { votes, next } = await listVotes({ ...deps, db: deps.reads }, definition, filter, after, limit);
        return list(votes, next === null ? null : encodeCursor(deps.secrets, name, next));
      }),
  );
  router.on(
    ...operation('getStats', 'GET /voting-events/:idOrCode/stats', {
      summary: 'Read the figures of a voting event',
      scope: ['read', 'observe'],
      answers: answersOne(statsView, 'The figures.'),
    }),
    observedEvent,
    (c) =>
      costly(c, async () =>
        ok(
          await readStats(
            deps,
            counting,
            await definitionOf(c.get('target').event),
            // Until the results are final, an observer sees the same as a key of scope `vote` (completions 2.1).
            c.get('caller').scopes.includes('read') ? 'organizer' : 'public',
            deps.clock.now(),
          ),
        ),
      ),
  );
  addResults(router, deps, {
    ...{ path: '/voting-events/:idOrCode/results', scope: 'read', audience: 'organizer', event: loadEvent(deps) },
    results: { operationId: 'getResults', summary: 'Read the results, at any time' },
    answered: 'The results so far; `final` tells whether anything can still change.',
    rounds: { operationId: 'getResultRounds', summary: 'Read the rounds of a ranked count, in pages' },
    refusals: ['ballot_key_unavailable'],
  });
  addResults(router, deps, {
    ...{ path: '/public/voting-events/:idOrCode/results', scope: ['vote', 'observe'], audience: 'public' },
    event: loadShownEvent(deps),
    results: {
      operationId: 'getPublicResults',
      summary: 'Read live or published results',
      description:
        'While a secret event is open, its public count moves when at least five ballots are new, by all of them. An `observe` key reads final results whatever their visibility.',
    },
    answered: 'The results.',
    rounds: {
      operationId: 'getPublicResultRounds',
      summary: 'Read the rounds of live or published results, in pages',
    },
    refusals: ['results_not_available', 'ballot_key_unavailable'],
  });
  return router;
}
