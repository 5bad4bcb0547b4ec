import { z } from 'zod';
import { type PlacedBallot, readSealedBallots } from '#src/ballots/box.ts';
import type { Deps } from '#src/deps.ts';
import type { Answer } from '#src/http/answer.ts';
import { listShape } from '#src/http/answer-shapes.ts';
import { cursorField, DEFAULT_PAGE_SIZE, decodeCursor, encodeCursor, MAX_PAGE_SIZE } from '#src/http/cursor.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { refuse } from '#src/http/refusals.ts';
import { canonicalJson } from '#src/platform/canonical-json.ts';
import { badRequest, orNotFound } from '#src/platform/errors.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { closeOpeningView } from './close-opening.ts';
import { configurationView } from './configuration.ts';
import { readConfiguration } from './configuration-parts.ts';
import { findOpenedClose } from './find-close.ts';
import { openingOf } from './leaf-of-ballot.ts';
import { openSeed } from './lot.ts';
import { findHead } from './repository.ts';

const openingView = z
  .object({
    index: z.int().meta({ description: 'Of its leaf.' }),
    votes: listShape(
      z.object({
        positionId: z.string(),
        candidateId: z.string(),
        value: z.int().optional(),
        rank: z.int().optional(),
      }),
    ),
    weight: z.string().meta({ description: 'An exact decimal.' }),
    salt: z.string().meta({ description: 'Opens the commitment of the leaf; base64.' }),
  })
  .meta({
    id: 'BallotOpening',
    description: 'What a ballot of the log said.',
    examples: [
      {
        index: 1,
        votes: [{ positionId: EXAMPLE.position, candidateId: EXAMPLE.candidate }],
        weight: '1',
        salt: 'TIXaRfYCwUJLGnVPyMWk8yhl4cqWKgE3xDVdCNHxuZA=',
      },
    ],
  });

/** A page of openings, with the seed for the lots that break ties. */
export const openingsPage = z
  .object({
    data: listShape(openingView),
    nextCursor: z.string().nullable(),
    nextIndex: z.int().nullable().meta({ description: 'What to ask for next as `fromIndex`; null at the end.' }),
    tieSeed: z.string().meta({
      description: 'The seed that ties are drawn from, in hex.',
      examples: ['9f2c4e6a8b0d1f3a5c7e9b1d3f5a7c9e0b2d4f6a8c0e1f3b5d7f9a1c3e5b7d90'],
    }),
    close: closeOpeningView,
    configuration: configurationView
      .optional()
      .meta({ description: 'The last one of the log, on the first page alone, where it has at most 1 MiB.' }),
  })
  .meta({ id: 'BallotOpenings' });

/** The largest page: larger than in other lists, so that a large log is read in few requests. */
const MAX_OPENINGS = 1_000;
export const openingsQuery = z.strictObject({
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

/** Maximum packed bytes per page: each becomes about twenty bytes of JSON. A page has at least one ballot. */
const MAX_PAGE_BYTES = 131_072;

/** The start of a page, by leaf or by cursor, and its size. */
type OpeningsQuestion = z.output<typeof openingsQuery>;

/** @throws ApiError 400 for `fromIndex` together with `cursor`, or without `fromIndex` for a `limit` above `MAX_PAGE_SIZE` */
function readQuestion(deps: Deps, list: string, { fromIndex, limit, cursor }: OpeningsQuestion) {
  if (fromIndex !== undefined) {
    if (cursor !== undefined) throw badRequest('`fromIndex` and `cursor` exclude each other.', { field: 'cursor' });
    return { after: fromIndex - 1, most: limit ?? MAX_OPENINGS };
  }
  const most = limit ?? DEFAULT_PAGE_SIZE;
  if (most > MAX_PAGE_SIZE)
    throw badRequest(`Without \`fromIndex\`, \`limit\` must be at most ${MAX_PAGE_SIZE}.`, { field: 'limit' });
  return { after: Number(decodeCursor(deps.secrets, list, cursor) ?? -1), most };
}

function countFitting(rows: readonly PlacedBallot[], most: number): number {
  let bytes = 0;
  const over = rows.findIndex(({ entries }, index) => {
    bytes += entries.length;
    return index >= most || (index > 0 && bytes > MAX_PAGE_BYTES);
  });
  return over === -1 ? rows.length : over;
}

/** The openings of the log's ballots in log order, void ballots included, and the seed (hex) whose hash is in the `open` leaf. */
export async function listOpenings(deps: Deps, event: VotingEvent, question: OpeningsQuestion): Promise<Answer> {
  const name = canonicalJson(['openings', event.id]);
  const { after, most } = readQuestion(deps, name, question);
  const definition = orNotFound(await deps.definitions.get(event));
  const head = await findHead(deps.db, event.id);
  // Refuse before the result is final: a reader who knows the seed of the lots could cast later ballots that steer the lots.
  const close = (await findOpenedClose(deps, event, head))?.opening;
  if (head === undefined || close === undefined) throw refuse('openings_before_final');
  const rows = await readSealedBallots(deps.copy, event.id, { after, limit: most + 1 });
  const fitting = countFitting(rows, most);
  const page = rows.slice(0, fitting);
  const nextIndex = rows[fitting]?.leafIndex ?? null;
  const last = page.at(-1);
  const nextCursor =
    nextIndex === null || last === undefined ? null : encodeCursor(deps.secrets, name, String(last.leafIndex));
  const data = page.map((row) => {
    const { votes, weight } = openingOf(definition, row);
    return { index: row.leafIndex, votes, weight, salt: row.salt.toString('base64') };
  });
  const tieSeed = openSeed(deps.secrets, event, head.lotSeed)?.toString('hex');
  if (tieSeed === undefined) throw refuse('rows_disagree');
  const configuration = after < 0 ? await readConfiguration(deps.db, event.id) : undefined;
  return {
    status: 200,
    body: { data, nextCursor, nextIndex, tieSeed, close, ...(configuration === undefined ? {} : { configuration }) },
  };
}
