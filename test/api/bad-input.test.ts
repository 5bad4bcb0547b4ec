import { beforeAll, describe, expect, test, vi } from 'vitest';
import { demand } from '#test/harness/answers.ts';
import { readBadInputs, runBadInputs, unknownNames } from '#test/harness/bad-inputs.ts';
import { PLURALITY, visitor, votesFor } from '#test/harness/elections.ts';
import { connectTestBusiness, PRICE, RETURN_URL, usePaidService } from '#test/harness/payments.ts';

let values: Record<string, string>;

const METHODS = ['plurality', 'score', 'cumulative', 'quadratic', 'ranked_choice'];
const PLANS = METHODS.map((votingMethod) => ({ votingMethod, candidates: ['Ada', 'Bea'] }));
const NAMES = ['', 'score', 'cumulative', 'quadratic', 'ranked'];

// Webhooks to private addresses are refused, which is the default of the service.
const { service } = await usePaidService({ webhookAllowPrivate: false });
beforeAll(async () => {
  const account = await service.account();
  const other = await service.account();
  const event = await account.event({}, PLANS);
  const voter = { requireVoterId: true, selfRegistration: true };
  const election = await account.event({ type: 'election', voter });
  const saveInfo = await account.event({ voter: { saveVoterInfo: true } });
  const candidateReg = await account.event({ candidate: { selfRegistration: true } });
  const otherEvent = await other.event();
  await other.event({}, []).catch(() => undefined);
  const otherGroup = await other.post(`/voting-events/${otherEvent.id}/groups`, { name: 'Theirs' });
  const otherPage = await other.get('/voting-events?limit=1');
  const otherCast = await other.page(otherEvent, 'ballot/cast', { visitorId: visitor(), votes: votesFor(otherEvent) });
  const revoked = await service.account();
  await service.query('UPDATE api_keys SET revoked_at = 1 WHERE account_id = $1', [revoked.id]);
  const business = await connectTestBusiness(service, account, 'provider_a');
  const paidEvent = await account.event({}, PLURALITY, true, async (id) => {
    const link = { paymentBusinessId: business.id };
    await account.put(`/voting-events/${id}/payment-business`, link);
    const payments = { payToVote: PRICE.provider_a, payToRegisterCandidate: PRICE.provider_a };
    await account.patch(`/voting-events/${id}`, { payments });
  });
  const paid = { visitorId: visitor(), returnUrl: RETURN_URL, votes: votesFor(paidEvent) };
  const payment = demand(await account.page(paidEvent, 'ballot/cast', paid), 402);
  const makeHook = async (owner: typeof account): Promise<string> => {
    const body = { url: 'https://hooks.example.com/a', eventTypes: ['payment.succeeded'] };
    return (await owner.post('/webhook-endpoints', body)).body.data.id;
  };
  values = {
    webhookId: await makeHook(account),
    otherWebhookId: await makeHook(other),
    businessId: business.id,
    paidEvent: paidEvent.id,
    paidPositionId: paidEvent.positions[0]?.id ?? '',
    paidCandidateId: paidEvent.positions[0]?.candidates[0] ?? '',
    paidEventPaymentId: payment.paymentAttemptId,
    ...{ voteKey: account.vote, readKey: account.read, writeKey: account.write, revokedKey: revoked.read },
    ...{ visitorId: visitor(), event: event.id, electionEvent: election.id, selfRegEvent: election.id },
    ...{ saveInfoEvent: saveInfo.id, candidateRegEvent: candidateReg.id },
    candidateRegPositionId: candidateReg.positions[0]?.id ?? '',
    otherEvent: otherEvent.id,
    otherEventCode: otherEvent.code,
    otherGroupId: otherGroup.body.data.id,
    otherAccountCursor: otherPage.body.nextCursor,
    otherEventConfirmationCode: otherCast.body.data.confirmationCode,
  };
  event.positions.forEach((position, index) => {
    const prefix = NAMES[index] ?? '';
    const name = (text: string): string =>
      prefix === '' ? text : `${prefix}${text.charAt(0).toUpperCase()}${text.slice(1)}`;
    values[name('positionId')] = position.id;
    values[name('candidateId')] = position.candidates[0] ?? '';
    values[name('candidateId2')] = position.candidates[1] ?? '';
  });
});

describe('bad input', () => {
  test('gets the answer that the shared cases expect, in the envelope, and never a 500', async () => {
    const all = readBadInputs();
    if (all === undefined) {
      console.info('the shared cases of bad input are not at hand: none was run');
      return;
    }
    const asked = all.filter((input) => unknownNames(input, values).length === 0);
    console.info(
      `${asked.length} of ${all.length} cases of bad input were run; the others ask for what this test does not have`,
    );
    expect(await runBadInputs(service.port, asked, values)).toEqual([]);
    expect(asked.length).toBeGreaterThan(110);
  });

  test('never turns random bytes in a body into a 500', async () => {
    const target = `/public/voting-events/${values['event']}/ballot/cast`;
    const [key, headers] = [values['voteKey'] ?? '', { 'Content-Type': 'application/json' }];
    const odd = ['{', '[]', '{"a":1e999}', '{"votes":[[[[]]]]}', '"\\ud800"'];
    for (const body of [...odd, '{"visitorId":{"__proto__":1}}', '{"votes":[{"value":1e308}]}']) {
      const response = await service.fetch(target, { method: 'POST', key, headers, body });
      expect([body, response.status]).toEqual([body, 422]);
    }
  });
});

