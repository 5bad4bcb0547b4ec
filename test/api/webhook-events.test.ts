import { Webhook } from 'standardwebhooks';
import { expect, test, vi } from 'vitest';
import { MailFault } from '#src/mail/mailer.ts';
import { EVENT_TYPE_NAMES, type EventType } from '#src/webhooks/record-event.ts';
import { demand } from '#test/harness/answers.ts';
import { readContract } from '#test/harness/api-document.ts';
import { finishEvent, PLURALITY, sealBallots, visitor, votesFor } from '#test/harness/elections.ts';
import {
  ageRefund,
  connectTestBusiness,
  decide,
  type PaidEvent,
  type TestProvider,
  usePaidService,
} from '#test/harness/payments.ts';
import { startReceiver } from '#test/harness/receiver.ts';
import { eventually, type TestAccount, untilTrue } from '#test/harness/test-service.ts';
import { giveVoterKey } from '#test/harness/voter-keys.ts';

/** What a receiver must be told: the event it concerns, and what the API shows of it. */
interface Told {
  readonly votingEventId: string | null;
  readonly data: unknown;
}

/** Prepares, lets the receiver of an account subscribe, and then makes one thing happen. */
type Cause = (listen: (account: TestAccount) => Promise<void>) => Promise<Told>;

const { service, sandbox, poll } = await usePaidService();
const contract = await readContract(service.port);

const ELECTION = { type: 'election', voter: { selfRegistration: true } };

/** A fresh account and an event of it. */
async function prepare(settings: object = {}, plan = PLURALITY, open = false) {
  const account = await service.account();
  const event = await account.event({ ...settings }, plan, open);
  return { account, event, votingEventId: event.id, own: account.of(event) };
}

// Payments

const readPayment = async (event: PaidEvent, attempt: string) => demand(await event.page(`payments/${attempt}`), 200);

/** Two payments of one visitor, which buy one ballot. */
async function payTwice(event: PaidEvent): Promise<readonly [string, string]> {
  const visitorId = visitor();
  return [await event.payKnown({ visitorId }), await event.payKnown({ visitorId })];
}

type Payment = Record<string, unknown>;

/** What becomes of the payments of a poll; the attempt that is told of, as soon as the API shows it so. */
const paid =
  (
    provider: TestProvider,
    act: (event: PaidEvent) => Promise<string>,
    reached: (payment: Payment) => boolean = ({ status }) => status === 'succeeded',
  ): Cause =>
  async (listen) => {
    const event = await poll(provider);
    await listen(event.account);
    const attempt = await act(event);
    const payment = await eventually(async () => {
      const shown = await readPayment(event, attempt);
      return reached(shown) ? shown : undefined;
    });
    // But for the code that confirms its ballot.
    return { votingEventId: event.id, data: { ...payment, confirmationCode: null } };
  };

