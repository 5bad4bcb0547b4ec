import { setTimeout as delay } from 'node:timers/promises';
import { fillBox } from '#test/harness/largest-event.ts';
import { call, demand, openEvent, residentBytes, show, timed, type World, withWorld } from './world.ts';

/**
 * A roll of millions of voters, half of whom have voted: each list, filter and figure of it, and what is cleaned up beside load:
 *   npm run limits:roll -- [voters] [rows to clean up]
 * A bound that is passed is marked, and ends the program with 1. Bounds of time hold for a machine with two free cores.
 */
const BOUNDS = {
  /** Of the slowest of twenty requests of one kind. */
  listMs: 200,
  cleanMs: 600_000,
  residentBytes: 1024 * 1024 * 1024,
};
const [voters = 1_000_000, rows = 1_000_000] = process.argv.slice(2).map(Number);
const AT_ONCE = 100_000;
const REQUESTS = 20;

const percentile95 = (times: readonly number[]): number =>
  times.toSorted((one, other) => one - other)[Math.ceil(times.length * 0.95) - 1] ?? 0;

/** Reads something whole. @returns how long it took */
async function timeRead(world: World, target: string): Promise<number> {
  const begin = performance.now();
  const answer = await call(world, 'GET', target);
  await answer.arrayBuffer();
  if (answer.status !== 200) throw new Error(`GET ${target} answered ${answer.status}`);
  return performance.now() - begin;
}

/** As the connections of a service would not: they end statements after 3 s. */
async function withPatience(world: World, work: (run: Run) => Promise<void>): Promise<void> {
  const client = await world.pool.connect();
  try {
    await client.query('SET statement_timeout = 0');
    await work((text, values = []) => client.query({ text, values, query_timeout: 600_000 } as never));
  } finally {
    client.release(true);
  }
}
type Run = (text: string, values?: readonly unknown[]) => Promise<unknown>;

async function fillRoll(world: World, id: string, groups: readonly string[]): Promise<void> {
  await withPatience(world, async (run) => {
    for (let from = 0; from < voters; from += AT_ONCE) {
      const many = [id, from, Math.min(AT_ONCE, voters - from), groups];
      await run(
        `INSERT INTO voters (voting_event_id, id, name, email, email_key, voter_id, voter_id_key, group_id, weight_micro, status,
            source, key_status, created_at, updated_at)
          SELECT $1, 'vtr_' || lpad(n::text, 22, '0'), 'Voter ' || md5(n::text), 'v' || n || '@club.example', 'v' || n || '@club.example',
            'member-' || n, 'member-' || n, ($4::text[])[1 + n % 3], 1000000 * (1 + n % 2),
            CASE WHEN n % 10 = 0 THEN 'pending' ELSE 'approved' END, 'organizer', CASE WHEN n % 4 = 0 THEN 'sent' ELSE 'none' END, now_ms(), now_ms()
          FROM generate_series($2::integer + 1, $2::integer + $3::integer) AS n`,
        many,
      );
      await run(
        `INSERT INTO participation (voting_event_id, participant)
          SELECT $1, 'vtr_' || lpad(n::text, 22, '0') FROM generate_series($2::integer + 1, $2::integer + $3::integer) AS n
          WHERE n % 2 = 0 AND n % 10 <> 0`,
        many.slice(0, 3),
      );
      process.stdout.write(`\r         ${from + AT_ONCE} voters`);
    }
    process.stdout.write('\n');
    await run('ANALYZE voters, participation');
  });
}

async function measureLists(world: World, id: string, group: string): Promise<void> {
  const base = `/voting-events/${id}/voters`;
  const middle = await demandCursor(world, `${base}?limit=200`);
  const lists: readonly (readonly [string, string])[] = [
    ['the first page', `${base}?limit=200`],
    ['a later page', `${base}?limit=200&cursor=${encodeURIComponent(middle)}`],
    ['voted=true', `${base}?voted=true&limit=200`],
    ['voted=false', `${base}?voted=false&limit=200`],
    ['status=pending', `${base}?status=pending&limit=200`],
    ['keyStatus=failed, which is nobody', `${base}?keyStatus=failed&limit=200`],
    ['a group', `${base}?groupId=${group}&limit=200`],
    ['a search that finds many', `${base}?search=voter&limit=200`],
    ['a search that finds nobody', `${base}?search=zzzzzzzz&limit=200`],
    ['a search for one of the last', `${base}?search=v${voters - 1}@club.example&limit=200`],
    ['the statistics', `/voting-events/${id}/stats`],
    ['the event', `/voting-events/${id}`],
    ['its groups', `/voting-events/${id}/groups`],
    ['the results', `/voting-events/${id}/results`],
  ];
  for (const [what, target] of lists) {
    const times: number[] = [];
    for (let request = 0; request < REQUESTS; request += 1) {
      times.push(await timeRead(world, target));
    }
    show(`${what}, p95 of ${REQUESTS}`, percentile95(times), BOUNDS.listMs, 'ms');
  }
}

