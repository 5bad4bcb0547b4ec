import { encodeCursor } from '#src/http/cursor.ts';
import { canonicalJson } from '#src/platform/canonical-json.ts';
import { addVoters, createElection, voterRowIdOf } from './elections.ts';
import { applyLoad, requestsOf } from './http-load.ts';
import type { BenchLine } from './line.ts';
import { findPgbench, PGBENCH_MISSING, runPgbench } from './pgbench.ts';
import { ProcessorMeter } from './processor-meter.ts';
import { alternate } from './windows.ts';

const ROUNDS = 5;
const FULL = 500_000;
const PAGE = 200;
const BATCH = 100;
const CLIENTS = 4;

/** The last page of a long list of voters, beside the first. */
export const voterPages: BenchLine = async (bench) => {
  const listed = FULL * bench.scale;
  const { id } = await createElection(bench, [{ votingMethod: 'approval', candidates: 2 }]);
  await addVoters(bench, id, 0, listed);
  const list = canonicalJson(['voters', id, {}, null]);
  const cursor = encodeCursor(bench.deps.secrets, list, voterRowIdOf(listed - PAGE - 1));
  const path = `/voting-events/${id}/voters?limit=${PAGE}`;
  const { nextCursor, data } = (await (
    await fetch(`http://127.0.0.1:${bench.server.port}${path}&cursor=${cursor}`, {
      headers: { Authorization: `Bearer ${bench.write}` },
    })
  ).json()) as { nextCursor: string | null; data: unknown[] };
  if (nextCursor !== null || data.length !== PAGE) throw new Error('that is not the last page');
  const page = (target: string) => async (): Promise<number> => {
    const request = requestsOf({ method: 'GET', path: target, key: bench.write }, () => []);
    return (await applyLoad({ port: bench.server.port, connections: 1, durationMs: 1_000, request, status: 200 }))
      .p50Ms;
  };
  const alternatives = { last: page(`${path}&cursor=${cursor}`), first: page(path) };
  for (const warmUp of Object.values(alternatives)) await warmUp();
  const { last, first } = await alternate(bench, ROUNDS, alternatives);
  return [
    {
      ...{ work: `last page of ${PAGE} voters of ${listed}`, reference: 'first page', unit: ' ms' },
      ...{ ours: last, theirs: first, goal: { atMost: 1.2, beyond: 1.05 } },
      limit: 'Both pages are found by one index: the rest is what the machine did beside.',
    },
  ];
};

/** Makes the text of a batch whose e-mail addresses and voter IDs carry its number. */
function batchOf(): string {
  const voters = Array.from({ length: BATCH }, (_, index) => {
    const number = `########-${index}`;
    return { name: `Voter ${number}`, email: `batch-${number}@bench.example`, voterId: `C${number}` };
  });
  return JSON.stringify({ voters });
}

function ownBatchScript(eventId: string): string {
  return `\\set r random(1, 1000000000000000)
INSERT INTO voters (voting_event_id, id, name, email, email_key, voter_id, voter_id_key, weight_micro, status, source, key_status, created_at, updated_at)
  SELECT '${eventId}', 'vtr_' || left(md5(r || '-' || n), 22), 'Voter ' || r || n, e, e, v, v, 1000000, 'approved', 'organizer', 'none', 0, 0
  FROM generate_series(1, ${BATCH}) AS n, LATERAL (SELECT :r::text AS r) AS drawn,
    LATERAL (SELECT 'batch-' || r || '-' || n || '@bench.example' AS e, 'C' || r || '-' || n AS v) AS x;
`;
}

/** Adding voters in batches over HTTP, beside one statement of as many rows. */
export const voterBatches: BenchLine = async (bench) => {
  const work = `batches of ${BATCH} voters over HTTP`;
  const goal = { atLeast: 0.6, beyond: 0.7 };
  const program = findPgbench();
  if (program === undefined) return [{ work, goal, missing: PGBENCH_MISSING }];
  const plan = [{ votingMethod: 'approval', candidates: 2 }];
  const [ours, theirs] = [await createElection(bench, plan), await createElection(bench, plan)];
  let batch = 0;
  const request = requestsOf(
    { method: 'POST', path: `/voting-events/${ours.id}/voters/batch`, key: bench.write, body: batchOf() },
    () => {
      batch += 1;
      return new Array<number>(BATCH * 3).fill(batch);
    },
  );
  const meter = new ProcessorMeter(bench);
  const http = async (): Promise<number> => {
    const load = { port: bench.server.port, connections: CLIENTS, durationMs: 2_000, request, status: 201 };
    return (await meter.measure(() => applyLoad(load))).perSecond * BATCH;
  };
  const script = ownBatchScript(theirs.id);
  const own = async (): Promise<number> =>
    (await runPgbench({ program, databaseUrl: bench.databaseUrl, script, clients: CLIENTS, seconds: 2 })).perSecond *
    BATCH;
  await http();
  meter.clear();
  const seen = await alternate(bench, ROUNDS, { http, own });
  return [
    {
      ...{ work, unit: '/s', ours: seen.http, theirs: seen.own, goal },
      ...{ reference: `pgbench, one statement of ${BATCH}, ${CLIENTS} clients`, processor: meter.micros() },
      limit: `Each voter is read, tagged and added to the sum of the roll. ${meter.describe()}`,
    },
  ];
};