const CAUSES: Readonly<Record<EventType, Cause>> = {
  async 'voting_event.created'(listen) {
    const account = await service.account();
    await listen(account);
    const data = await account.make('/voting-events', { title: 'A poll', type: 'poll' });
    return { votingEventId: data.id, data };
  },
  async 'voting_event.updated'(listen) {
    // One who voted, and whom the roll does not show yet.
    const { account, event, votingEventId, own } = await prepare({ type: 'election' });
    const { id } = await own.make('/voters', { name: 'Vera', email: 'vera@mail.example' });
    await own.change('', { status: 'open' });
    const voterKey = await giveVoterKey(service, event.id, id);
    await account.ballot(event, { voterKey, email: 'vera@mail.example', votes: votesFor(event) });
    await listen(account);
    const data = await own.change('', { contactEmail: 'board@mail.example' });
    expect(data.disclosure.waiting).toBe(true);
    return { votingEventId, data };
  },
  async 'voting_event.deleted'(listen) {
    const { account, votingEventId, own } = await prepare();
    const { id, code, title } = await own.show('');
    await listen(account);
    expect((await own.delete('')).status).toBeLessThan(300);
    return { votingEventId, data: { id, code, title } };
  },
  async 'voting_event.opened'(listen) {
    const { account, votingEventId, own } = await prepare();
    await listen(account);
    return { votingEventId, data: await own.change('', { status: 'open' }) };
  },
  async 'voting_event.not_opened'(listen) {
    const { account, votingEventId, own } = await prepare({}, []);
    await service.query('UPDATE accounts SET contact_email = $2 WHERE id = $1', [account.id, 'missed@club.example']);
    await listen(account);
    const startsAt = Date.now() + 1_000;
    await own.change('', { startsAt });
    const mail = await eventually(() => service.mails().find((text) => text.includes('To: missed@club.example')));
    expect(mail).toContain('did_not_open');
    expect(Date.now()).toBeGreaterThanOrEqual(startsAt);
    const data = await own.show('');
    expect(data).toMatchObject({ status: 'draft', startsAt: null, missedStartAt: startsAt });
    return { votingEventId, data };
  },
  // By the clock alone: nobody closes it.
  async 'voting_event.closed'(listen) {
    const { account, votingEventId, own } = await prepare({}, PLURALITY, true);
    await own.change('', { endsAt: Date.now() + 1_500 });
    await listen(account);
    const data = await eventually(async () => {
      const event = await own.show('');
      return event.status === 'closed' ? event : undefined;
    });
    return { votingEventId, data };
  },
  // The end lies 24 hours and a moment ahead.
  async 'voting_event.closing'(listen) {
    const { account, votingEventId, own } = await prepare({}, PLURALITY, true);
    await service.query('UPDATE accounts SET contact_email = $2 WHERE id = $1', [account.id, 'owner@club.example']);
    await listen(account);
    const endsAt = Date.now() + 24 * 3_600_000 + 2_000;
    await own.change('', { endsAt });
    const mail = await eventually(() => service.mails().find((text) => text.includes('To: owner@club.example')));
    expect(mail).toContain('is_about_to_close');
    expect(Date.now()).toBeGreaterThanOrEqual(endsAt - 24 * 3_600_000);
    const data = await own.change('', { description: 'No other end, no other message' });
    return { votingEventId, data: { ...data, description: null, updatedAt: expect.any(Number) } };
  },
  async 'candidate.created'(listen) {
    const { account, event, votingEventId, own } = await prepare();
    await listen(account);
    const body = { name: 'Cy', positionIds: [event.positions[0]?.id] };
    return { votingEventId, data: await own.make('/candidates', body) };
  },
  // The deletion of its group changes a candidate too.
  async 'candidate.updated'(listen) {
    const { account, event, votingEventId, own } = await prepare();
    const target = `/candidates/${event.positions[0]?.candidates[0]}`;
    const { id: groupId } = await own.make('/groups', { name: 'North' });
    await own.change(target, { groupId });
    await listen(account);
    expect((await own.delete(`/groups/${groupId}`)).status).toBeLessThan(300);
    const data = await own.show(target);
    expect(data.groupId).toBeNull();
    return { votingEventId, data };
  },
  // The deletion of its only position takes a candidate along.
  async 'candidate.deleted'(listen) {
    const plan = [{ votingMethod: 'plurality', candidates: ['Ada'] }];
    const { account, event, votingEventId, own } = await prepare({}, plan);
    await listen(account);
    expect((await own.delete(`/positions/${event.positions[0]?.id}`)).status).toBeLessThan(300);
    return { votingEventId, data: { id: event.positions[0]?.candidates[0], name: 'Ada' } };
  },
  async 'voter.created'(listen) {
    const { account, event, votingEventId, own } = await prepare(ELECTION, PLURALITY, true);
    await listen(account);
    const body = { name: 'Vera', email: 'vera@mail.example' };
    const { id } = demand(await account.page(event, 'register/voter', body), 201);
    const data = await own.show(`/voters/${id}`);
    expect(data.status).toBe('pending');
    return { votingEventId, data };
  },
  async 'voter.updated'(listen) {
    const { account, votingEventId, own } = await prepare(ELECTION);
    const { id } = await own.make('/voters', { name: 'Vera', email: 'vera@mail.example' });
    await listen(account);
    const change = { status: 'rejected', weight: 2.5 };
    return { votingEventId, data: await own.change(`/voters/${id}`, change) };
  },
  async 'voter.deleted'(listen) {
    const { account, votingEventId, own } = await prepare(ELECTION);
    const { id } = await own.make('/voters', { name: 'Vera', voterId: 'V-1' });
    await listen(account);
    expect((await own.delete(`/voters/${id}`)).status).toBeLessThan(300);
    return { votingEventId, data: { id } };
  },
  // As if the mail server had refused the recipient: the mails of this service land in a folder, which takes them all.
  async 'voter.mail_failed'(listen) {
    const { account, votingEventId, own } = await prepare({ type: 'election' }, PLURALITY, true);
    const { id } = await own.make('/voters', { name: 'Vera', email: 'gone@club.example' });
    await listen(account);
    const refusal = vi
      .spyOn(service.deps.mailer, 'send')
      .mockRejectedValueOnce(new MailFault('recipient_refused', 'EENVELOPE', '550 to RCPT TO'));
    demand(await own.post(`/voters/${id}/voter-key`), 202);
    const data = await eventually(async () => {
      const voter = await own.show(`/voters/${id}`);
      return voter.keyStatus === 'failed' ? voter : undefined;
    });
    refusal.mockRestore();
    return { votingEventId, data };
  },
  async 'ballot.confirmed'(listen) {
    const { account, event, votingEventId } = await prepare({}, PLURALITY, true);
    await listen(account);
    await account.votePoll(event, votesFor(event));
    return { votingEventId, data: { votingEventId, ballots: 1 } };
  },
  'payment.succeeded': paid('provider_a', (event) => event.pay()),
  'payment.fulfilled': paid(
    'provider_b',
    async (event) => {
      const attempt = await event.payKnown();
      const confirmationCode = await event.castCode(attempt);
      expect(await readPayment(event, attempt)).toMatchObject({ status: 'fulfilled', confirmationCode });
      return attempt;
    },
    () => true,
  ),
  'payment.failed': paid(
    'provider_a',
    async (event) => {
      const { attempt, url } = await event.begin();
      await decide(url, 'fail');
      return attempt;
    },
    ({ status }) => status === 'failed',
  ),
  'payment.cancelled': paid(
    'provider_a',
    async (event) => {
      const { attempt } = await event.begin();
      sandbox.advance(3_600_000);
      await event.until(attempt, ({ status }) => status === 'cancelled').finally(() => sandbox.advance(-3_600_000));
      return attempt;
    },
    ({ status }) => status === 'cancelled',
  ),
  // Somebody who paid twice gets the second payment back.
  'payment.refunded': paid(
    'provider_a',
    async (event) => {
      const [first, second] = await payTwice(event);
      demand(await event.page('ballot/confirm', { confirmationCode: await event.castCode(first) }), 200);
      expect((await event.cast(second)).status).toBe(409);
      return second;
    },
    ({ refundedAt }) => refundedAt !== null,
  ),
  'payment.refund_failed': paid(
    'provider_a',
    async (event) => {
      const [first, second] = await payTwice(event);
      demand(await event.cast(first), 201);
      sandbox.faults.refuseRefunds = true;
      expect((await event.cast(second)).status).toBe(409);
      const refund = 'SELECT status FROM payment_refunds WHERE attempt_id = $1';
      const statusOf = async () => (await service.query(refund, [second]))[0]?.status;
      await untilTrue(async () => (await statusOf()) === 'refused');
      await ageRefund(service, second, 30);
      await untilTrue(async () => (await statusOf()) === 'failed');
      sandbox.faults.refuseRefunds = false;
      return second;
    },
    ({ status }) => status === 'cancelled',
  ),
  'payment.needs_attention': paid(
    'provider_b',
    async (event) => {
      sandbox.faults.paidAmount = 100;
      const attempt = await event.pay();
      await event.until(attempt, ({ attention }) => attention);
      sandbox.faults.paidAmount = null;
      return attempt;
    },
    ({ status }) => status === 'failed',
  ),
  'payment.reversed': paid(
    'provider_a',
    async (event) => {
      const attempt = await event.payKnown();
      demand(await event.cast(attempt), 201);
      await sandbox.reverse(attempt, 'refund');
      return attempt;
    },
    ({ reversedAt }) => reversedAt !== null,
  ),
  async 'results.published'(listen) {
    const { account, event, votingEventId, own } = await prepare({}, PLURALITY, true);
    await account.votePoll(event, votesFor(event));
    await own.change('', { status: 'closed' });
    await finishEvent(service, event.id);
    await listen(account);
    const { code, title, results } = await own.change('', { results: { visibility: 'published' } });
    return { votingEventId, data: { votingEventId, code, title, publishedAt: results.publishedAt } };
  },
  async 'log.checkpoint'(listen) {
    const { account, event, votingEventId } = await prepare({}, PLURALITY, true);
    const read = async () => {
      const checkpoint = String((await account.page(event, 'log/checkpoint')).body);
      const [, size, rootHash] = checkpoint.split('\n');
      return { checkpoint, size: Number(size), rootHash };
    };
    // The opening itself is the first leaf.
    await untilTrue(async () => (await read()).size === 1);
    await listen(account);
    await account.votePoll(event, votesFor(event));
    await sealBallots(service, event.id);
    const { checkpoint, size, rootHash } = await read();
    return { votingEventId, data: { votingEventId, size, rootHash, checkpoint } };
  },
  async 'webhook_endpoint.disabled'(listen) {
    const account = await service.account();
    const gone = await startReceiver((response) => response.writeHead(410).end());
    const body = { url: gone.url, eventTypes: ['voting_event.created'] };
    const { id } = await account.make('/webhook-endpoints', body);
    await listen(account);
    await account.make('/voting-events', { title: 'A poll', type: 'poll' });
    const data = await eventually(async () => {
      const endpoint = await account.show(`/webhook-endpoints/${id}`);
      return endpoint.status === 'disabled' ? endpoint : undefined;
    });
    await gone.stop();
    expect(data.disabledReason).toBe('gone');
    return { votingEventId: null, data };
  },
};

