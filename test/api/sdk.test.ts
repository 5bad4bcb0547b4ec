import { createHmac, randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { beforeEach, describe, expect, test } from 'vitest';
import { valuesOf } from '#test/harness/answers.ts';
import { finishEvent, PLURALITY, type TestEvent, visitor } from '#test/harness/elections.ts';
import { startFailingProxy } from '#test/harness/failing-proxy.ts';
import { createPaidEvent, decide, PROVIDERS, RETURN_URL, usePaidService } from '#test/harness/payments.ts';
import { startReceiver } from '#test/harness/receiver.ts';
import { eventually, type TestAccount } from '#test/harness/test-service.ts';
import { use } from '#test/harness/use.ts';
import { giveVoterKey } from '#test/harness/voter-keys.ts';
import {
  BadRequestError,
  type ClientOptions,
  ConflictError,
  ConnectionError,
  ForbiddenError,
  InsufficientScopeError,
  NotFoundError,
  PaymentPendingError,
  PaymentRequiredError,
  RateLimitedError,
  UnauthorizedError,
  ValidationError,
  VotingService,
  VotingServiceError,
  WebhookVerificationError,
  webhooks,
} from '../../sdk/typescript/src/index.ts';

const clientOf = (key: string): VotingService => new VotingService({ baseUrl: service.url, key });

const { service } = await usePaidService();
const account = await service.account();
const organizer = clientOf(account.write);
const voting = clientOf(account.vote);

/** The first candidate of each position. */
const firstChoices = ({ positions }: TestEvent) =>
  positions.map(({ id: positionId, candidates }) => ({ positionId, candidateId: candidates[0] ?? '' }));

/** What a call is refused with. */
const refusal = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    (answer) => Promise.reject(new Error(`not refused: ${JSON.stringify(answer)}`)),
    (error: unknown) => error,
  );

