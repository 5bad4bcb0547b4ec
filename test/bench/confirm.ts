import { setTimeout as pause } from 'node:timers/promises';
import { codeTagOf } from '#src/ballots/waiting-ballot.ts';
import type { Bench } from './bench-service.ts';
import { prepareTwelve } from './casting.ts';
import { addPendingBallots } from './elections.ts';
import { applyLoad, requestsOf } from './http-load.ts';
import type { BenchLine } from './line.ts';
import { findPgbench, PGBENCH_MISSING, runPgbench } from './pgbench.ts';
import { ProcessorMeter } from './processor-meter.ts';
import { alternate } from './windows.ts';

const ROUNDS = 5;
const SECONDS = 2;
const CLIENTS = 8;
/** Ballots that a window may confirm at most: none may be left without one. */
const WINDOW_BALLOTS = 16_000;
/** Rounds, the warm-up, and windows that are measured again. */
const WINDOWS = ROUNDS + 1 + 3;

const waitingOf = async (bench: Bench, eventId: string): Promise<number> => {
  const { rows } = await bench.pool.query<{ waiting: number }>(
    'SELECT count(*)::int AS waiting FROM ballot_queue WHERE voting_event_id = $1',
    [eventId],
  );
  return rows[0]?.waiting ?? 0;
};

/** Lets what was confirmed reach the log, so that no window pays for the one before it. */
async function untilSealed(bench: Bench, eventId: string): Promise<void> {
  for (let attempt = 0; attempt < 600; attempt += 1) {
    if ((await waitingOf(bench, eventId)) < 3) return;
    await pause(50);
  }
}

/** The end of an event in the words of the statement, which refuses another one. */
async function endsAsSql(bench: Bench, eventId: string): Promise<string> {
  const text =
    'SELECT event_ends(ends_at, closed_at, rehearsal_since, rehearsal_number, type, voter_approval, repeat_votes, require_voter_id) AS ends FROM voting_events e WHERE id = $1';
  const { rows } = await bench.pool.query<{ ends: string }>(text, [eventId]);
  if (rows[0] === undefined) throw new Error('an election is gone');
  return rows[0].ends;
}

/** Our own statement for one ballot as a script of pgbench; each client takes the codes that leave its own remainder. */
function ownConfirmScript(eventId: string, ends: string): string {
  return `\\set i :i + ${CLIENTS}
\\set n :first + :i + :client_id
SELECT verdict FROM confirm_ballots_together('${eventId}', ARRAY[sha256(convert_to('code' || lpad(:n::text, 26, '0'), 'UTF8'))],
  ARRAY['bal_' || left(md5(:n::text), 26)], ARRAY[''::bytea], ARRAY[sha256(int8send(:n))], ARRAY[0::bigint], ARRAY['vtr_none'],
  ARRAY[sha256(int8send(:n))], ARRAY['${ends}'], ARRAY['vtr_' || lpad(:n::text, 22, '0')], ARRAY[decode(left(md5(:n::text), 32), 'hex')]);
`;
}

/** Confirming over HTTP while the ballots move into the log, beside our own statement driven by pgbench. */
export const confirm: BenchLine = async (bench) => {
  const work = 'confirm over HTTP, 32 connections, the log kept up, results live';
  const goal = { atLeast: 0.9, beyond: 1 };
  const program = findPgbench();
  if (program === undefined) return [{ work, goal, missing: PGBENCH_MISSING }];
  const ballots = WINDOW_BALLOTS * WINDOWS;
  const [ours, theirs] = [await prepareTwelve(bench, ballots), await prepareTwelve(bench, ballots)];
  await addPendingBallots(bench, ours.election, ours.votes, 0, ballots);
  await addPendingBallots(bench, theirs.election, theirs.votes, 0, ballots, codeTagOf);
  const eventId = ours.election.id;
  const ends = await endsAsSql(bench, theirs.election.id);

  let next = 0;
  const request = requestsOf(
    {
      method: 'POST',
      path: `/public/voting-events/${eventId}/ballot/confirm`,
      key: bench.vote,
      body: JSON.stringify({ confirmationCode: `${'0'.repeat(18)}########` }),
    },
    () => {
      next += 1;
      return [next - 1];
    },
  );
  const meter = new ProcessorMeter(bench);
  const http = async (): Promise<number> => {
    const load = { port: bench.server.port, connections: 32, durationMs: SECONDS * 1_000, request, status: 200 };
    const { perSecond } = await meter.measure(() => applyLoad(load));
    await untilSealed(bench, eventId);
    return perSecond;
  };
  let first = 0;
  const own = async (): Promise<number> => {
    const variables = { first, i: -CLIENTS };
    const script = ownConfirmScript(theirs.election.id, ends);
    const run = { program, databaseUrl: bench.databaseUrl, script, clients: CLIENTS, seconds: SECONDS, variables };
    const { perSecond } = await runPgbench(run);
    first += WINDOW_BALLOTS;
    // What pgbench confirmed must not be sealed in a window of the other one.
    await bench.pool.query('DELETE FROM ballot_queue WHERE voting_event_id = $1', [theirs.election.id]);
    return perSecond;
  };
  await http();
  meter.clear();
  await own();
  const seen = await alternate(bench, ROUNDS, { http, own });
  const { stats } = (await bench.organize('GET', `/voting-events/${eventId}/results`)) as {
    stats: { ballots: number };
  };
  if (stats.ballots !== next) throw new Error(`${next} ballots were confirmed, the results count ${stats.ballots}`);
  return [
    {
      ...{ work, unit: '/s', ours: seen.http, theirs: seen.own, goal },
      ...{ reference: 'pgbench, our statement, one a transaction, 8 clients', processor: meter.micros() },
      limit: `The same process seals what is confirmed into the log meanwhile. ${meter.describe()}`,
    },
  ];
};
