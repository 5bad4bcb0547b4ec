import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EVENT_TYPE_NAMES } from '#src/webhooks/event-catalogue.ts';
import { demand, finishEvent, sealBallots, visitor } from '#test/harness/elections.ts';
import {
  checkoutUrlOf,
  connectTestBusiness,
  decide,
  type PaidTestService,
  startPaidTestService,
} from '#test/harness/payments.ts';
import { createTestAccount, eventually, readContract, type TestAccount } from '#test/harness/test-service.ts';

/** Made by time or by a provider alone; they carry the same objects as messages that are made here. */
const NOT_MADE_HERE = ['payment.cancelled', 'payment.refunded', 'payment.reversed', 'webhook_endpoint.disabled'];

let paid: PaidTestService;
let account: TestAccount;

beforeAll(async () => {
  paid = await startPaidTestService();
  account = await createTestAccount(paid.service);
});
afterAll(() => paid.stop());

async function send(method: string, path: string, body?: unknown, key = account.write) {
  const answer = await paid.service.call(method, path, body, { key });
  if (answer.status >= 400) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body?.data;
}

/** A paid vote, or one whose payment is declined. */
async function pay(event: string, votes: readonly unknown[], outcome: 'pay' | 'fail'): Promise<void> {
  const path = `/public/voting-events/${event}/ballot`;
  const key = { key: account.vote };
  const first = { visitorId: visitor(), votes, returnUrl: 'https://club.example/paid' };
  const asked = await paid.service.call('POST', `${path}/cast`, first, key);
  const { paymentAttemptId } = demand(asked, 402);
  await decide(checkoutUrlOf(asked), outcome);
  const second = await paid.service.call('POST', `${path}/cast`, { paymentAttemptId }, key);
  if (outcome === 'pay')
    await send('POST', `${path}/confirm`, { confirmationCode: second.body.data.confirmationCode }, account.vote);
  else expect(second.body.error.details.reason).toBe('payment_failed');
}

/** What happens in the life of an event. */
async function liveThroughAnEvent(): Promise<void> {
  const business = await connectTestBusiness(paid.service, account, 'provider_a');
  const { id } = await send('POST', '/voting-events', { title: 'A contest', type: 'poll' });
  const path = `/voting-events/${id}`;
  await send('PUT', `${path}/payment-business`, { paymentBusinessId: business.id });
  await send('PATCH', path, { payments: { payToVote: { amountMinor: 500, currency: 'usd' } } });
  const position = await send('POST', `${path}/positions`, { title: 'Costume', votingMethod: 'plurality' });
  const candidate = async (name: string) =>
    (await send('POST', `${path}/candidates`, { name, positionIds: [position.id] })).id;
  const [first, second] = [await candidate('Robot'), await candidate('Pirate')];
  await send('PATCH', `${path}/candidates/${first}`, { description: 'With lights.' });
  await send('DELETE', `${path}/candidates/${second}`);
  await send('PATCH', path, { status: 'open' });
  const votes = [{ positionId: position.id, candidateId: first }];
  await pay(id, votes, 'fail');
  await pay(id, votes, 'pay');
  await sealBallots(paid.service, id);
  await send('PATCH', path, { status: 'closed', results: { visibility: 'published' } });
  await finishEvent(paid.service, id);
}

async function changeARoll(): Promise<void> {
  const { id } = await send('POST', '/voting-events', { title: 'An election', type: 'election' });
  const path = `/voting-events/${id}`;
  const voter = await send('POST', `${path}/voters`, { name: 'Vera', email: 'vera@club.example' });
  await send('PATCH', `${path}/voters/${voter.id}`, { name: 'Vera Okafor' });
  await send('DELETE', `${path}/voters/${voter.id}`);
  await send('DELETE', path);
}

describe('messages to webhook endpoints', () => {
  test('are as the API document shows them, type by type', async () => {
    const contract = await readContract(paid.service.port);
    // Nobody answers there: the messages are written all the same.
    const { id: endpoint } = await send('POST', '/webhook-endpoints', {
      url: 'https://receiver.invalid/hooks',
      eventTypes: EVENT_TYPE_NAMES,
    });
    await liveThroughAnEvent();
    await changeARoll();
    const expected = EVENT_TYPE_NAMES.filter((type) => !NOT_MADE_HERE.includes(type));
    const rows = await eventually(async () => {
      const { rows } = await paid.service.deps.db.$client.query<{ event_type: string; body: string }>(
        'SELECT event_type, body FROM webhook_deliveries WHERE endpoint_id = $1',
        [endpoint],
      );
      return expected.every((type) => rows.some(({ event_type }) => event_type === type)) ? rows : undefined;
    }, 25_000);
    const faults = rows.map(({ event_type, body }) => [
      event_type,
      contract.messageFault(event_type, JSON.parse(body)),
    ]);
    expect(faults.filter(([, fault]) => fault !== undefined)).toEqual([]);
  }, 60_000);
});