const account = await service.account();
const settings = { type: 'election', voter: { selfRegistration: true } };
const event = await account.event(settings, [{ votingMethod: 'approval', candidates: ['Ada'] }]);

/** What an answer was, and how long its body. */
async function sized(method: string, target: string, body: unknown, key = account.write) {
  const answer = await service.call(method, target, body, { key });
  return { status: answer.status, size: JSON.stringify(answer.body).length };
}

describe('a text that is long before it is normalised', () => {
  // Marks of different classes in a bad order: putting them into the right one takes the square of their number.
  const marks = (count: number) => `a${'\u0316\u0301'.repeat(count / 2)}`;

  /** Every place that takes a text. */
  function requestsWith(long: string): [string, string, object, string?][] {
    const base = `/voting-events/${event.id}`;
    return [
      ['POST', '/voting-events', { title: long, type: 'poll' }],
      ['POST', '/voting-events', { title: 'x', description: long, type: 'poll' }],
      ['POST', '/voting-events', { title: 'x', timeZone: long, type: 'poll' }],
      ['PATCH', base, { code: long }],
      ['POST', `${base}/positions`, { title: long, votingMethod: 'plurality' }],
      ['POST', `${base}/groups`, { name: long }],
      ['POST', `${base}/sponsors`, { name: 'x', tier: long }],
      ['POST', `${base}/sponsors`, { name: 'x', logoUrl: `https://x.example/${long}` }],
      ['POST', `${base}/voters`, { name: long, voterId: 'x' }],
      ['POST', `${base}/voters`, { name: 'x', email: `${long}@x.example` }],
      ['POST', `${base}/voters/batch`, { voters: [{ name: 'x', voterId: long }] }],
      ['POST', `/public${base}/register/voter`, { name: long, email: 'a@x.example' }, account.vote],
      ['POST', `/public${base}/voter-key/request`, { voterId: long }, account.vote],
      ['POST', `/public${base}/ballot/cast`, { voterKey: long, voterId: long, votes: [] }, account.vote],
      ['POST', `/public${base}/ballot/confirm`, { confirmationCode: long }, account.vote],
    ];
  }

  test('is refused wherever a text is taken, without being normalised', async () => {
    using normalised = vi.spyOn(String.prototype, 'normalize');
    // One has many marks in a row, the other is long and nothing else.
    for (const long of [marks(160_000), 'xy'.repeat(80_000)]) {
      for (const [method, target, body, key] of requestsWith(long)) {
        const answer = await sized(method, target, body, key);
        expect([target, Object.keys(body), answer.status]).toEqual([target, Object.keys(body), 422]);
        expect(answer.size).toBeLessThan(5_000);
      }
    }
    const longest = Math.max(0, ...normalised.mock.contexts.map((text) => String(text).length));
    // The longest texts of the API, 5,000 characters, of eight parts each.
    expect(longest).toBeLessThanOrEqual(40_000);
    const search = encodeURIComponent(marks(1_600));
    expect((await account.of(event).get(`/voters?search=${search}`)).status).toBe(400);
  });

  test('may have thirty combining marks in a row, and no more', async () => {
    const create = (title: string) => sized('POST', '/voting-events', { title, type: 'poll' });
    expect((await create(`${marks(30)} ${marks(30)}`)).status).toBe(201);
    expect((await create(`${marks(30)}\u0301`)).status).toBe(422);
  });

  test('counts its length after it was normalised and trimmed', async () => {
    const create = (title: string) => sized('POST', '/voting-events', { title, type: 'poll' });
    expect((await create(`${' '.repeat(5_000)}${'e\u0301'.repeat(200)}`)).status).toBe(201);
    expect((await create('e\u0301'.repeat(201))).status).toBe(422);
  });

  test('also as an address, a time zone, an ID, a code or a voter key', async () => {
    const own = account.of(event);
    const sponsor = (websiteUrl: string) => own.post('/sponsors', { name: 'S', websiteUrl });
    const longest = `https://x.example/${'😀'.repeat(2_030)}`;
    expect((await sponsor(` ${longest} `)).body.data.websiteUrl).toBe(longest);
    expect((await sponsor(`${longest}😀`)).status).toBe(422);
    expect((await sponsor('https://x.example/e\u0301')).body.data.websiteUrl).toBe('https://x.example/\u00e9');
    const endpoint = (url: string) => account.post('/webhook-endpoints', { url, eventTypes: ['voter.created'] });
    expect((await endpoint(longest)).status).toBe(201);
    expect((await endpoint(`${longest}😀`)).status).toBe(422);
    expect((await own.change('', { timeZone: ' Europe/Berlin ' })).timeZone).toBe('Europe/Berlin');
    const [position] = event.positions;
    const candidate = { name: 'Ada', positionIds: [` ${position?.id} `] };
    expect((await own.post('/candidates', candidate)).body.data.positionIds).toEqual([position?.id]);
    const confirm = (confirmationCode: string) => account.page(event, 'ballot/confirm', { confirmationCode });
    expect([(await confirm('😀'.repeat(64))).status, (await confirm('😀'.repeat(65))).status]).toEqual([404, 422]);
  });
});

test('the answer to a body of long unknown names is short', async () => {
  const body = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`${index}${'x'.repeat(9_000)}`, 1]));
  const answer = await sized('POST', '/voting-events', body);
  expect(answer.status).toBe(422);
  expect(answer.size).toBeLessThan(20_000);
});
