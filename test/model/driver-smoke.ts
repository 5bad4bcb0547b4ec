import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { startReceiver } from '../harness/receiver.ts';
import type { Driver, DriverAnswer, DriverProvider } from './driver.ts';
import { startDriver } from './start-driver.ts';

/** Runs each member of the driver once: `node test/model/driver-smoke.ts [processes|within]`. */

const HOUR_MS = 3_600_000;

function data(answer: DriverAnswer, status: number): { [name: string]: unknown; id: string } {
  assert.equal(answer.status, status, JSON.stringify(answer.body));
  return (answer.body as { data: { id: string } }).data;
}

const textAt = (value: unknown, ...path: string[]): string =>
  String(path.reduce<unknown>((inner, name) => (inner as Record<string, unknown>)?.[name], value));

const visitor = (): string => `vi_${randomBytes(16).toString('hex')}`;

class World {
  readonly driver: Driver;
  readonly read: string;
  readonly vote: string;
  readonly accountId: string;

  private constructor(driver: Driver, accountId: string, read: string, vote: string) {
    this.driver = driver;
    this.accountId = accountId;
    this.read = read;
    this.vote = vote;
  }

  static async create(driver: Driver): Promise<World> {
    const { id } = await driver.createAccount('enterprise');
    const write = await driver.createKey({ accountId: id, scopes: ['write'] });
    const vote = await driver.createKey({ accountId: id, scopes: ['vote'], expiresInDays: 30 });
    return new World(driver, id, write.key, vote.key);
  }

  async organize(method: string, path: string, body: unknown, status: number, process = 0) {
    return data(await this.driver.call({ process, method, path, key: this.read, body }), status);
  }

  async ask(method: string, path: string, body: unknown, status: number, process = 1) {
    return data(await this.driver.call({ process, method, path, key: this.vote, body }), status);
  }

  async event(settings: object, before: (id: string) => Promise<void> = async () => undefined) {
    const event = await this.organize('POST', '/voting-events', { title: 'Ein Ereignis für Zoë', ...settings }, 201);
    const path = `/voting-events/${event.id}`;
    await before(event.id);
    const position = await this.organize(
      'POST',
      `${path}/positions`,
      { title: 'Chair', votingMethod: 'plurality' },
      201,
    );
    const names = ['Ada', 'Bea'];
    const candidates: string[] = [];
    for (const name of names)
      candidates.push(
        (await this.organize('POST', `${path}/candidates`, { name, positionIds: [position.id] }, 201)).id,
      );
    return {
      id: event.id,
      path,
      public: `/public${path}`,
      votes: [{ positionId: position.id, candidateId: candidates[0] }],
    };
  }
}

async function clean(driver: Driver, eventId: string, vote: string): Promise<void> {
  await driver.settle();
  assert.deepEqual(await driver.brokenInvariants(eventId), []);
  assert.deepEqual(await driver.recount(eventId), []);
  assert.deepEqual(await driver.verifyLog(eventId, vote), []);
}

async function election(driver: Driver): Promise<void> {
  const world = await World.create(driver);
  const endsAt = driver.now() + 48 * HOUR_MS;
  const event = await world.event({ type: 'election', endsAt });
  const emails = ['eve@example.org', 'finn@example.org', 'gus@example.org', 'hal@example.org'];
  for (const email of emails)
    await world.organize('POST', `${event.path}/voters`, { name: `Ähm ${email}`, email }, 201);
  await world.organize('PATCH', event.path, { status: 'open' }, 200);
  for (const email of emails) await world.ask('POST', `${event.public}/voter-key/request`, { email }, 200);
  await driver.settle();
  const mails = await driver.mails();
  assert.deepEqual(mails.map(({ to }) => to).sort(), emails);
  assert.ok(mails[0]?.subject.includes('Ein Ereignis für Zoë'), String(mails[0]?.subject));
  for (const { to, voterKey } of mails) {
    const body = { email: to, voterKey, votes: event.votes };
    const { confirmationCode } = await world.ask('POST', `${event.public}/ballot/cast`, body, 201, 0);
    await world.ask('POST', `${event.public}/ballot/confirm`, { confirmationCode }, 200);
  }
  await clean(driver, event.id, world.vote);
  await driver.restart(0);
  await driver.restart(1);
  const before = driver.now();
  await driver.advance(49 * HOUR_MS);
  assert.ok(Math.abs(driver.now() - before - 49 * HOUR_MS) < 2_000);
  await clean(driver, event.id, world.vote);
  const read = await world.organize('GET', event.path, undefined, 200, 1);
  assert.equal(read['status'], 'closed');
  await driver.rotateSecretKey();
  await clean(driver, event.id, world.vote);
  await driver.advance(31 * 24 * HOUR_MS);
  const late = await driver.call({ process: 0, method: 'GET', path: event.public, key: world.vote });
  assert.equal(late.status, 401);
}

