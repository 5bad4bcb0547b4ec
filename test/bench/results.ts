import { setTimeout as pause } from 'node:timers/promises';
import { packEntries } from '#src/ballots/ballot-encoding.ts';
import type { Bench } from './bench-service.ts';
import {
  addBallotRows,
  addConfirmedBallots,
  addPendingBallots,
  addVoters,
  type BenchElection,
  codeOf,
  createElection,
} from './elections.ts';
import { forkProgram } from './fork-program.ts';
import { applyLoad, requestsOf } from './http-load.ts';
import { type BenchLine, figureOf, median } from './line.ts';
import { RANKED_CANDIDATES, rankingOf } from './rankings.ts';
import type { RecountReport, RecountTask } from './recount-program.ts';
import { mix } from './seed.ts';
import { alternate } from './windows.ts';

const ROUNDS = 5;
const FULL = 1_000_000;
const FEW = 1_000;
const MEGABYTE = 1_000_000;
const SCORED = 10;
/** Votes that come in while results are read, a second. */
const CONFIRMS_A_SECOND = 50;
const CONFIRMS = 2_000;
const limitOf = ({ cpuMs }: RecountReport): string =>
  `The count took ${Math.round(median(cpuMs))} ms of a core; the rest of the time it waits for PostgreSQL to send the ballots.`;

/** Ten scores that differ from ballot to ballot. */
function scoresOf({ positions }: BenchElection, seed: number): (index: number) => Buffer {
  const [position] = positions;
  return (index) =>
    packEntries([
      {
        position: position?.number ?? 0,
        entries: (position?.candidates ?? []).map(({ number }, place) => ({
          ...{ candidate: number, value: mix(seed + place, index) % 11 },
        })),
      },
    ]);
}

/** An election of so many voters who all have voted, and some more who are about to confirm. */
async function prepareBox(bench: Bench, ballots: number): Promise<BenchElection> {
  const position = { votingMethod: 'score', candidates: SCORED, settings: { scoreMin: 0, scoreMax: 10 } };
  const election = await createElection(bench, [position]);
  await addVoters(bench, election.id, 0, ballots + CONFIRMS);
  await addConfirmedBallots(bench, election.id, 0, ballots, scoresOf(election, bench.seed));
  const votes = (election.positions[0]?.candidates ?? []).map(({ id: candidateId }, value) => ({
    ...{ positionId: election.positions[0]?.id ?? '', candidateId, value },
  }));
  await addPendingBallots(bench, election, votes, ballots, ballots + CONFIRMS);
  return election;
}

/** Reads results one request at a time while votes are confirmed; the time of the middle request. */
function readWhileVotesComeIn(bench: Bench, election: BenchElection, firstCode: number) {
  let next = firstCode;
  const base = `http://127.0.0.1:${bench.server.port}`;
  const confirmOne = async (): Promise<void> => {
    const answer = await fetch(`${base}/public/voting-events/${election.id}/ballot/confirm`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${bench.vote}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ confirmationCode: codeOf(next) }),
    });
    next += 1;
    if (answer.status !== 200) throw new Error(`a confirm answered ${answer.status}: ${await answer.text()}`);
    await answer.arrayBuffer();
  };
  const request = requestsOf(
    { method: 'GET', path: `/voting-events/${election.id}/results`, key: bench.write },
    () => [],
  );
  return async (): Promise<number> => {
    const reading = applyLoad({ port: bench.server.port, connections: 1, durationMs: 2_000, request, status: 200 });
    let done = false;
    void reading.finally(() => {
      done = true;
    });
    while (!done) {
      await confirmOne();
      await pause(1_000 / CONFIRMS_A_SECOND);
    }
    return (await reading).p50Ms;
  };
}

const recount = (bench: Bench, task: RecountTask): Promise<RecountReport> =>
  forkProgram(bench, 'recount-program.ts', task, ['--expose-gc']);

