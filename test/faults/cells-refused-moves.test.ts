import { expect, onTestFinished, test } from 'vitest';
import { noteGuestCell } from '#src/accounts/guests.ts';
import { finishMoves, MoveRefused } from '#src/cells/finish-move.ts';
import { DAY_MS } from '#src/platform/clock.ts';
import { noteDelivered } from '#src/webhooks/sending-repository.ts';
import { demand } from '#test/harness/answers.ts';
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

test('an account moves while its webhooks are sent', async () => {
  const account = await service.account('enterprise', 'main');
  const { url, received } = await receive();
  const { id: endpointId } = await account.make('/webhook-endpoints', { url, eventTypes: ['voting_event.created'] });
  await account.event();
  await untilTrue(async () => received.length === 1);
  const delivery = 'SELECT id FROM webhook_deliveries WHERE endpoint_id = $1';
  const [sent] = await read('main', delivery, [endpointId]);
  const note = { endpointId, deliveryId: String(sent?.['id']), at: Date.now(), durationMs: 1 };
  await move(account, 'main', 'b', async (stage) => {
    if (stage !== 'copied') return;
    await noteDelivered(cellOf('main').db.$client, [{ ...note, responseStatus: 200, responseBody: null }]);
  });
  expect(await read('b', delivery, [endpointId])).toEqual([sent]);
});

test('a job that is planned again while a move waits is there once, and counts as waiting', async () => {
  const account = await service.account('enterprise', 'main');
  const event = await account.event({ type: 'election', endsAt: Date.now() + 20 * DAY_MS }, undefined, false);
  // A job of the account that runs for long.
  await read('main', "INSERT INTO job_runners (id, seen_at) VALUES ('slow', now_ms() + 600000)");
  await read(
    'main',
    `INSERT INTO jobs (name, payload, account, last, run_at, max_attempts, created_at, held_by, held_at)
     VALUES ('mail_account', json_build_object('accountId', $1::text), $1, false, 0, 5, 0, 'slow', now_ms() + 600000)`,
    [account.id],
  );
  const jobs = (cell: string) =>
    read(cell, 'SELECT key, attempts < max_attempts AS waits FROM jobs WHERE payload::text LIKE $1 ORDER BY key', [
      `%${event.id}%`,
    ]);
  const before = await jobs('main');
  const moving = move(account, 'main', 'b');
  const held = "SELECT 1 FROM jobs WHERE held_by = 'move ' || $1";
  await untilTrue(async () => (await read('main', held, [account.id])).length > 0);
  demand(await account.of(event).patch('', { endsAt: Date.now() + 10 * DAY_MS }), 200);
  await read('main', "DELETE FROM jobs WHERE held_by = 'slow'");
  await moving;
  expect([before.length > 0, await jobs('b')]).toEqual([true, before]);
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
