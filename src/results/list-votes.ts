import { z } from 'zod';
import type { BallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import { readChoices } from '#src/ballots/ballot-encoding.ts';
import { readBoxEnd } from '#src/ballots/box.ts';
import { openBallot } from '#src/ballots/waiting-ballot.ts';
import type { Database } from '#src/database/client.ts';
import { timeShape } from '#src/http/answer-shapes.ts';
import { cursorField, limitField } from '#src/http/cursor.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { idField, searchField } from '#src/http/fields.ts';
import { microToNumber } from '#src/platform/decimal.ts';
import { unlessSpoilt } from '#src/platform/errors.ts';
import { base32 } from '#src/platform/ids.ts';
import { type Secrets, sha256 } from '#src/platform/secrets.ts';
import { textHolds } from '#src/platform/text.ts';
import { secrecyOf } from '#src/voting-events/lifecycle.ts';
import { readBallotPage, type StoredVoteBallot, showsWeights, WHOLE_BOX } from './repository.ts';

/** One vote of a confirmed ballot (completions 3, "Results, votes, exports"). */
export const voteView = z
  .object({
    id: z.string(),
    positionId: z.string(),
    candidateId: z.string(),
    value: z.int().nullable(),
    rank: z.int().nullable(),
    weight: z.number().nullable().meta({ description: 'Left out in a secret event where few voters have it.' }),
    channel: z.literal('api'),
    countryCode: z.string().nullable(),
    voterId: z.string().nullable(),
    submittedAt: timeShape().nullable(),
  })
  .meta({
    id: 'Vote',
    description: 'One entry of a confirmed ballot. In a secret event nothing in it tells who voted, or when.',
    examples: [
      {
        id: EXAMPLE.vote,
        positionId: EXAMPLE.position,
        candidateId: EXAMPLE.candidate,
        value: null,
        rank: null,
        weight: 1,
        channel: 'api',
        countryCode: null,
        voterId: null,
        submittedAt: null,
      },
    ],
  });
type Vote = z.output<typeof voteView>;

/** `search` matches part of a position's title, of a candidate's name or of a voter's visible ID, in any case. */
export const listVotesQuery = z.strictObject({
  limit: limitField(),
  cursor: cursorField(),
  positionId: idField().optional(),
  candidateId: idField().optional(),
  search: searchField().optional(),
});
type VoteFilter = Omit<z.output<typeof listVotesQuery>, 'limit' | 'cursor'>;

/** A vote, with its place for the cursor: the place of its ballot, and its index in the ballot. */
type PlacedVote = ReturnType<typeof votesOf>[number];

/** Most ballots that a request reads, so that a filter that few votes match does not scan all ballots. */
const MAX_BALLOTS = 2_000;

function matcherOf({ search, positionId, candidateId }: VoteFilter) {
  return (position: { id: string; title: string }, candidate: { id: string; name: string }, voterId: string | null) =>
    (positionId === undefined || positionId === position.id) &&
    (candidateId === undefined || candidateId === candidate.id) &&
    (search === undefined || [position.title, candidate.name, voterId ?? ''].some((text) => textHolds(text, search)));
}

function votesOf(
  secrets: Secrets,
  definition: BallotDefinition,
  ballot: StoredVoteBallot,
  weightsShown: boolean,
  matches: ReturnType<typeof matcherOf>,
) {
  const opened = unlessSpoilt(() => openBallot(secrets, definition.event, ballot.codeTag, ballot.entries));
  // The entries are encrypted, but not by the service for this ballot: the row is forged.
  if (opened === undefined) return [];
  const ballotId = opened.sealed?.id ?? ballot.id;
  const weight = weightsShown ? microToNumber(ballot.weightMicro) : null;
  return readChoices(definition, opened.entries).flatMap(({ position, candidate, kind, value }, index) => {
    if (!matches(position, candidate, ballot.voterId)) return [];
    const vote: Vote = {
      // The vote's ID is derived from its ballot's random ID. So a vote keeps its ID, and the ID reveals nothing about the order of votes.
      id: `vot_${base32(sha256(`${ballotId}/${index}`), 26)}`,
      positionId: position.id,
      candidateId: candidate.id,
      value: kind === 'value' ? value : null,
      rank: kind === 'rank' ? value : null,
      weight,
      channel: 'api',
      countryCode: ballot.countryCode,
      voterId: ballot.voterId,
      submittedAt: ballot.submittedAt,
    };
    return [{ vote, place: ballot.place, index }];
  });
}

/**
 * Lists votes of confirmed ballots (completions 3, "Results, votes, exports"). First come the ballots that were logged when the listing
 * began, by leaf; then all others, by random ID. A ballot keeps its ID when it is logged. So each vote that existed at the beginning is
 * listed once, whatever is confirmed or logged between two pages. A secret event lists logged ballots only: a waiting ballot would
 * show who has just voted.
 * @param after the previous page's `next`, which is null after the last vote
 */
export async function listVotes(
  { db, secrets }: { readonly db: Database; readonly secrets: Secrets },
  definition: BallotDefinition,
  filter: VoteFilter,
  after: string | undefined,
  limit: number,
) {
  const weightsShown = await showsWeights(db, definition);
  const matches = matcherOf(filter);
  // `<last logged leaf when the listing began>/<place>/<index>`
  const [begun, place, index] = after?.split('/') ?? [];
  const end =
    begun ?? (secrecyOf(definition.event) === 'secret' ? WHOLE_BOX : await readBoxEnd(db, definition.event.id));
  const found: PlacedVote[] = [];
  let from = { end, place, inclusive: true };
  for (let seen = 0; seen < MAX_BALLOTS; ) {
    const page = await readBallotPage(db, definition.event.id, from);
    const last = page.at(-1);
    if (last === undefined) return { votes: found.map(({ vote }) => vote), next: null };
    for (const ballot of page) {
      const votes = votesOf(secrets, definition, ballot, weightsShown, matches);
      const isPartlySeen = ballot.place === place;
      found.push(...(isPartlySeen ? votes.filter((vote) => vote.index > Number(index)) : votes));
      if (found.length > limit) return cut(found, limit, end);
    }
    seen += page.length;
    from = { end, place: last.place, inclusive: false };
  }
  return { votes: found.map(({ vote }) => vote), next: `${end}/${from.place}/${Number.MAX_SAFE_INTEGER}` };
}

function cut(found: readonly PlacedVote[], limit: number, end: string) {
  const page = found.slice(0, limit);
  const last = page.at(-1);
  return {
    votes: page.map(({ vote }) => vote),
    next: last === undefined ? null : `${end}/${last.place}/${last.index}`,
  };
}