const PRICE = {
  provider_a: { amountMinor: 500, currency: 'usd' },
  provider_b: { amountMinor: 50_000, currency: 'ngn' },
};

async function payments(driver: Driver, provider: DriverProvider): Promise<void> {
  const world = await World.create(driver);
  const business = await driver.connectBusiness(world.accountId, provider);
  const event = await world.event({ type: 'poll' }, async (id) => {
    await world.organize('PUT', `/voting-events/${id}/payment-business`, { paymentBusinessId: business.id }, 200);
    await world.organize('PATCH', `/voting-events/${id}`, { payments: { payToVote: PRICE[provider] } }, 200);
  });
  await world.organize('PATCH', event.path, { status: 'open' }, 200);
  const start = async () => {
    const body = {
      visitorId: visitor(),
      email: 'p@example.org',
      votes: event.votes,
      returnUrl: 'https://shop.example/',
    };
    const answer = await world.ask('POST', `${event.public}/ballot/cast`, body, 402);
    const id = textAt(answer, 'paymentAttemptId');
    return { id, url: textAt(answer, provider, 'checkoutUrl') };
  };
  const statusOf = async (id: string) =>
    (await world.ask('GET', `${event.public}/payments/${id}`, undefined, 200))['status'];
  const finish = async ({ id }: Awaited<ReturnType<typeof start>>) => {
    const whole = { paymentAttemptId: id };
    const { confirmationCode } = await world.ask('POST', `${event.public}/ballot/cast`, whole, 201, 0);
    await world.ask('POST', `${event.public}/ballot/confirm`, { confirmationCode }, 200);
  };

  const first = await start();
  const paid = await driver.pay(first.url, 'pay');
  assert.equal(paid.status, 303);
  assert.ok(paid.location.startsWith('https://shop.example/'), paid.location);
  await driver.settle();
  assert.equal(await statusOf(first.id), 'succeeded');
  await finish(first);
  assert.equal((await driver.pay((await start()).url, 'cancel')).status, 303);

  await driver.holdMessages(true);
  const second = await start();
  await driver.pay(second.url, 'pay');
  const held = await driver.heldMessages();
  assert.equal(held.length, 1);
  assert.equal(held[0]?.businessId, business.id);
  await driver.advance(HOUR_MS / 2);
  assert.deepEqual(await driver.deliverMessages([0, 0]), [200, 200]);
  assert.deepEqual(await driver.heldMessages(), []);
  await driver.holdMessages(false);
  await driver.settle();
  assert.equal(await statusOf(second.id), 'succeeded');
  await finish(second);

  const votes = async () =>
    textAt(await world.organize('GET', `${event.path}/results`, undefined, 200), 'stats', 'ballots');
  assert.equal(await votes(), '2');
  for (const step of ['opened', 'won'] as const) {
    await driver.dispute(first.url, step);
    await driver.settle();
    assert.equal(await votes(), '2');
  }
  await driver.dispute(first.url, 'lost');
  await driver.settle();
  assert.equal(await votes(), '1');
  await driver.merchantRefund(second.url);
  await driver.settle();
  assert.equal(await votes(), '0');
  const failed = await start();
  await driver.pay(failed.url, 'fail');
  await driver.settle();
  await driver.advance(25 * HOUR_MS);
  await clean(driver, event.id, world.vote);
}

