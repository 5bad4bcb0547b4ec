import { createApiKey } from '#src/accounts/create-api-key.ts';
import { CLOSED, moveEnd } from '#test/harness/move-end.ts';
import type { BallotLogReport, BallotLogTask } from './ballot-log-program.ts';
import type { Bench } from './bench-service.ts';
import { addQueuedBallots, addTurnout, addVoters, createElection, sumUpRoll } from './elections.ts';
import { forkProgram } from './fork-program.ts';
import { type BenchLine, figureOf } from './line.ts';

const FULL = 1_000_000;
const MEGABYTE = 1_000_000;

/** Seals in one process and verifies in another, so that the memory of each is its own. */
const run = (bench: Bench, task: BallotLogTask): Promise<BallotLogReport> =>
  forkProgram(bench, 'ballot-log-program.ts', task);

/** A finished election of so many ballots, sealed into its log and verified from the outside: openings, recount, results. */
export const ballotLog: BenchLine = async (bench) => {
  const ballots = FULL * bench.scale;
  const plan = [{ votingMethod: 'approval', candidates: 8 }];
  const election = await createElection(bench, plan, {
    ballot: { opening: 'public' },
    results: { visibility: 'live' },
  });
  // A log closes only where as many took part as there are ballots.
  await addVoters(bench, election.id, 0, ballots);
  await sumUpRoll(bench, election.id);
  await addTurnout(bench, election, 0, ballots);
  await addQueuedBallots(bench, election, ballots);
  await moveEnd(bench.deps, election.id, CLOSED);
  const { key } = await createApiKey(bench.deps.db, bench.deps, {
    ...{ accountId: bench.accountId, name: 'observer', votingEventId: election.id, scopes: ['observe'] },
    expiresInDays: null,
  });
  const task = { eventId: election.id, url: `http://127.0.0.1:${bench.server.port}`, key };
  const sealed = await run(bench, { ...task, what: 'seal' });
  process.stderr.write('.');
  const verified = await run(bench, { ...task, what: 'verify' });
  const rate = ({ ms }: BallotLogReport): string => `${Math.round((ballots * 1_000) / ms)} a second`;
  const memory = ({ earlyBytes, lateBytes }: BallotLogReport) => ({
    ...{ reference: 'after a fifth of it', unit: ' MB' },
    ...{ ours: figureOf([lateBytes / MEGABYTE]), theirs: figureOf([earlyBytes / MEGABYTE]) },
  });
  return [
    {
      ...{ work: `memory while ${ballots} ballots are sealed (${rate(sealed)})`, ...memory(sealed) },
      ...{ goal: { atMost: 1.2 }, limit: 'The closing count keeps what its method needs of the ballots.' },
    },
    {
      ...{ work: `memory while ${ballots} ballots are verified (${rate(verified)})`, ...memory(verified) },
      ...{
        goal: { atMost: 1.2 },
        limit: 'The verifier keeps some 40 bytes of each leaf, to compare its opening with.',
      },
    },
  ];
};
