import { sql } from 'drizzle-orm';
import { describe, expect, test } from 'vitest';
import { loadBallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import { castBallot } from '#src/ballots/cast-ballot.ts';
import { EventCounter } from '#src/results/count-event.ts';
import { EventCache, findAccess } from '#src/voting-events/access.ts';
import { demand, PLURALITY, type TestEvent, visitor } from '#test/harness/elections.ts';
import { PRICE } from '#test/harness/payments.ts';
import { type TestService, untilTrue } from '#test/harness/test-service.ts';
import { useTwoProcesses } from './two-processes.ts';

const { first, second, account } = await useTwoProcesses();

const titleAt = async (service: TestService, event: TestEvent): Promise<string> =>
  demand(await service.call('GET', `/public/voting-events/${event.id}`, undefined, { key: account.vote }), 200).title;

/** As if the change was not announced: the cache alone has to notice. */
const renameUnannounced = (event: TestEvent, title: string): Promise<unknown> =>
  first.deps.db.transaction(async (tx) => {
    await tx.execute(sql`SET LOCAL session_replication_role = replica`);
    await tx.execute(sql`UPDATE voting_events SET title = ${title} WHERE id = ${event.id}`);
  });

describe('an event that voters ask for', () => {
  test('is read once by requests that ask together, and from memory by the next', async () => {
    const event = await account.event();
    const cache = new EventCache(first.deps);
    const find = () => cache.find(account.id, event.id, Date.now());
    const [one, two] = await Promise.all([find(), find()]);
    expect(one?.event.id).toBe(event.id);
    expect(two).toBe(one);
    expect(await find()).toBe(one);
    cache.forget(event.id);
    expect(await find()).not.toBe(one);
  });

  // Otherwise each of the 4,096 spellings of a code took a place of its own.
  test('is kept once, however its code is spelt', async () => {
    const event = await account.event();
    const cache = new EventCache(first.deps);
    const code = event.code.toLowerCase();
    const one = await cache.find(account.id, code, Date.now());
    expect(one?.event.id).toBe(event.id);
    expect(await cache.find(account.id, code.toUpperCase(), Date.now())).toBe(one);
  });

  test('shows an edit at once where it was made, and at every other process as soon as that is told of it', async () => {
    const event = await account.event({ title: 'Before' });
    for (const title of ['Once', 'Twice', 'Thrice']) {
      await titleAt(second, event);
      demand(await first.call('PATCH', `/voting-events/${event.id}`, { title }, { key: account.write }), 200);
      expect(await titleAt(first, event)).toBe(title);
      await untilTrue(async () => (await titleAt(second, event)) === title);
    }
  });

  test('shows an edit even where its announcement was lost', async () => {
    const event = await account.event({ title: 'Before' });
    const cache = new EventCache(first.deps);
    const title = async () => (await cache.find(account.id, event.id, Date.now()))?.event.title;
    expect(await title()).toBe('Before');
    await renameUnannounced(event, 'After');
    await untilTrue(async () => (await title()) === 'After', 3_000);
  });

  test('is not kept when it was read while it changed', async () => {
    const event = await account.event({ title: 'Before' });
    const cache = new EventCache(first.deps);
    const reading = cache.find(account.id, event.id, Date.now());
    cache.forget(event.id);
    await reading;
    await renameUnannounced(event, 'After');
    expect((await cache.find(account.id, event.id, Date.now()))?.event.title).toBe('After');
  });

  test('is gone for everybody a moment after its deletion, and a draft is never kept', async () => {
    const event = await account.event({}, PLURALITY, false);
    const status = async (service: TestService) =>
      (await service.call('GET', `/public/voting-events/${event.id}`, undefined, { key: account.vote })).status;
    expect([await status(first), await status(second)]).toEqual([404, 404]);
    demand(await first.call('PATCH', `/voting-events/${event.id}`, { status: 'open' }, { key: account.write }), 200);
    expect([await status(first), await status(second)]).toEqual([200, 200]);
    await first.call('DELETE', `/voting-events/${event.id}`, undefined, { key: account.write });
    expect(await status(first)).toBe(404);
    await untilTrue(async () => (await status(second)) === 404);
  });

  test('has results for all who ask at once by a definition that was changed since, with the ballots of the new one', async () => {
    const event = await account.event();
    const remembered = await loadBallotDefinition(first.deps.db, event.id);
    if (remembered === undefined) throw new Error('the event is there');
    const [position] = event.positions;
    const late = { name: 'Late', positionIds: [position?.id] };
    const path = `/voting-events/${event.id}/candidates`;
    const { id: candidateId } = demand(await first.call('POST', path, late, { key: account.write }), 201);
    await account.votePoll(event, [{ positionId: position?.id, candidateId }]);
    const counter = new EventCounter(first.deps);
    const asked = Array.from({ length: 8 }, () => counter.results(remembered, 'organizer', Date.now()));
    for (const { stats, positions } of await Promise.all(asked)) {
      expect(stats.ballots).toBe(1);
      expect(positions[0]?.candidates.map(({ id, votesWon }) => [id, votesWon])).toContainEqual([candidateId, 1]);
    }
  });

  test('takes no free ballot once it has a price, whoever still remembers it without one', async () => {
    const event = await account.event();
    const remembered = await findAccess(first.deps, account.id, event.id);
    if (remembered === undefined) throw new Error('the event is there');
    await first.query('UPDATE voting_events SET pay_to_vote = $1, paper_version = paper_version + 1 WHERE id = $2', [
      JSON.stringify(PRICE.provider_a),
      event.id,
    ]);
    const changed = await findAccess(first.deps, account.id, event.id);
    if (changed === undefined) throw new Error('the event is there');
    await first.deps.definitions.get(changed.event);
    const [position] = event.positions;
    const votes = [{ positionId: position?.id ?? '', candidateId: position?.candidates[0] ?? '' }];
    const caller = { ...(await first.deps.authenticator.authenticate(`Bearer ${account.vote}`)) };
    await expect(
      castBallot(first.deps, { ...remembered, caller }, { visitorId: visitor(), votes }, undefined),
    ).rejects.toThrow('changed meanwhile');
    const rows = await first.query('SELECT 1 FROM pending_ballots WHERE voting_event_id = $1', [event.id]);
    expect(rows).toEqual([]);
  });
});
