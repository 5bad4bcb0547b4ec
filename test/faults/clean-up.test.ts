import { expect, test } from 'vitest';
import { dropAllExpiredBallots } from '#src/ballots/drop-expired-ballots.ts';
import { CHUNK_ROWS } from '#src/database/in-chunks.ts';
import { deleteExpiredKeys } from '#src/http/idempotency.ts';
import { votesFor } from '#test/harness/elections.ts';
import { interceptStatements } from '#test/harness/intercept-statements.ts';
import { runStatements } from '#test/harness/test-database.ts';
import { eventually, useAccount } from '#test/harness/test-service.ts';

/** Tables whose clean-up is watched. */
const WATCHED = ['idempotency_keys', 'pending_ballots', 'participation', 'voters', 'ballot_blocks'];

const { service, account } = await useAccount();
const database = service.deps.db.$client;
await runStatements(service.databaseUrl, [
  'CREATE TABLE seen_deletes (of text NOT NULL, rows int NOT NULL)',
  `CREATE FUNCTION see_delete() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN INSERT INTO seen_deletes SELECT TG_TABLE_NAME, count(*) FROM gone HAVING count(*) > 0; RETURN NULL; END $$`,
  ...WATCHED.map(
    (name) => `CREATE TRIGGER see_delete AFTER DELETE ON ${name} REFERENCING OLD TABLE AS gone
      FOR EACH STATEMENT EXECUTE FUNCTION see_delete()`,
  ),
]);

/** The most rows of a table that one statement has deleted, and the sum of all. */
async function deletesOf(name: string): Promise<{ most: number; sum: number }> {
  const { rows } = await database.query(
    'SELECT coalesce(max(rows), 0)::int AS most, coalesce(sum(rows), 0)::int AS sum FROM seen_deletes WHERE of = $1',
    [name],
  );
  return rows[0];
}

test('expired keys go in chunks however many there are, and no others', async () => {
  await database.query(`INSERT INTO idempotency_keys (api_key_id, key, fingerprint, claim, expires_at)
    SELECT 'key_1', n::text, '\\x00', '\\x00', CASE WHEN n <= 60000 THEN now_ms() - 1 ELSE now_ms() + 100000 END
    FROM generate_series(1, 60010) AS n`);
  await deleteExpiredKeys(service.deps.db);
  const { most, sum } = await deletesOf('idempotency_keys');
  expect(most).toBeLessThanOrEqual(CHUNK_ROWS);
  expect(sum).toBeGreaterThanOrEqual(60_000);
  expect((await database.query("SELECT 1 FROM idempotency_keys WHERE api_key_id = 'key_1'")).rows).toHaveLength(10);
});

const plan = [{ votingMethod: 'plurality', candidates: ['Ada', 'Ben'] }];

async function abandon(eventId: string, count: number): Promise<void> {
  await database.query(
    `INSERT INTO pending_ballots SELECT (jsonb_populate_record(b, jsonb_build_object('code_tag', '\\x' || md5(n::text), 'participant',
       'p' || n, 'participants', to_jsonb(ARRAY['p' || n]), 'cast_at', 0))).* FROM pending_ballots b, generate_series(1, $2) AS n WHERE b.voting_event_id = $1`,
    [eventId, count],
  );
}

async function cast(eventId: string, positionId: string, candidateId: string): Promise<void> {
  const body = { visitorId: `vi_${'a'.repeat(32)}`, votes: [{ positionId, candidateId }] };
  expect((await account.page({ id: eventId }, 'ballot/cast', body)).status).toBe(201);
}

test('abandoned ballots go in chunks, and those of an event that cannot be dropped hold up no other', async () => {
  const events = [await account.event({}, plan), await account.event({}, plan)];
  for (const event of events) {
    const [position] = event.positions;
    await cast(event.id, position?.id ?? '', position?.candidates[0] ?? '');
    await abandon(event.id, 2_500);
  }
  const [broken, well] = events.map(({ id }) => id);
  await runStatements(service.databaseUrl, [
    `CREATE FUNCTION refuse_delete() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$`,
    `CREATE TRIGGER refuse_delete BEFORE DELETE ON pending_ballots FOR EACH ROW
     WHEN (OLD.voting_event_id = '${broken}') EXECUTE FUNCTION refuse_delete()`,
  ]);
  await dropAllExpiredBallots(service.deps).catch(() => undefined);
  const left = async (id = '') =>
    (await database.query('SELECT count(*)::int AS left FROM pending_ballots WHERE voting_event_id = $1', [id])).rows[0]
      .left;
  expect(await left(well)).toBe(1);
  expect(await left(broken)).toBe(2_501);
  await runStatements(service.databaseUrl, ['DROP TRIGGER refuse_delete ON pending_ballots']);
  let statements = 0;
  const restore = interceptStatements((text, send) => {
    if (text.includes('drop_expired_ballots')) statements += 1;
    return send();
  });
  await dropAllExpiredBallots(service.deps);
  restore();
  expect(await left(broken)).toBe(1);
  // Of paid ballots, a hundred take some tenths of a second on a busy machine, and a statement has three seconds.
  expect(statements).toBeGreaterThan(2_500 / 100);
});