async function demandCursor(world: World, target: string): Promise<string> {
  const answer = await call(world, 'GET', target);
  const { nextCursor } = (await answer.json()) as { nextCursor: string };
  return nextCursor;
}

/** Reads small things all the time, and shows how long the slowest of a hundred took. */
async function besideLoad(world: World, small: string, done: () => Promise<boolean>): Promise<void> {
  const times: number[] = [];
  while (!(await done())) {
    times.push(await timeRead(world, small));
    await delay(50);
  }
  show(`  a small read meanwhile, p95 of ${times.length}`, percentile95(times), BOUNDS.listMs, 'ms');
}

async function isEmpty(world: World, text: string, values: unknown[]): Promise<boolean> {
  const { rows: found } = await world.pool.query(text, values);
  return found.length === 0;
}

async function measureCleanUp(world: World, id: string, small: string): Promise<void> {
  const { rows: keys } = await world.pool.query('SELECT id FROM api_keys LIMIT 1');
  await withPatience(world, async (run) => {
    for (let from = 0; from < rows; from += AT_ONCE)
      await run(
        `INSERT INTO idempotency_keys (api_key_id, key, fingerprint, claim, status, body, expires_at)
        SELECT $1, 'old-' || n, '\\x00', '\\x00', 200, repeat('x', 200), now_ms() - 1
        FROM generate_series($2::integer + 1, $2::integer + $3::integer) AS n`,
        [keys[0].id, from, Math.min(AT_ONCE, rows - from)],
      );
  });
  await timed(world, `${rows} expired idempotency keys are gone`, BOUNDS.cleanMs, () =>
    besideLoad(world, small, () => isEmpty(world, "SELECT 1 FROM idempotency_keys WHERE key LIKE 'old-%' LIMIT 1", [])),
  );
  const size = { positions: 1, candidates: 3 };
  const voted = await openEvent(world, size);
  await fillBox(world.deps, voted, size, rows, 3);
  for (const [what, event] of [
    [`an event of ${voters} voters`, id],
    [`an event of ${rows} ballots`, voted],
  ] as const)
    await measureDeletion(world, what, event, small);
}

async function measureDeletion(world: World, what: string, id: string, small: string): Promise<void> {
  await timed(world, `${what} is deleted`, BOUNDS.cleanMs, async () => {
    const answer = await call(world, 'DELETE', `/voting-events/${id}?force=true`);
    if (!answer.ok) throw new Error(`the deletion answered ${answer.status}: ${await answer.text()}`);
    await besideLoad(world, small, () =>
      isEmpty(
        world,
        `(SELECT 1 FROM voters WHERE voting_event_id = $1 LIMIT 1) UNION ALL
        (SELECT 1 FROM participation WHERE voting_event_id = $1 LIMIT 1) UNION ALL
        (SELECT 1 FROM ballot_blocks WHERE voting_event_id = $1 LIMIT 1)`,
        [id],
      ),
    );
  });
}

await withWorld(async (world) => {
  process.stdout.write(`\n${voters} voters, ${rows} rows to clean up\n`);
  const { id } = (await demand(world, 'POST', '/voting-events', { title: 'The largest roll', type: 'election' })) as {
    id: string;
  };
  const groups: string[] = [];
  for (const name of ['North', 'South', 'West'])
    groups.push(String((await demand(world, 'POST', `/voting-events/${id}/groups`, { name }))['id']));
  const other = (await demand(world, 'POST', '/voting-events', { title: 'Beside it', type: 'poll' })) as { id: string };
  await fillRoll(world, id, groups);
  await measureLists(world, id, groups[0] ?? '');
  await measureCleanUp(world, id, `/voting-events/${other.id}`);
  show('memory of the server at most', await residentBytes(world), BOUNDS.residentBytes, 'MB');
});
