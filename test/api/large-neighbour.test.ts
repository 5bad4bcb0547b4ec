import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkLog } from '#src/ballot-log/check-log.ts';
import { demand } from '#test/harness/answers.ts';
import { finishEvent, sealBallots } from '#test/harness/elections.ts';
import { FullElection } from '#test/harness/full-election.ts';
import {
  confirm,
  createKeyedElection,
  type KeyedElection,
  setStatus,
  voteWith,
} from '#test/harness/keyed-elections.ts';
import { untilTrue, useAccount } from '#test/harness/test-service.ts';

/** Most of what the service stores is of one event: the planner then expects any event to be that one, unless a statement names another. */
const NEIGHBOURS = 20_000;

let client: pg.Client;

const { service, account } = await useAccount();
beforeAll(async () => {
  await (await FullElection.open(service, account, NEIGHBOURS)).fill();
  client = new pg.Client({ connectionString: service.databaseUrl });
  await client.connect();
  await client.query('ANALYZE');
});
afterAll(() => client.end());

/** Rows that were read by going through a whole table since the last reset, of each table that the neighbour fills. */
async function readWhole(): Promise<Record<string, number>> {
  // A connection hands in what it counted when it ends.
  await client.query(
    'SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  );
  const { rows } = await client.query<{ name: string; read: number }>(
    `SELECT relname AS name, seq_tup_read::int AS read FROM pg_stat_user_tables
     WHERE relname IN ('voters', 'voter_keys', 'participation', 'ballot_blocks') ORDER BY 1`,
  );
  return Object.fromEntries(rows.map(({ name, read }) => [name, read]));
}
const NOTHING = { ballot_blocks: 0, participation: 0, voter_keys: 0, voters: 0 };

async function readAll({ id }: KeyedElection): Promise<void> {
  const base = `/voting-events/${id}`;
  const lists =
    'stats results voters voters?voted=true voters?search=voter audit candidates payments notifications groups';
  const views = ['', ...lists.split(' ').map((list) => `/${list}`)];
  for (const view of views) await account.show(`${base}${view}`);
}

test('a small election beside a large one is prepared, held, counted and checked without reading the large one', async () => {
  await client.query('SELECT pg_stat_reset()');
  const election = await createKeyedElection(service, account, [1, 1, 1, 1, 1, 1]);
  const [code = ''] = await voteWith(service, election, [0, 1, 2, 3, 4]);
  demand(await confirm(service, election, code), 200);
  await readAll(election);
  await sealBallots(service, election.id);
  expect(await readWhole()).toEqual(NOTHING);
  demand(await setStatus(service, election, 'closed'), 200);
  await finishEvent(service, election.id);
  expect(await checkLog(service.deps, election.id)).toBeUndefined();
  await readAll(election);
  expect(await readWhole()).toEqual(NOTHING);
  demand(await account.delete(`/voting-events/${election.id}?force=true`), 204);
  expect(await readWhole()).toEqual(NOTHING);
});

test('a roll beside a large one is filled, changed, copied, mailed and rehearsed with without reading the large one', async () => {
  await client.query('SELECT pg_stat_reset()');
  const election = await createKeyedElection(service, account, [1, 2, 1], false);
  const write = async (method: string, path: string, body: unknown, status: number) =>
    demand(await account.of(election).send(method, path, body), status);
  const rows = ['Ada', 'Bea', 'Cai'].map((name) => ({ name, email: `${name}-${election.id}@voters.example` }));
  const { id } = (await write('POST', '/voters/batch', { voters: rows.slice(0, 2) }, 201))[0];
  await write('POST', '/voters/import', { mode: 'partial', voters: rows }, 200);
  await write('PATCH', `/voters/${id}`, { name: 'Ada Two' }, 200);
  await write('POST', '/voters/bulk', { action: 'reject', voterIds: [id] }, 200);
  await write('PATCH', '', { startsAt: Date.now() + 3_600_000 }, 200);
  await write('POST', '/voters/notify', { audience: 'all', kind: 'key', beforeOpening: true }, 202);
  await write('PATCH', '', { status: 'rehearsal' }, 200);
  await voteWith(service, election, [0]);
  await write('PATCH', '', { status: 'draft' }, 200);
  await write('POST', '/copy', { title: 'Another year', withVoters: true }, 201);
  await write('DELETE', `/voters/${id}`, undefined, 202);
  // What was asked for is done in the background.
  const due = 'SELECT 1 FROM jobs WHERE run_at <= now_ms() LIMIT 1';
  await untilTrue(async () => (await client.query(due)).rowCount === 0);
  await readAll(election);
  expect(await readWhole()).toEqual(NOTHING);
});
