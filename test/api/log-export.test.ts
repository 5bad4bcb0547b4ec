import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { createLogKey, createObserverKey } from '#test/harness/ballot-log.ts';
import { finishEvent, PLURALITY, sealBallots, type TestEvent, votesFor } from '#test/harness/elections.ts';
import { listen } from '#test/harness/listen.ts';
import { runCommand } from '#test/harness/started-service.ts';
import { useAccount } from '#test/harness/test-service.ts';
import { useFolder } from '#test/harness/use.ts';
import { finishExport, readFrom, savingTo } from '../../verifier/log-files.ts';
import { type Read, readOverHttp } from '../../verifier/read-service.ts';
import { verifyLog } from '../../verifier/verify-log.ts';

const { service, account } = await useAccount();
const folder = useFolder('voting-export-test-');

/** Fills more than one tile. */
const BALLOTS = 260;
let event: TestEvent;
let key: string;
beforeAll(async () => {
  event = await account.event({ results: { visibility: 'live' } }, PLURALITY);
  for (let index = 0; index < BALLOTS; index += 1) await account.votePoll(event, votesFor(event));
  await sealBallots(service, event.id);
  await finishEvent(service, event.id);
  key = await createObserverKey(service, account, event.id);
});

/** Exports through a key. @returns the report, and what the service was asked for */
async function exportTo(to: string, by: string) {
  const asked: string[] = [];
  const fromService = readOverHttp(service.url, by);
  const read: Read = (address, maxBytes) => {
    asked.push(address.replace(/^.*\/log\//, ''));
    return fromService(address, maxBytes);
  };
  const saving = savingTo(to, event.id, read);
  const report = await verifyLog({ read: saving, event: event.id });
  const { checkpoint, size } = report;
  if (checkpoint === null || size === null) throw new Error('the log was not read');
  await finishExport(to, event.id, saving, { checkpoint, size });
  return { report, asked };
}

const verifyFiles = (place: string) => verifyLog({ read: readFrom(place, event.id), event: event.id });

/** As file servers do, it ignores what follows a `?`. */
async function serveFiles(root: string) {
  const server = createServer((request, response) => {
    const file = path.join(root, new URL(request.url ?? '', 'http://files').pathname);
    if (existsSync(file)) response.end(readFileSync(file));
    else response.writeHead(404).end();
  });
  const { url, stop } = await listen(server);
  return { url, [Symbol.asyncDispose]: stop };
}

describe('a log that was exported as files', () => {
  test('is verified from a folder, and from a file server, as from the service, to the recount', async () => {
    const to = path.join(folder, 'whole');
    const { report } = await exportTo(to, key);
    expect(report.verified).toBe('yes');
    expect(await verifyFiles(to)).toEqual(report);
    await using files = await serveFiles(to);
    expect(await verifyFiles(files.url)).toEqual(report);
  });

  test('has checkpoint and tiles of every level where C2SP tlog-tiles has them, byte by byte as the service gives them', async () => {
    const to = path.join(folder, 'tiles');
    const { report } = await exportTo(to, key);
    const left = (report.size ?? 0) - 256;
    const names = ['checkpoint', 'tile/0/000', 'tile/entries/000', 'tile/1/000.p/1'];
    for (const name of [...names, ...['0', 'entries'].map((level) => `tile/${level}/001.p/${left}`)]) {
      const served = await fetch(`${service.url}/public/voting-events/${event.id}/log/${name}`, {
        headers: { Authorization: `Bearer ${key}` },
      });
      expect([name, served.status]).toEqual([name, 200]);
      expect(readFileSync(path.join(to, 'log', name)), name).toEqual(Buffer.from(await served.arrayBuffer()));
    }
  });

  test('is exported again without a full tile that is there, and whole again where a file was lost', async () => {
    const to = path.join(folder, 'again');
    await exportTo(to, key);
    const again = await exportTo(to, key);
    expect(again.report.verified).toBe('yes');
    expect(again.asked.filter((name) => name.startsWith('tile/') && !name.includes('.p/'))).toEqual([]);
    rmSync(path.join(to, 'log/tile/0/000'));
    expect((await exportTo(to, key)).asked).toContain('tile/0/000');
    expect((await verifyFiles(to)).verified).toBe('yes');
  });

  test('fails the verification if a byte of it is another, and says what is missing if a part of the log is', async () => {
    const to = path.join(folder, 'changed');
    await exportTo(to, key);
    const entries = path.join(to, 'log/tile/entries/000');
    const bytes = readFileSync(entries);
    const at = bytes.length - 40;
    writeFileSync(entries, bytes.with(at, (bytes[at] ?? 0) ^ 1));
    expect((await verifyFiles(to)).verified).toBe('no');
    rmSync(path.join(to, 'log/checkpoint'));
    const { verified, checks } = await verifyFiles(to);
    expect([verified, checks.at(-1)?.detail]).toEqual(['partial', expect.stringContaining('there is no such log')]);
  });

  test('stays the log of its event: another one is not saved over it, and nothing is said against that one', async () => {
    const to = path.join(folder, 'taken');
    await exportTo(to, key);
    const other = await account.event({}, PLURALITY);
    const read = savingTo(to, other.id, readOverHttp(service.url, account.vote));
    const { verified, checks } = await verifyLog({ read, event: other.id });
    expect([verified, checks.at(-1)?.detail]).toEqual(['partial', expect.stringContaining('holds another log')]);
    expect((await verifyFiles(to)).verified).toBe('yes');
  });

  test('holds nothing that the key may not read: that part is left out, and the rest is right', async () => {
    const to = path.join(folder, 'for voters');
    const { report } = await exportTo(to, await createLogKey(service, account, event.id));
    expect([report.verified, existsSync(path.join(to, 'results'))]).toEqual(['partial', false]);
    const { verified, checks } = await verifyFiles(to);
    expect([verified, checks]).toEqual(['partial', report.checks]);
  });

  test('is no export without its checkpoint: the command writes it last, and not for a log that is wrong', async () => {
    const to = path.join(folder, 'command');
    const where = ['--event', event.id, '--json'];
    const base = ['--base-url', service.url];
    const environment = { VOTING_KEY: key };
    const ran = await runCommand(['log', 'export', ...base, ...where, '--to', to], environment);
    expect([ran.code, JSON.parse(ran.stdout).verified]).toEqual([0, 'yes']);
    const verified = await runCommand(['log', 'verify', '--files', to, ...where], {});
    expect([verified.code, JSON.parse(verified.stdout)]).toEqual([0, JSON.parse(ran.stdout)]);
    rmSync(path.join(to, 'log/checkpoint'));
    const entries = path.join(to, 'log/tile/entries/000');
    writeFileSync(entries, readFileSync(entries).toReversed());
    const wrong = await runCommand(['log', 'export', ...base, ...where, '--to', to], environment);
    expect([wrong.code, existsSync(path.join(to, 'log/checkpoint'))]).toEqual([1, false]);
  });
});
