import { expect, test, vi } from 'vitest';
import { loadBallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import { differsFromLog } from '#src/ballot-log/frozen.ts';
import { sequenceLog } from '#src/ballot-log/seal-ballots.ts';
import { inTransaction } from '#src/database/client.ts';
import { lockEvent, markFinal } from '#src/voting-events/repository.ts';
import { sealDeps } from '#src/work.ts';
import { refusalOf } from '#test/harness/answers.ts';
import { demand, PLURALITY, sealBallots, visitor, votesFor } from '#test/harness/elections.ts';
import { holdStatement } from '#test/harness/intercept-statements.ts';
import { cast, createKeyedElection, voteWith } from '#test/harness/keyed-elections.ts';
import { moveEnd } from '#test/harness/move-end.ts';
import { eventually, useAccount } from '#test/harness/test-service.ts';

// What a process keeps of an event may be old where no ballot depends on it. It is never written back, and what is new is not called forged.

const { service, account } = await useAccount({ worker: false });

test('an election becomes final whose voter got another address after a process had read it', async () => {
  const election = await createKeyedElection(service, account, [1, 1, 1, 1, 1, 1]);
  await voteWith(service, election, [0, 1, 2, 3, 4]);
  // Final in two seconds: until then the address may change, and the definition keeps its version.
  await moveEnd(service.deps, election.id, 'closed_at = now_ms() - 15 * 60 * 1000 + 2000');
  const path = `/voting-events/${election.id}`;
  await account.show(`${path}/results`);
  await account.change(`${path}/voters/${election.voters[5]?.id}`, { email: 'new@voters.example' });
  const event = await eventually(async () => {
    await sequenceLog(sealDeps(service.deps), election.id, 1);
    const shown = await account.show(path);
    return shown.finalAt !== null || shown.disputed ? shown : undefined;
  });
  expect(event).toMatchObject({ disputed: false, finalAt: expect.any(Number) });
  expect(await account.show(`${path}/results`)).toMatchObject({ final: true, stats: { identityChanges: 1 } });
});

test('an old copy of an event is not written over a newer row', async () => {
  const { id, voters } = await createKeyedElection(service, account, [1, 1]);
  const { db, secrets } = service.deps;
  const before = await inTransaction(db, (tx) => lockEvent(tx, id));
  if (before === undefined) throw new Error('the event is there');
  await account.change(`/voting-events/${id}/voters/${voters[1]?.id}`, { email: 'other@voters.example' });
  await expect(inTransaction(db, (tx) => markFinal(tx, secrets, before, 1))).rejects.toThrow('an old copy of it');
});

test('a definition that is recorded in the log meanwhile is not taken for a forged one', async () => {
  const election = await createKeyedElection(service, account, [1, 1, 1, 1, 1, 1]);
  await voteWith(service, election, [0, 1, 2, 3, 4]);
  await sealBallots(service, election.id);
  const { db, logKey } = service.deps;
  const path = `/voting-events/${election.id}/positions/${election.positions[0]?.id}`;
  const found = new Set<boolean>();
  for (let round = 0; round < 40; round += 1) {
    await account.change(path, { description: `Round ${round}` });
    const definition = await loadBallotDefinition(db, election.id);
    if (definition === undefined) throw new Error('the event is there');
    let isLogged = false;
    const recorded = sequenceLog(sealDeps(service.deps), election.id, 1).finally(() => {
      isLogged = true;
    });
    while (!isLogged) found.add(await differsFromLog({ db, logKey }, definition));
    await recorded;
  }
  expect(found).toEqual(new Set([false]));
});

test('a ballot that its organizer changes all the time is cast all the same', async () => {
  const poll = await account.event({ type: 'poll' }, PLURALITY);
  const { definitions } = service.deps;
  const get = definitions.get.bind(definitions);
  let [changes, isChanging] = [0, false];
  // Each definition is outdated as soon as it was read, unless a lock on the event refuses the change.
  definitions.get = async (event) => {
    const read = await get(event);
    if (isChanging) return read;
    isChanging = true;
    const { status } = await account.patch(`/voting-events/${poll.id}`, { description: `Version ${changes}` });
    isChanging = false;
    if (status === 200) changes += 1;
    return read;
  };
  try {
    const ballot = { visitorId: visitor(), votes: votesFor(poll, 0) };
    demand(await account.page(poll, 'ballot/cast', ballot), 201);
  } finally {
    definitions.get = get;
  }
  expect(changes).toBeGreaterThan(1);
});

test('what the deletion of its event overtakes is answered as if the event had never been there', async () => {
  const { definitions, ballotKeys } = service.deps;
  const election = await createKeyedElection(service, account, [1]);
  const get = definitions.get.bind(definitions);
  using reads = vi.spyOn(definitions, 'get');
  reads.mockImplementationOnce(async (event) => {
    const read = await get(event);
    demand(await account.of(election).delete(''), 204);
    return read;
  });
  expect(refusalOf(await cast(service, election, 0))).toEqual([404, 'not_found']);
  const roll = await account.event({ type: 'election' }, PLURALITY, false);
  using beforeRows = vi.spyOn(ballotKeys, 'requirePlaces');
  beforeRows.mockImplementationOnce(async () => void demand(await account.of(roll).delete(''), 204));
  const rows = { voters: [{ name: 'Vera', email: 'vera@voters.example' }] };
  expect(refusalOf(await account.of(roll).post('/voters/batch', rows))).toEqual([404, 'not_found']);
  expect([reads, beforeRows].map(({ mock }) => mock.calls.length > 0)).toEqual([true, true]);
});

test.each([
  ['self-registration was switched off', { voter: { selfRegistration: false } }, 403],
  ['voter IDs were asked for', { voter: { requireVoterId: true } }, 422],
])('a registration that is under way adds no voter after %s', async (_, change, status) => {
  const event = await account.event({ type: 'election', voter: { selfRegistration: true } });
  const held = holdStatement(/voting_events.*for key share/is);
  try {
    const registering = account.page(event, 'register/voter', { name: 'Vera', email: 'vera@voters.example' });
    await held.reached;
    await account.of(event).change('', change);
    held.free();
    expect([(await registering).status, await account.of(event).show('/voters')]).toEqual([status, []]);
  } finally {
    held.free();
    held.restore();
  }
});
