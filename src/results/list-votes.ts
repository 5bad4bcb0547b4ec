import type { BallotPaper } from '#src/ballot-paper/paper.ts';
import { unpackEntries } from '#src/ballots/ballot-encoding.ts';
import { openBallot } from '#src/ballots/sealed-entries.ts';
import type { Database } from '#src/database/client.ts';
import { microToNumber } from '#src/platform/decimal.ts';
import { base32 } from '#src/platform/ids.ts';
import { type Secrets, sha256 } from '#src/platform/secrets.ts';
import { CommonWeights } from './common-weights.ts';
import { readBallotPage, type StoredVoteBallot } from './repository.ts';
import type { Vote } from './view-schemas.ts';

export interface VoteFilter {
  readonly positionId: string | undefined;
  readonly candidateId: string | undefined;
}

/** A vote with where it stands: its ballot's place in the box and its own in the ballot. */
interface PlacedVote {
  readonly vote: Vote;
  readonly key: string;
}

function votesOf(
  secrets: Secrets,
  paper: BallotPaper,
  ballot: StoredVoteBallot,
  weights: CommonWeights,
  filter: VoteFilter,
): PlacedVote[] {
  const opened = openBallot(secrets, paper.event.id, ballot.codeTag, ballot.entries);
  const ballotId = opened.sealed?.id ?? ballot.id;
  const answered = unpackEntries(opened.entries);
  const shown = weights.shows(
    answered.map(({ position }) => position),
    ballot.weightMicro,
  );
  const weight = shown ? microToNumber(ballot.weightMicro) : null;
  const entries = answered.flatMap(({ position, entries: own }) => own.map((entry) => ({ position, ...entry })));
  return entries.flatMap(({ position: number, candidate, value }, index) => {
    const position = paper.positionByNumber.get(number);
    const candidateId = paper.candidateByNumber.get(candidate)?.id;
    if (position === undefined || candidateId === undefined)
      throw new Error('a ballot names what the paper does not have');
    if (filter.positionId !== undefined && filter.positionId !== position.id) return [];
    if (filter.candidateId !== undefined && filter.candidateId !== candidateId) return [];
    const ranked = position.votingMethod === 'ranked_choice';
    const valued = ['score', 'cumulative', 'quadratic'].includes(position.votingMethod);
    const vote: Vote = {
      // Drawn from the ballot's random ID: the same vote has the same ID each time, and tells nothing of its order.
      id: `vot_${base32(sha256(`${ballotId}/${index}`), 26)}`,
      positionId: position.id,
      candidateId,
      value: valued ? value : null,
      rank: ranked ? value : null,
      weight,
      channel: 'api',
      countryCode: ballot.countryCode,
      voterId: ballot.voterId,
      submittedAt: ballot.submittedAt,
    };
    return [{ vote, key: `${ballot.place}/${index}` }];
  });
}

/**
 * Votes of confirmed ballots in the order of the box, then those on their way into it (completions 3, "Results, votes, exports").
 * @param after the key of the last vote seen
 * @returns one vote more than asked for when there are more
 */
export async function listVotes(
  { db, secrets }: { readonly db: Database; readonly secrets: Secrets },
  paper: BallotPaper,
  filter: VoteFilter,
  after: string | undefined,
  limit: number,
): Promise<PlacedVote[]> {
  const weights = await CommonWeights.read(db, paper);
  const [place, seen] = after === undefined ? [undefined, -1] : splitKey(after);
  const found: PlacedVote[] = [];
  let from = place;
  let inclusive = true;
  for (;;) {
    const page = await readBallotPage(db, paper.event.id, from, inclusive);
    for (const ballot of page) {
      const votes = votesOf(secrets, paper, ballot, weights, filter);
      found.push(...(ballot.place === place ? votes.filter(({ key }) => splitKey(key)[1] > seen) : votes));
      if (found.length > limit) return found;
    }
    const last = page.at(-1);
    if (last === undefined) return found;
    from = last.place;
    inclusive = false;
  }
}

function splitKey(key: string): [place: string, index: number] {
  const slash = key.lastIndexOf('/');
  return [key.slice(0, slash), Number(key.slice(slash + 1))];
}
