import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createTestEvent, demand, type TestEvent, visitor, votesFor } from '#test/harness/elections.ts';
import { dumpEvent, patchEvent } from '#test/harness/rehearsals.ts';
import { type TestAnswer, type TestService, untilTrue, useService } from '#test/harness/test-service.ts';
import { use } from '#test/harness/use.ts';

// Without jobs: what stands in the database changes by requests alone.
const first = await useService({ worker: false });
const services = [first, await use(first.another())] as const;
const account = await first.account();

const PLURALITY = { votingMethod: 'plurality', candidates: ['Ada', 'Bea'] };
const VOTERS = 24;

const cast = (service: TestService, event: TestEvent, visitorId: string): Promise<TestAnswer> => {
  const votes = votesFor(event);
  const headers = { 'Idempotency-Key': `cast-${visitorId}` };
  const path = `/public/voting-events/${event.id}/ballot/cast`;
  return service.call('POST', path, { visitorId, votes }, { key: account.vote, headers });
};
const confirm = (service: TestService, event: TestEvent, confirmationCode: string): Promise<TestAnswer> => {
  const path = `/public/voting-events/${event.id}/ballot/confirm`;
  return service.call('POST', path, { confirmationCode }, { key: account.vote });
};

async function rehearsed(settings: object = {}): Promise<TestEvent> {
  const [one] = services;
  const event = await createTestEvent(one, account, { type: 'poll', ...settings }, [PLURALITY], false);
  await patchEvent(one, account, event, { status: 'rehearsal' });
  return event;
}

test('a cast and a confirm beside the end of a rehearsal, on two processes, are of exactly one world', async () => {
  const [one, two] = services;
  for (let round = 0; round < 2; round += 1) {
    const event = await rehearsed();
    const visitors = Array.from({ length: VOTERS }, visitor);
    const before = await Promise.all(visitors.slice(0, 8).map((id) => cast(two, event, id)));
    const codes = before.map((answer) => demand(answer, 201).confirmationCode);
    const [ended, casts, confirms] = await Promise.all([
      patchEvent(one, account, event, { status: 'open' }),
      Promise.all(visitors.slice(8).map((id, index) => cast(index % 2 === 0 ? one : two, event, id))),
      Promise.all(codes.map((code) => confirm(two, event, code))),
    ]);
    expect(ended.status).toBe('open');
    for (const { status, body } of confirms) {
      // Confirmed in the rehearsal, or unknown behind it.
      expect([200, 404, 429, 500]).toContain(status);
      if (status === 200) expect(body.data.rehearsal).toBe(true);
      if (status === 500) expect(body.error.message).toContain('changed meanwhile');
    }
    const real = casts.filter(({ status, body }) => status === 201 && body.data.rehearsal === undefined);
    const outcomes = casts.filter(({ status }) => status !== 201 && status !== 500);
    expect(outcomes.map(({ body }) => body)).toEqual([]);
    const rows = await one.query<{ pending: string; stored: string }>(
      `SELECT (SELECT count(*) FROM pending_ballots WHERE voting_event_id = $1) AS pending,
        (SELECT count(*) FROM idempotency_keys WHERE starts_with(key, 'rehearsal/' || $1) AND status = 201) AS stored`,
      [event.id],
    );
    expect(rows[0]).toEqual({ pending: String(real.length), stored: '0' });
    for (const { body } of real) demand(await confirm(one, event, body.data.confirmationCode), 200);
    const stats = demand(
      await one.call('GET', `/voting-events/${event.id}/stats`, undefined, { key: account.read }),
      200,
    );
    expect(stats.ballots.confirmed).toBe(real.length);
  }
});

test('a wipe that is cut off in its middle has wiped nothing, and the next one wipes all', async () => {
  const [one, two] = services;
  const event = await rehearsed();
  for (const id of Array.from({ length: 6 }, visitor)) {
    const { confirmationCode } = demand(await cast(one, event, id), 201);
    demand(await confirm(one, event, confirmationCode), 200);
  }
  const before = await dumpEvent(one, event.id);
  const { $client } = one.deps.db;
  const client = await $client.connect();
  try {
    await client.query('BEGIN');
    // Few rows at a time: some are gone, and some are not.
    const { rows } = await client.query<{ done: boolean }>('SELECT end_rehearsal($1, 3) AS done', [event.id]);
    expect(rows[0]?.done).toBe(false);
    const { rows: process } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    client.on('error', () => undefined);
    await $client.query('SELECT pg_terminate_backend($1)', [process[0]?.pid]);
    await untilTrue(async () => {
      const alive = await $client.query('SELECT 1 FROM pg_stat_activity WHERE pid = $1', [process[0]?.pid]);
      return alive.rows.length === 0;
    });
  } finally {
    client.release(true);
  }
  expect(await dumpEvent(one, event.id)).toEqual(before);
  await patchEvent(two, account, event, { status: 'draft' });
  const after = await dumpEvent(one, event.id);
  for (const table of ['participation', 'ballot_queue', 'ballot_blocks', 'ballot_logs', 'log_leaves', 'voters'])
    expect(after).not.toHaveProperty(table);
});

test('a wipe that a refusal follows in its transaction leaves the rehearsal as it was', async () => {
  const [one] = services;
  const event = await rehearsed();
  const { confirmationCode } = demand(await cast(one, event, visitor()), 201);
  demand(await confirm(one, event, confirmationCode), 200);
  const key = { key: account.write };
  for (const id of event.positions[0]?.candidates ?? [])
    demand(await one.call('PATCH', `/voting-events/${event.id}/candidates/${id}`, { status: 'withdrawn' }, key), 200);
  const before = await dumpEvent(one, event.id);
  const answer = await one.call('PATCH', `/voting-events/${event.id}`, { status: 'open' }, key);
  expect([answer.status, answer.body.error.details.reason]).toEqual([409, 'not_ready']);
  expect(await dumpEvent(one, event.id)).toEqual(before);
});

test('a rehearsal that ends while its close is checked disputes nothing', async () => {
  const live = await useService({ byClock: true });
  const owner = await live.account();
  const disputed: boolean[] = [];
  const run = async (rounds: number): Promise<void> => {
    for (let round = 0; round < rounds; round += 1) {
      const event = await owner.event({ type: 'election' }, [PLURALITY], false);
      await owner.of(event).make('/voters', { name: 'Own', voterId: 'OWN' });
      for (const status of ['rehearsal', 'closed', 'draft', 'open']) {
        await owner.of(event).patch('', { status });
        await pause(round % 2 === 0 ? 0 : 30 * Math.random());
      }
      await pause(500);
      disputed.push((await owner.of(event).show('')).disputed);
    }
  };
  await Promise.all([run(5), run(5), run(5), run(5)]);
  expect(disputed.filter((isDisputed) => isDisputed)).toEqual([]);
});
