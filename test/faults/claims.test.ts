import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type DatabaseProxy, startDatabaseProxy } from '#test/harness/database-proxy.ts';
import { demand, refusalOf, visitor, votesFor } from '#test/harness/elections.ts';
import { RETURN_URL, usePaidService } from '#test/harness/payments.ts';
import { type TestAnswer, type TestService, untilTrue } from '#test/harness/test-service.ts';
import { use } from '#test/harness/use.ts';

const { service: direct, sandbox, poll } = await usePaidService({ worker: false });

/** A process, and its own way to the database. */
interface Lane {
  readonly service: TestService;
  readonly proxy: DatabaseProxy;
}
const LANES = 4;
const lanes: Lane[] = [];
while (lanes.length < LANES) {
  const proxy = await use(startDatabaseProxy(direct.databaseUrl));
  lanes.push({ proxy, service: await use(direct.on(proxy.url)) });
}

/** What runs beside requests: its statements are no stage of one. */
const BESIDE = /beat|service_processes|share_rate_limits|keep_request_traces|status" is null/;
/** What a request took whose process lives is free this long after the database's return. */
const FREE_WITHIN_MS = 5_000;

/** The database goes away as it is sent the nth statement of a call, or once it has done it. */
function goAwayAt(proxy: DatabaseProxy, stage: number, lost: 'statement' | 'answer'): { wasReached(): boolean } {
  let sent = 0;
  proxy.onSent = (bytes) => {
    if (BESIDE.test(bytes.toString('latin1'))) return;
    sent += 1;
    if (sent !== stage) return;
    proxy.away = true;
    if (lost === 'statement') return proxy.cut();
    proxy.deaf = true;
    // The database has done its part by then.
    setTimeout(() => proxy.cut(), 50);
  };
  return { wasReached: () => sent >= stage };
}

async function comeBack({ proxy, service }: Lane): Promise<void> {
  Object.assign(proxy, { away: false, deaf: false, onSent: undefined });
  await untilTrue(async () => (await service.call('GET', '/health')).status === 200);
}

const event = await poll('provider_a');

/** A call of a paid vote, as often as it is asked. */
function payment({ service }: Pick<Lane, 'service'>, body: object): () => Promise<TestAnswer> {
  const headers = { 'Idempotency-Key': visitor() };
  return () =>
    service.call('POST', `/public/voting-events/${event.id}/ballot/cast`, body, { key: event.account.vote, headers });
}

const firstCall = (lane: Pick<Lane, 'service'>) =>
  payment(lane, { visitorId: visitor(), votes: votesFor(event), email: 'payer@mail.example', returnUrl: RETURN_URL });

/** The payer has paid, and no message said so. */
const secondCall = async (lane: Lane) => payment(lane, { paymentAttemptId: await event.pay() });

const RIGHT = { first: [402], second: [200, 201] } as const;
const CALLS = ['first', 'second'] as const;
const LOST = ['statement', 'answer'] as const;

test.each(CALLS.flatMap((call) => LOST.map((lost) => [call, lost] as const)))(
  'frees what a %s call of a payment holds within 5 s of the database’s return, and makes one page, whichever %s is lost',
  async (call, lost) => {
    sandbox.faults.webhooks = 'lost';
    let stages = 0;
    const pages = new Set(sandbox.pages().map(({ pageId }) => pageId));
    const before = pages.size;
    async function loseOneByOne(lane: Lane): Promise<void> {
      for (;;) {
        stages += 1;
        const stage = stages;
        const ask = call === 'first' ? firstCall(lane) : await secondCall(lane);
        const fault = goAwayAt(lane.proxy, stage, lost);
        const first = await ask();
        const wasReached = fault.wasReached();
        await comeBack(lane);
        const backAt = performance.now();
        let again = wasReached ? await ask() : first;
        while ([409, 500].includes(again.status) && performance.now() < backAt + FREE_WITHIN_MS) {
          await pause(100);
          again = await ask();
        }
        expect([stage, refusalOf(again), RIGHT[call]]).toEqual([
          ...[stage, [again.status, undefined], expect.arrayContaining([again.status])],
        ]);
        expect((await ask()).body.data).toEqual(again.body.data);
        for (const { pageId } of sandbox.pages()) pages.add(pageId);
        if (!wasReached) return;
      }
    }
    await Promise.all(lanes.map(loseOneByOne));
    expect(stages).toBeGreaterThan(10 + LANES);
    expect(pages.size).toBe(before + stages);
  },
);

test('keeps the key of a payment that is still under way, and frees a claim that was made when its request was over', async () => {
  const [lane] = lanes as [Lane, ...Lane[]];
  sandbox.faults.latencyMs = 4_000;
  const ask = firstCall(lane);
  const first = ask();
  const late = Buffer.concat([lane.service.deps.processId, Buffer.alloc(16)]);
  await direct.query(
    "SELECT claim_requests('{late}', '{late}', ARRAY[$1::bytea], ARRAY[$1::bytea], NULL, '{NULL}', '{NULL}', '{}')",
    [late],
  );
  await untilTrue(async () => (await direct.query("SELECT 1 FROM idempotency_keys WHERE key = 'late'")).length === 0);
  expect(refusalOf(await ask())).toEqual([409, 'idempotency_in_progress']);
  await pause(1_200);
  expect(refusalOf(await ask())).toEqual([409, 'idempotency_in_progress']);
  const answered = demand(await first, 402);
  expect(demand(await ask(), 402)).toEqual(answered);
});

test('a registration is made once whose answer to COMMIT was lost while the database stayed up', async () => {
  const [lane] = lanes;
  if (lane === undefined) throw new Error('no lane');
  const account = await direct.account();
  const open = await account.event({ type: 'poll', candidate: { selfRegistration: true } }, undefined, false);
  await account.of(open).change('', { status: 'open' });
  const headers = { 'Idempotency-Key': visitor() };
  const body = { name: 'Newcomer', positionIds: [open.positions[0]?.id] };
  const ask = () =>
    lane.service.call('POST', `/public/voting-events/${open.id}/register/candidate`, body, {
      key: account.vote,
      headers,
    });
  let cuts = 0;
  lane.proxy.onSent = (bytes) => {
    if (cuts > 0 || !/commit/i.test(bytes.toString('latin1'))) return;
    cuts += 1;
    lane.proxy.deaf = true;
    setTimeout(() => {
      lane.proxy.cut();
      lane.proxy.deaf = false;
    }, 50);
  };
  const answers = [await ask(), await ask(), await ask()];
  lane.proxy.onSent = undefined;
  expect(cuts).toBe(1);
  expect(answers.map(({ status }) => status)).toEqual([500, 201, 201]);
  const made = await direct.query("SELECT FROM candidates WHERE voting_event_id = $1 AND name = 'Newcomer'", [open.id]);
  expect(made).toHaveLength(1);
});