describe('the SDK, against a running service', () => {
  test('makes a poll, and casts, confirms and counts a vote', async () => {
    const body = { title: 'Where?', type: 'poll', results: { visibility: 'live' } } as const;
    const { data: event } = await organizer.post('/voting-events', { body });
    const path = { idOrCode: event.code };
    const friday = { path, body: { title: 'Friday', votingMethod: 'plurality' } } as const;
    const { data: position } = await organizer.post('/voting-events/{idOrCode}/positions', friday);
    const curry = { path, body: { name: 'Curry', positionIds: [position.id] } };
    const { data: candidate } = await organizer.post('/voting-events/{idOrCode}/candidates', curry);
    await organizer.patch('/voting-events/{idOrCode}', { path, body: { status: 'open' } });
    const votes = [{ positionId: position.id, candidateId: candidate.id }];
    const outcome = await voting.castOrPay(event.id, { visitorId: visitor(), votes });
    if (outcome.status !== 'cast') throw new Error(outcome.status);
    const confirm = { path, body: { confirmationCode: outcome.ballot.confirmationCode } };
    const { data } = await voting.post('/public/voting-events/{idOrCode}/ballot/confirm', confirm);
    expect(data.votes).toEqual([{ positionName: 'Friday', candidateName: 'Curry' }]);
    const results = await voting.get('/public/voting-events/{idOrCode}/results', { path });
    expect(results.data.positions[0]?.candidates[0]?.votesWon).toBe(1);
  });

  test('calls every operation by noun and verb', async () => {
    const { data: event } = await organizer.events.create({ title: 'Named', type: 'poll' });
    const { data: position } = await organizer.positions.create(event.code, { title: 'Q', votingMethod: 'plurality' });
    const body = { name: 'Ada', positionIds: [position.id] };
    const { data: candidate } = await organizer.candidates.create(event.code, body, { idempotencyKey: 'ada' });
    const again = organizer.candidates.create(event.code, body, { idempotencyKey: 'ada' });
    expect((await again).data.id).toBe(candidate.id);
    await organizer.events.update(event.code, { status: 'open' });
    const votes = [{ positionId: position.id, candidateId: candidate.id }];
    const { data: cast } = await voting.ballots.cast(event.code, { visitorId: visitor(), votes });
    const { data } = await voting.ballots.confirm(event.code, { confirmationCode: cast.confirmationCode });
    expect(data.votes).toEqual([{ positionName: 'Q', candidateName: 'Ada' }]);
    expect((await organizer.candidates.get(event.code, candidate.id)).data.name).toBe('Ada');
    expect((await organizer.events.list({ search: 'Named' })).data.map(({ id }) => id)).toEqual([event.id]);
    expect(await refusal(organizer.events.delete(event.code))).toMatchObject({ reason: 'event_has_ballots' });
    expect(await organizer.events.delete(event.code, { force: 'true' })).toBeUndefined();
  });

  test('goes over the rows of a list that is called by its noun, page by page', async () => {
    const event = await account.event({ type: 'election' }, PLURALITY, false);
    const voters = Array.from({ length: 5 }, (_, index) => ({ name: `N ${index}`, email: `n${index}@club.example` }));
    await organizer.voters.createMany(event.id, { voters });
    const names: string[] = [];
    for await (const { name } of organizer.voters.list(event.id, { limit: 2 })) names.push(name);
    expect(names.toSorted()).toEqual(voters.map(({ name }) => name));
    const error = await refusal(Array.fromAsync(organizer.voters.list('evt_none')));
    expect(error).toBeInstanceOf(NotFoundError);
  });

  test('answers the request ID beside the answer', async () => {
    const call = organizer.me.get();
    const { answer, response, requestId } = await call.withResponse();
    expect(answer).toEqual(await call);
    expect(requestId).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    expect([response.status, response.headers.get('x-request-id')]).toEqual([200, requestId]);
    expect(await refusal(clientOf('vsk_mistyped').me.get().withResponse())).toBeInstanceOf(UnauthorizedError);
  });

  test('votes in an election with a voter key', async () => {
    const event = await account.event({ type: 'election' });
    const path = { idOrCode: event.id };
    const email = 'vera@club.example';
    const vera = { path, body: { name: 'Vera', email } };
    const { data: voter } = await organizer.post('/voting-events/{idOrCode}/voters', vera);
    const voterKey = await giveVoterKey(service, event.id, voter.id);
    const who = { path, body: { voterKey, email } };
    const check = await voting.post('/public/voting-events/{idOrCode}/voter/check', who);
    expect(check.data).toEqual({ eligible: true });
    const ballot = { voterKey, email, votes: firstChoices(event) };
    const outcome = await voting.castOrPay(event.id, ballot);
    if (outcome.status !== 'cast') throw new Error(outcome.status);
    const confirm = { path, body: { confirmationCode: outcome.ballot.confirmationCode } };
    await voting.post('/public/voting-events/{idOrCode}/ballot/confirm', confirm);
    const error = await refusal(voting.castOrPay(event.id, ballot));
    expect(error).toBeInstanceOf(ConflictError);
    expect(error).toMatchObject({ code: 'conflict', status: 409, reason: 'already_voted', name: 'ConflictError' });
  });

  test.each(PROVIDERS)('pays for a vote through %s', async (provider) => {
    const event = await createPaidEvent(service, provider);
    const payer = clientOf(event.account.vote);
    const body = {
      visitorId: visitor(),
      votes: firstChoices(event),
      returnUrl: RETURN_URL,
      email: 'vera@club.example',
    };
    const first = await payer.castOrPay(event.code, body);
    if (first.status !== 'payment_required') throw new Error(first.status);
    const { paymentAttemptId } = first.payment;
    const early = await payer.castOrPay(event.code, { paymentAttemptId });
    expect(early).toMatchObject({ status: 'payment_required', checkoutUrl: first.checkoutUrl });
    const impatient = payer.waitForPayment(event.code, paymentAttemptId, { timeoutMs: 1 });
    expect(await refusal(impatient)).toBeInstanceOf(PaymentPendingError);
    const [payment] = await Promise.all([
      payer.waitForPayment(event.code, paymentAttemptId),
      decide(first.checkoutUrl, 'pay'),
    ]);
    expect(payment).toMatchObject({ id: paymentAttemptId, status: 'succeeded' });
    const second = await payer.castOrPay(event.code, { paymentAttemptId });
    expect(second).toMatchObject({ status: 'cast', ballot: { votesCount: 1 } });
  });

  test('throws what has to be paid where castOrPay is not called, and stops waiting when asked to', async () => {
    const event = await createPaidEvent(service, 'provider_a');
    const payer = clientOf(event.account.vote);
    const body = { visitorId: visitor(), votes: firstChoices(event), returnUrl: RETURN_URL };
    const path = { idOrCode: event.code };
    const error = await refusal(payer.post('/public/voting-events/{idOrCode}/ballot/cast', { path, body }));
    if (!(error instanceof PaymentRequiredError)) throw error;
    expect(error).toMatchObject({ status: 402, code: 'payment_required', payment: { amount: 5, currency: 'usd' } });
    const { paymentAttemptId } = error.payment;
    const reason = new Error('the payer has left');
    const signal = AbortSignal.timeout(50);
    const stopped = payer.waitForPayment(event.code, paymentAttemptId, { signal });
    expect(await refusal(stopped)).toBe(signal.reason);
    const gone = AbortSignal.abort(reason);
    expect(await refusal(payer.waitForPayment(event.code, paymentAttemptId, { signal: gone }))).toBe(reason);
    await decide(error.checkoutUrl, 'pay');
    expect(await payer.waitForPayment(event.code, paymentAttemptId)).toMatchObject({ status: 'succeeded' });
  });

  test('goes over all rows of a list by its pages, and over lists without pages', async () => {
    const event = await account.event({ type: 'election' }, PLURALITY, false);
    const path = { idOrCode: event.id };
    const voters = Array.from({ length: 7 }, (_, index) => ({ name: `V ${index}`, email: `v${index}@club.example` }));
    await organizer.post('/voting-events/{idOrCode}/voters/batch', { path, body: { voters } });
    const sizes: number[] = [];
    for await (const page of organizer.pages('/voting-events/{idOrCode}/voters', { path, query: { limit: 3 } }))
      sizes.push(page.data.length);
    expect(sizes).toEqual([3, 3, 1]);
    const names: string[] = [];
    const query = { limit: 2, status: 'approved' } as const;
    for await (const { name } of organizer.rows('/voting-events/{idOrCode}/voters', { path, query })) names.push(name);
    expect(names.toSorted()).toEqual(voters.map(({ name }) => name));
    const titles: string[] = [];
    for await (const { title } of organizer.rows('/voting-events/{idOrCode}/positions', { path })) titles.push(title);
    expect(titles).toEqual(['By plurality']);
  });

  test('answers texts as texts, nothing as undefined, and files unread', async () => {
    const event = await account.event({ log: { open: true } });
    await account.votePoll(event, firstChoices(event));
    const path = { idOrCode: event.id };
    const csv = await organizer.get('/voting-events/{idOrCode}/voters/csv', { path });
    expect(csv.split('\r\n').length).toBeGreaterThan(1);
    const response = await organizer.fetch('get', '/voting-events/{idOrCode}/voters/csv', { path });
    expect(response.headers.get('content-type')).toContain('text/csv');
    expect(await response.text()).toBe(csv);
    await finishEvent(service, event.id);
    const tile = await voting.fetch('get', '/public/voting-events/{idOrCode}/log/tile/{tile}', {
      path: { ...path, tile: 'entries/000.p/3' },
    });
    expect((await tile.arrayBuffer()).byteLength).toBeGreaterThan(100);
    const draft = await account.event({}, PLURALITY, false);
    const group = { idOrCode: draft.id, id: await createGroup(draft.id) };
    const queued = await organizer.delete('/voting-events/{idOrCode}/groups/{id}', { path: group });
    expect(queued.data.status).toBe('queued');
    expect(await organizer.delete('/voting-events/{idOrCode}', { path: { idOrCode: draft.id } })).toBeUndefined();
  });

  test('makes an error of its own class of every refusal, with all that the service says', async () => {
    const event = await account.event({}, PLURALITY, false);
    const path = { idOrCode: event.id };
    const cast = '/public/voting-events/{idOrCode}/ballot/cast';
    const nameless = { path, body: { title: '', votingMethod: 'plurality', seats: 0 } } as const;
    const wrong = await refusal(organizer.post('/voting-events/{idOrCode}/positions', nameless));
    expect(wrong).toBeInstanceOf(ValidationError);
    expect(wrong).toMatchObject({
      ...{ name: 'ValidationError', code: 'validation_error', status: 422, field: 'title' },
      issues: [
        { field: 'title', message: expect.any(String) },
        { field: 'seats', message: expect.any(String) },
      ],
      requestId: expect.stringMatching(/./),
      docUrl: expect.stringContaining('/reference/errors#validation_error'),
    });
    const draft = await refusal(organizer.patch('/voting-events/{idOrCode}', { path, body: { status: 'closed' } }));
    expect(draft).toBeInstanceOf(VotingServiceError);
    const vote = { path, body: { visitorId: visitor(), votes: firstChoices(event) } };
    expect(await refusal(voting.post(cast, vote))).toBeInstanceOf(NotFoundError);
    expect(await refusal(organizer.post(cast, vote))).toBeInstanceOf(InsufficientScopeError);
    expect(await refusal(clientOf('vsk_mistyped').get('/me'))).toBeInstanceOf(UnauthorizedError);
    const search = { query: { search: 'x'.repeat(201) } };
    expect(await refusal(organizer.get('/voting-events', search))).toBeInstanceOf(BadRequestError);
    const over = await account.event();
    await organizer.patch('/voting-events/{idOrCode}', { path: { idOrCode: over.id }, body: { status: 'closed' } });
    const late = await refusal(
      voting.post(cast, { path: { idOrCode: over.id }, body: { visitorId: visitor(), votes: firstChoices(over) } }),
    );
    expect(late).toBeInstanceOf(ForbiddenError);
    expect(late).toMatchObject({ reason: 'event_closed', message: expect.stringMatching(/closed/) });
  });

  test.each(['..', '.', ''])('lets no parameter lead to another path: %j', async (idOrCode) => {
    const error = await refusal(organizer.delete('/voting-events/{idOrCode}', { path: { idOrCode } }));
    expect(error).toBeInstanceOf(TypeError);
  });

  test('sends parameters as they are, whatever they hold', async () => {
    const path = { idOrCode: 'a/../b?c#d%2e%2e ä' };
    expect(await refusal(organizer.get('/voting-events/{idOrCode}', { path }))).toBeInstanceOf(NotFoundError);
  });

  test('says which variable is not set, where the environment was forgotten', () => {
    const of = (baseUrl: string, key: string) => () => new VotingService({ baseUrl, key });
    expect(of('http://127.0.0.1:1', '')).toThrow(new TypeError('key is empty: is the variable set?'));
    expect(of('', account.write)).toThrow(new TypeError('baseUrl is empty: is the variable set?'));
  });

  test('shows its key to nobody', async () => {
    const wrong = await refusal(Promise.resolve().then(() => clientOf(`${account.write}\n`)));
    const away = new VotingService({ baseUrl: 'http://127.0.0.1:1', key: account.write, maxRetries: 0 });
    for (const shown of [organizer, wrong, await refusal(away.get('/me'))])
      for (const text of [inspect(shown, { depth: 9, showHidden: true }), JSON.stringify(shown)])
        expect(text).not.toContain(account.write);
  });
});

