import { codeTagOf, generateConfirmationCode } from '#src/ballots/waiting-ballot.ts';
import { hashSentKey } from '#src/voters/voter-key.ts';
import type { Bench } from './bench-service.ts';
import {
  addVoters,
  type BallotVote,
  type BenchElection,
  createElection,
  packVotes,
  sealBallot,
  UNIT,
  VOTER_KEY,
  voterIdOf,
} from './elections.ts';
import { applyLoad, requestsOf } from './http-load.ts';
import type { ProcessorMeter } from './processor-meter.ts';

/** An election whose voters cast some of its ballots, drawn by chance; each cast replaces the voter's earlier one. */
export interface Casting {
  readonly election: BenchElection;
  readonly voters: number;
  /** One of the ballots, where every cast is the same. */
  readonly votes: readonly BallotVote[];
  /** All of them have as many entries. */
  readonly ballots: readonly (readonly BallotVote[])[];
}

/** Different ballots that are cast in an election. */
const BALLOTS = 16;
const [LOWEST_SCORE, HIGHEST_SCORE] = [0, 10];

const withBallots = (
  election: BenchElection,
  voters: number,
  [votes = [], ...others]: readonly (readonly BallotVote[])[],
): Casting => ({ election, voters, votes, ballots: [votes, ...others] });

/** Twelve entries over three positions: some chosen, some scored, some ranked. How many of each, and of how many candidates, is drawn. */
export async function prepareTwelve(bench: Bench, voters: number): Promise<Casting> {
  const { draw } = bench;
  const [chosen, scored] = [draw.between(3, 5), draw.between(3, 5)];
  const entries = [chosen, scored, 12 - chosen - scored];
  const candidates = entries.map((marked) => marked + draw.between(1, 4));
  const [ofApproval = 0, ofScore = 0, ofRanks = 0] = candidates;
  const election = await createElection(bench, [
    { votingMethod: 'approval', candidates: ofApproval },
    { votingMethod: 'score', candidates: ofScore, settings: { scoreMin: LOWEST_SCORE, scoreMax: HIGHEST_SCORE } },
    { votingMethod: 'ranked_choice', candidates: ofRanks },
  ]);
  await addVoters(bench, election.id, 0, voters);
  const ballots = Array.from({ length: BALLOTS }, () =>
    election.positions.flatMap(({ id: positionId, candidates }, position) =>
      draw
        .shuffled(candidates)
        .slice(0, entries[position])
        .map(({ id: candidateId }, index): BallotVote => {
          const mark = [{}, { value: draw.between(LOWEST_SCORE, HIGHEST_SCORE) }, { rank: index + 1 }][position];
          return { positionId, candidateId, ...mark };
        }),
    ),
  );
  return withBallots(election, voters, ballots);
}

/** As many entries as a ballot may have. */
export async function prepareTwoHundred(bench: Bench, voters: number): Promise<Casting> {
  const election = await createElection(bench, [{ votingMethod: 'approval', candidates: 200 }]);
  await addVoters(bench, election.id, 0, voters);
  const votes = election.positions.flatMap(({ id: positionId, candidates }) =>
    candidates.map(({ id: candidateId }) => ({ positionId, candidateId })),
  );
  return withBallots(election, voters, [votes]);
}

let requestNumber = 0;

/** Casts over HTTP for a while, each with an Idempotency-Key of its own. */
export function castOverHttp(bench: Bench, casting: Casting, port: number, connections: number, durationMs: number) {
  const request = castRequests(bench, casting, { 'Idempotency-Key': `cast-${process.pid}-########` }, (voter) => {
    requestNumber += 1;
    return [requestNumber, voter];
  });
  return applyLoad({ port, connections, durationMs, request, status: 201 });
}

/** Casts for a while beside a reference, and measures what they take of the processor. @returns casts a second */
export const castWindow =
  (bench: Bench, casting: Casting, meter: ProcessorMeter, durationMs: number) => async (): Promise<number> => {
    const load = () => castOverHttp(bench, casting, bench.server.port, 32, durationMs);
    return (await meter.measure(load)).perSecond;
  };

/** Requests that cast one of the ballots for one of the voters. @param numbers for every run of eight `#` of the headers, then the voter */
export function castRequests(
  { draw, vote }: Bench,
  { election, voters, ballots }: Casting,
  headers: Readonly<Record<string, string>>,
  numbers: (voter: number) => readonly number[] = (voter) => [voter],
): () => Buffer {
  const path = `/public/voting-events/${election.id}/ballot/cast`;
  const requests = ballots.map((votes) => {
    const body = JSON.stringify({ voterId: 'B########', voterKey: VOTER_KEY, votes });
    return requestsOf({ method: 'POST', path, key: vote, headers, body }, () => numbers(draw.below(voters)));
  });
  return () => (requests[draw.below(requests.length)] as () => Buffer)();
}

