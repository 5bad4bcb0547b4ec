import { beforeAll, describe, expect, test } from 'vitest';
import { type BadInput, readBadInputs, sendBadInput, unknownNames } from '#test/harness/bad-inputs.ts';
import { type PositionPlan, visitor, votesFor } from '#test/harness/elections.ts';
import { connectTestBusiness, PRICE, RETURN_URL, usePaidService } from '#test/harness/payments.ts';

let values: Record<string, string>;

const PLANS: readonly PositionPlan[] = [
  { votingMethod: 'plurality', candidates: ['Ada', 'Bea'] },
  { votingMethod: 'score', candidates: ['Ada', 'Bea'] },
  { votingMethod: 'cumulative', candidates: ['Ada', 'Bea'] },
  { votingMethod: 'quadratic', candidates: ['Ada', 'Bea'] },
  { votingMethod: 'ranked_choice', candidates: ['Ada', 'Bea'] },
];
const NAMES = ['', 'score', 'cumulative', 'quadratic', 'ranked'];

// Webhooks to private addresses are refused, which is the default of the service.
const { service } = await usePaidService({ webhookAllowPrivate: false });
beforeAll(async () => {
  const account = await service.account();
  const other = await service.account();
  const event = await account.event({}, PLANS);
  const election = await account.event(
    { type: 'election', voter: { requireVoterId: true, selfRegistration: true } },
    PLANS.slice(0, 1),
  );
  const saveInfo = await account.event({ voter: { saveVoterInfo: true } }, PLANS.slice(0, 1));
  const candidateReg = await account.event({ candidate: { selfRegistration: true } }, PLANS.slice(0, 1));
  const otherEvent = await other.event({}, PLANS.slice(0, 1));
  await other.event({}, []).catch(() => undefined);
  const otherGroup = await other.post(`/voting-events/${otherEvent.id}/groups`, { name: 'Theirs' });
  const otherPage = await other.get('/voting-events?limit=1');
  const otherCast = await other.page(otherEvent, 'ballot/cast', { visitorId: visitor(), votes: votesFor(otherEvent) });
  const revoked = await service.account();
  await service.query('UPDATE api_keys SET revoked_at = 1 WHERE account_id = $1', [revoked.id]);
  const business = await connectTestBusiness(service, account, 'provider_a');
  const paidEvent = await account.event({}, PLANS.slice(0, 1), true, async (id) => {
    const link = { paymentBusinessId: business.id };
    await account.put(`/voting-events/${id}/payment-business`, link);
    const payments = { payToVote: PRICE.provider_a, payToRegisterCandidate: PRICE.provider_a };
    await account.patch(`/voting-events/${id}`, { payments });
  });
  const payment = await account.page(paidEvent, 'ballot/cast', {
    visitorId: visitor(),
    returnUrl: RETURN_URL,
    votes: votesFor(paidEvent),
  });
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
    paidEventPaymentId: payment.body.data.paymentAttemptId,
    voteKey: account.vote,
    readKey: account.read,
    writeKey: account.write,
    revokedKey: revoked.read,
    visitorId: visitor(),
    event: event.id,
    electionEvent: election.id,
    selfRegEvent: election.id,
    saveInfoEvent: saveInfo.id,
    candidateRegEvent: candidateReg.id,
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
    const wrong: string[] = [];
    for (const input of asked) {
      const answer = await sendBadInput(service.port, input, values);
      const fault = faultOf(input, answer.status, answer.body);
      if (fault !== undefined) wrong.push(`${input.name}: ${fault}`);
    }
    console.info(
      `${asked.length} of ${all.length} cases of bad input were run; the others ask for what this test does not have`,
    );
    expect(wrong).toEqual([]);
    expect(asked.length).toBeGreaterThan(110);
  });

  test('never turns random bytes in a body into a 500', async () => {
    const target = `/public/voting-events/${values['event']}/ballot/cast`;
    const texts = [
      '{',
      '[]',
      '{"a":1e999}',
      '{"votes":[[[[]]]]}',
      '"\\ud800"',
      '{"visitorId":{"__proto__":1}}',
      '{"votes":[{"value":1e308}]}',
    ];
    for (const text of texts) {
      const response = await fetch(`http://127.0.0.1:${service.port}${target}`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${values['voteKey']}`, 'Content-Type': 'application/json' },
        body: text,
      });
      expect([text, response.status]).toEqual([text, 422]);
    }
  });
});

/** What is wrong with an answer, or undefined. */
function faultOf(input: BadInput, status: number, body: string): string | undefined {
  if (status !== input.expectStatus) return `expected ${input.expectStatus}, got ${status} ${body.slice(0, 200)}`;
  // Some look bad and are good: their answer has no error.
  if (status < 400) return undefined;
  let error:
    | { code?: string; requestId?: string; details?: { field?: string; issues?: { field: string }[] } }
    | undefined;
  try {
    error = JSON.parse(body).error;
  } catch {
    return `the body is not JSON: ${body.slice(0, 100)}`;
  }
  if (error === undefined) return `there is no envelope: ${body.slice(0, 200)}`;
  if (input.expectCode !== undefined && error.code !== input.expectCode)
    return `expected ${input.expectCode}, got ${error.code}`;
  if (error.requestId === undefined) return 'there is no request ID';
  const fields = error.details?.issues?.map((issue) => issue.field) ?? [error.details?.field];
  if (input.expectField != null && !fields.includes(input.expectField))
    return `expected field ${input.expectField}, got ${fields.join()}`;
  return undefined;
}
