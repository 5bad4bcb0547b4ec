import { randomBytes } from 'node:crypto';
import { afterAll, expect, inject, onTestFinished, test } from 'vitest';
import { finishMoves, MoveRefused, takeBack } from '#src/cells/finish-move.ts';
import { showCells } from '#src/commands/cell-status.ts';
import { cellsOf, cutAt, Killed } from '#test/harness/cells.ts';
import { votesFor } from '#test/harness/elections.ts';
import { runStatements } from '#test/harness/test-database.ts';
import { startTestService, type TestService } from '#test/harness/test-service.ts';
import { keepLog, useDatabase } from '#test/harness/use.ts';

// docs/scaling.md, "A move": what a database of several has that came back from a backup is compared with what moved since.

const [main, b] = [await useDatabase(), await useDatabase()];
const adminUrl = inject('databaseUrl');
const secretKey = randomBytes(32).toString('base64');
const { log, lines } = keepLog('error');

/** Without workers: a test finishes a move when it is to be finished. */
async function start(): Promise<TestService> {
  const environment = { DATABASE_CELLS: `b=${b.url}` };
  const options = { worker: false, ballotKeysDir: '', databaseUrl: main.url, secretKey, environment, log };
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

/** Takes a backup of the database of cell b. @returns what brings it back */
async function backUp(): Promise<() => Promise<void>> {
  const copy = `voting_test_${randomBytes(8).toString('hex')}`;
  afterAll(() => runStatements(adminUrl, [`DROP DATABASE IF EXISTS ${copy} WITH (FORCE)`]));
  await copyDatabase(nameOf(b.url), copy);
  return () => copyDatabase(copy, nameOf(b.url));
}

/** An account in cell b with an event and a vote, a backup of that cell, and a second vote after the account has moved to the main one. */
async function moveAfterBackup() {
  const before = await start();
  const account = await before.account('enterprise', 'b');
  const event = await account.event();
  const votes = votesFor(event);
  await account.votePoll(event, votes);
  await before.stop();
  const restore = await backUp();
  const service = await start();
  await cellsOf(service).move(account, 'b', 'main');
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
  const { cellOf, homesOf, read } = cellsOf(after);
  expect([await homesOf(account), await countIn(after)]).toEqual([['main'], 2]);
  expect(lines).toContainEqual(expect.objectContaining({ alarm: 'account_twice', account: account.id, cell: 'b' }));
  expect(await statusOf(after)).toContain(`an older state of ${account.id}`);
  const kept = () => read('b', 'SELECT 1 FROM ballot_queue WHERE voting_event_id = $1', [event.id]);
  await finishMoves(cellOf('b'));
  expect(await kept()).toHaveLength(1);
  await takeBack(cellOf('main'), cellOf('b'), account.id);
  expect([await kept(), await read('b', 'SELECT 1 FROM arriving_rows'), await countIn(after)]).toEqual([[], [], 2]);
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
  await expect(move(account, 'b', 'main')).rejects.toThrow(MoveRefused);
  expect(await left()).toHaveLength(2);
  expect(lines).toContainEqual(expect.objectContaining({ alarm: 'account_lost', account: account.id, cell: 'main' }));
  expect(await statusOf(late)).toContain(`${account.id} left for cell b, which lacks what it got`);
  await late.stop();
  await bringNewest();
  const last = await start();
  await finishMoves(cellsOf(last).cellOf('main'));
  expect([await cellsOf(last).read('main', 'SELECT 1 FROM moved_accounts'), await countIn(last)]).toEqual([[], 2]);
});