async function keysAndPlans(driver: Driver): Promise<void> {
  const world = await World.create(driver);
  const list = (process: number) => driver.call({ process, method: 'GET', path: '/voting-events', key: world.read });
  assert.equal((await list(0)).status, 200);
  const spare = await driver.createKey({ accountId: world.accountId, scopes: ['read'] });
  const asSpare = (process: number) => driver.call({ process, method: 'GET', path: '/voting-events', key: spare.key });
  assert.deepEqual([(await asSpare(0)).status, (await asSpare(1)).status], [200, 200]);
  await driver.revokeKey(spare.id);
  assert.deepEqual([(await asSpare(0)).status, (await asSpare(1)).status], [401, 401]);
  await driver.setPlan(world.accountId, 'free');
  for (let made = 0; made < 3; made += 1) await world.event({ type: 'poll' });
  const refused = await driver.call({
    ...{
      process: 1,
      method: 'POST',
      path: '/voting-events',
      key: world.read,
      body: { title: 'One more', type: 'poll' },
    },
  });
  assert.equal(refused.status, 422, JSON.stringify(refused.body));
  const event = await world.event({ type: 'poll' }).catch(() => undefined);
  assert.equal(event, undefined);
}

/** A message of what happened has come when `settle` is over, and one that was refused comes again when its time has. */
async function webhooks(driver: Driver): Promise<void> {
  const receiver = await startReceiver((response, _request, times) =>
    response.writeHead(times === 1 ? 500 : 200).end(),
  );
  try {
    const world = await World.create(driver);
    const body = { url: receiver.url, eventTypes: ['voting_event.opened', 'voting_event.closed'] };
    await world.organize('POST', '/webhook-endpoints', body, 201);
    const event = await world.event({ type: 'poll', endsAt: driver.now() + HOUR_MS });
    await world.organize('PATCH', event.path, { status: 'open' }, 200);
    await driver.settle();
    assert.equal(receiver.received.length, 1);
    await driver.advance(HOUR_MS / 2);
    await driver.settle();
    assert.equal(receiver.received.length, 2);
    await driver.advance(HOUR_MS);
    await driver.settle();
    assert.equal(receiver.received.length, 3);
    assert.match(receiver.received[2]?.body ?? '', /voting_event\.closed/);
  } finally {
    await receiver.stop();
  }
}

async function timed(what: string, work: () => Promise<unknown>): Promise<void> {
  const begin = performance.now();
  await work();
  console.log(`${what}: ${(performance.now() - begin).toFixed(1)} ms`);
}

async function smoke(kind: 'processes' | 'within'): Promise<void> {
  let driver: Driver | undefined;
  await timed(`${kind}: start`, async () => {
    driver = await startDriver({ kind });
  });
  if (driver === undefined) return;
  const running = driver;
  try {
    await timed('election', () => election(running));
    await timed('reset after a rotation', () => running.reset());
    assert.deepEqual(await running.mails(), []);
    for (const provider of ['provider_a', 'provider_b'] as const) {
      await timed(provider, () => payments(running, provider));
      await timed('reset', () => running.reset());
    }
    await timed('keys and plans', () => keysAndPlans(running));
    await timed('webhooks', () => webhooks(running));
    await running.settle();
    await timed('100 settles with nothing to do', async () => {
      for (let times = 0; times < 100; times += 1) await running.settle();
    });
    await timed('100 advances and settles', async () => {
      for (let times = 0; times < 100; times += 1) {
        await running.advance(10_000);
        await running.settle();
      }
    });
    await timed('election again', () => election(running));
    await timed('restart', () => running.restart(0));
  } finally {
    await timed('stop', () => running.stop());
  }
}

const [asked] = process.argv.slice(2);
for (const kind of ['within', 'processes'] as const) if (asked === undefined || asked === kind) await smoke(kind);