test.each(EVENT_TYPE_NAMES)(
  '%s is told once, signed, with what the API shows and the document describes',
  async (type) => {
    const receiver = await startReceiver();
    let endpoint = { id: '', secret: '' };
    const told = await CAUSES[type](async (account) => {
      endpoint = await account.make('/webhook-endpoints', { url: receiver.url, eventTypes: [type] });
    });
    const message = await eventually(() => receiver.received[0]);
    const payload = new Webhook(endpoint.secret).verify(message.body, message.headers);
    const id = message.headers['webhook-id'];
    expect(id).toMatch(/^msg_[0-9a-z]+$/);
    expect(payload).toEqual({ id, type, createdAt: expect.any(Number), ...told });
    expect(contract.messageFault(type, payload)).toBeUndefined();
    const deliveries = 'SELECT 1 FROM webhook_deliveries WHERE endpoint_id = $1';
    expect(await service.query(deliveries, [endpoint.id])).toHaveLength(1);
    await receiver.stop();
  },
);

test('an event that is made of a file, copied or changed by a file is told of with all that is in it', async () => {
  const account = await service.account();
  const receiver = await startReceiver();
  const eventTypes = ['voting_event.created', 'voting_event.updated'];
  await account.make('/webhook-endpoints', { url: receiver.url, eventTypes });
  const rows = {
    ...{ groups: [], sponsors: [], positions: [{ id: 'p', title: 'P', votingMethod: 'approval' }] },
    candidates: [{ id: 'c', name: 'C', positionIds: ['p'] }],
  };
  const event = { title: 'Poll', type: 'poll' };
  const made = await account.make('/voting-events/definition', { version: 1, event, ...rows });
  const copied = await account.of(made).make('/copy', { title: 'Copy', withVoters: false });
  const other = await account.make('/voting-events', event);
  demand(await account.of(other).put('/definition', { version: 1, event: { ...event, title: 'New' }, ...rows }), 200);
  const filled = await account.of(other).show('');
  const told = await eventually(() => (receiver.received.length === 4 ? receiver.received : undefined));
  const data = told.map(({ body }) => JSON.parse(body).data);
  const newest = (id: string) => data.findLast((one) => one.id === id);
  for (const shown of [made, copied, filled]) expect(newest(shown.id)).toEqual(shown);
  expect(filled.missing).toEqual([]);
  await receiver.stop();
});

