import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { createTestEvent, finishEvent, PLURALITY, type TestEvent, visitor, votePoll } from '#test/harness/elections.ts';
import { createPaidEvent, decide, PROVIDERS, RETURN_URL, usePaidService } from '#test/harness/payments.ts';
import { giveVoterKey } from '#test/harness/voter-keys.ts';
import {
  BadRequestError,
  ConflictError,
  ForbiddenError,
  InsufficientScopeError,
  NotFoundError,
  PaymentPendingError,
  PaymentRequiredError,
  UnauthorizedError,
  ValidationError,
  VotingService,
  VotingServiceError,
} from '../../sdk/typescript/src/index.ts';

const clientOf = (key: string): VotingService =>
  new VotingService({ baseUrl: `http://127.0.0.1:${service.port}`, key });

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
    const { data: position } = await organizer.post('/voting-events/{idOrCode}/positions', {
      path,
      body: { title: 'Friday', votingMethod: 'plurality' },
    });
    const { data: candidate } = await organizer.post('/voting-events/{idOrCode}/candidates', {
      path,
      body: { name: 'Curry', positionIds: [position.id] },
    });
    await organizer.patch('/voting-events/{idOrCode}', { path, body: { status: 'open' } });
    const votes = [{ positionId: position.id, candidateId: candidate.id }];
    const outcome = await voting.castOrPay(event.id, { visitorId: visitor(), votes });
    if (outcome.status !== 'cast') throw new Error(outcome.status);
    const { data } = await voting.post('/public/voting-events/{idOrCode}/ballot/confirm', {
      path,
      body: { confirmationCode: outcome.ballot.confirmationCode },
    });
    expect(data.votes).toEqual([{ positionName: 'Friday', candidateName: 'Curry' }]);
    const results = await voting.get('/public/voting-events/{idOrCode}/results', { path });
    expect(results.data.positions[0]?.candidates[0]?.votesWon).toBe(1);
  });

  test('votes in an election with a voter key', async () => {
    const event = await createTestEvent(service, account, { type: 'election' });
    const path = { idOrCode: event.id };
    const email = 'vera@club.example';
    const { data: voter } = await organizer.post('/voting-events/{idOrCode}/voters', {
      path,
      body: { name: 'Vera', email },
    });
    const voterKey = await giveVoterKey(service, event.id, voter.id);
    const check = await voting.post('/public/voting-events/{idOrCode}/voter/check', {
      path,
      body: { voterKey, email },
    });
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
    const first = await payer.castOrPay(event.code, {
      ...{ visitorId: visitor(), votes: firstChoices(event), returnUrl: RETURN_URL, email: 'vera@club.example' },
    });
    if (first.status !== 'payment_required') throw new Error(first.status);
    const { paymentAttemptId } = first.payment;
    const early = await payer.castOrPay(event.code, { paymentAttemptId });
    expect(early).toMatchObject({ status: 'payment_required', checkoutUrl: first.checkoutUrl });
    expect(await refusal(payer.waitForPayment(event.code, paymentAttemptId, { timeoutMs: 1 }))).toBeInstanceOf(
      PaymentPendingError,
    );
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
    const event = await createTestEvent(service, account, { log: { open: true } });
    await votePoll(service, account, event, firstChoices(event));
    const path = { idOrCode: event.id };
    const csv = await organizer.get('/voting-events/{idOrCode}/voters/csv', { path });
    expect(csv.split('\r\n').length).toBeGreaterThan(1);
    const response = await organizer.fetch('get', '/voting-events/{idOrCode}/voters/csv', { path });
    expect([response.headers.get('content-type'), await response.text()]).toEqual([
      expect.stringContaining('text/csv'),
      csv,
    ]);
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
    const wrong = await refusal(
      organizer.post('/voting-events/{idOrCode}/positions', {
        path,
        body: { title: '', votingMethod: 'plurality', seats: 0 },
      }),
    );
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
    const over = await createTestEvent(service, account);
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

  test('shows its key to nobody', async () => {
    const wrong = await refusal(Promise.resolve().then(() => clientOf(`${account.write}\n`)));
    const down = await refusal(
      new VotingService({ baseUrl: 'http://127.0.0.1:1', key: account.write, maxRetries: 0 }).get('/me'),
    );
    for (const shown of [organizer, wrong, down])
      expect([inspect(shown, { depth: 9, showHidden: true }), JSON.stringify(shown)].join()).not.toContain(
        account.write,
      );
  });
});

const createGroup = async (idOrCode: string): Promise<string> =>
  (await organizer.post('/voting-events/{idOrCode}/groups', { path: { idOrCode }, body: { name: 'Board' } })).data.id;
