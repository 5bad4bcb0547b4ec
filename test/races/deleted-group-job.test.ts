import { expect, onTestFinished, test } from 'vitest';
import { leaveDeletedGroups } from '#src/voters/change-in-pages.ts';
import { demand, PLURALITY, votesFor } from '#test/harness/elections.ts';
import { interceptStatements } from '#test/harness/intercept-statements.ts';
import { useAccount } from '#test/harness/test-service.ts';
import { giveVoterKey } from '#test/harness/voter-keys.ts';

// Without jobs: that of the deleted group runs here, and is held where another process would come between.
const { service, account } = await useAccount({ worker: false });

/** Calls `meanwhile` before the first statement that matches, and lets the statement wait for it for a while: it may wait for a lock. */
function holdBefore(statement: RegExp, meanwhile: () => Promise<unknown>): void {
  const restore = interceptStatements((text, send) => {
    if (!statement.test(text)) return send();
    restore();
    const waited = new Promise((resolve) => setTimeout(resolve, 500));
    return Promise.race([meanwhile(), waited]).then(send);
  });
  onTestFinished(restore);
}

test.each([/UPDATE voters v? ?SET group_id = NULL/, /FROM groups|from "groups"/])(
  'a group that is made while the job of a deleted one runs keeps its voters, and their rows stay genuine (held before %s)',
  async (statement) => {
    const event = await account.event({ type: 'election' }, PLURALITY);
    const of = account.of(event);
    const gone = await of.make('/groups', { name: 'Gone' });
    await of.make('/voters', { name: 'Gus', email: 'gus@club.example', groupId: gone.id });
    demand(await of.delete(`/groups/${gone.id}`), 202);
    let added: Promise<{ id: string; groupId: string }> | undefined;
    holdBefore(statement, () => {
      added = (async () => {
        const east = await of.make('/groups', { name: 'East' });
        return of.make('/voters', { name: 'Ed', email: 'ed@club.example', groupId: east.id });
      })();
      return added;
    });
    await leaveDeletedGroups(service.deps.jobDatabases.deletions, service.deps, event.id);
    const { id = '', groupId } = (await added) ?? {};
    expect(groupId).toBeDefined();
    expect(await of.show(`/voters/${id}`)).toMatchObject({ groupId, disputed: false });
    const voterKey = await giveVoterKey(service, event.id, id);
    await account.ballot(event, { email: 'ed@club.example', voterKey, votes: votesFor(event) });
    expect(await of.show('')).toMatchObject({ disputed: false });
  },
);