const createGroup = async (idOrCode: string): Promise<string> =>
  (await organizer.post('/voting-events/{idOrCode}/groups', { path: { idOrCode }, body: { name: 'Board' } })).data.id;

let owner: TestAccount;
const proxy = await use(startFailingProxy(service.port));
beforeEach(async () => {
  owner = await service.account();
});

const client = (options: Partial<ClientOptions> = {}): VotingService =>
  new VotingService({ baseUrl: `${proxy.url}/`, key: owner.write, ...options });
const event = { body: { title: 'Where?', type: 'poll' } } as const;
const titles = async (): Promise<string[]> => valuesOf(await owner.show('/voting-events'), 'title');
describe('the SDK, behind a proxy that fails', () => {
  test.each([
    ['the connection breaks', 'reset' as const],
    ['the answer is lost', 'answer lost' as const],
    ['the answer is cut off', 'answer cut' as const],
    ['the proxy has no service', { status: 502, body: '<h1>Bad gateway</h1>' }],
    ['the service is away', { status: 503 }],
    ['the service cannot answer', { status: 500, body: '{"error":{"code":"internal","message":"."}}' }],
    ['there were too many requests', { status: 429, headers: { 'Retry-After': '1' } }],
  ])('creates one thing where %s, under one key', async (_, fault) => {
    proxy.fail(fault, fault);
    const { data } = await client().post('/voting-events', event);
    expect(await titles()).toEqual([data.title]);
    expect(proxy.requests).toHaveLength(3);
    expect(new Set(proxy.requests.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
    expect(proxy.requests[0]?.idempotencyKey).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('creates one thing where no answer comes in time', async () => {
    proxy.fail('silence');
    await client({ timeoutMs: 3_000 }).post('/voting-events', event);
    expect([proxy.requests.length, await titles()]).toEqual([2, ['Where?']]);
  });

  test('waits for a call with the same key that still runs', async () => {
    const running = {
      ...{ status: 409, headers: { 'Retry-After': '1', 'Content-Type': 'application/json' } },
      body: '{"error":{"code":"conflict","message":".","details":{"reason":"idempotency_in_progress"}}}',
    };
    proxy.fail(running);
    await client().post('/voting-events', event);
    expect(proxy.requests).toHaveLength(2);
  });

  test('gives each call a key of its own, and takes one that is given', async () => {
    proxy.fail();
    await client().post('/voting-events', event);
    await client().post('/voting-events', event);
    await client().post('/voting-events', { ...event, idempotencyKey: 'order-7' });
    await client().post('/voting-events', { ...event, idempotencyKey: 'order-7' });
    const keys = proxy.requests.map(({ idempotencyKey }) => idempotencyKey);
    expect(new Set(keys).size).toBe(3);
    expect(keys.slice(2)).toEqual(['order-7', 'order-7']);
    expect(await titles()).toHaveLength(3);
  });

  test('waits as long as it is asked to', async () => {
    proxy.fail({ status: 429, headers: { 'Retry-After': '2' } });
    await client().get('/me');
    const [first, second] = proxy.requests;
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(1_990);
  });

  test('leaves a longer wait to the caller', async () => {
    const body = '{"error":{"code":"rate_limited","message":"Later.","requestId":"r","docUrl":"d"}}';
    proxy.fail({ status: 429, headers: { 'Retry-After': '900' }, body });
    const error = await refusal(client().get('/me'));
    expect(error).toBeInstanceOf(RateLimitedError);
    expect([error, proxy.requests.length]).toMatchObject([{ retryAfterSeconds: 900 }, 1]);
  });

  test('gives up after as many retries as were allowed, with what it met last', async () => {
    proxy.fail('reset', 'reset', 'reset');
    const error = await refusal(client({ maxRetries: 2 }).get('/me'));
    expect(error).toBeInstanceOf(ConnectionError);
    expect(proxy.requests).toHaveLength(3);
    proxy.fail({ status: 502, headers: { 'X-Request-Id': 'req_7' }, body: '<h1>Bad gateway</h1>' });
    const refused = await refusal(client({ maxRetries: 0 }).get('/me'));
    expect(refused).toBeInstanceOf(VotingServiceError);
    expect(refused).toMatchObject({ status: 502, code: 'unexpected_response', requestId: 'req_7', issues: [] });
  });

  test('sends nothing again that the service has refused', async () => {
    proxy.fail();
    await refusal(client({ key: 'vsk_mistyped' }).get('/me'));
    await refusal(client().get('/voting-events/{idOrCode}', { path: { idOrCode: 'evt_none' } }));
    expect(proxy.requests).toHaveLength(2);
  });

  test('follows no redirection of a change', async () => {
    proxy.fail({ status: 301, headers: { Location: `${proxy.url}/voting-events` } });
    expect(await refusal(client().post('/voting-events', event))).toMatchObject({ status: 301 });
    expect([proxy.requests.length, await titles()]).toEqual([1, []]);
  });

  test('stops at once when the caller’s signal says so: in a call, and between two', async () => {
    const reason = new Error('enough');
    for (const fault of ['silence', { status: 429, headers: { 'Retry-After': '30' } }] as const) {
      proxy.fail(fault);
      const stop = new AbortController();
      const maxRetries = fault === 'silence' ? 0 : 4;
      const call = refusal(client({ maxRetries }).get('/me', { signal: stop.signal }));
      while (proxy.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      setTimeout(() => stop.abort(reason), 50);
      expect(await call).toBe(reason);
    }
  });
});

const receiver = await use(startReceiver());
const watcher = clientOf((await service.account()).write);
const subscription = { url: receiver.url, eventTypes: ['voting_event.created' as const] };
const { data: endpoint } = await watcher.post('/webhook-endpoints', { body: subscription });
const { secret } = endpoint;
await watcher.post('/voting-events', { body: { title: 'Où mange-t-on ? 🍕', type: 'poll' } });
const delivered = await eventually(() => receiver.received[0]);
// While the secret is rotated, a message bears a signature of each.
const rotated = await watcher.post('/webhook-endpoints/{id}/rotate-secret', { path: { id: endpoint.id } });
await watcher.post('/voting-events', { body: { title: 'Second', type: 'poll' } });
await eventually(() => receiver.received[1]);
const secrets = [secret, rotated.data.secret];

/** A message that anybody could have signed who has this secret. */
function signed(id: string, seconds: string, body: string, by: string): Record<string, string> {
  const key = Buffer.from(by.replace('whsec_', ''), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': `v1,${signature}` };
}
const now = (shift = 0): string => String(Math.floor(Date.now() / 1_000) + shift);

describe('webhooks.verify', () => {
  test('accepts a delivery of the service, from Node’s headers and from others, as text and as bytes', async () => {
    const { body, headers } = delivered;
    const message = await webhooks.verify(body, headers, secret);
    expect(message).toEqual(JSON.parse(body));
    if (message.type === 'voting_event.created') expect(message.data.title).toBe('Où mange-t-on ? 🍕');
    expect(message.type).toBe('voting_event.created');
    expect(await webhooks.verify(Buffer.from(body), new Headers(headers), secret)).toEqual(message);
  });

  test('accepts what another library of the standard has signed', async () => {
    const body = '{"type":"x"}';
    const at = new Date();
    const signature = new Webhook(secret).sign('msg_1', at, body);
    const headers = { 'webhook-id': 'msg_1', 'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)) };
    expect(await webhooks.verify(body, { ...headers, 'webhook-signature': signature }, secret)).toEqual({ type: 'x' });
  });

  test('accepts either secret while it is rotated, and one of several endpoints', async () => {
    const [, { body, headers } = delivered] = receiver.received;
    expect(headers['webhook-signature']?.split(' ')).toHaveLength(2);
    for (const one of secrets)
      expect(await webhooks.verify(body, headers, one)).toMatchObject({ data: { title: 'Second' } });
    const other = `whsec_${randomBytes(32).toString('base64')}`;
    expect(await webhooks.verify(body, headers, [other, secret])).toMatchObject({ data: { title: 'Second' } });
  });

  test('refuses every message that was changed, replayed late or signed by others', async () => {
    const { body, headers } = delivered;
    const other = `whsec_${randomBytes(32).toString('base64')}`;
    const id = headers['webhook-id'] ?? '';
    const signature = headers['webhook-signature'] ?? '';
    const without = (name: string) => ({ ...headers, [name]: undefined });
    const forged: readonly [why: string, body: string, headers: Record<string, string | undefined>, secret?: string][] =
      [
        ['another body', body.replace('poll', 'Poll'), headers],
        ['a body that was written again', `${body} `, headers],
        ['another id', body, { ...headers, 'webhook-id': 'msg_other' }],
        ['a fresh time', body, { ...headers, 'webhook-timestamp': now(1) }],
        ['an old message', body, signed(id, now(-310), body, secret)],
        ['a message of the future', body, signed(id, now(310), body, secret)],
        ['a time that is no number', body, signed(id, 'soon', body, secret)],
        ['a time that is no whole number', body, signed(id, `${now()}.5`, body, secret)],
        ['a time in hex', body, signed(id, `0x${Number(now()).toString(16)}`, body, secret)],
        ['another secret', body, headers, other],
        ['signed by others', body, signed(id, now(), body, other)],
        ['another version', body, { ...headers, 'webhook-signature': signature.replace('v1,', 'v1a,') }],
        ['no version', body, { ...headers, 'webhook-signature': signature.replace('v1,', '') }],
        ['half a signature', body, { ...headers, 'webhook-signature': signature.slice(0, 25) }],
        ['an empty signature', body, { ...headers, 'webhook-signature': 'v1,' }],
        ['no base64', body, { ...headers, 'webhook-signature': 'v1,ÄÄÄ' }],
        ['no signature', body, without('webhook-signature')],
        ['no time', body, without('webhook-timestamp')],
        ['no id', body, without('webhook-id')],
      ];
    for (const [why, text, sent, by = secret] of forged) {
      const outcome = await webhooks.verify(text, sent, by).catch((error: unknown) => error);
      expect([why, outcome]).toEqual([why, expect.any(WebhookVerificationError)]);
    }
    // The same within the tolerance is accepted: it is what was changed that is refused.
    await webhooks.verify(body, signed(id, now(-290), body, secret), secret);
    await webhooks.verify(body, signed(id, now(-310), body, secret), secret, { toleranceSeconds: 600 });
  });

  test.each(['', 'whsec_', 'whsec_ä'])('takes no secret that anybody could have: %j', async (empty) => {
    const { body, headers } = delivered;
    await expect(webhooks.verify(body, headers, empty)).rejects.toBeInstanceOf(TypeError);
  });
});
