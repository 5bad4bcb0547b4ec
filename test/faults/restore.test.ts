import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { chmod, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { migrate } from '#src/database/migrate.ts';
import { withClient } from '#test/harness/empty-database.ts';
import {
  BIN,
  hasPostgresTools,
  makeServerFolder,
  type OwnServer,
  startOwnServer,
  stopServer,
} from '#test/harness/own-server.ts';
import { freePort, runCommand } from '#test/harness/started-service.ts';
import { untilTrue } from '#test/harness/test-service.ts';

let folder = '';
let archive = '';
let server: OwnServer;
const restored: string[] = [];

/** Runs `restore` into a folder of this name; the folder, the port, and how the command ended. */
async function restore(name: string, from = archive, onStarted?: Parameters<typeof runCommand>[3], settings = {}) {
  const [to, port] = [path.join(folder, name), await freePort()];
  const words = ['--backup', path.join(folder, 'backup'), '--archive', from, '--to', to, '--port', String(port)];
  const { code, stdout } = await runCommand(['restore', ...words, '--json'], settings, undefined, onStarted);
  if (code === 0) restored.push(to);
  return { to, port, code, stdout };
}

/** How many rows of the test a restored server has. */
async function rowsOn(port: number): Promise<number> {
  const url = new URL(server.url);
  url.port = String(port);
  const { rows } = await withClient(url.href, (client) => client.query('SELECT count(*)::int AS n FROM rows_of_test'));
  return rows[0].n;
}

describe.skipIf(!hasPostgresTools)('a restore', () => {
  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'voting-restores-'));
    await chmod(folder, 0o711);
    archive = makeServerFolder(path.join(folder, 'archive'));
    const command = `archive_command = 'test ! -f ${archive}/%f && cp %p ${archive}/%f'`;
    server = await startOwnServer(path.join(folder, 'live'), ['archive_mode = on', command]);
    await migrate(server.url);
    const secret = { SECRET_KEY: Buffer.alloc(32, 7).toString('base64'), DATA_DIR: path.join(folder, 'data') };
    const words = ['backup', '--to', path.join(folder, 'backup'), '--json'];
    expect(await runCommand(words, { DATABASE_URL: server.url, ...secret })).toMatchObject({ code: 0 });
    await withClient(server.url, async (client) => {
      await client.query('CREATE TABLE rows_of_test (n int)');
      for (let at = 0; at < 5; at += 1) {
        await client.query('INSERT INTO rows_of_test VALUES ($1)', [at]);
        const { rows } = await client.query('SELECT pg_walfile_name(pg_switch_wal()) AS file');
        await untilTrue(() => existsSync(path.join(archive, rows[0].file)));
      }
    });
  });

  afterAll(() => {
    for (const data of restored) stopServer(data);
    server?.stop();
    if (folder !== '') rmSync(folder, { recursive: true });
  });

  test('of an archive with a damaged file in between is refused: what is behind it would be lost', async () => {
    const damaged = makeServerFolder(path.join(folder, 'damaged'));
    await chmod(damaged, 0o755);
    for (const file of readdirSync(archive)) {
      copyFileSync(path.join(archive, file), path.join(damaged, file));
      await chmod(path.join(damaged, file), 0o644);
    }
    const { lastWalFile } = JSON.parse(readFileSync(path.join(folder, 'backup/backup.json'), 'utf8'));
    const later = readdirSync(damaged)
      .filter((file) => /^[0-9A-F]{24}$/.test(file) && file > lastWalFile)
      .toSorted();
    const file = await open(path.join(damaged, later[2] ?? ''), 'r+');
    await file.write(Buffer.alloc(8_192), 0, 8_192, 0);
    await file.close();
    const part = await restore('of-damaged', damaged);
    expect(part).toMatchObject({ code: 1, stdout: expect.stringContaining(`goes on to ${later.at(-1)}`) });
    expect([existsSync(part.to), existsSync(`${part.to}.log`)]).toEqual([false, false]);
    const whole = await restore('of-whole');
    expect([whole.code, await rowsOn(whole.port)]).toEqual([0, 5]);
  });

  test('and another into the same folder at once: one is done, and the other one is refused and removes nothing', async () => {
    const ends = await Promise.all([restore('twice'), restore('twice')]);
    const [done, refused] = ends.toSorted((a, b) => Number(a.code) - Number(b.code));
    expect([done?.code, refused?.code]).toEqual([0, 1]);
    expect(refused?.stdout).toContain('is there already');
    expect(await rowsOn(done?.port ?? 0)).toBe(5);
  });

  test('that is asked to stop leaves no server and no file, so that it can be repeated', async () => {
    let pid = 0;
    const stopped = await restore('stopped', archive, async (child) => {
      const file = path.join(folder, 'stopped/postmaster.pid');
      await untilTrue(() => existsSync(file) && readFileSync(file, 'utf8').includes('\n'));
      pid = Number(readFileSync(file, 'utf8').split('\n')[0]);
      child.kill('SIGTERM');
    });
    expect(stopped).toMatchObject({ code: 1, stdout: expect.stringContaining('what was copied is removed') });
    expect([pid > 0, existsSync(`/proc/${pid}`), existsSync(stopped.to), existsSync(`${stopped.to}.log`)]).toEqual([
      ...[true, false, false, false],
    ]);
    expect(await restore('stopped')).toMatchObject({ code: 0 });
  });

  test.each(['with "quotes"', 'with $HOME', 'with `ls`'])(
    'into a folder that a shell would read otherwise is refused before its work: %s',
    async (name) => {
      const end = await restore(name);
      expect(end).toMatchObject({ code: 1, stdout: expect.stringContaining('the name may not hold') });
      expect(existsSync(end.to)).toBe(false);
    },
  );

  test('of a server that writes its log in another language is done', async () => {
    const programs = path.join(folder, 'german');
    mkdirSync(programs);
    for (const name of readdirSync(BIN).filter((name) => name !== 'postgres'))
      symlinkSync(path.join(BIN, name), path.join(programs, name));
    const german = `[ "$1" = --version ] || set -- -c lc_messages=C.UTF-8 "$@"\nLANGUAGE=de exec ${BIN}/postgres "$@"\n`;
    writeFileSync(path.join(programs, 'postgres'), `#!/bin/sh\n${german}`, { mode: 0o755 });
    const end = await restore('in-german', archive, undefined, { PG_BIN: programs });
    expect([end.code, await rowsOn(end.port)]).toEqual([0, 5]);
  });

  test("into a folder with 'quotes' and blanks is done", async () => {
    const end = await restore("with 'quotes' and blanks");
    expect([end.code, await rowsOn(end.port)]).toEqual([0, 5]);
  });
});
