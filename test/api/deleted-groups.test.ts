import { expect, test } from 'vitest';
import { leaveDeletedGroups } from '#src/voters/change-in-pages.ts';
import { sealDeps } from '#src/work.ts';
import { demand } from '#test/harness/answers.ts';
import { finishEvent, PLURALITY, tendLog } from '#test/harness/elections.ts';
import { useAccount } from '#test/harness/test-service.ts';

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
    runJob: () => leaveDeletedGroups(service.deps.db, service.deps.secrets, event.id),
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
