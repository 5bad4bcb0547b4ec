import { expect, test, vi } from 'vitest';
import { visitor, votesFor } from '#test/harness/elections.ts';
import { createPaidEvent, RETURN_URL, usePaidService } from '#test/harness/payments.ts';
import type { TestAnswer } from '#test/harness/test-service.ts';

const { service } = await usePaidService();

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
