import { expect, test } from 'vitest';
import { startReceiver } from '#test/harness/receiver.ts';
import { startTestService, type TestService, untilTrue } from '#test/harness/test-service.ts';
import { startWorkerProcess, type WorkerProcess } from '#test/harness/worker-process.ts';

const EVENTS = 60;

const startWorker = (service: TestService): Promise<WorkerProcess> =>
  startWorkerProcess(service, { LOG_LEVEL: 'silent', WEBHOOK_ALLOW_PRIVATE: 'on' });

// Three starts of the whole service, one after the other.
test('workers killed with -9 lose no message, and what is sent twice keeps its ID', async () => {
  const service = await startTestService({ worker: false });
  // Slow enough that some are always under way when a worker dies.
  const receiver = await startReceiver((response) => setTimeout(() => response.writeHead(200).end(), 60));
  const account = await service.account();
  const key = { key: account.write };
  const body = { url: receiver.url, eventTypes: ['voting_event.created'] };
  const { id } = (await service.call('POST', '/webhook-endpoints', body, key)).body.data;
  for (let index = 0; index < EVENTS; index += 1)
    await service.call('POST', '/voting-events', { title: `Event ${index}`, type: 'poll' }, key);
  const database = service.deps.db.$client;
  const distinct = () => new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size;
  for (const share of [8, 25]) {
    const worker = await startWorker(service);
    await untilTrue(() => receiver.received.length >= share, 30_000);
    await worker.kill();
    // What a dead worker held is anybody's within a minute: the test lets that minute pass at once.
    const { rows } = await database.query('SELECT max(held_until) - now_ms() AS left FROM webhook_holds');
    expect(Number(rows[0].left)).toBeLessThan(60_000);
    await database.query('UPDATE webhook_holds SET held_until = held_until - 60000');
  }
  const last = await startWorker(service);
  const left = async (): Promise<number> => {
    const { rows } = await database.query(
      "SELECT count(*)::int AS left FROM webhook_deliveries WHERE endpoint_id = $1 AND status <> 'delivered'",
      [id],
    );
    return rows[0].left;
  };
  await untilTrue(async () => (await left()) === 0, 30_000);
  await last.stop();
  expect(distinct()).toBe(EVENTS);
  const bodies = Map.groupBy(receiver.received, ({ headers }) => headers['webhook-id']);
  for (const [, copies] of bodies) expect(new Set(copies.map(({ body: text }) => text)).size).toBe(1);
  await receiver.stop();
  await service.stop();
});
