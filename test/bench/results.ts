import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { packEntries } from '#src/ballots/ballot-encoding.ts';
import type { Bench } from './bench-service.ts';
import {
  addConfirmedBallots,
  addPendingBallots,
  addVoters,
  type BenchElection,
  codeOf,
  createElection,
} from './elections.ts';
import { applyLoad, requestsOf } from './http-load.ts';
import { type BenchLine, figureOf } from './line.ts';
import { RANKED_CANDIDATES, rankingOf } from './rankings.ts';
import type { RecountReport, RecountTask } from './recount-program.ts';
import { alternate } from './windows.ts';

const ROUNDS = 5;
const FULL = 1_000_000;
const FEW = 1_000;
const MEGABYTE = 1_000_000;
const SCORED = 10;
/** Votes that come in while results are read, a second. */
const CONFIRMS_A_SECOND = 50;
const CONFIRMS = 2_000;
const WAITS_FOR_ROWS =
  'More than half of the time the count waits for PostgreSQL to send the ballots (seen in its CPU profile): COPY reads two columns of each row, and count(*) none.';

/** Ten scores that differ from ballot to ballot. */
function scoresOf(election: BenchElection): (index: number) => Buffer {
  const [position] = election.positions;
  return (index) =>
    packEntries([
      {
        position: position?.number ?? 0,
        entries: (position?.candidates ?? []).map(({ number }, place) => ({
          candidate: number,
          value: (index * 7 + place * 3) % 11,
        })),
      },
    ]);
}

/** An election of so many voters who all have voted, and some more who are about to confirm. */
async function prepareBox(bench: Bench, ballots: number): Promise<BenchElection> {
  const position = { votingMethod: 'score', candidates: SCORED, settings: { scoreMin: 0, scoreMax: 10 } };
  const election = await createElection(bench, [position]);
  await addVoters(bench, election.id, 0, ballots + CONFIRMS);
  await addConfirmedBallots(bench, election.id, 0, ballots, scoresOf(election));
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

/** A recount in a process of its own, so that its memory is nobody else's. */
async function recount(bench: Bench, task: RecountTask): Promise<RecountReport> {
  const child = fork(path.join(import.meta.dirname, 'recount-program.ts'), [JSON.stringify(task)], {
    execArgv: ['--expose-gc'],
    env: { PATH: process.env['PATH'], ...bench.environment },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const [report] = (await once(child, 'message')) as [RecountReport];
  await once(child, 'exit');
  return report;
}

/** Results while votes come in, and the whole box counted anew, of a million ballots. */
export const results: BenchLine = async (bench) => {
  const ballots = FULL * bench.scale;
  const [many, few] = [await prepareBox(bench, ballots), await prepareBox(bench, FEW)];
  const counted = await recount(bench, { eventId: many.id, rounds: ROUNDS, elimination: undefined });
  const warm = { many: readWhileVotesComeIn(bench, many, ballots), few: readWhileVotesComeIn(bench, few, FEW) };
  await warm.many();
  await warm.few();
  const seen = await alternate(ROUNDS, warm);
  const work = `GET results, ${ballots} ballots, warm, votes come in`;
  const whole = `full recount, ${ballots} ballots of ${SCORED} entries`;
  return [
    {
      ...{ work, reference: `the same with ${FEW} ballots`, unit: ' ms', ours: seen.many, theirs: seen.few },
      goal: { atMost: 1.1 },
      limit:
        'No row more is read (test/api/hot-statements.test.ts): the difference is what the process and the machine do beside.',
    },
    {
      ...{ work: `${work}, with its way there and back`, reference: undefined, unit: ' ms', ours: seen.many },
      ...{ theirs: undefined, goal: { atMost: 2 } },
      limit:
        'The time is that of a caller: it holds the way there and back, and the confirms that the same process is at.',
    },
    {
      ...{ work: whole, reference: 'SELECT count(*) of the same ballots', unit: ' ms' },
      ...{ ours: figureOf(counted.countMs), theirs: figureOf(counted.referenceMs) },
      ...{ goal: { atMost: 4, beyond: 2.5 }, limit: WAITS_FOR_ROWS },
    },
    {
      ...{ work: `${whole}, memory`, reference: undefined, unit: ' MB', ours: figureOf([counted.bytes / MEGABYTE]) },
      ...{ theirs: undefined, goal: { atMost: 100 }, limit: 'Pieces of COPY wait for their collection.' },
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
        entries: Array.from(rankingOf(index), (candidate, place) => ({
          ...{ candidate: position?.candidates[candidate]?.number ?? 0, value: place + 1 },
        })),
      },
    ]),
  );
  const counted = await recount(bench, { eventId: election.id, rounds: 3, elimination: ballots });
  const work = `instant runoff, ${ballots} different rankings of ${RANKED_CANDIDATES}`;
  return [
    {
      ...{ work, reference: 'the elimination alone, in memory', unit: ' ms' },
      ...{ ours: figureOf(counted.countMs), theirs: figureOf(counted.referenceMs) },
      ...{ goal: { atMost: 2.2, beyond: 1.6 }, limit: WAITS_FOR_ROWS },
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
