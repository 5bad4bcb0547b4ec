import { describe, expect, test, vi } from 'vitest';
import { FREE_TRIES } from '#src/voters/public-routes.ts';
import { demand } from '#test/harness/answers.ts';
import { createTestEvent, visitor, votesFor } from '#test/harness/elections.ts';
import { interceptStatements } from '#test/harness/intercept-statements.ts';
import { useService } from '#test/harness/test-service.ts';

// Without jobs, whose transactions would be counted too.
const service = await useService({ worker: false });
const [busy, other] = [await service.account(), await service.account()];
const edited = await busy.event();
const voted = await other.event();
const election = { type: 'election', voter: { selfRegistration: true }, candidate: { selfRegistration: true } };
const joined = await createTestEvent(service, busy, election);

/** How many transactions were open at once at most, from now on. */
function watchTransactions() {
  let [open, most] = [0, 0];
  const end = interceptStatements((text, send) => {
    if (/^begin/i.test(text)) open += 1;
    if (/^(commit|rollback)/i.test(text)) open -= 1;
    most = Math.max(most, open);
    return send();
  });
  return { most: () => most, end };
}

/** Sends requests of one account while visitors of another vote. @returns transactions that were open at once at most, and the answers */
async function sendBesideVotes(send: (number: number) => Promise<{ readonly status: number }>, done: number) {
  const transactions = watchTransactions();
  try {
    const sent = Array.from({ length: 40 }, (_, number) => send(number));
    const votes = votesFor(voted);
    const casts = Array.from({ length: 8 }, () => other.page(voted, 'ballot/cast', { visitorId: visitor(), votes }));
    expect((await Promise.all(casts)).map(({ status }) => status)).toEqual(casts.map(() => 201));
    const answers = await Promise.all(sent);
    // On a slow machine the last ones are asked to come again.
    expect(answers.filter(({ status }) => status !== done && status !== 429)).toEqual([]);
    expect(answers.filter(({ status }) => status === done).length).toBeGreaterThan(8);
  } finally {
    transactions.end();
  }
  return transactions.most();
}

describe('requests of one account have few connections at a time: they wait for each other, and the voters of others vote meanwhile', () => {
  const position = `/voting-events/${edited.id}/positions/${edited.positions[0]?.id}`;
  test.for([
    ['changes', 200, (number: number) => busy.patch(position, { description: `Change ${number}` })],
    [
      'registrations of voters',
      201,
      (number: number) => busy.page(joined, 'register/voter', { name: `V${number}`, email: `v${number}@club.example` }),
    ],
    [
      'registrations of candidates',
      201,
      (number: number) =>
        busy.page(joined, 'register/candidate', { name: `C${number}`, positionIds: [joined.positions[0]?.id] }),
    ],
  ] as const)('%s', async ([, done, send]) => {
    const most = await sendBesideVotes(send, done);
    // Four of the account, and what else the service asks meanwhile.
    expect(most).toBeLessThan(8);
    expect(most).toBeGreaterThan(1);
  });
});

test('registrations that wait for a name server hold up no change of another account, and are no load', async () => {
  const answered = Promise.withResolvers<boolean>();
  using looks = vi.spyOn(service.deps, 'domainCheck').mockReturnValue(answered.promise);
  try {
    const register = (at: number) => busy.page(joined, 'register/voter', { name: 'S', email: `s${at}@slow.example` });
    const registrations = Array.from({ length: 12 }, (_, at) => register(at));
    await vi.waitFor(() => expect(looks).toHaveBeenCalledTimes(12));
    expect(service.deps.load.pressure().underWay).toBe(0);
    const [of] = voted.positions;
    const change = await other.patch(`/voting-events/${voted.id}/positions/${of?.id}`, { description: 'Meanwhile' });
    expect(change.status).toBe(200);
    answered.resolve(true);
    expect((await Promise.all(registrations)).map(({ status }) => status)).toEqual(registrations.map(() => 201));
  } finally {
    answered.resolve(true);
  }
});

test('checks that pause after wrong keys are no load, and no others are refused for them', async () => {
  const email = 'guessed@club.example';
  demand(await busy.post(`/voting-events/${joined.id}/voters`, { name: 'G', email }), 201);
  let answered = 0;
  const checks = Array.from({ length: FREE_TRIES + 20 }, () =>
    busy.page(joined, 'voter/check', { email, voterKey: 'ABCD-EFGH-JKMN-PQRS' }).finally(() => (answered += 1)),
  );
  // The service answers the first wrong keys at once, and delays the answers to the next ones.
  await vi.waitFor(() => {
    expect(answered).toBeGreaterThanOrEqual(FREE_TRIES);
    expect(service.deps.load.pressure().underWay).toBe(0);
  });
  expect(answered).toBeLessThan(checks.length);
  expect(new Set((await Promise.all(checks)).map(({ status }) => status))).toEqual(new Set([200]));
});
