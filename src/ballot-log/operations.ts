import { z } from 'zod';
import { answersBytes, answersOne, answersText } from '#src/http/answer-shapes.ts';
import { cursorField } from '#src/http/cursor.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { operation } from '#src/http/operation.ts';
import { ballotProofView, consistencyView, openingsPage } from './view-schemas.ts';

/** A log key is for voters: it reads the log and nothing else. Without a key where `log.open` says so (completions 2.1 and 6.4). */
const READERS = ['vote', 'observe', 'log'] as const;
const sizeField = () =>
  z
    .string()
    .regex(/^\d{1,15}$/, 'must be a whole number of leaves')
    .transform(Number)
    .meta({ shownAs: { type: 'integer', minimum: 0, description: 'A number of leaves.' } });
const consistencyQuery = z.strictObject({ from: sizeField(), to: sizeField() });
/** The openings of a page: more than rows of other lists, so that a large log is read in few requests. */
export const MAX_OPENINGS = 1_000;
const openingsQuery = z.strictObject({
  fromIndex: z
    .string()
    .regex(/^\d{1,15}$/, 'must be the index of a leaf')
    .transform(Number)
    .optional()
    .meta({ shownAs: { type: 'integer', minimum: 0, description: 'The leaf to begin at.' } }),
  limit: z
    .string()
    .regex(/^\d{1,4}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().min(1, 'must be at least 1').max(MAX_OPENINGS, `must be at most ${MAX_OPENINGS}`))
    .optional()
    .meta({
      shownAs: {
        type: 'integer',
        minimum: 1,
        maximum: MAX_OPENINGS,
        description: 'Ballots of a page: 1,000 unless given; without `fromIndex` 50, and at most 200.',
      },
    }),
  cursor: cursorField(),
});

export const getLogKey = operation({
  operationId: 'getLogKey',
  summary: 'Read the key that checkpoints and promises are signed with',
  method: 'GET',
  path: '/',
  scope: 'none',
  description: 'A C2SP verifier key: `<name>+<key hash>+<base64 of algorithm byte and Ed25519 key>`.',
  answers: answersText('text/plain', 'The key, one line.'),
});

export const getLogCheckpoint = operation({
  operationId: 'getLogCheckpoint',
  summary: 'Read the signed head of the ballot log',
  method: 'GET',
  path: '/checkpoint',
  scope: READERS,
  keyless: true,
  description:
    'Four lines: origin, number of leaves, root hash, and `confirmed <n>`, the ballots confirmed so far, those included that wait for the log. Signed again within a minute while that number changes.',
  answers: answersText('text/plain', 'A signed note (C2SP tlog-checkpoint).'),
});

export const getLogTile = operation({
  operationId: 'getLogTile',
  summary: 'Read a tile of hashes, or a bundle of entries, of the ballot log',
  method: 'GET',
  path: '/tile/:tile{.+}',
  scope: READERS,
  keyless: true,
  description:
    'By the paths of C2SP tlog-tiles: `<L>/<N>` and `entries/<N>`, with `.p/<W>` behind a partial one. Full tiles never change and may be kept for ever.',
  answers: answersBytes('The bytes of the tile.'),
});

export const proveBallot = operation({
  operationId: 'proveBallot',
  summary: 'Prove that a confirmed ballot is in the log',
  method: 'POST',
  path: '/proof',
  scope: READERS,
  keyless: true,
  answers: answersOne(ballotProofView, 'Where the ballot stands.'),
  refusals: ['ballot_key_unavailable'],
  example: { confirmationCode: EXAMPLE.confirmationCode },
});

export const getLogConsistency = operation({
  operationId: 'getLogConsistency',
  summary: 'Prove that one size of the log is the beginning of another',
  method: 'GET',
  path: '/consistency',
  scope: READERS,
  keyless: true,
  answers: answersOne(consistencyView, 'The proof.'),
  query: consistencyQuery,
});

export const listLogOpenings = operation({
  operationId: 'listLogOpenings',
  summary: 'Read the opened ballots of a finished event',
  method: 'GET',
  path: '/openings',
  scope: READERS,
  keyless: true,
  description:
    'Once the result is final, as far as `ballot.opening` of the event allows. Begin with `fromIndex=0` and go on with `nextIndex` until that is null. A page of long ballots may hold fewer than `limit`. `limit` and `cursor` without `fromIndex` page as in other lists.',
  answers: { 200: { description: 'A page of openings, in the order of the log.', schema: openingsPage } },
  refusals: ['openings_not_available', 'plan_feature'],
  query: openingsQuery,
});
