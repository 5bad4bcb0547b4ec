import { Hono } from 'hono';
import { z } from 'zod';
import { requireFeature } from '#src/accounts/plans.ts';
import { confirmBody } from '#src/ballots/ballot.ts';
import { addressGuesser, unknownCode } from '#src/ballots/confirm-ballot.ts';
import { normaliseCode } from '#src/ballots/waiting-ballot.ts';
import type { Deps } from '#src/deps.ts';
import { type Answer, ok } from '#src/http/answer.ts';
import { claimFirst, takeIdempotencyKey } from '#src/http/answer-once.ts';
import { answersBytes, answersOne, answersText } from '#src/http/answer-shapes.ts';
import { body } from '#src/http/body.ts';
import { isKeyless } from '#src/http/caller.ts';
import type { Env, RequestContext } from '#src/http/env.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { findTarget } from '#src/http/middleware.ts';
import { operation } from '#src/http/operation.ts';
import type { RateLimiter } from '#src/http/rate-limit.ts';
import { refuse } from '#src/http/refusals.ts';
import { answer, costly } from '#src/http/send.ts';
import { orNotFound } from '#src/platform/errors.ts';
import { loadPublicEvent, requireShown, type VoteCaller } from '#src/voting-events/access.ts';
import { keepingOf } from '#src/voting-events/ballot-keys.ts';
import { statusAt } from '#src/voting-events/lifecycle.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { originOf, signCheckpoint } from './checkpoint.ts';
import { configurationParts, configurationsQuery, listParts } from './configuration-parts.ts';
import { listOpenings, openingsPage, openingsQuery } from './list-openings.ts';
import { EMPTY_ROOT } from './merkle-tree.ts';
import { ballotProofView, consistencyView, proveBallot, proveGrowth } from './prove.ts';
import { noteAnswer, readTileBytes, tileAnswer } from './read-log.ts';
import { findLastCheckpoint } from './repository.ts';
import { eventTree } from './tree-store.ts';

/** A `log` key is for voters and can only read the log. An event with `log.open` needs no key (completions 2.1 and 6.4). */
const READERS = ['vote', 'observe', 'log'] as const;
const sizeField = () =>
  z
    .string()
    .regex(/^\d{1,15}$/, 'must be a whole number of leaves')
    .transform(Number)
    .meta({ shownAs: { type: 'integer', minimum: 0, description: 'A number of leaves.' } });
const consistencyQuery = z.strictObject({ from: sizeField(), to: sizeField() });

export function logKeyRouter({ logKey }: Deps): Hono<Env> {
  const router = new Hono<Env>();
  router.on(
    ...operation('getLogKey', 'GET /', {
      summary: 'Read the key that checkpoints and promises are signed with',
      scope: 'none',
      description: 'A C2SP verifier key: `<name>+<key hash>+<base64 of algorithm byte and Ed25519 key>`.',
      answers: answersText('text/plain', 'The key, one line.'),
    }),
    async (c) => answer(c, noteAnswer(`${logKey.verifierKey}\n`)),
  );
  return router;
}