test('the last ballot that is dropped frees the rules of a quadratic poll, and the credits of its visitor with them', async () => {
  const settings = { quadraticBaseCreditBudget: 4 };
  const event = await account.event({}, [{ votingMethod: 'quadratic', candidates: ['Ada', 'Ben'], settings }]);
  const [position] = event.positions;
  const castFor = async (value: number) => {
    const votes = [{ positionId: position?.id, candidateId: position?.candidates[0], value }];
    return (await account.page(event, 'ballot/cast', { visitorId: `vi_${'a'.repeat(32)}`, votes })).status;
  };
  const widen = async () =>
    (await account.of(event).patch(`/positions/${position?.id}`, { quadraticBaseCreditBudget: 9 })).status;
  expect([await castFor(2), await widen()]).toEqual([201, 409]);
  await database.query('UPDATE pending_ballots SET cast_at = 0 WHERE voting_event_id = $1', [event.id]);
  await dropAllExpiredBallots(service.deps);
  expect([await castFor(3), await widen(), await castFor(3)]).toEqual([422, 200, 201]);
});

test('a forced deletion of a large event is over at once for everybody, and goes on in chunks until nothing is left', async () => {
  const event = await account.event({ code: 'LARGE1' }, plan);
  await account.votePoll(event, votesFor(event));
  await database.query(
    `INSERT INTO participation (voting_event_id, participant) SELECT $1, 'p' || n FROM generate_series(1, 30000) AS n`,
    [event.id],
  );
  // The request needs none of its rows: one of them is held by somebody meanwhile.
  const holder = await service.connect();
  await holder.query('BEGIN');
  await holder.query('SELECT 1 FROM participation WHERE voting_event_id = $1 LIMIT 1 FOR UPDATE', [event.id]);
  expect((await account.delete(`/voting-events/${event.id}?force=true`)).status).toBe(204);
  await holder.query('COMMIT');
  for (const name of [event.id, event.code]) expect((await account.get(`/voting-events/${name}`)).status).toBe(404);
  expect(
    (await service.call('GET', `/public/voting-events/${event.id}`, undefined, { key: account.vote })).status,
  ).toBe(404);
  const list = await account.get('/voting-events?limit=100');
  expect(list.body.data.map(({ id }: { id: string }) => id)).not.toContain(event.id);
  // Its code is free again.
  await account.event({ code: 'LARGE1' }, [], false);
  const gone = async () => {
    const { rows } = await database.query('SELECT 1 FROM voting_events WHERE id = $1', [event.id]);
    return rows.length === 0 ? true : undefined;
  };
  await eventually(gone, 60_000);
  for (const name of ['participation', 'ballot_blocks', 'ballot_queue', 'log_leaves', 'voters'])
    expect((await database.query(`SELECT 1 FROM ${name} WHERE voting_event_id = $1`, [event.id])).rows).toHaveLength(0);
  expect((await deletesOf('participation')).most).toBeLessThanOrEqual(CHUNK_ROWS);
  expect((await deletesOf('participation')).sum).toBeGreaterThanOrEqual(30_000);
});

test('rows of a log stay while their event does', async () => {
  const event = await account.event({}, plan);
  await database
    .query("INSERT INTO voided_ballots (voting_event_id, code_tag) VALUES ($1, '\\x00')", [event.id])
    .catch(() => undefined);
  expect((await database.query('SELECT delete_event_rows($1, 1000) AS removed', [event.id])).rows[0].removed).toBe(0);
  expect((await account.get(`/voting-events/${event.id}`)).status).toBe(200);
});