test('an event that is linked to another business is told of with what it then lacks', async () => {
  const event = await poll('provider_a', {}, PLURALITY, false);
  const own = event.account.of(event);
  await service.query('UPDATE payment_businesses SET ready = false WHERE id = $1', [event.businessId]);
  await own.make('/candidates', { name: 'Cleo', positionIds: [event.positions[0]?.id] });
  expect((await own.show('')).missing).toMatchObject([{ reason: 'business_not_ready' }]);
  const { id: paymentBusinessId } = await connectTestBusiness(service, event.account, 'provider_a');
  const receiver = await startReceiver();
  await event.account.make('/webhook-endpoints', { url: receiver.url, eventTypes: ['voting_event.updated'] });
  demand(await own.put('/payment-business', { paymentBusinessId }), 200);
  const { body } = await eventually(() => receiver.received[0]);
  expect(JSON.parse(body).data).toEqual(await own.show(''));
  await receiver.stop();
});

test('voters whose group is deleted are told of as the API then shows them', async () => {
  const { account, own } = await prepare({ type: 'election' });
  const { id: groupId } = await own.make('/groups', { name: 'South' });
  const { id, updatedAt } = await own.make('/voters', { name: 'Vera', email: 'vera@mail.example', groupId });
  const receiver = await startReceiver();
  await account.make('/webhook-endpoints', { url: receiver.url, eventTypes: ['voter.updated'] });
  demand(await own.delete(`/groups/${groupId}`), 202);
  const { body } = await eventually(() => receiver.received[0]);
  const shown = await own.show(`/voters/${id}`);
  expect(JSON.parse(body).data).toEqual(shown);
  expect([shown.groupId, shown.updatedAt > updatedAt]).toEqual([null, true]);
  await receiver.stop();
});

