import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { replaceFile } from '#src/platform/files.ts';
import { useAccount } from '#test/harness/test-service.ts';

const { account } = await useAccount();

/** Lets this process write files up to a size, as a disk with little room left: a write is taken in part, and the next one fails. */
async function withRoomFor<T>(bytes: number, work: () => Promise<T>): Promise<T> {
  const set = (limit: number | 'unlimited'): unknown =>
    execFileSync('prlimit', ['--pid', String(process.pid), `--fsize=${limit}:`]);
  set(bytes);
  try {
    return await work();
  } finally {
    set('unlimited');
  }
}

function makeFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'full-disk-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

// Completions 1.6: what fails for a reason of the service is to be asked again; 422 says that the request is wrong.
test('a body that the disk takes in part is answered with a fault of the service, and taken when there is room', async () => {
  const event = await account.event({ type: 'election' }, [], false);
  const name = '🗳'.repeat(199);
  const voters = Array.from({ length: 100 }, (_, at) => ({ name, voterId: `${at}${'🗳'.repeat(150)}` }));
  const send = () => account.of(event).post('/voters/batch', { voters });
  // The last write lacks one byte.
  const refused = await withRoomFor(Buffer.byteLength(JSON.stringify({ voters })) - 1, send);
  expect([refused.status, refused.body.error.code, refused.headers.get('retry-after')]).toEqual([500, 'internal', '1']);
  expect((await send()).status).toBe(201);
});

test('a file that is replaced stays as it was where the disk does not take the new one', async () => {
  const folder = makeFolder();
  const file = path.join(folder, 'demo.json');
  writeFileSync(file, 'before');
  await expect(withRoomFor(10, () => replaceFile(file, 'x'.repeat(100)))).rejects.toThrow('EFBIG');
  expect([readdirSync(folder), readFileSync(file, 'utf8')]).toEqual([['demo.json'], 'before']);
});

// Completions 9.1: the key is made once, and each later start reads it.
test('a first start whose disk is full leaves no part of a secret key', () => {
  const folder = makeFolder();
  const program = `import { withSecretKey } from '#src/prepare-start.ts';
    process.stdout.write(String(withSecretKey({ secretKeys: [], dataDir: ${JSON.stringify(folder)} }).secretKeys[0].length));`;
  const start = (limit: string) =>
    spawnSync('sh', ['-c', `ulimit -f ${limit}; exec "$0" --input-type=module -e "$1"`, process.execPath, program]);
  expect(start('0').status).not.toBe(0);
  expect(readdirSync(folder)).toEqual([]);
  expect(start('unlimited').stdout.toString()).toBe('32');
});
