import { sql } from 'drizzle-orm';
import { expect, test, vi } from 'vitest';
import { refusalOf } from '#test/harness/answers.ts';
import { visitor, votesFor } from '#test/harness/elections.ts';
import { setEvent } from '#test/harness/genuine-rows.ts';
import { holdStatement } from '#test/harness/intercept-statements.ts';
import { createPaidEvent, PRICE, RETURN_URL, usePaidService } from '#test/harness/payments.ts';
import type { TestAnswer } from '#test/harness/test-service.ts';

const { service, poll } = await usePaidService();

/** Changes that the first open payment freezes (completions 1.6, `event_has_ballots`), and that make its ballot one that is refused. */
const CHANGES = [
  [
    'the deletion of its candidate',
    'DELETE',
    (event: Paid) => `/candidates/${event.positions[0]?.candidates[0]}`,
    undefined,
  ],
  ['the deletion of its position', 'DELETE', (event: Paid) => `/positions/${event.positions[0]?.id}`, undefined],
  ['a voter ID that is asked for', 'PATCH', () => '', { voter: { requireVoterId: true } }],
  ['another price', 'PATCH', () => '', { payments: { payToVote: { amountMinor: 700, currency: 'usd' } } }],
  ['another title, which freezes nothing', 'PATCH', () => '', { title: 'Another title' }],
] as const;
type Paid = Awaited<ReturnType<typeof createPaidEvent>>;

test.each(CHANGES)(
  'the first call of a paid vote beside %s is explained by one order of the two',
  async (_, method, path, change) => {
    const event = await createPaidEvent(service, 'provider_a');
    const { definitions } = service.deps;
    const get = definitions.get.bind(definitions);
    let changed: TestAnswer | undefined;
    // The ballot is judged by the definition that was read here; the other process changes it before the attempt is stored.
    using reads = vi.spyOn(definitions, 'get').mockImplementationOnce(async (of) => {
      const read = await get(of);
      changed = await event.account.of(event).send(method, path(event), change);
      return read;
    });
    const body = { visitorId: visitor(), votes: votesFor(event), returnUrl: RETURN_URL };
    const first = await event.page('ballot/cast', body);
    expect(reads.mock.calls.length).toBeGreaterThan(0);
    // A payer is sent to a page: then the ballot is frozen. Or the change was first, and the ballot is refused.
    const isFrozen = first.status === 402 && changed?.status === 409;
    const isRefused = [422, 500].includes(first.status) && [200, 202].includes(changed?.status ?? 0);
    const isHarmless = first.status === 402 && changed?.status === 200 && 'title' in (change ?? {});
    expect(isFrozen || isRefused || isHarmless, `first call ${first.status}, change ${changed?.status}`).toBe(true);
  },
);

/** Sends a request, and runs a change of its event while the request waits at a statement. @returns the answer to the request */
async function beside(held: RegExp, change: () => Promise<unknown>, send: () => Promise<TestAnswer>) {
  const statement = holdStatement(held);
  try {
    const sent = send();
    await statement.reached;
    await change();
    statement.free();
    return await sent;
  } finally {
    statement.free();
    statement.restore();
  }
}

// The ballot was judged, and its attempt is not stored yet.
test('no payer is sent to a page for a vote in an event that was closed before the payment was begun', async () => {
  const event = await poll('provider_a');
  const body = { visitorId: visitor(), votes: votesFor(event), returnUrl: RETURN_URL };
  const close = () => event.change({ status: 'closed' });
  const first = await beside(/payment_businesses/, close, () => event.page('ballot/cast', body));
  expect([refusalOf(first), await event.show('/payments')]).toEqual([[403, 'event_closed'], []]);
});

// The end that a schedule brings leaves the definition at its version.
test.each(['ballot/cast', 'register/candidate'])(
  'no payer of %s is sent to a page after the scheduled end',
  async (path) => {
    const payments = { payToVote: PRICE.provider_a, payToRegisterCandidate: PRICE.provider_a };
    const event = await poll('provider_a', { payments, candidate: { selfRegistration: true } });
    const vote = { visitorId: visitor(), votes: votesFor(event), returnUrl: RETURN_URL };
    const positionIds = [event.positions[0]?.id];
    const registration = { name: 'Cleo', positionIds, email: 'c@mail.example', returnUrl: RETURN_URL };
    const body = path === 'ballot/cast' ? vote : registration;
    const end = () => setEvent(service, event.id, sql`ends_at = now_ms() - 1`);
    const first = await beside(/payment_businesses/, end, () => event.page(path, body));
    expect([refusalOf(first), await event.show('/payments')]).toEqual([[403, 'event_closed'], []]);
  },
);

test('no candidate is registered for nothing once registration has a price', async () => {
  const event = await poll('provider_a', { payments: {}, candidate: { selfRegistration: true } });
  const body = { name: 'Cleo', positionIds: [event.positions[0]?.id], email: 'c@mail.example', returnUrl: RETURN_URL };
  const price = { payments: { payToRegisterCandidate: PRICE.provider_a } };
  const { returnUrl: _, ...free } = body;
  const register = () => event.page('register/candidate', free);
  const change = () => event.change(price);
  expect((await beside(/voting_events.*for update/is, change, register)).status).toBe(500);
  expect(await event.show('/candidates')).toHaveLength(2);
  expect((await event.page('register/candidate', body)).status).toBe(402);
});
