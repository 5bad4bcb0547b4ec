import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, expect, inject, onTestFinished, test } from 'vitest';
import { finishMoves, MoveRefused, takeBack } from '#src/cells/finish-move.ts';
import { serveKept } from '#src/cells/move-account.ts';
import { showCells } from '#src/commands/cell-status.ts';
import { cellsOf, cutAt, Killed } from '#test/harness/cells.ts';
import { runCommand } from '#test/harness/command-line.ts';
import { demand, votesFor } from '#test/harness/elections.ts';
import { holdStatement } from '#test/harness/intercept-statements.ts';
import { shareEvent } from '#test/harness/sharing.ts';
import { runStatements } from '#test/harness/test-database.ts';
import { startTestService, type TestService, untilTrue } from '#test/harness/test-service.ts';
import { keepLog, useDatabase } from '#test/harness/use.ts';

// docs/scaling.md, "A move": what a database of several has that came back from a backup is compared with what moved since.

const [main, b, c] = [await useDatabase(), await useDatabase(), await useDatabase()];
const adminUrl = inject('databaseUrl');
const secretKey = randomBytes(32).toString('base64');
const { log, lines } = keepLog('warn');

/** Without workers: a test finishes a move when it is to be finished. */
async function start(cells = `b=${b.url},c=${c.url}`, worker = false): Promise<TestService> {
  const environment = { DATABASE_CELLS: cells };
  const options = { worker, ballotKeysDir: '', databaseUrl: main.url, secretKey, environment, log };
  const service = await startTestService(options);
  let stopping: Promise<void> | undefined;
  const stop = () => (stopping ??= service.stop());
  onTestFinished(stop);
  return { ...service, stop };
}

const nameOf = (url: string): string => new URL(url).pathname.slice(1);

/** Copies a database to which no service is connected over another one. */
async function copyDatabase(from: string, to: string): Promise<void> {
  await runStatements(adminUrl, [
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${from}'`,
    `DROP DATABASE IF EXISTS ${to} WITH (FORCE)`,
    `CREATE DATABASE ${to} TEMPLATE ${from}`,
  ]);
}

/** Takes a backup of a cell's database. @returns what brings it back */
async function backUp({ url } = b): Promise<() => Promise<void>> {
  const copy = `voting_test_${randomBytes(8).toString('hex')}`;
  afterAll(() => runStatements(adminUrl, [`DROP DATABASE IF EXISTS ${copy} WITH (FORCE)`]));
  await copyDatabase(nameOf(url), copy);
  return () => copyDatabase(copy, nameOf(url));
}

/** An account with an event and a vote, a backup of its cell, and a second vote after the account has moved to another one. */
async function moveAfterBackup(from: 'b' | 'main' = 'b') {
  const before = await start();
  const account = await before.account('enterprise', from);
  const event = await account.event();
  const votes = votesFor(event);
  await account.votePoll(event, votes);
  await before.stop();
  const restore = await backUp(from === 'b' ? b : main);
  const service = await start();
  await cellsOf(service).move(account, from, from === 'b' ? 'main' : 'b');
  const page = { key: account.vote };
  const path = `/public/voting-events/${event.id}/ballot`;
  const cast = { visitorId: `vi_${randomBytes(16).toString('hex')}`, votes };
  const { confirmationCode } = (await service.call('POST', `${path}/cast`, cast, page)).body.data;
  expect((await service.call('POST', `${path}/confirm`, { confirmationCode }, page)).status).toBe(200);
  const countIn = async (on: TestService): Promise<number> =>
    (await on.call('GET', `/voting-events/${event.id}/stats`, undefined, { key: account.read })).body.data?.ballots
      .confirmed;
  return { account, event, restore, service, countIn };
}

const statusOf = async ({ deps }: TestService): Promise<string> =>
  ((await showCells(deps.config, main.url)).next ?? []).join('\n');

