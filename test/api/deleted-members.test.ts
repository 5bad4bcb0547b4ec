import { expect, test } from 'vitest';
import { leaveDeletedGroups } from '#src/voters/change-in-pages.ts';
import { removeDeletedVotersJob } from '#src/voters/delete-voter.ts';
import { sealDeps } from '#src/work.ts';
import { demand } from '#test/harness/answers.ts';
import { finishEvent, PLURALITY, tendLog, votesFor } from '#test/harness/elections.ts';
import { useAccount } from '#test/harness/test-service.ts';
import { giveVoterKey } from '#test/harness/voter-keys.ts';

const { service, account } = await useAccount({ worker: false });

/** An election whose group of five voters is deleted, large enough for a turnout of its own; the job that takes them out of it has not run. */
async function withDeletedGroup(isOpen: boolean) {
  const event = await account.event({ type: 'election' }, PLURALITY, isOpen);
  const own = account.of(event);
  const { id: groupId } = await own.make('/groups', { name: 'South' });
  const voters = [1, 2, 3, 4, 5].map((n) => ({ name: `V${n}`, email: `v${n}${event.id}@club.example`, groupId }));
  await own.make('/voters/batch', { voters });
  demand(await own.delete(`/groups/${groupId}`), 202);
  return {
    event,
    results: async () =>
      (await own.show('/results')) as { final: boolean; disputed: boolean; stats: { rollChanges: number } },
    runJob: () => leaveDeletedGroups(service.deps.db, service.deps, event.id),
  };
}

test('voters of a group that is deleted before the event opens are no change of the roll after it', async () => {
  const { event, results, runJob } = await withDeletedGroup(false);
  await account.of(event).change('', { status: 'open' });
  await runJob();
  expect((await results()).stats.rollChanges).toBe(0);
});

test('voters of a group that is deleted afterwards are, and a final result stays final whenever they leave the group', async () => {
  const { event, results, runJob } = await withDeletedGroup(true);
  expect((await results()).stats.rollChanges).toBe(5);
  await finishEvent(service, event.id);
  await tendLog(sealDeps(service.deps), event.id, 1);
  await runJob();
  expect(await results()).toMatchObject({ final: true, disputed: false, stats: { rollChanges: 5 } });
});

test.each(['open', 'rehearsal'])(
  'a voter who is deleted before the end (%s) counts for nothing in its result, also while the job that removes voters is late',
  async (status) => {
    const event = await account.event({ type: 'election' }, PLURALITY, false);
    const own = account.of(event);
    const add = (name: string, weight: number) => own.make('/voters', { name, email: `${name}@club.example`, weight });
    const [heavy, light, deleted] = [await add('heavy', 3), await add('light', 1), await add('half', 0.5)];
    await own.change('', { status });
    for (const [index, { id, email }] of [heavy, light].entries())
      await account.ballot(event, {
        voterKey: await giveVoterKey(service, event.id, id),
        email,
        votes: votesFor(event, index),
      });
    demand(await own.delete(`/voters/${deleted.id}`), 202);
    if (status === 'rehearsal') {
      await own.change('', { status: 'closed' });
      await tendLog(sealDeps(service.deps), event.id, 1);
      await tendLog(sealDeps(service.deps), event.id, 1);
    } else await finishEvent(service, event.id);
    const figures = async () => {
      const { final, disputed, positions } = await own.show('/results');
      return [final, disputed, ...positions[0].candidates.map(({ votesWon }: { votesWon: number }) => votesWon)];
    };
    expect(await figures()).toEqual([true, false, 3, 1]);
    await removeDeletedVotersJob(service.deps.db).work({ eventId: event.id }, { id: '1', attempt: 1, last: false });
    expect(await figures()).toEqual([true, false, 3, 1]);
  },
);