test.each([
  ['candidates', 0],
  ['the roles of their candidates', 5],
])('a message has at most 64 KiB, with the longest texts and a hundred positions that lack %s', async (_, standing) => {
  const account = await service.account();
  const receiver = await startReceiver();
  await account.make('/webhook-endpoints', { url: receiver.url, eventTypes: ['voting_event.updated'] });
  const titles = Array.from({ length: 100 }, (_, number) => `${number + 100}${'𝒫'.repeat(197)}`);
  const address = `https://club.example/${'日'.repeat(2_027)}`;
  const long = { votingPageUrl: address, logoUrl: address };
  const event = await account.make('/voting-events/definition', {
    ...{ version: 1, event: { title: '𝒯'.repeat(200), type: 'poll', ...long }, groups: [], sponsors: [] },
    positions: titles.map((title, at) => ({ id: `p${at}`, title, votingMethod: 'plurality' })),
    candidates: Array.from({ length: standing }, (_, at) => ({
      ...{ id: `c${at}`, name: `${at}${'𝒞'.repeat(199)}`, positionIds: titles.map((_, place) => `p${place}`) },
    })),
  });
  if (standing > 0)
    for (const { id } of await account.show(`/voting-events/${event.id}/positions`))
      await account.change(`/voting-events/${event.id}/positions/${id}`, { votingMethod: 'referendum' });
  const shown = await account.patch(`/voting-events/${event.id}`, { description: '𝒟'.repeat(5_000) });
  // One part a position, however many candidates it has.
  expect(shown.body.data.missing.map(({ title }: { title: string }) => title).toSorted()).toEqual(titles.toSorted());
  const { body } = await eventually(() => receiver.received[0]);
  expect(Buffer.byteLength(body)).toBeLessThanOrEqual(65_536);
  const { data } = JSON.parse(body);
  const untitled = shown.body.data.missing.map((part: object) => ({ ...part, title: null }));
  const missing = untitled.slice(0, data.missing.length);
  expect(missing.length).toBeGreaterThan(80);
  expect(data).toEqual({ ...shown.body.data, missing });
  expect(contract.messageFault('voting_event.updated', JSON.parse(body))).toBeUndefined();
  await receiver.stop();
});