test('an account that moved since the backup of its old cell is served from the new one alone, and the older state kept', async () => {
  const { account, event, restore, service, countIn } = await moveAfterBackup();
  await service.stop();
  await restore();
  expect(await statusOf(service)).toContain('cell main has the later state');
  const after = await start();
  const { cellOf, homesOf, move, read } = cellsOf(after);
  expect([await homesOf(account), await countIn(after)]).toEqual([['main'], 2]);
  expect(lines).toContainEqual(expect.objectContaining({ alarm: 'account_twice', account: account.id, cell: 'b' }));
  expect(await statusOf(after)).toContain(`an older state of ${account.id}`);
  const kept = () => read('b', 'SELECT 1 FROM ballot_queue WHERE voting_event_id = $1', [event.id]);
  await finishMoves(cellOf('b'));
  await expect(move(account, 'main', 'b')).rejects.toThrow('--back deletes it');
  expect(await kept()).toHaveLength(1);
  await takeBack(cellOf('main'), cellOf('b'), account.id);
  expect([await kept(), await read('b', 'SELECT 1 FROM arriving_rows'), await countIn(after)]).toEqual([[], [], 2]);
});

/** An account whose older state was set aside in b, and whose later one a restore of the main database took away. */
async function loseLater() {
  const before = await start();
  const account = await before.account('enterprise', 'b');
  const event = await account.event();
  await before.stop();
  const [restore, restoreMain] = [await backUp(), await backUp(main)];
  const service = await start();
  await cellsOf(service).move(account, 'b', 'main');
  await service.stop();
  await restore();
  await (await start()).stop();
  await restoreMain();
  return { account, event, service: await start() };
}

// Completions 3: a code is one event's.
test('a state that is served again and an event that is made meanwhile do not get one code', async () => {
  const { account, event, service } = await loseLater();
  const other = await service.account('enterprise', 'main');
  const { reached, free, restore } = holdStatement(/insert into "voting_events"/i);
  onTestFinished(restore);
  const making = other.post('/voting-events', { title: 'Other', type: 'poll', code: event.code });
  await reached;
  await expect(serveKept(cellsOf(service).cellOf('b'), account.id)).rejects.toThrow('change that one first');
  free();
  expect((await making).status).toBe(201);
  expect(await cellsOf(service).homesOf(account)).toEqual([]);
});

test('a state that was set aside is served again where the later one is gone, and stays where it is the later one itself', async () => {
  const before = await start();
  const account = await before.account('enterprise', 'b');
  const event = await account.event();
  await account.votePoll(event, votesFor(event));
  await before.stop();
  const [restore, restoreMain] = [await backUp(), await backUp(main)];
  const service = await start();
  await cellsOf(service).move(account, 'b', 'main');
  await service.stop();
  await restore();
  const aside = await start();
  const renumber = (by: string) =>
    cellsOf(aside).read(
      'b',
      `UPDATE arriving_rows SET content = jsonb_set(content::jsonb, '{moved_at}', to_jsonb(${by}))::json WHERE table_name = 'accounts'`,
    );
  await renumber('now_ms()');
  const isLost = () => lines.some((line) => line['alarm'] === 'account_lost' && line['account'] === account.id);
  const { cellOf } = cellsOf(aside);
  await expect(takeBack(cellOf('main'), cellOf('b'), account.id)).rejects.toThrow('what is kept stays');
  expect(await statusOf(aside)).toContain(`a later state of ${account.id} than cell main serves`);
  await renumber('0');
  lines.length = 0;
  await finishMoves(cellOf('b'));
  expect(isLost()).toBe(false);
  await aside.stop();
  await restoreMain();
  const after = await start();
  await finishMoves(cellsOf(after).cellOf('b'));
  expect([isLost(), await cellsOf(after).homesOf(account)]).toEqual([true, []]);
  expect(await statusOf(after)).toContain(`this serves it again`);
  const cells = { DATABASE_CELLS: `b=${b.url},c=${c.url}` };
  const ended = await runCommand(after, ['cells', 'move-account', account.id, '--to', 'b', '--json'], cells);
  expect(ended, ended.stderr).toMatchObject({ code: 0 });
  const shown = await after.call('GET', `/voting-events/${event.code}/stats`, undefined, { key: account.read });
  expect(demand(shown, 200)).toMatchObject({ status: 'open', ballots: { confirmed: 1 } });
  expect(await statusOf(after)).not.toContain(account.id);
});

