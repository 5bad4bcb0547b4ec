import { Hono } from 'hono';
import { z } from 'zod';
import { requireFeature } from '#src/accounts/plans.ts';
import { addressGuesser, unknownCode } from '#src/ballots/confirm-ballot.ts';
import { normaliseCode } from '#src/ballots/confirmation-code.ts';
import type { Deps } from '#src/deps.ts';
import { type Answer, ok } from '#src/http/answer.ts';
import { claimFirst } from '#src/http/answer-once.ts';
import { body } from '#src/http/body.ts';
import { isKeyless } from '#src/http/caller.ts';
import type { Env, RequestContext } from '#src/http/env.ts';
import { findTarget } from '#src/http/find-target.ts';
import type { RateLimiter } from '#src/http/rate-limit.ts';
import { refuse } from '#src/http/refusals.ts';
import { replayIfAnswered } from '#src/http/replay.ts';
import { answer } from '#src/http/send.ts';
import { notFound } from '#src/platform/errors.ts';
import { loadPublicEvent, requireVoteCaller, type VoteCaller } from '#src/voting-events/access.ts';
import { statusAt } from '#src/voting-events/lifecycle.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { originOf, signCheckpoint } from './checkpoint.ts';
import { listOpenings } from './list-openings.ts';
import { noteAnswer, tileAnswer } from './log-answers.ts';
import { EMPTY_ROOT } from './merkle-tree.ts';
import * as operations from './operations.ts';
import { proveBallot, proveConsistency } from './prove.ts';
import { readTileBytes } from './read-log.ts';
import { findLastCheckpoint } from './repository.ts';
import { eventTree } from './tree-store.ts';

const proofBody = z.strictObject({
  confirmationCode: z.string().min(1, 'must not be empty').max(64, 'must have at most 64 characters'),
});

/** The key that signs the logs of all events. */
export function logKeyRouter({ logKey }: Deps): Hono<Env> {
  const router = new Hono<Env>();
  router.on(...operations.getLogKey, async (c) => answer(c, noteAnswer(`${logKey.verifierKey}\n`)));
  return router;
}

/** The ballot log as everybody may check it (completions 6.4). */
export function ballotLogRouter(deps: Deps, rateLimiter: RateLimiter): Hono<Env> {
  const event = loadPublicEvent(deps);
  const openedEvent = findTarget(async (c) => {
    const target = await requireVoteCaller(deps, c);
    requireFeature(deps.plans[target.ownerPlan], 'data_export');
    requireOpening(target, deps.clock.now());
    return target;
  });
  const router = new Hono<Env>();
  router.on(...operations.getLogCheckpoint, event, async (c) => {
    const { event: row } = c.get('target');
    const last = await findLastCheckpoint(deps.db, row.id);
    const origin = originOf(deps.logKey.name, row);
    return answer(c, noteAnswer(last?.note ?? signCheckpoint({ origin, size: 0, rootHash: EMPTY_ROOT }, deps.logKey)));
  });
  router.on(...operations.getLogTile, event, async (c) => {
    const { event: row } = c.get('target');
    return answer(c, await readTile(deps, row, c.req.param('tile')));
  });
  router.on(...operations.proveBallot, event, replayIfAnswered(), body(proofBody), (c) =>
    claimFirst(c, async () => {
      const code = normaliseCode(c.get('body').confirmationCode);
      const proof = code === undefined ? undefined : await proveBallot(deps, c.get('target').event, code);
      if (proof === undefined) throw unknownCode({ ...deps, rateLimiter }, guesserOf(c));
      return ok(proof);
    }),
  );
  router.on(...operations.getLogConsistency, event, async (c) => {
    const { event: row } = c.get('target');
    const { from, to } = c.get('query');
    return answer(c, ok({ from, to, hashes: await proveConsistency(deps.db, row.id, from, to) }));
  });
  router.on(...operations.listLogOpenings, openedEvent, async (c) => {
    const { event: row } = c.get('target');
    return answer(c, await listOpenings(deps, row, c.get('query')));
  });
  return router;
}

/** The server of a voting page asks for all its voters with its key; with a log key, or none, each voter asks alone. */
function guesserOf(c: RequestContext): string {
  const caller = c.get('caller');
  const isShared = isKeyless(caller) || caller.scopes.includes('log');
  return isShared ? addressGuesser(c.get('known').address) : caller.keyId;
}

/** @throws ApiError 403 `openings_not_available` before the close, and for whom the organizer did not open them */
function requireOpening({ caller, event }: VoteCaller, nowMs: number): void {
  const observing = caller.scopes.includes('observe');
  const allowed = event.ballotOpening === 'public' || (event.ballotOpening === 'observer' && observing);
  if (!allowed) throw refuse('openings_not_available');
  if (statusAt(event, nowMs) !== 'closed') throw refuse('openings_before_close');
}

/** @throws ApiError 404 for a tile that the log does not have, or an address that is not a tile's own */
async function readTile(deps: Deps, { id, rehearsalSince }: VotingEvent, path: string): Promise<Answer> {
  const content = await readTileBytes(eventTree(deps.db, id), path);
  if (content === undefined) throw notFound();
  // The tiles of a rehearsal go with it, and others take their addresses.
  return tileAnswer(content, rehearsalSince === null);
}