/** Our own statement for one ballot, as a script of pgbench: the same voters, the same bytes, a claim like a request's. */
export function ownCastScript(bench: Bench, { election, voters, votes }: Casting, paper: string): string {
  const { secrets } = bench.deps;
  const codeTag = codeTagOf(generateConfirmationCode());
  const entries = sealBallot(election, codeTag, codeTag, packVotes(election, votes), Buffer.alloc(16));
  const keyHash = hashSentKey(secrets, { id: election.id, rehearsalSince: null }, VOTER_KEY);
  const bytea = (bytes: Buffer): string => `'\\x${bytes.toString('hex')}'::bytea`;
  const voter = `'{"kind": "voter_id", "identity": "B' || lpad(:n::text, 8, '0') || '"}'`;
  return `\\set n random(0, ${voters - 1})
\\set r random(1, 1000000000000000)
SELECT verdict FROM cast_ballots_together('${election.id}', '{NULL}', '{NULL}', '{NULL}', '{NULL}', '{NULL}', ARRAY['${paper}'],
  ARRAY[(${voter})::jsonb], ARRAY[${bytea(keyHash)}], '{NULL}', ARRAY['[""]'::jsonb], ARRAY[sha256(int8send(:r))], ARRAY[${bytea(entries)}],
  '{NULL}', ARRAY['${voterIdOf(0)}'], '{NULL}', '{NULL}', '{NULL}', '{NULL}', '{${UNIT}}', '{0}', '{NULL}');
`;
}

/**
 * The usual way, as a script of pgbench and the tables it needs: a round trip for the event, the voter, the key and the
 * earlier ballot, one for the ballot and one for its entries, a row each.
 */
export async function usualCastScript(bench: Bench, { voters, votes }: Casting): Promise<string> {
  const prefix = `usual_${votes.length}`;
  await bench.pool.query(`
    CREATE TABLE ${prefix}_events (id integer PRIMARY KEY, status text NOT NULL, title text NOT NULL);
    INSERT INTO ${prefix}_events VALUES (1, 'open', 'An election');
    CREATE TABLE ${prefix}_voters (id integer PRIMARY KEY, event_id integer NOT NULL REFERENCES ${prefix}_events, voter_id text NOT NULL, key_hash bytea NOT NULL, status text NOT NULL, UNIQUE (event_id, voter_id));
    INSERT INTO ${prefix}_voters SELECT n, 1, 'B' || lpad(n::text, 8, '0'), sha256(int8send(n)), 'approved' FROM generate_series(0, ${voters - 1}) AS n;
    CREATE TABLE ${prefix}_ballots (id bigserial PRIMARY KEY, event_id integer NOT NULL REFERENCES ${prefix}_events, voter_id integer NOT NULL REFERENCES ${prefix}_voters, code text NOT NULL UNIQUE, status text NOT NULL, created_at timestamptz NOT NULL DEFAULT now());
    CREATE INDEX ON ${prefix}_ballots (event_id, voter_id);
    CREATE TABLE ${prefix}_candidates (id text PRIMARY KEY, position_id text NOT NULL);
    CREATE TABLE ${prefix}_votes (id bigserial PRIMARY KEY, ballot_id bigint NOT NULL REFERENCES ${prefix}_ballots, position_id text NOT NULL, candidate_id text NOT NULL REFERENCES ${prefix}_candidates, value integer);
    CREATE INDEX ON ${prefix}_votes (ballot_id);`);
  await bench.pool.query(`INSERT INTO ${prefix}_candidates SELECT * FROM unnest($1::text[], $2::text[])`, [
    votes.map(({ candidateId }) => candidateId),
    votes.map(({ positionId }) => positionId),
  ]);
  await bench.pool.query(`ANALYZE ${prefix}_voters`);
  const rows = votes
    .map(
      ({ positionId, candidateId, value, rank }) =>
        `(:ballot, '${positionId}', '${candidateId}', ${value ?? rank ?? 1})`,
    )
    .join(',\n  ');
  return `\\set n random(0, ${voters - 1})
\\set r random(1, 1000000000000000)
BEGIN;
SELECT id, status, title FROM ${prefix}_events WHERE id = 1;
SELECT id, key_hash, status FROM ${prefix}_voters WHERE event_id = 1 AND voter_id = 'B' || lpad(:n::text, 8, '0');
SELECT id FROM ${prefix}_ballots WHERE event_id = 1 AND voter_id = :n AND status = 'confirmed';
INSERT INTO ${prefix}_ballots (event_id, voter_id, code, status) VALUES (1, :n, md5(:r::text), 'pending') RETURNING id AS ballot \\gset
INSERT INTO ${prefix}_votes (ballot_id, position_id, candidate_id, value) VALUES
  ${rows};
COMMIT;
`;
}
