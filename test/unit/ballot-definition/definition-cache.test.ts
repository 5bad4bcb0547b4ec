import { expect, test } from 'vitest';
import { BallotDefinitionCache, loadBallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import {
  listCandidates,
  listGroups,
  listPositions,
  listSponsors,
  readSmallBallot,
} from '#src/ballot-definition/repository.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { PLURALITY } from '#test/harness/elections.ts';
import { useAccount } from '#test/harness/test-service.ts';

const { service, account } = await useAccount({ worker: false });
const { db } = service.deps;

const makePoll = async () => {
  const { id } = await account.event({}, PLURALITY, false);
  const read = async () => (await findEventById(db, id)) ?? expect.fail('the event is there');
  return { id, read };
};

/** Longer than the account's rest between two loads, which is a second at most. */
const PATIENCE = { timeout: 10_000 };

/** A cache whose loads each wait until they are let go. */
function gatedCache() {
  const loads: string[] = [];
  const gates: (() => void)[] = [];
  const cache = new BallotDefinitionCache(db, (_, { event }) => {
    loads.push(event.id);
    return new Promise((resolve) => gates.push(() => resolve(false)));
  });
  return {
    cache,
    loads,
    next: () =>
      expect
        .poll(() => gates.length, PATIENCE)
        .toBe(1)
        .then(() => gates.shift()?.()),
  };
}

test('callers whose load began before a change share the one that follows', async () => {
  const poll = await makePoll();
  const { cache, loads, next } = gatedCache();
  const first = cache.get(await poll.read());
  await expect.poll(() => loads, PATIENCE).toHaveLength(1);
  await account.patch(
    `/voting-events/${poll.id}/positions/${(await account.show(`/voting-events/${poll.id}/positions`))[0].id}`,
    {
      title: 'Another title',
    },
  );
  const changed = await poll.read();
  const later = Array.from({ length: 30 }, () => cache.get(changed));
  await next();
  await next();
  const versions = (await Promise.all(later)).map((definition) => definition?.event.definitionVersion);
  expect(new Set(versions)).toEqual(new Set([changed.definitionVersion]));
  expect((await first)?.event.definitionVersion).toBeLessThan(changed.definitionVersion);
  expect(loads).toHaveLength(2);
});

test('loads of one account run one after the other', async () => {
  const [one, other] = [await makePoll(), await makePoll()];
  const { cache, loads, next } = gatedCache();
  const both = [cache.get(await one.read()), cache.get(await other.read())];
  await expect.poll(() => loads, PATIENCE).toEqual([one.id]);
  await next();
  await next();
  expect((await Promise.all(both)).map((definition) => definition?.event.id)).toEqual([one.id, other.id]);
});

test('a cache holds definitions by the memory that they take, not by their number', async () => {
  const found = async (id: string) => (await findEventById(db, id)) ?? expect.fail('the event is there');
  const small = await (await makePoll()).read();
  const one = await found((await sizedBallot(300)).id);
  const other = await found((await sizedBallot(300)).id);
  const sponsored = [await found((await withSponsors()).id), await found((await withSponsors()).id)] as const;
  const loadsWithin = async (
    bytes: number,
    asked: readonly VotingEvent[] = [one, other, small, one],
  ): Promise<number> => {
    let loads = 0;
    const cache = new BallotDefinitionCache(
      db,
      async () => {
        loads += 1;
        return false;
      },
      bytes,
    );
    for (const event of asked) await cache.get(event);
    return loads;
  };
  expect(await loadsWithin(5_000_000)).toBe(3);
  expect(await loadsWithin(500_000)).toBe(4);
  const [one_, other_] = sponsored;
  expect(await loadsWithin(5_000_000, [one_, other_, small, one_])).toBe(4);
  expect(await loadsWithin(50_000_000, [one_, other_, small, one_])).toBe(3);
});

/** Sponsors of whom each has two addresses of the greatest length. */
const withSponsors = () =>
  account.make('/voting-events/definition', {
    ...{ version: 1, event: { title: 'With sponsors', type: 'poll' }, positions: [], groups: [], candidates: [] },
    sponsors: Array.from({ length: 300 }, (_, at) => ({
      ...{ id: `s${at}`, name: `Sponsor ${at}`, logoUrl: longUrl('logo', at), websiteUrl: longUrl('web', at) },
    })),
  });
const longUrl = (of: string, at: number): string => `https://${of}.example/${at}/`.padEnd(2_000, 'x');

const sizedBallot = (candidates: number) =>
  account.make('/voting-events/definition', {
    version: 1,
    event: {
      ...{ title: 'Board “Ελλάς” 🗳', type: 'election', description: '{"not":"an object"}', timeZone: 'Europe/Berlin' },
      ...{ voter: { selfRegistration: true }, log: { open: true }, endsAt: Date.now() + 86_400_000 },
    },
    groups: ['b', 'a'].map((id) => ({ id, name: `Group ${id}`, description: '\\x00' })),
    positions: [
      { id: 'two', title: 'Credits', votingMethod: 'quadratic', sortOrder: 2 },
      { id: 'one', title: 'Chair', votingMethod: 'ranked_choice', seats: 2, groupId: 'a', sortOrder: 1 },
    ],
    candidates: Array.from({ length: candidates }, (_, at) => ({
      ...{ id: `c${at}`, name: `"Name" ${at}`, positionIds: at % 3 === 0 ? ['one', 'two'] : ['two'] },
      ...{ sortOrder: candidates - at, ...(at % 2 === 0 ? { groupId: 'b', description: 'Why\n\\n' } : {}) },
    })),
    sponsors: ['Library', 'Bakery'].map((name, sortOrder) => ({ id: name, name, tier: 'gold', sortOrder })),
  });

test('a ballot that one statement reads has the rows, values and order of the lists', async () => {
  const { id } = await sizedBallot(40);
  const [event, positions] = [await findEventById(db, id), await listPositions(db, id)];
  const rows = {
    candidates: await listCandidates(db, id),
    groups: await listGroups(db, id),
    sponsors: await listSponsors(db, id),
  };
  expect(rows.candidates).toHaveLength(40);
  expect(await readSmallBallot(db.$client, id)).toEqual({ event, positions, ...rows, mayBeLogged: false });
  expect(await readSmallBallot(db.$client, 've_none')).toBeUndefined();
  if (event === undefined) throw new Error('the event is gone');
  const read = async (of: VotingEvent) => {
    const found = await readSmallBallot(db.$client, id, of);
    return typeof found === 'object' ? found.event : found;
  };
  expect(await read(event)).toBe(event);
  expect(await read({ ...event, definitionVersion: event.definitionVersion - 1 })).toEqual(event);
  expect(await read({ ...event, endsAt: 1 })).toEqual(event);
  expect(await read({ ...event, finalAt: 1 })).toEqual(event);
});

test('a hundred candidates, who can have 2 MB, are not read by one statement', async () => {
  const { id } = await sizedBallot(100);
  expect(await readSmallBallot(db.$client, id)).toBe('large');
  expect((await loadBallotDefinition(db, id))?.candidates).toEqual(await listCandidates(db, id));
});
