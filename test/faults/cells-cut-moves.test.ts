import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { finishMove, finishMoves, MoveRefused, showMovedAccounts, withCell } from '#src/cells/finish-move.ts';
import { cellsOf, cutAt, Killed } from '#test/harness/cells.ts';
import { startDatabaseProxy } from '#test/harness/database-proxy.ts';
import { people, votesFor } from '#test/harness/elections.ts';
import { withClient } from '#test/harness/empty-database.ts';
import { holdStatement } from '#test/harness/intercept-statements.ts';
import { startTestService } from '#test/harness/test-service.ts';
import { use, useDatabase } from '#test/harness/use.ts';

// docs/scaling.md, "A move": the commit in the old cell is the move, and whatever is cut off after it is finished.

const [databaseB, databaseC] = [await useDatabase(), await useDatabase()];
const proxy = await startDatabaseProxy(databaseC.url);
const cells = { DATABASE_CELLS: `b=${databaseB.url},c=${proxy.url}` };
// Without workers: a test finishes a move when it is to be finished.
const service = await use(startTestService({ worker: false, ballotKeysDir: '', environment: cells }));
afterAll(() => proxy.stop());
const { cellOf, move, read, homesOf } = cellsOf(service);

test('what a move left in one cell shows no copy that a later move makes', async () => {
  const account = await service.account('enterprise', 'main');
  const event = await account.event();
  await expect(move(account, 'main', 'b', cutAt('switched'))).rejects.toThrow(Killed);
  await showMovedAccounts(cellOf('main'));
  await move(account, 'b', 'c');
  const finish = async (): Promise<void> => {
    await showMovedAccounts(cellOf('main'));
    await finishMoves(cellOf('main'));
  };
  // Beside the move, and after it was cut off: its lock is gone by then.
  await expect(move(account, 'c', 'b', cutAt('copied', finish))).rejects.toThrow(Killed);
  await finish();
  expect(await homesOf(account)).toEqual(['c']);
  await account.votePoll(event, votesFor(event));
  await move(account, 'c', 'main');
  expect(await homesOf(account)).toEqual(['main']);
  expect(await read('main', 'SELECT 1 FROM moved_accounts')).toEqual([]);
});

test('a cell that is silent keeps no account of other cells between two cells', async () => {
  const [ofC, ofB] = [await service.account('enterprise', 'main'), await service.account('enterprise', 'main')];
  const event = await ofB.event();
  await expect(move(ofC, 'main', 'c', cutAt('switched'))).rejects.toThrow(Killed);
  await expect(move(ofB, 'main', 'b', cutAt('switched'))).rejects.toThrow(Killed);
  proxy.away = true;
  proxy.cut();
  try {
    await showMovedAccounts(cellOf('main'));
    await ofB.votePoll(event, votesFor(event));
    await finishMoves(cellOf('main'));
    expect(await read('main', 'SELECT account_id FROM moved_accounts')).toEqual([{ account_id: ofC.id }]);
  } finally {
    proxy.away = false;
  }
  await finishMoves(cellOf('main'));
  expect(await homesOf(ofC)).toEqual(['c']);
});

test('a look for moves keeps no connection to a cell that is frozen', async () => {
  const closed = Promise.withResolvers<void>();
  const frozen = createServer((socket) => void socket.resume().on('close', () => closed.resolve()));
  onTestFinished(() => void frozen.close());
  await once(frozen.listen(0, '127.0.0.1'), 'listening');
  const { port } = frozen.address() as AddressInfo;
  const databaseUrl = `postgres://voting@127.0.0.1:${port}/voting`;
  await expect(withCell({ databaseUrl }, async () => undefined)).rejects.toThrow();
  await closed.promise;
});

