import { spawn } from 'node:child_process';
import { chmod, chown, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { canRun, chooseServerUser, runsAsRoot } from '#src/embedded-postgres/user.ts';
import { findHome } from '#test/harness/find-home.ts';
import {
  alive,
  children,
  cleanUp,
  copyCheckout,
  eventually,
  freshFolder,
  kill,
  launch,
  PROJECT_ROOT,
  prepareSeed,
  query,
  recall,
  remember,
  removeSeed,
  reportOf,
  requireServerPid,
  run,
  running,
  serverPid,
  start,
  usedDataFolder,
  watcherOf,
} from './embedded-program.ts';

beforeAll(prepareSeed);
afterAll(removeSeed);
afterEach(cleanUp);

/** A service on a folder that was used before, with something committed. */
async function startUsed(text: string) {
  const dataDir = await usedDataFolder();
  const service = await start(dataDir);
  await remember(service.url, text);
  return { dataDir, service };
}

/** The next start has what was committed, and nothing else. */
async function expectKept(dataDir: string, text: string): Promise<void> {
  const { url } = await start(dataDir);
  expect(await recall(url)).toEqual([text]);
}

/** Exactly one of four gets the folder. @returns the address of its database */
async function startFourAtOnce(dataDir: string): Promise<string> {
  const programs = await Promise.all([run(dataDir), run(dataDir), run(dataDir), run(dataDir)]);
  const winners = programs.filter((program) => program.report.url !== undefined);
  expect(winners).toHaveLength(1);
  expect(programs.filter((program) => program.report.error === 'EmbeddedDatabaseInUse')).toHaveLength(3);
  return winners[0]?.url ?? '';
}

test('a first start with nothing configured, from any working directory, gives a durable database below the data folder', async () => {
  const dataDir = path.join(await freshFolder(), '.data');
  const begin = performance.now();
  const service = await start(dataDir);
  expect(performance.now() - begin).toBeLessThan(10_000);
  const settings =
    'SELECT current_setting(name) FROM unnest($$ {fsync,full_page_writes,synchronous_commit,data_checksums} $$::text[]) name';
  expect(await query(service.url, settings)).toEqual(['on', 'on', 'on', 'on']);
  expect(
    await query(
      service.url,
      "SELECT current_setting('server_version_num')::int / 10000, datlocale FROM pg_database WHERE datname = current_database()",
    ),
  ).toEqual([18, 'C.UTF-8']);
  expect(await findHome(dataDir)).toBe(path.join(dataDir, 'postgres'));
  await service.end();
  expect(await serverPid(dataDir)).toBeUndefined();
});

test('nobody enters without the password, and no other user reads the data, the password or the log', async () => {
  const dataDir = path.join(await freshFolder(), '.data');
  const service = await start(dataDir);
  const wrong = new URL(service.url);
  wrong.password = 'guess';
  await expect(query(wrong.href, 'SELECT 1')).rejects.toMatchObject({ code: '28P01' });
  expect(
    await query(service.url, "SELECT current_setting('listen_addresses'), current_setting('unix_socket_directories')"),
  ).toEqual(['127.0.0.1', '']);
  for (const name of ['cluster', 'password', 'postgres.log', 'lock']) {
    const { mode } = await stat(path.join(dataDir, 'postgres', name));
    expect(mode & 0o077, name).toBe(0);
  }
  const log = await readFile(path.join(dataDir, 'postgres', 'postgres.log'), 'utf8');
  expect(log).not.toContain(new URL(service.url).password);
});

test('a second start finds the data of the first', async () => {
  const { dataDir, service: first } = await startUsed('kept');
  await first.end();
  await expectKept(dataDir, 'kept');
});

test('when the service is killed its server ends as well, and the next start has everything that was committed', async () => {
  const { dataDir, service: killed } = await startUsed('committed');
  const server = await requireServerPid(dataDir);
  await kill(killed.child);
  await eventually('the server has ended', async () => !(await alive(server)), 5_000);
  await expectKept(dataDir, 'committed');
});

test('a server that survived its killed service is ended by the next start, and nothing committed is lost', async () => {
  if (process.platform !== 'linux') {
    console.log('not checked here: the watching shell is found through /proc');
    return;
  }
  const { dataDir, service: killed } = await startUsed('committed');
  const server = await requireServerPid(dataDir);
  process.kill(await watcherOf(server), 'SIGKILL');
  await kill(killed.child);
  expect(await alive(server)).toBe(true);
  await expectKept(dataDir, 'committed');
  expect(await alive(server)).toBe(false);
});

test('service and server killed together: the next start recovers everything that was committed', async () => {
  const { dataDir, service: killed } = await startUsed('committed');
  killed.child.kill('SIGSTOP');
  process.kill(await requireServerPid(dataDir), 'SIGKILL');
  await kill(killed.child);
  await expectKept(dataDir, 'committed');
});

test('a first start that is killed half-way leaves nothing that stands in the way of the next', async () => {
  const dataDir = path.join(await freshFolder(), '.data');
  for (const afterMs of [250, 500, 750]) {
    const child = launch(dataDir);
    await new Promise((resolve) => setTimeout(resolve, afterMs));
    await kill(child);
  }
  const service = await start(dataDir);
  expect(await query(service.url, 'SELECT 1')).toEqual([1]);
  await eventually('only the finished database is left', async () =>
    (await readdir(path.join(dataDir, 'postgres'))).every((name) => !name.includes('.new')),
  );
});

test('a process number that now belongs to another process does not keep the database from starting', async () => {
  const { dataDir, service: first } = await startUsed('kept');
  const pidFile = path.join(dataDir, 'postgres', 'cluster', 'postmaster.pid');
  const lines = (await readFile(pidFile, 'utf8')).split('\n');
  await first.end();
  const { uid, gid } = await stat(path.dirname(pidFile));
  const bystander = spawn('/bin/sleep', ['60'], runsAsRoot() ? { uid, gid, stdio: 'ignore' } : { stdio: 'ignore' });
  children.push(bystander);
  await writeFile(pidFile, [String(bystander.pid), ...lines.slice(1)].join('\n'), { mode: 0o600 });
  await chown(pidFile, uid, gid);
  await expectKept(dataDir, 'kept');
  expect(running(bystander)).toBe(true);
});

test('while the service runs, a second start from the same folder is refused with one line that names process, port and way out', async () => {
  const dataDir = await usedDataFolder();
  const service = await start(dataDir);
  const second = await run(dataDir);
  expect(second.report).toEqual({
    error: 'EmbeddedDatabaseInUse',
    message: `the service already runs from ${dataDir} (process ${service.child.pid}, database port ${new URL(service.url).port}): stop it first, or set DATA_DIR to another folder`,
  });
  expect(await query(service.url, 'SELECT 1')).toEqual([1]);
});

test('of four first starts at the same moment exactly one gets the folder', async () => {
  const dataDir = path.join(await freshFolder(), '.data');
  const url = await startFourAtOnce(dataDir);
  expect(await query(url, 'SELECT 1')).toEqual([1]);
});

test('of four starts at the same moment after a crash exactly one gets the folder', async () => {
  const { dataDir, service: crashed } = await startUsed('committed');
  await kill(crashed.child);
  const url = await startFourAtOnce(dataDir);
  expect(await recall(url)).toEqual(['committed']);
});

test('a command uses the database of the running service, and leaves it running', async () => {
  const dataDir = await usedDataFolder();
  const service = await start(dataDir);
  const command = await start(dataDir, { mode: 'command' });
  expect(command.url).toBe(service.url);
  await command.end();
  expect(await query(service.url, 'SELECT 1')).toEqual([1]);
});

test('a command without a service runs the database for itself, says so to a service that starts, and ends it', async () => {
  const dataDir = path.join(await freshFolder(), '.data');
  const command = await start(dataDir, { mode: 'command' });
  await remember(command.url, 'by command');
  const refused = await run(dataDir);
  expect(refused.report).toEqual({
    error: 'EmbeddedDatabaseInUse',
    message: `a command (process ${command.child.pid}) is using the database of ${dataDir}: start again when it has ended`,
  });
  await command.end();
  expect(await serverPid(dataDir)).toBeUndefined();
  const service = await start(dataDir);
  expect(await recall(service.url)).toEqual(['by command']);
});

test('a command waits for another one to end', async () => {
  const dataDir = await usedDataFolder();
  const first = await start(dataDir, { mode: 'command' });
  const second = launch(dataDir, { mode: 'command' });
  const report = reportOf(second);
  await new Promise((resolve) => setTimeout(resolve, 700));
  await first.end();
  const { url } = await report;
  expect(await query(url ?? '', 'SELECT 1')).toEqual([1]);
});

test('a server that is killed under a running service is back at the same address within 5 seconds, with its data', async () => {
  const { dataDir, service } = await startUsed('committed');
  const server = await requireServerPid(dataDir);
  process.kill(server, 'SIGKILL');
  await eventually('the server is back', async () => (await recall(service.url).catch(() => [])).length > 0, 5_000);
  expect(await recall(service.url)).toEqual(['committed']);
  expect(await serverPid(dataDir)).not.toBe(server);
  await service.end();
  expect(await serverPid(dataDir)).toBeUndefined();
});

test('Ctrl-C in the terminal reaches the service alone: its database stays until it stops it', async () => {
  const dataDir = await usedDataFolder();
  const service = await start(dataDir, { detached: true });
  const server = await requireServerPid(dataDir);
  process.kill(-(service.child.pid ?? 0), 'SIGINT');
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(await query(service.url, 'SELECT 1')).toEqual([1]);
  expect(await serverPid(dataDir)).toBe(server);
  await service.end();
  expect(await alive(server)).toBe(false);
});

test('an ordinary user runs it as itself', async () => {
  const user = chooseServerUser();
  if (user === undefined) console.log('this run is an ordinary user itself: the tests around this one are the check');
  else if (!canRun(process.execPath, ['--eval', `require(${JSON.stringify(PROJECT_ROOT)} + '/package.json')`], user)) {
    console.log('not checked here: other users cannot enter the checkout or run this Node');
    return;
  }
  const options = user === undefined ? {} : { user };
  const dataDir = path.join(await freshFolder(user), '.data');
  const first = await start(dataDir, options);
  await remember(first.url, 'kept');
  const { uid } = await stat(path.join(dataDir, 'postgres', 'cluster'));
  expect(uid).toBe(user?.uid ?? process.getuid?.());
  await first.end();
  const second = await start(dataDir, options);
  expect(await recall(second.url)).toEqual(['kept']);
});

test('root runs it as an unprivileged user, also on data that belongs to an ordinary user', async () => {
  const user = chooseServerUser();
  if (user === undefined) {
    console.log('not checked here: this run is not root');
    return;
  }
  const { dataDir, service: first } = await startUsed('kept');
  const { uid } = await stat(`/proc/${await requireServerPid(dataDir)}`);
  expect(uid).not.toBe(0);
  await first.end();
  const stranger = { uid: 4_242, gid: 4_242 };
  const home = path.join(dataDir, 'postgres');
  for (const name of ['.', ...(await readdir(home, { recursive: true }))])
    await chown(path.join(home, name), stranger.uid, stranger.gid);
  await expectKept(dataDir, 'kept');
  expect((await stat(`/proc/${await requireServerPid(dataDir)}`)).uid).toBe(stranger.uid);
});

test('a checkout below a folder that only its owner can enter works, and finds its data again', async () => {
  const folder = await freshFolder();
  await chmod(folder, 0o700);
  const checkout = path.join(folder, 'checkout');
  await copyCheckout(checkout);
  const dataDir = path.join(checkout, '.data');
  const first = await start(dataDir, { checkout });
  await remember(first.url, 'kept');
  await kill(first.child);
  const second = await start(dataDir, { checkout });
  expect(await recall(second.url)).toEqual(['kept']);
  const refused = await run(dataDir, { checkout });
  expect(refused.report.error).toBe('EmbeddedDatabaseInUse');
  await second.end();
  const { mode } = await stat(folder);
  expect(mode & 0o777).toBe(0o700);
});

test('it runs when the package was installed without its scripts, so without links and modes', async () => {
  const folder = await freshFolder();
  const checkout = path.join(folder, 'checkout');
  const native = await copyCheckout(checkout);
  for (const entry of await readdir(path.join(native, 'lib'), { withFileTypes: true })) {
    if (entry.isSymbolicLink()) await rm(path.join(native, 'lib', entry.name));
  }
  for (const name of await readdir(path.join(native, 'bin'))) await chmod(path.join(native, 'bin', name), 0o644);
  const dataDir = await usedDataFolder();
  const service = await start(dataDir, { checkout });
  expect(await query(service.url, 'SELECT 1')).toEqual([1]);
});