test.each(['b', 'main'])('cell %s is not served before every older state in it is set aside', async (from) => {
  const [old, to] = from === 'b' ? [b, 'main'] : [main, 'b'];
  const before = await start();
  const accounts = [await before.account('enterprise', from), await before.account('enterprise', from)];
  await before.stop();
  const restore = await backUp(old);
  const service = await start();
  for (const account of accounts) await cellsOf(service).move(account, from, to);
  await service.stop();
  await restore();
  const session = new pg.Client({ connectionString: old.url });
  await session.connect();
  onTestFinished(() => session.end());
  const { rows } = await session.query('SELECT id FROM accounts WHERE id = ANY ($1)', [accounts.map(({ id }) => id)]);
  await session.query('BEGIN');
  await session.query('SELECT FROM accounts WHERE id = $1 FOR UPDATE', [rows[0].id]);
  const starting = start();
  await untilTrue(() => lines.some(({ cell, account }) => cell === from && account === rows[0].id));
  await untilTrue(async () => (await session.query('SELECT FROM accounts WHERE id = $1', [rows[1].id])).rowCount === 0);
  if (from === 'b') {
    const { call, deps } = await starting;
    const answers = await Promise.all(accounts.map(({ read }) => call('GET', '/me', undefined, { key: read })));
    expect([deps.cells.get('b')?.standing.isServed, ...answers.map(({ status }) => status)]).toEqual([false, 200, 200]);
    expect((await call('GET', '/health')).status).toBe(200);
  }
  await session.query('COMMIT');
  const { deps } = await starting;
  await untilTrue(() => deps.cells.get('b')?.standing.isServed === true);
  for (const account of accounts) expect(await cellsOf({ deps }).homesOf(account)).toEqual([to]);
});

test('what an account left is kept while the cell that it moved to has an older state of it', async () => {
  const { account, event, restore, service, countIn } = await moveAfterBackup();
  await expect(cellsOf(service).move(account, 'main', 'b', cutAt('switched'))).rejects.toThrow(Killed);
  await service.stop();
  const bringNewest = await backUp();
  await restore();
  const late = await start();
  const { cellOf, move, read } = cellsOf(late);
  const left = () => read('main', 'SELECT 1 FROM ballot_queue WHERE voting_event_id = $1', [event.id]);
  await finishMoves(cellOf('main'));
  expect(await left()).toHaveLength(2);
  for (const cell of ['main', 'c']) await expect(move(account, 'b', cell)).rejects.toThrow(MoveRefused);
  expect(await left()).toHaveLength(2);
  expect(lines).toContainEqual(expect.objectContaining({ alarm: 'account_lost', account: account.id, cell: 'main' }));
  expect(await statusOf(late)).toContain(`${account.id} left for cell b, which lacks what it got`);
  await late.stop();
  await bringNewest();
  const last = await start();
  await finishMoves(cellsOf(last).cellOf('main'));
  expect([await cellsOf(last).read('main', 'SELECT 1 FROM moved_accounts'), await countIn(last)]).toEqual([[], 2]);
});

test('an older state does not move, and so become the later one, while the cell of the newer one is silent', async () => {
  const { account, restore, service, countIn } = await moveAfterBackup('main');
  await service.stop();
  await restore();
  const alone = await start(`b=${b.url.replace(/:\d+\//, ':1/')},c=${c.url}`);
  await expect(cellsOf(alone).move(account, 'main', 'c')).rejects.toThrow('cell b does not answer');
  await alone.stop();
  expect(await countIn(await start())).toBe(2);
});

