import { expect, test } from 'vitest';
import { BallotDefinitionCache } from '#src/ballot-definition/ballot-definition.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import { PLURALITY } from '#test/harness/elections.ts';
import { useService } from '#test/harness/test-service.ts';

const service = await useService({ worker: false });
const account = await service.account();
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
