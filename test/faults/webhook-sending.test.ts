import { subscribe as subscribeTo, unsubscribe } from 'node:diagnostics_channel';
import type { ServerResponse } from 'node:http';
import type { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { inTransaction } from '#src/database/client.ts';
import { DAY_MS } from '#src/platform/clock.ts';
import { WebhookSender } from '#src/webhooks/deliver.ts';
import { createPoster } from '#src/webhooks/guarded-post.ts';
import { publish } from '#src/webhooks/record-event.ts';
import { forgetDeliveries, holdDueEndpoints } from '#src/webhooks/sending-repository.ts';
import { sealSecret } from '#src/webhooks/signature.ts';
import { ThreadPoster } from '#src/webhooks/thread-poster.ts';
import { type Receiver, startReceiver } from '#test/harness/receiver.ts';
import { eventually, startTestService, type TestAccount, untilTrue, useService } from '#test/harness/test-service.ts';
import { useReceivers } from '#test/harness/use.ts';

const TYPE = 'voting_event.updated';
const receive = useReceivers();

const service = await useService();

async function subscribe(account: TestAccount, url: string): Promise<string> {
  const body = { url, eventTypes: [TYPE] };
  return (await account.post('/webhook-endpoints', body)).body.data.id;
}

const change = (account: TestAccount, id: string, body: unknown) => account.patch(`/webhook-endpoints/${id}`, body);

/** Facts that something told in one transaction. */
async function tell(account: TestAccount, count: number, { deps } = service): Promise<void> {
  const about = { accountId: account.id, votingEventId: null };
  const facts = Array.from({ length: count }, (_, number) => ({ number }));
  await inTransaction(deps.db, (tx) => publish(tx, deps, about, TYPE, facts));
}

async function countDeliveries(endpointId: string, status: string): Promise<number> {
  const rows = await service.query(
    'SELECT count(*)::int AS count FROM webhook_deliveries WHERE endpoint_id = $1 AND status = $2',
    [endpointId, status],
  );
  return rows[0].count;
}

const numbersOf = ({ received }: Receiver): number[] =>
  received.map(({ body }) => JSON.parse(body).data.number).toSorted((one, other) => one - other);
const upTo = (count: number): number[] => Array.from({ length: count }, (_, number) => number);

test('two senders together have at most ten messages under way for one endpoint, and send each once', async () => {
  const account = await service.account();
  const other = await service.another();
  const sender = new WebhookSender(other.deps, createPoster('private'));
  sender.start();
  const busy = new Map<string, { now: number; most: number }>();
  const answer = (response: ServerResponse, receiver: string): void => {
    const count = busy.get(receiver) ?? { now: 0, most: 0 };
    busy.set(receiver, count);
    count.now += 1;
    count.most = Math.max(count.most, count.now);
    setTimeout(() => {
      count.now -= 1;
      response.writeHead(200).end();
    }, 15);
  };
  const all = await Promise.all(upTo(4).map((index) => receive((response) => answer(response, String(index)))));
  for (const { url } of all) await subscribe(account, url);
  const rows = await service.query('SELECT count(DISTINCT holder)::int AS holders FROM webhook_holds');
  expect(rows[0].holders).toBeLessThanOrEqual(2);
  await tell(account, 200);
  await untilTrue(() => all.every(({ received }) => received.length >= 200), 30_000);
  await sender.stop(5_000);
  await other.stop();
  for (const receiver of all) expect(numbersOf(receiver)).toEqual(upTo(200));
  for (const { most } of busy.values()) expect(most).toBeLessThanOrEqual(10);
});

test('a sender that stops lets go of what it held, and what it broke off says nothing of its receiver', async () => {
  const quiet = await startTestService({ worker: false });
  const account = await quiet.account();
  const receiver = await receive(() => undefined);
  const body = { url: receiver.url, eventTypes: [TYPE] };
  await quiet.call('POST', '/webhook-endpoints', body, { key: account.write });
  await tell(account, 1, quiet);
  const sender = new WebhookSender(quiet.deps, createPoster('private'));
  sender.start();
  await eventually(() => receiver.received[0]);
  const database = quiet.deps.db.$client;
  const held = async (): Promise<number> => (await database.query('SELECT 1 FROM webhook_holds')).rows.length;
  expect(await held()).toBe(1);
  await sender.stop(0);
  expect(await held()).toBe(0);
  const { rows } = await database.query(`
    SELECT d.status, d.tries, e.consecutive_failures FROM webhook_deliveries d JOIN webhook_endpoints e ON e.id = d.endpoint_id`);
  expect(rows).toEqual([{ status: 'pending', tries: 0, consecutive_failures: 0 }]);
  await quiet.stop();
});

test('a sender holds an endpoint of each account before the second of any, failing endpoints last, and others none that rest', async () => {
  const quiet = await startTestService({ worker: false });
  const [many, few] = [await quiet.account(), await quiet.account()];
  const add = async (account: TestAccount): Promise<string> => {
    const body = { url: 'https://hooks.example.com/', eventTypes: [TYPE] };
    return (await quiet.call('POST', '/webhook-endpoints', body, { key: account.write })).body.data.id;
  };
  const [failing = '', well = '', last = ''] = [await add(many), await add(many), await add(few)];
  await quiet.query('UPDATE webhook_endpoints SET consecutive_failures = 3 WHERE id = $1', [failing]);
  await tell(many, 1, quiet);
  await tell(few, 1, quiet);
  const look = async (holder: string, limit: number, held: string[], left: [string, number][] = []) => {
    const request = { holder, holdMs: 45_000, held, renewed: [], read: [], left: new Map(left), limit };
    const { taken } = await holdDueEndpoints(quiet.deps.db.$client, request);
    return taken.map(({ endpointId }) => endpointId).toSorted();
  };
  // Without room: one endpoint of each account that holds none.
  expect(await look('a', 0, [])).toEqual([well, last].toSorted());
  expect(await look('a', 0, [well, last])).toEqual([]);
  expect(await look('b', 0, [])).toEqual([failing]);
  expect(await look('a', 9, [well], [[last, 60_000]])).toEqual([]);
  expect([await look('a', 9, [well]), await look('b', 9, [failing])]).toEqual([[], []]);
  await look('a', 9, [], [[well, 0]]);
  expect(await look('b', 9, [failing])).toEqual([well]);
  await quiet.stop();
});

test('past half of its places a sender lets go of endpoints whose messages have arrived', async () => {
  const quiet = await startTestService();
  const account = await quiet.account();
  const receiver = await receive();
  const ids = upTo(600).map((number) => `whe_${number}`);
  await quiet.query(
    `INSERT INTO webhook_endpoints (id, account_id, url, event_types, status, last_success_at, secret, secret_hint, created_at, updated_at)
     SELECT f.id, $1, $2, ARRAY[$3], 'active', now_ms(), f.secret, '', 0, 0 FROM unnest($4::text[], $5::text[]) AS f (id, secret)`,
    [account.id, receiver.url, TYPE, ids, ids.map((id) => sealSecret(quiet.deps.secrets, id, 'whsec_AAAA'))],
  );
  await tell(account, 1, quiet);
  await untilTrue(() => receiver.received.length === 600, 30_000);
  await untilTrue(async () => {
    const rows = await quiet.query("SELECT count(*)::int AS held FROM webhook_holds WHERE holder <> ''");
    return rows[0].held <= 500;
  });
  await quiet.stop();
});

// Certificates with keys made for it hold the thread that verifies them.
test('no receiver is connected to from the thread that answers requests', async () => {
  const account = await service.account();
  const receiver = await receive();
  const connected: unknown[] = [];
  const listen = (message: unknown): void => {
    connected.push((message as { connectParams: { port: string } }).connectParams.port);
  };
  subscribeTo('undici:client:connected', listen);
  await subscribe(account, receiver.url);
  await tell(account, 1);
  await eventually(() => receiver.received[0]);
  const { port } = new URL(receiver.url);
  expect(connected).not.toContain(port);
  const here = createPoster('private');
  await here.post(receiver.url, {}, '{}');
  expect(connected).toContain(port);
  await here.close();
  unsubscribe('undici:client:connected', listen);
});

test('a thread of webhooks that dies is replaced, and what it had under way fails without an outcome, to be sent again', async () => {
  const receiver = await receive((response, _request, times) => {
    if (times > 1) response.writeHead(200).end();
  });
  const threads: Worker[] = [];
  const note = (thread: Worker): void => void threads.push(thread);
  process.on('worker', note);
  const poster = new ThreadPoster('private');
  const first = poster.post(receiver.url, {}, '{}');
  await eventually(() => receiver.received[0]);
  const [failed] = await Promise.allSettled([first, threads[0]?.terminate()]);
  expect(failed).toMatchObject({ status: 'rejected', reason: { message: 'the thread of webhooks ended' } });
  expect(await poster.post(receiver.url, {}, '{}')).toMatchObject({ status: 200, error: null });
  expect(threads).toHaveLength(2);
  process.off('worker', note);
  await poster.close();
});

/** Waits until the sender has looked at its endpoints since now: only then does it find a new one. */
async function untilLookedAgain(account: TestAccount): Promise<void> {
  const witness = await receive();
  await subscribe(account, witness.url);
  await tell(account, 1);
  await eventually(() => witness.received[0]);
}

/** An endpoint with forty messages, whose receiver keeps those under way until it is told to answer. */
async function keepWaiting(account: TestAccount) {
  const kept: ServerResponse[] = [];
  let open = false;
  const receiver = await receive((response) => (open ? response.writeHead(200).end() : kept.push(response)));
  const id = await subscribe(account, receiver.url);
  await tell(account, 40);
  await eventually(() => receiver.received[0]);
  return {
    id,
    receiver,
    answer() {
      open = true;
      for (const response of kept.splice(0)) response.writeHead(200).end();
    },
  };
}

test('what waits goes to the new address of its endpoint', async () => {
  const account = await service.account();
  const { id, receiver: before, answer } = await keepWaiting(account);
  const after = await receive();
  await change(account, id, { url: after.url, eventTypes: ['voter.created'] });
  await untilLookedAgain(account);
  const sentBefore = before.received.length;
  answer();
  await untilTrue(async () => (await countDeliveries(id, 'delivered')) === 40);
  expect(before.received.length).toBe(sentBefore);
  expect([...numbersOf(before), ...numbersOf(after)].toSorted((one, other) => one - other)).toEqual(upTo(40));
});

test('what waits for an endpoint that is switched off is not sent, and goes on when it is switched on again', async () => {
  const account = await service.account();
  const { id, receiver, answer } = await keepWaiting(account);
  await change(account, id, { status: 'disabled' });
  await untilLookedAgain(account);
  const underWay = receiver.received.length;
  answer();
  await untilTrue(async () => (await countDeliveries(id, 'delivered')) === underWay);
  await untilLookedAgain(account);
  expect(receiver.received.length).toBe(underWay);
  expect(await countDeliveries(id, 'skipped')).toBe(2);
  const waiting = async () => (await account.get(`/webhook-endpoints/${id}/deliveries?status=pending`)).body.data;
  const tries = async () => (await waiting()).map(({ nextTryAt }: { nextTryAt: number | null }) => nextTryAt !== null);
  expect(await tries()).toEqual(Array.from({ length: 40 - underWay }, () => false));
  await change(account, id, { status: 'active' });
  await untilTrue(async () => (await countDeliveries(id, 'delivered')) === 40);
  expect(numbersOf(receiver)).toEqual(upTo(40));
});

test('what waits for an endpoint that is deleted is not sent, and is forgotten', async () => {
  const account = await service.account();
  const { id, receiver, answer } = await keepWaiting(account);
  const answered = await account.delete(`/webhook-endpoints/${id}`);
  expect(answered.status).toBe(204);
  await untilLookedAgain(account);
  const underWay = receiver.received.length;
  answer();
  await untilLookedAgain(account);
  expect(receiver.received.length).toBe(underWay);
  await forgetDeliveries(service.deps.db, service.deps.clock.now());
  expect(await countDeliveries(id, 'pending')).toBe(0);
});

test('what is older than thirty days is forgotten with its attempts, and nothing younger', async () => {
  const account = await service.account();
  const receiver = await receive();
  const id = await subscribe(account, receiver.url);
  await tell(account, 3);
  await untilTrue(async () => (await countDeliveries(id, 'delivered')) === 3);
  const nowMs = service.deps.clock.now();
  await forgetDeliveries(service.deps.db, nowMs + 29 * DAY_MS);
  expect(await countDeliveries(id, 'delivered')).toBe(3);
  await forgetDeliveries(service.deps.db, nowMs + 31 * DAY_MS);
  const rows = await service.query('SELECT count(*)::int AS attempts FROM webhook_attempts');
  expect([await countDeliveries(id, 'delivered'), rows[0].attempts]).toEqual([0, 0]);
});

test('receivers that are no longer reached are failures of their own kind', async () => {
  const account = await service.account();
  const gone = await subscribe(account, 'http://no-such-name.invalid/hooks');
  const stopped = await startReceiver();
  await stopped.stop();
  const nobody = await subscribe(account, stopped.url);
  await tell(account, 1);
  const errorOf = (id: string) =>
    eventually(async () => {
      const { body } = await account.get(`/webhook-endpoints/${id}/deliveries`);
      return body.data[0].attempts[0]?.error;
    });
  expect(await Promise.all([gone, nobody].map(errorOf))).toEqual(['name_not_found', 'refused']);
});

test('ten receivers that hang delay none of ten others: all of theirs arrive before the first of those gives up', async () => {
  const account = await service.account();
  const hanging = await Promise.all(upTo(10).map(() => receive(() => undefined)));
  const quick = await Promise.all(upTo(10).map(() => receive()));
  for (const { url } of [...hanging, ...quick]) await subscribe(account, url);
  await tell(account, 20);
  await untilTrue(() => quick.every(({ received }) => received.length === 20), 14_000);
  const rows = await service.query(
    `SELECT count(*) FILTER (WHERE a.response_status = 200)::int AS arrived, count(*) FILTER (WHERE a.error IS NOT NULL)::int AS given_up,
      max(a.at - d.created_at) AS latest
    FROM webhook_attempts a JOIN webhook_deliveries d ON d.id = a.delivery_id JOIN webhook_endpoints e ON e.id = d.endpoint_id
    WHERE e.account_id = $1`,
    [account.id],
  );
  console.info(`first tries of those that do not hang began within ${rows[0].latest} ms`);
  expect(rows[0].given_up).toBe(0);
});