test('an event names its guests as before where an older state of a guest is set aside in its cell', async () => {
  const before = await start(undefined, true);
  const [owner, guest] = [await before.account('enterprise', 'b'), await before.account('enterprise', 'b')];
  const event = await owner.event();
  await shareEvent(before, owner, event, guest, 'editor');
  await guest.of(event).change('', { description: 'By the guest' });
  await before.stop();
  const restore = await backUp();
  const service = await start();
  await cellsOf(service).move(guest, 'b', 'main');
  const shownOn = (on: TestService) =>
    Promise.all(
      ['audit', 'invites'].map(async (list) =>
        demand(await on.call('GET', `/voting-events/${event.id}/${list}`, undefined, { key: owner.read }), 200),
      ),
    );
  const shown = await shownOn(service);
  await service.stop();
  await restore();
  expect(await shownOn(await start())).toEqual(shown);
});

test('a copy of an earlier move in a restored cell goes by itself when the account is in a third cell since', async () => {
  const before = await start();
  const account = await before.account('enterprise', 'main');
  const event = await account.event();
  await expect(cellsOf(before).move(account, 'main', 'b', cutAt('copied'))).rejects.toThrow(Killed);
  await before.stop();
  const restore = await backUp();
  const service = await start();
  await cellsOf(service).move(account, 'main', 'c');
  await service.stop();
  await restore();
  const after = await start();
  const { cellOf, homesOf, read } = cellsOf(after);
  expect(await read('b', 'SELECT 1 FROM voting_events WHERE id = $1', [event.id])).toHaveLength(1);
  await finishMoves(cellOf('b'));
  expect(await read('b', 'SELECT 1 FROM voting_events WHERE id = $1', [event.id])).toEqual([]);
  const copied = await read('b', 'SELECT 1 FROM arriving_rows WHERE account_id = $1', [account.id]);
  expect([copied, await homesOf(account)]).toEqual([[], ['c']]);
  await read('c', 'UPDATE api_keys SET revoked_at = now_ms() WHERE account_id = $1', [account.id]);
  expect((await after.call('GET', '/me', undefined, { key: account.read })).status).toBe(401);
});

test('what a copy in a restored cell has stays while the account is nowhere else, or in an older state', async () => {
  const { account, event, restore: restoreOldest, service } = await moveAfterBackup();
  await expect(cellsOf(service).move(account, 'main', 'c', cutAt('copied'))).rejects.toThrow(Killed);
  await service.stop();
  const restoreCopy = await backUp(c);
  const moving = await start();
  await cellsOf(moving).move(account, 'main', 'c');
  await moving.stop();
  for (const restore of [restoreCopy, restoreOldest]) {
    await restore();
    const after = await start();
    await finishMoves(cellsOf(after).cellOf('c'));
    expect(
      await cellsOf(after).read('c', 'SELECT 1 FROM ballot_queue WHERE voting_event_id = $1', [event.id]),
    ).toHaveLength(2);
    await after.stop();
  }
});

test.each(['main', 'c'])(
  'the list of a guest in a restored cell has the event of an owner who moved to cell %s since',
  async (to) => {
    const before = await start(undefined, true);
    const [owner, guest] = [await before.account('enterprise', 'b'), await before.account('enterprise', 'b')];
    const event = await owner.event();
    await shareEvent(before, owner, event, guest, 'editor');
    await before.stop();
    const restore = await backUp();
    const service = await start();
    await cellsOf(service).move(owner, 'b', 'main');
    if (to === 'c') await cellsOf(service).move(owner, 'main', 'c');
    await service.stop();
    await restore();
    const { body } = await (await start()).call('GET', '/voting-events', undefined, { key: guest.read });
    expect(body.data).toMatchObject([{ id: event.id }]);
  },
);