/** The routes to read and verify a ballot log (completions 6.4). */
export function ballotLogRouter(deps: Deps, rateLimiter: RateLimiter): Hono<Env> {
  const event = loadPublicEvent(deps);
  const openedEvent = findTarget(async (c) => {
    const target = await requireShown(deps, c);
    requireFeature(deps.plans[target.ownerPlan], 'data_export');
    requireOpening(target, deps.clock.now());
    return target;
  });
  const router = new Hono<Env>();
  router.on(
    ...operation('getLogCheckpoint', 'GET /checkpoint', {
      summary: 'Read the signed head of the ballot log',
      scope: READERS,
      keyless: true,
      description:
        'Four lines: origin, number of leaves, root hash, and `confirmed <n>`, the ballots confirmed so far, those included that wait for the log. Signed again within a minute while that number changes.',
      answers: answersText('text/plain', 'A signed note (C2SP tlog-checkpoint).'),
    }),
    event,
    async (c) => {
      const { event: row } = c.get('target');
      const last = await findLastCheckpoint(deps.db, row.id);
      const origin = originOf(deps.logKey.name, row);
      return answer(
        c,
        noteAnswer(last?.note ?? signCheckpoint({ origin, size: 0, rootHash: EMPTY_ROOT, confirmed: 0 }, deps.logKey)),
      );
    },
  );
  router.on(
    ...operation('getLogTile', 'GET /tile/:tile{.+}', {
      summary: 'Read a tile of hashes, or a bundle of entries, of the ballot log',
      scope: READERS,
      keyless: true,
      description:
        'By the paths of C2SP tlog-tiles: `<L>/<N>` and `entries/<N>`, with `.p/<W>` behind a partial one. Full tiles never change and may be kept for ever.',
      answers: answersBytes('The bytes of the tile.'),
    }),
    event,
    async (c) => {
      const { event: row } = c.get('target');
      return answer(c, await readTile(deps, row, c.req.param('tile')));
    },
  );
  router.on(
    ...operation('proveBallot', 'POST /proof', {
      summary: 'Prove that a confirmed ballot is in the log',
      scope: READERS,
      keyless: true,
      answers: answersOne(ballotProofView, 'Where the ballot stands.'),
      refusals: ['ballot_key_unavailable'],
      example: { confirmationCode: EXAMPLE.confirmationCode },
    }),
    event,
    // Elections store no successful answer (`keepingOf`): the length of a stored proof would narrow down the ballot's leaf.
    takeIdempotencyKey(keepingOf(deps)),
    body(confirmBody),
    (c) =>
      claimFirst(c, async () => {
        const code = normaliseCode(c.get('body').confirmationCode);
        const proof = code === undefined ? undefined : await proveBallot(deps, c.get('target').event, code);
        if (proof === undefined) throw unknownCode({ ...deps, rateLimiter }, guesserOf(c));
        return ok(proof);
      }),
  );
  router.on(
    ...operation('getLogConsistency', 'GET /consistency', {
      summary: 'Prove that one size of the log is the beginning of another',
      scope: READERS,
      keyless: true,
      answers: answersOne(consistencyView, 'The proof.'),
      query: consistencyQuery,
    }),
    event,
    async (c) => {
      const { event: row } = c.get('target');
      const { from, to } = c.get('query');
      return answer(c, ok({ from, to, hashes: await proveGrowth(deps.db, row.id, from, to) }));
    },
  );
  router.on(
    ...operation('listLogConfigurations', 'GET /configurations', {
      summary: 'Read every configuration that the ballot log commits to',
      scope: READERS,
      keyless: true,
      description:
        'In parts: the event, and each position, candidate and group, from the leaf on in which it is another. The configuration of a leaf is `LogConfiguration`: the fields of the event, and the latest value of each row up to that leaf in `positions`, `candidates` and `groups`. The SHA-256 of its canonical JSON (RFC 8785) is the `config` of the leaf. Begin with `from=0` and go on with `nextFrom` until that is null.',
      answers: { 200: { description: 'A page of parts, in the order of the log.', schema: configurationParts } },
      query: configurationsQuery,
    }),
    event,
    (c) => costly(c, () => listParts(deps.reads, c.get('target').event.id, c.get('query').from), laneOf(c)),
  );
  router.on(
    ...operation('listLogOpenings', 'GET /openings', {
      summary: 'Read the opened ballots of a finished event',
      scope: READERS,
      keyless: true,
      description:
        'Once the result is final, as far as `ballot.opening` of the event allows. Begin with `fromIndex=0` and go on with `nextIndex` until that is null. A page of long ballots may hold fewer than `limit`. `limit` and `cursor` without `fromIndex` page as in other lists.',
      answers: { 200: { description: 'A page of openings, in the order of the log.', schema: openingsPage } },
      refusals: ['openings_not_available', 'plan_feature', 'rows_disagree'],
      query: openingsQuery,
    }),
    openedEvent,
    (c) => costly(c, () => listOpenings(deps, c.get('target').event, c.get('query')), laneOf(c)),
  );
  return router;
}

/** Log readers wait in lanes of their own, so that they do not delay the organizer's requests: per IP address if they send no key. */
const laneOf = (c: RequestContext & { get(name: 'target'): VoteCaller }): string =>
  `log of ${isKeyless(c.get('caller')) ? c.get('known').address : c.get('target').event.accountId}`;

/** Wrong codes are counted per API key, but per IP address for a `log` key (which voters share) and for requests without a key. */
function guesserOf(c: RequestContext): string {
  const caller = c.get('caller');
  const isShared = isKeyless(caller) || caller.scopes.includes('log');
  return isShared ? addressGuesser(c.get('known').address) : caller.keyId;
}

/** @throws ApiError 403 `openings_not_available` before the close, or if `ballot.opening` excludes the caller */
function requireOpening({ caller, event }: VoteCaller, nowMs: number): void {
  const observing = caller.scopes.includes('observe');
  const allowed = event.ballotOpening === 'public' || (event.ballotOpening === 'observer' && observing);
  if (!allowed) throw refuse('openings_not_available');
  if (statusAt(event, nowMs) !== 'closed') throw refuse('openings_before_close');
}

/** @throws ApiError 404 for a tile that the log does not have, or a path that is not in canonical form */
async function readTile(deps: Deps, { id, rehearsalSince, logOpen }: VotingEvent, path: string): Promise<Answer> {
  const content = orNotFound(await readTileBytes(eventTree(deps.copy, id), path));
  // No caching: after a rehearsal, other tiles have the same URLs.
  if (rehearsalSince !== null) return tileAnswer(content, 'nobody');
  return tileAnswer(content, logOpen ? 'anybody' : 'reader');
}
