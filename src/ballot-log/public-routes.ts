import { z } from 'zod';
import { requireFeature } from '#src/accounts/plans.ts';
import { unknownCode } from '#src/ballots/confirm-ballot.ts';
import { normaliseCode } from '#src/ballots/confirmation-code.ts';
import type { Deps } from '#src/deps.ts';
import { type Answer, ok } from '#src/http/answer.ts';
import { answersBytes, answersOne, answersText } from '#src/http/answer-shapes.ts';
import { cursorField, limitField } from '#src/http/cursor.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import type { RateLimiter } from '#src/http/rate-limit.ts';
import { type RequestContext, type Route, readRoute, workRoute } from '#src/http/route.ts';
import { forbidden, notFound } from '#src/platform/errors.ts';
import { requireVoteCaller, type VoteCaller } from '#src/voting-events/access.ts';
import { statusAt } from '#src/voting-events/lifecycle.ts';
import { logOrigin, signCheckpoint } from './checkpoint.ts';
import { listOpenings } from './list-openings.ts';
import { EMPTY_ROOT } from './merkle-tree.ts';
import { proveBallot, proveConsistency } from './prove.ts';
import { readEntries, readHashTile } from './read-log.ts';
import { findLastCheckpoint } from './repository.ts';
import { encodeBundle, parseTilePath } from './tiles.ts';
import { ballotProofView, consistencyView, openingsPage } from './view-schemas.ts';

const VOTE_OR_OBSERVE = ['vote', 'observe'] as const;
const TEXT = 'text/plain; charset=utf-8';
/** A tile never changes: the address of one that is not full names its width. */
const FOREVER = { 'Cache-Control': 'public, max-age=31536000, immutable' };

const sizeField = () =>
  z
    .string()
    .regex(/^\d{1,15}$/, 'must be a whole number of leaves')
    .transform(Number)
    .meta({ shownAs: { type: 'integer', minimum: 0, description: 'A number of leaves.' } });
const consistencyQuery = z.strictObject({ from: sizeField(), to: sizeField() });
const openingsQuery = z.strictObject({ limit: limitField(), cursor: cursorField() });
const proofBody = z.strictObject({
  confirmationCode: z.string().min(1, 'must not be empty').max(64, 'must have at most 64 characters'),
});

