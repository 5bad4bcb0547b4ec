import { expect, onTestFinished, test } from 'vitest';
import { noteGuestCell } from '#src/accounts/guests.ts';
import { finishMoves, MoveRefused } from '#src/cells/finish-move.ts';
import { cellsOf, cutAt, Killed } from '#test/harness/cells.ts';
import { people } from '#test/harness/elections.ts';
import { interceptStatements } from '#test/harness/intercept-statements.ts';
import { shareEvent } from '#test/harness/sharing.ts';
import { startTestService, untilTrue } from '#test/harness/test-service.ts';
import { use, useDatabase, useReceivers } from '#test/harness/use.ts';

// What a move would lose, it waits for or refuses (docs/scaling.md, "A move").

const [databaseB, databaseC] = [await useDatabase(), await useDatabase()];
const cells = { DATABASE_CELLS: `b=${databaseB.url},c=${databaseC.url}` };
const service = await use(startTestService({ environment: cells }));
const { cellOf, move, read } = cellsOf(service);
const receive = useReceivers();

/** Keeps statements with a text from being sent. @returns lets them go */
function holdStatements(isHeld: (text: string) => boolean) {
  const [free, reached] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const restore = interceptStatements((text, send) => {
    if (!isHeld(text)) return send();
    reached.resolve();
    return free.promise.then(send);
  });
  const release = (): void => {
    restore();
    free.resolve();
  };
  onTestFinished(release);
  return { release, reached: reached.promise };
}

test('an event does not move while one of its guests is between two cells, and the guest finds it afterwards', async () => {
  const [owner, guest] = [await service.account('enterprise', 'main'), await service.account('enterprise', 'main')];
  const event = await owner.event();
  await shareEvent(service, owner, event, guest, 'editor');
  const { release } = holdStatements((text) => text.includes('moved_accounts ORDER BY'));
  await expect(move(guest, 'main', 'b', cutAt('switched'))).rejects.toThrow(Killed);
  await expect(move(owner, 'main', 'c')).rejects.toThrow(MoveRefused);
  release();
  await finishMoves(cellOf('main'));
  await untilTrue(async () => (await guest.of(event).get('')).status === 200);
  // Nothing is noted where the guest is not.
  expect(await noteGuestCell(cellOf('main').db, guest.id, 'c')).toBe(false);
  await move(owner, 'main', 'c');
  expect((await guest.of(event).get('')).status).toBe(200);
});

test('a code that is asked for in the new cell while its event arrives there stays that of the event', async () => {
  const [owner, other] = [await service.account('enterprise', 'main'), await service.account('enterprise', 'b')];
  const event = await owner.event({ code: 'BOARD2030' });
  // The other has looked for the code in its own cell, and not yet in that of the event.
  let isClaimed = false;
  let asks = 0;
  const { release, reached } = holdStatements((text) => {
    if (text.includes('INTO code_claims')) isClaimed = true;
    if (isClaimed && text.includes('SELECT 1 FROM voting_events WHERE code_key = ANY')) asks += 1;
    return asks > 1 && text.includes('SELECT 1 FROM voting_events WHERE code_key = ANY');
  });
  const asked = other.post('/voting-events', { title: 'Another', type: 'poll', code: 'BOARD2030' });
  await reached;
  await expect(move(owner, 'main', 'b')).rejects.toThrow(MoveRefused);
  release();
  expect((await asked).status).toBe(409);
  await move(owner, 'main', 'b');
  expect((await owner.get('/voting-events/BOARD2030')).body.data.id).toBe(event.id);
});

test('an event does not move while the voters of a deleted one are copied into it', async () => {
  const account = await service.account('enterprise', 'main');
  const source = await account.event({ type: 'election' }, undefined, false);
  await account.of(source).make('/voters/batch', { voters: people(20) });
  const { release } = holdStatements((text) => text.includes('take_jobs'));
  const copy = await account.of(source).make('/copy', { title: 'A copy', withVoters: true });
  expect((await account.delete(`/voting-events/${source.id}`)).status).toBe(204);
  await expect(move(account, 'main', 'b')).rejects.toThrow(MoveRefused);
  release();
  await untilTrue(async () => (await account.of(copy).show('')).copy?.done === 20);
  await move(account, 'main', 'b');
  expect(await account.of(copy).show('/voters')).toHaveLength(20);
});

test('messages about voters of a deleted event lose the voters before the account moves', async () => {
  const account = await service.account('enterprise', 'main');
  const { url } = await receive((response) => response.writeHead(500).end());
  await account.make('/webhook-endpoints', { url, eventTypes: ['voter.created'] });
  const election = await account.event({ type: 'election' });
  await account.of(election).make('/voters/batch', { voters: people(2, 'person.example') });
  const named = (cell: string) => read(cell, "SELECT 1 FROM webhook_deliveries WHERE body LIKE '%person.example%'");
  expect(await named('main')).toHaveLength(2);
  const { release } = holdStatements((text) => text.includes('take_jobs'));
  expect((await account.delete(`/voting-events/${election.id}`)).status).toBe(204);
  await expect(move(account, 'main', 'b')).rejects.toThrow(MoveRefused);
  release();
  await untilTrue(async () => (await named('main')).length === 0);
  await move(account, 'main', 'b');
  expect(await named('b')).toEqual([]);
});

test('the trail and the invites of an event that moved say who its guests were', async () => {
  const [owner, guest, former] = [
    await service.account('enterprise', 'main'),
    await service.account('enterprise', 'main'),
    await service.account('enterprise', 'main'),
  ];
  const event = await owner.event();
  for (const one of [guest, former]) {
    await shareEvent(service, owner, event, one, 'editor');
    expect((await one.of(event).patch('', { description: `By ${one.id}` })).status).toBe(200);
  }
  const invites = await owner.of(event).show('/invites');
  const own = invites.find(
    ({ acceptedBy }: { acceptedBy: { accountId: string } }) => acceptedBy.accountId === former.id,
  );
  expect((await owner.of(event).delete(`/invites/${own.id}`)).status).toBe(204);
  const shown = async () => [await owner.of(event).show('/audit'), await owner.of(event).show('/invites')];
  const before = await shown();
  for (const [from, to] of [
    ['main', 'b'],
    ['b', 'c'],
    ['c', 'main'],
  ] as const) {
    await move(owner, from, to);
    expect(await shown()).toEqual(before);
  }
});
