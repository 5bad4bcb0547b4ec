import { expect, test } from 'vitest';
import { createTestEvent, demand, visitor, votesFor } from '#test/harness/elections.ts';
import { patiently, useService } from '#test/harness/test-service.ts';
import { use } from '#test/harness/use.ts';
import { giveVoterKey } from '#test/harness/voter-keys.ts';

const first = await useService();
const services = [first, await use(first.another())] as const;
const account = await first.account();

/** Rounds at once, each of a participant of its own: batches and single statements are both met. */
const ROUNDS = 40;

test.each(['election', 'poll'] as const)(
  'a cast beside the confirm of the same participant’s ballot, on two processes, is explained by one order of the two: %s',
  async (type) => {
    const [one, two] = services;
    const event = await createTestEvent(one, account, { type });
    const base = `/public/voting-events/${event.id}/ballot`;
    const key = { key: account.vote };
    const votes = votesFor(event);
    const rows = Array.from({ length: ROUNDS }, (_, index) => ({ name: 'V', email: `v${index}@club.example` }));
    const path = `/voting-events/${event.id}/voters/batch`;
    const voters =
      type === 'poll' ? [] : demand(await one.call('POST', path, { voters: rows }, { key: account.write }), 201);
    const identities = await Promise.all(
      rows.map(async ({ email }, index) =>
        type === 'poll'
          ? { visitorId: visitor() }
          : { email, voterKey: await giveVoterKey(one, event.id, voters[index].id) },
      ),
    );
    const outcomes = await Promise.all(
      identities.map(async (identity) => {
        const { confirmationCode } = demand(await one.call('POST', `${base}/cast`, { ...identity, votes }, key), 201);
        const [confirmed, cast] = await Promise.all([
          one.call('POST', `${base}/confirm`, { confirmationCode }, key),
          two.call('POST', `${base}/cast`, { ...identity, votes }, key),
        ]);
        // Many codes that are gone by now are answered 429, as unknown ones.
        return `${confirmed.status === 429 ? 404 : confirmed.status} ${cast.status}`;
      }),
    );
    // The confirm first: the cast has voted already. The cast first: the earlier code is gone.
    expect(outcomes.filter((outcome) => outcome !== '200 409' && outcome !== '404 201')).toEqual([]);
  },
);

test('a ballot whose cast was answered beside the close can be confirmed for the 15 minutes after it', async () => {
  const [one, two] = services;
  for (let round = 0; round < 8; round += 1) {
    const event = await createTestEvent(one, account);
    const base = `/public/voting-events/${event.id}/ballot`;
    const votes = votesFor(event);
    const casts = Array.from({ length: 12 }, (_, index) =>
      (index % 2 === 0 ? one : two).call(
        'POST',
        `${base}/cast`,
        { visitorId: visitor(), votes },
        { key: account.vote },
      ),
    );
    const close = two.call('PATCH', `/voting-events/${event.id}`, { status: 'closed' }, { key: account.write });
    const answers = await Promise.all(casts);
    expect((await close).status).toBe(200);
    for (const { status, body } of answers.filter((answer) => answer.status === 201)) {
      expect(status).toBe(201);
      const { confirmationCode } = body.data;
      const confirm = () => one.call('POST', `${base}/confirm`, { confirmationCode }, { key: account.vote });
      expect(await patiently(confirm)).toMatchObject({ status: 200 });
    }
  }
});