/** Bytes of the box on disk, with its indexes. */
async function boxBytes({ pool }: Bench): Promise<number> {
  const { rows } = await pool.query<{ bytes: string }>("SELECT pg_total_relation_size('ballot_blocks') AS bytes");
  return Number(rows[0]?.bytes);
}

/** Results while votes come in, and the whole box counted anew, of a million ballots. */
export const results: BenchLine = async (bench) => {
  const ballots = FULL * bench.scale;
  const empty = await boxBytes(bench);
  const many = await prepareBox(bench, ballots);
  const bytesEach = ((await boxBytes(bench)) - empty) / ballots;
  const few = await prepareBox(bench, FEW);
  await addBallotRows(bench, many.id, ballots, scoresOf(many, bench.seed));
  const counted = await recount(bench, { eventId: many.id, rounds: ROUNDS, seed: bench.seed, elimination: undefined });
  const warm = { many: readWhileVotesComeIn(bench, many, ballots), few: readWhileVotesComeIn(bench, few, FEW) };
  await warm.many();
  await warm.few();
  const seen = await alternate(bench, ROUNDS, warm);
  const work = `GET results, ${ballots} ballots, warm, votes come in`;
  const whole = `full recount, ${ballots} ballots of ${SCORED} entries`;
  return [
    {
      ...{ work, reference: `the same with ${FEW} ballots`, unit: ' ms', ours: seen.many, theirs: seen.few },
      goal: { atMost: 1.1, beyond: 1 },
      limit:
        'No row more is read (test/api/hot-statements.test.ts): the difference is what the process and the machine do beside.',
    },
    {
      ...{ work: whole, reference: 'SELECT count(*) of as many rows', unit: ' ms' },
      ...{ ours: figureOf(counted.countMs), theirs: figureOf(counted.referenceMs) },
      ...{ goal: { atMost: 2.5, beyond: 1.8 }, limit: limitOf(counted) },
    },
    {
      ...{ work: `${whole}, memory`, reference: undefined, unit: ' MB', ours: figureOf([counted.bytes / MEGABYTE]) },
      ...{ theirs: undefined, goal: { atMost: 100 }, limit: 'Pieces of COPY wait for their collection.' },
    },
    {
      ...{ work: `a sealed ballot of ${SCORED} entries in the box, on disk`, reference: undefined, unit: ' bytes' },
      ...{ ours: figureOf([bytesEach]), theirs: undefined, goal: { atMost: 150 } },
      limit:
        'Salt and tag, 64 random bytes, are two thirds of it; the index that finds a code is the next. Leaf and tile come on top.',
    },
  ];
};

/** A million different full rankings, counted with their elimination, beside the elimination alone. */
export const instantRunoff: BenchLine = async (bench) => {
  const ballots = FULL * bench.scale;
  const election = await createElection(bench, [{ votingMethod: 'ranked_choice', candidates: RANKED_CANDIDATES }]);
  const [position] = election.positions;
  await addConfirmedBallots(bench, election.id, 0, ballots, (index) =>
    packEntries([
      {
        position: position?.number ?? 0,
        entries: Array.from(rankingOf(bench.seed, index), (candidate, place) => ({
          ...{ candidate: position?.candidates[candidate]?.number ?? 0, value: place + 1 },
        })),
      },
    ]),
  );
  const counted = await recount(bench, { eventId: election.id, rounds: 3, seed: bench.seed, elimination: ballots });
  const work = `instant runoff, ${ballots} different rankings of ${RANKED_CANDIDATES}`;
  return [
    {
      ...{ work, reference: 'a plain elimination loop in memory', unit: ' ms' },
      ...{ ours: figureOf(counted.countMs), theirs: figureOf(counted.referenceMs) },
      ...{ goal: { atMost: 4.5 }, limit: limitOf(counted) },
    },
    {
      ...{ work: `${work}, memory`, reference: undefined, unit: ' MB', ours: figureOf([counted.bytes / MEGABYTE]) },
      ...{
        theirs: undefined,
        goal: { atMost: 200 },
        limit: 'Rankings that grow are copied to a larger array, beside which the old one stands.',
      },
    },
  ];
};
