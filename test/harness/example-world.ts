import { EXAMPLE } from '#src/http/example-values.ts';
import { sequenceServiceLog } from '#src/service-log/sequence-service-log.ts';
import { createTestEvent, demand, finishEvent, sealBallots, type TestEvent, visitor } from './elections.ts';
import { mailedVoterKey } from './mails.ts';
import { checkoutUrlOf, connectTestBusiness, decide } from './payments.ts';
import { inviteToken } from './sharing.ts';
import { eventually, type TestAccount, type TestAnswer, type TestService } from './test-service.ts';

/** What an example needs of the event that it is about. */
export interface WorldPlan {
  readonly type: 'election' | 'poll';
  readonly paid: boolean;
  readonly quadratic: boolean;
  /** A ballot is confirmed, and the log of the event is finished. */
  readonly logged: boolean;
  /** Its position is ranked. */
  readonly ranked: boolean;
}

/** The event that an example is about, as its reader would think of it. @param name of the operation, and of the kind of its body */
export function planOf(name: string, path: string): WorldPlan {
  const election = /Election|VoterKey|registerVoter/.test(name);
  const quadratic = /Credit/.test(name);
  const pays = /FinishPayment|CastPoll|RegisterCandidateInput|getPayment|getPublicPayment/.test(name);
  return {
    type: election || /voters|notifications|letters/.test(path) ? 'election' : 'poll',
    paid: pays && !quadratic,
    quadratic,
    logged: /\/log\/|Blt/.test(`${path} ${name}`),
    ranked: /Blt/.test(name),
  };
}

/** An event with one of everything: what the examples of the API document tell of. */
export interface ExampleWorld {
  readonly account: TestAccount;
  readonly eventCode: string;
  /** Puts what really exists in the place of what an example names. @param firstCall makes the payment that a second call finishes */
  fill(text: string, firstCall: () => Promise<string>): Promise<string>;
}

const PRICE = { amountMinor: 500, currency: 'usd' };

type Send = (method: string, path: string, body?: unknown) => Promise<{ readonly id: string }>;

async function sendVoterKey(service: TestService, account: TestAccount, event: string): Promise<string> {
  const path = `/public/voting-events/${event}/voter-key/request`;
  return mailedVoterKey(service, async () =>
    demand(await service.call('POST', path, { email: 'vera@club.example' }, { key: account.vote }), 200),
  );
}

/** Letters that are there to be downloaded. */
async function printLetters(
  service: TestService,
  account: TestAccount,
  path: string,
  create: (where: string, body: unknown) => Promise<string>,
): Promise<string> {
  await create(`${path}/voters`, { name: 'Ulla', voterId: 'M-1043' });
  const id = await create(`${path}/voters/letters`, { audience: 'without_email' });
  await eventually(async () => {
    const shown = await service.call('GET', `${path}/letters/${id}`, undefined, { key: account.read });
    return demand(shown, 200).finishedAt ?? undefined;
  }, 60_000);
  return id;
}

async function castSomething(
  service: TestService,
  account: TestAccount,
  event: string,
  vote: object,
  logged: boolean,
): Promise<string> {
  const path = `/public/voting-events/${event}/ballot`;
  const key = { key: account.vote };
  const body = { visitorId: visitor(), votes: [vote] };
  const { confirmationCode } = demand(await service.call('POST', `${path}/cast`, body, key), 201);
  if (logged) {
    demand(await service.call('POST', `${path}/confirm`, { confirmationCode }, key), 200);
    await sealBallots(service, event);
    await sequenceServiceLog(service.deps);
    await finishEvent(service, event);
  }
  return confirmationCode;
}

/** A delivery of an endpoint whose receiver cannot be reached. */
async function findDelivery(service: TestService, account: TestAccount, endpoint: string, send: Send): Promise<string> {
  await send('POST', '/voting-events', { title: 'Another event', type: 'poll' });
  return eventually(async () => {
    const path = `/webhook-endpoints/${endpoint}/deliveries`;
    const [row] = demand(await service.call('GET', path, undefined, { key: account.read }), 200);
    return row?.id;
  });
}

const QUADRATIC = { pricingModel: 'ratio', currency: 'usd', pricePerCreditMinor: 10, minCredits: 50 };

function createExampleEvent(
  service: TestService,
  account: TestAccount,
  plan: WorldPlan,
  prepare: (id: string) => Promise<void>,
): Promise<TestEvent> {
  const settings = {
    type: plan.type,
    voter: { selfRegistration: plan.type === 'election' },
    candidate: { selfRegistration: true },
    results: { visibility: 'live' },
    ballot: { opening: 'public' },
  };
  const position = {
    votingMethod: plan.quadratic ? 'quadratic' : plan.ranked ? 'ranked_choice' : 'plurality',
    candidates: ['Greta Lind', 'Amir Haddad'],
    ...(plan.quadratic ? { settings: { quadraticTopUp: QUADRATIC } } : {}),
  };
  return createTestEvent(service, account, settings, [position], true, prepare);
}