/** The ballot log as everybody may check it (completions 6.4), and the key that signs it. */
export function ballotLogRoutes(deps: Deps, rateLimiter: RateLimiter): Route[] {
  const find = (context: RequestContext): Promise<VoteCaller> => requireVoteCaller(deps, context);
  const path = '/public/voting-events/:idOrCode/log';
  return [
    readRoute({
      operationId: 'getLogKey',
      summary: 'Read the key that checkpoints and promises are signed with',
      method: 'GET',
      path: '/.well-known/voting-log-key',
      scope: 'none',
      description: 'A C2SP verifier key: `<name>+<key hash>+<base64 of algorithm byte and Ed25519 key>`.',
      answers: answersText('text/plain', 'The key, one line.'),
      find: async () => undefined,
      read: async () => textAnswer(`${deps.logKey.verifierKey}\n`),
    }),
    readRoute({
      operationId: 'getLogCheckpoint',
      summary: 'Read the signed head of the ballot log',
      method: 'GET',
      path: `${path}/checkpoint`,
      scope: VOTE_OR_OBSERVE,
      answers: answersText('text/plain', 'A signed note (C2SP tlog-checkpoint).'),
      find,
      read: async ({ target: { event } }) => {
        const last = await findLastCheckpoint(deps.db, event.id);
        const origin = logOrigin(deps.logKey.name, event.id);
        return textAnswer(last?.note ?? signCheckpoint({ origin, size: 0, rootHash: EMPTY_ROOT }, deps.logKey));
      },
    }),
    readRoute({
      operationId: 'getLogTile',
      summary: 'Read a tile of hashes, or a bundle of entries, of the ballot log',
      method: 'GET',
      path: `${path}/tile/:tile{.+}`,
      scope: VOTE_OR_OBSERVE,
      description:
        'By the paths of C2SP tlog-tiles: `<L>/<N>` and `entries/<N>`, with `.p/<W>` behind a partial one. Full tiles never change and may be kept for ever.',
      answers: answersBytes('The bytes of the tile.'),
      find: async (context) => ({ ...(await find(context)), tile: context.params['tile'] ?? '' }),
      read: ({ target: { event, tile } }) => readTile(deps, event.id, tile),
    }),
    workRoute({
      operationId: 'proveBallot',
      summary: 'Prove that a confirmed ballot is in the log',
      method: 'POST',
      path: `${path}/proof`,
      scope: VOTE_OR_OBSERVE,
      answers: answersOne(ballotProofView, 'Where the ballot stands.'),
      example: { confirmationCode: EXAMPLE.confirmationCode },
      body: proofBody,
      find,
      work: async ({ caller, target: { event }, body }) => {
        const code = normaliseCode(body.confirmationCode);
        const proof = code === undefined ? undefined : await proveBallot(deps, event, code);
        if (proof === undefined) throw unknownCode({ ...deps, rateLimiter }, caller.keyId);
        return ok(proof);
      },
    }),
    readRoute({
      operationId: 'getLogConsistency',
      summary: 'Prove that one size of the log is the beginning of another',
      method: 'GET',
      path: `${path}/consistency`,
      scope: VOTE_OR_OBSERVE,
      answers: answersOne(consistencyView, 'The proof.'),
      query: consistencyQuery,
      find,
      read: async ({ target: { event }, query: { from, to } }) =>
        ok({ from, to, hashes: await proveConsistency(deps.db, event.id, from, to) }),
    }),
    readRoute({
      operationId: 'listLogOpenings',
      summary: 'Read the opened ballots of a finished event',
      method: 'GET',
      path: `${path}/openings`,
      scope: VOTE_OR_OBSERVE,
      description: 'Once the result is final, as far as `ballot.opening` of the event allows.',
      answers: { 200: { description: 'A page of openings, in the order of the log.', schema: openingsPage } },
      refusals: ['openings_not_available', 'plan_feature'],
      query: openingsQuery,
      find: async (context) => {
        const target = await find(context);
        requireFeature(deps.plans[target.ownerPlan], 'data_export');
        requireOpening(target, deps.clock.now());
        return target;
      },
      read: ({ target: { event }, query }) => listOpenings(deps, event, query.limit, query.cursor),
    }),
  ];
}

const textAnswer = (content: string): Answer => ({ status: 200, text: { content, type: TEXT } });

/** @throws ApiError 403 `openings_not_available` before the close, and for whom the organizer did not open them */
function requireOpening({ caller, event }: VoteCaller, nowMs: number): void {
  const observing = caller.scopes.includes('observe');
  const allowed = event.ballotOpening === 'public' || (event.ballotOpening === 'observer' && observing);
  if (!allowed) throw forbidden('openings_not_available', 'The ballots of this event are not opened to this key.');
  if (statusAt(event, nowMs) !== 'closed')
    throw forbidden('openings_not_available', 'Ballots are opened after the close.');
}

/** @throws ApiError 404 for a tile that the log does not have, or an address that is not a tile's own */
async function readTile(deps: Deps, eventId: string, path: string): Promise<Answer> {
  const tile = parseTilePath(path);
  if (tile === undefined) throw notFound();
  const { level, index, width } = tile;
  const entries = level === 'entries' ? await readEntries(deps.db, eventId, tile) : undefined;
  const hashes = level === 'entries' ? undefined : await readHashTile(deps.db, eventId, { level, index, width });
  const content = entries === undefined ? hashes : encodeBundle(entries);
  if (content === undefined) throw notFound();
  return {
    status: 200,
    headers: FOREVER,
    bytes: { content: new Uint8Array(content), type: 'application/octet-stream' },
  };
}