test('an account that came back loses nothing to who was late with its first move', async () => {
  const account = await service.account('enterprise', 'main');
  const election = await account.event({ type: 'election' });
  await account.of(election).make('/voters/batch', { voters: people(3) });
  const keys = () => read('main', 'SELECT id FROM ballot_keys WHERE voting_event_id = $1', [election.id]);
  const before = await keys();
  await expect(move(account, 'main', 'b', cutAt('switched'))).rejects.toThrow(Killed);
  const { reached, free, restore } = holdStatement(/delete_event_rows/);
  onTestFinished(restore);
  const finish = () => finishMove(cellOf('main'), cellOf('b'), account.id, 1);
  const late = finish().catch((fault: unknown) => fault);
  await reached;
  await expect(finish()).rejects.toThrow(MoveRefused);
  // Its connection is lost, and its lock with that.
  await read(
    'main',
    `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND pid IN (
    SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'voting-service move')`,
  );
  await expect
    .poll(() =>
      finish().then(
        () => true,
        () => false,
      ),
    )
    .toBe(true);
  const release = async (): Promise<void> => {
    free();
    expect(await late).toBeInstanceOf(Error);
  };
  await move(account, 'b', 'main', async (stage) => {
    if (stage === 'copied') await release();
  });
  expect(await account.of(election).show('/voters')).toHaveLength(3);
  expect([before.length, await keys()]).toEqual([1, before]);
});

test('the old cell keeps the ballots of an account that no other cell has', async () => {
  const account = await service.account('enterprise', 'main');
  const event = await account.event();
  for (let n = 0; n < 3; n += 1) await account.votePoll(event, votesFor(event));
  const ballots = () => read('main', 'SELECT 1 FROM ballot_queue WHERE voting_event_id = $1', [event.id]);
  await expect(move(account, 'main', 'b', cutAt('switched'))).rejects.toThrow(Killed);
  // As if cell b came back from a backup of before the move.
  await read('b', 'DELETE FROM arriving_rows WHERE account_id = $1', [account.id]);
  await read('b', 'SELECT delete_event_rows($1, 100000)', [event.id]);
  await finishMoves(cellOf('main'));
  expect(await ballots()).toHaveLength(3);
});

test('the cell that an election has left vacuums the tables that would show who voted when', async () => {
  const account = await service.account('enterprise', 'main');
  await account.event({ type: 'election' });
  const planned = (cell: string) => read(cell, "SELECT account FROM jobs WHERE name = 'remove_dead_rows'");
  await cellOf('main').db.$client.query("DELETE FROM jobs WHERE name = 'remove_dead_rows'");
  await move(account, 'main', 'b');
  expect(await planned('main')).toEqual([{ account: '' }]);
});

test('a copy whose command was cut off goes by itself, and the account stays where it is', async () => {
  const account = await service.account('enterprise', 'main');
  const event = await account.event({ type: 'election' });
  await account.of(event).make('/voters/batch', { voters: people(3) });
  await expect(move(account, 'main', 'b', cutAt('copied'))).rejects.toThrow(Killed);
  const copied = () =>
    read(
      'b',
      `SELECT 1 FROM voters WHERE voting_event_id = $1 UNION ALL SELECT 1 FROM ballot_keys WHERE voting_event_id = $1
       UNION ALL SELECT 1 FROM arriving_rows WHERE account_id = $2 UNION ALL SELECT 1 FROM audit_entries WHERE account_id = $2`,
      [event.id, account.id],
    );
  expect(await copied()).not.toEqual([]);
  await finishMoves(cellOf('b'));
  expect([await copied(), await homesOf(account)]).toEqual([[], ['main']]);
  expect(await account.of(event).show('/voters')).toHaveLength(3);
  // One that has switched is not taken for such a copy.
  await expect(move(account, 'main', 'b', cutAt('switched'))).rejects.toThrow(Killed);
  await finishMoves(cellOf('b'));
  await finishMoves(cellOf('main'));
  expect(await account.of(event).show('/voters')).toHaveLength(3);
});

test('every process forgets the keys of an account with the switch, also if no word of the command follows', async () => {
  const account = await service.account('enterprise', 'main');
  const told: (string | undefined)[] = [];
  await withClient(service.deps.databaseUrl, async (client) => {
    client.on('notification', ({ payload }) => told.push(payload));
    await client.query('LISTEN account_changed');
    await expect(move(account, 'main', 'b', cutAt('switched'))).rejects.toThrow(Killed);
    await client.query('SELECT 1');
  });
  expect(told).toContain(account.id);
});
