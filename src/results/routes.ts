import { Hono } from 'hono';
import { requireFeature } from '#src/accounts/plans.ts';
import type { BallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import { requireBallotDefinition } from '#src/ballot-definition/load-ballot-definition.ts';
import type { Deps } from '#src/deps.ts';
import { list, ok } from '#src/http/answer.ts';
import { costly } from '#src/http/costly-reads.ts';
import { decodeCursor, encodeCursor } from '#src/http/cursor.ts';
import type { Env } from '#src/http/env.ts';
import { findTarget } from '#src/http/find-target.ts';
import { refuse } from '#src/http/refusals.ts';
import { answer } from '#src/http/send.ts';
import { canonicalJson } from '#src/platform/canonical-json.ts';
import { notFound } from '#src/platform/errors.ts';
import { loadEvent, loadPublicEvent, requireObserver, requireOrganizer } from '#src/voting-events/access.ts';
import { publicResultsAvailable, type VotingEvent } from '#src/voting-events/voting-event.ts';
import type { ResultsAudience } from './count-event.ts';
import { listVotes } from './list-votes.ts';
import * as operations from './operations.ts';
import { readStats } from './read-stats.ts';

export function resultRouter(deps: Deps): Hono<Env> {
  const { counting } = deps;
  const event = loadEvent(deps);
  const observedEvent = findTarget((c) => requireObserver(deps, c));
  const exportedEvent = findTarget(async (c) => {
    const organizer = await requireOrganizer(deps, c);
    requireFeature(deps.plans[organizer.ownerPlan], 'data_export');
    return organizer;
  });
  const publicEvent = loadPublicEvent(deps);
  const definitionOf = (row: VotingEvent) => requireBallotDefinition(deps.definitions, row);
  const roundsOf = async (
    definition: BallotDefinition,
    audience: ResultsAudience,
    question: { positionId: string; fromRound: number },
  ) => {
    const page = await counting.rounds(definition, audience, deps.clock.now(), question);
    if (page === undefined) throw notFound();
    return { positionId: question.positionId, ...page };
  };
  const router = new Hono<Env>();
  router.on(...operations.getResults, event, async (c) =>
    answer(c, await counting.answer(await definitionOf(c.get('target').event), 'organizer', deps.clock.now())),
  );
  router.on(...operations.getResultRounds, event, async (c) =>
    answer(c, ok(await roundsOf(await definitionOf(c.get('target').event), 'organizer', c.get('query')))),
  );
  router.on(...operations.listVotes, exportedEvent, (c) =>
    costly(c, c.get('caller').accountId, async () => {
      const { limit, cursor, positionId, candidateId, search } = c.get('query');
      const name = canonicalJson([
        'votes',
        c.get('target').event.id,
        positionId ?? null,
        candidateId ?? null,
        search ?? null,
      ]);
      const after = decodeCursor(deps.secrets, name, cursor);
      const filter = { positionId, candidateId, search };
      const { votes, next } = await listVotes(
        { ...deps, db: deps.reads },
        await definitionOf(c.get('target').event),
        filter,
        after,
        limit,
      );
      return list(votes, next === null ? null : encodeCursor(deps.secrets, name, next));
    }),
  );
  router.on(...operations.getStats, observedEvent, (c) =>
    costly(c, c.get('caller').accountId, async () =>
      ok(
        await readStats(
          deps.reads,
          counting,
          await definitionOf(c.get('target').event),
          // An observer's results are those of a vote key until they are final (completions 2.1).
          c.get('caller').scopes.includes('read') ? 'organizer' : 'public',
          deps.clock.now(),
        ),
      ),
    ),
  );
  router.on(...operations.getPublicResults, publicEvent, async (c) => {
    const nowMs = deps.clock.now();
    if (!publicResultsAvailable(c.get('target').event, nowMs)) throw refuse('results_not_available');
    return answer(c, await counting.answer(await definitionOf(c.get('target').event), 'public', nowMs));
  });
  router.on(...operations.getPublicResultRounds, publicEvent, async (c) => {
    if (!publicResultsAvailable(c.get('target').event, deps.clock.now())) throw refuse('results_not_available');
    return answer(c, ok(await roundsOf(await definitionOf(c.get('target').event), 'public', c.get('query'))));
  });
  return router;
}