/** Makes a fresh account with an event that has one of everything. @param byId names it by its ID in place of its code */
export async function createExampleWorld(service: TestService, plan: WorldPlan, byId = false): Promise<ExampleWorld> {
  const account = await service.account();
  const send: Send = async (method, path, body) => {
    const answer = await service.call(method, path, body, { key: account.write });
    return demand(answer, answer.status < 300 ? answer.status : 200);
  };
  const business = await connectTestBusiness(service, account, 'provider_a');
  const event = await createExampleEvent(service, account, plan, async (id) => {
    await send('PUT', `/voting-events/${id}/payment-business`, { paymentBusinessId: business.id });
    const priced = plan.type === 'poll' ? ['payToVote', 'payToRegisterCandidate'] : ['payToRegisterCandidate'];
    const payments = Object.fromEntries(priced.map((name) => [name, PRICE]));
    if (plan.paid) await send('PATCH', `/voting-events/${id}`, { payments });
  });
  const things = await thingsOf(service, account, byId ? { ...event, code: event.id } : event, send, plan);
  const made = new Map<string, Promise<string>>();
  return {
    account,
    eventCode: event.code,
    async fill(text, firstCall) {
      let filled = text.replaceAll(EXAMPLE.business, business.id);
      for (const [name, make] of things) {
        if (filled.includes(name)) filled = filled.replaceAll(name, await made.getOrInsertComputed(name, make));
      }
      return filled.includes(EXAMPLE.payment) ? filled.replaceAll(EXAMPLE.payment, await firstCall()) : filled;
    },
  };
}

/** What examples name, made when one does for the first time. */
async function thingsOf(
  service: TestService,
  account: TestAccount,
  event: TestEvent,
  send: Send,
  plan: WorldPlan,
): Promise<readonly (readonly [string, () => Promise<string>])[]> {
  const path = `/voting-events/${event.id}`;
  const [position] = event.positions;
  const choice = { positionId: position?.id, candidateId: position?.candidates[0] };
  const vote = plan.ranked ? { ...choice, rank: 1 } : choice;
  const code = plan.logged ? await castSomething(service, account, event.id, vote, true) : undefined;
  const email = `greta-${event.code.toLowerCase()}@example.com`;
  const create = async (where: string, body: unknown): Promise<string> => (await send('POST', where, body)).id;
  const invite = (): Promise<string> => create(`${path}/invites`, { email, role: 'viewer' });
  let endpoint = '';
  return [
    [EXAMPLE.event, async () => event.id],
    [EXAMPLE.eventCode, async () => event.code],
    [EXAMPLE.position, async () => position?.id ?? ''],
    [EXAMPLE.candidate, async () => position?.candidates[0] ?? ''],
    [EXAMPLE.otherCandidate, async () => position?.candidates[1] ?? ''],
    [EXAMPLE.visitor, async () => visitor()],
    [EXAMPLE.group, () => create(`${path}/groups`, { name: 'South' })],
    [EXAMPLE.sponsor, () => create(`${path}/sponsors`, { name: 'The library' })],
    [EXAMPLE.voter, () => create(`${path}/voters`, { name: 'Uma', email: 'uma@club.example' })],
    [EXAMPLE.notification, () => create(`${path}/voters/notify`, { audience: 'all', kind: 'key' })],
    [EXAMPLE.letters, () => printLetters(service, account, path, create)],
    [EXAMPLE.invite, invite],
    [
      EXAMPLE.endpoint,
      async () => {
        const body = { url: 'https://receiver.invalid/hooks', eventTypes: ['voting_event.created'] };
        endpoint = await create('/webhook-endpoints', body);
        return endpoint;
      },
    ],
    [EXAMPLE.delivery, () => findDelivery(service, account, endpoint, send)],
    [EXAMPLE.confirmationCode, async () => code ?? castSomething(service, account, event.id, vote, false)],
    [
      EXAMPLE.voterKey,
      async () => {
        await create(`${path}/voters`, { name: 'Vera', email: 'vera@club.example' });
        return sendVoterKey(service, account, event.id);
      },
    ],
    [
      EXAMPLE.downloadToken,
      async () => {
        const answer = await service.call('GET', `${path}/results/csv`, undefined, { key: account.read });
        return answer.headers.get('location')?.split('/downloads/')[1] ?? '';
      },
    ],
    [EXAMPLE.inviteToken, async () => invite().then(() => inviteToken(service, email))],
  ];
}

/** Pays what a first call asks for, and gives its attempt. */
export async function payFor(answer: TestAnswer): Promise<string> {
  const { paymentAttemptId } = demand(answer, 402);
  await decide(checkoutUrlOf(answer), 'pay');
  return paymentAttemptId;
}
