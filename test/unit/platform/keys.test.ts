import { createHmac } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { ConfigError, readConfig } from '#src/config.ts';
import { FolderUnusable, KeyFolders } from '#src/platform/key-folders.ts';
import { HmacKey } from '#src/platform/secrets.ts';

test('agrees with the library for every key and message, texts beyond ASCII and one key used again included', () => {
  const message = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 300 }), fc.uint8Array({ maxLength: 300 }));
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 64 }),
      fc.array(message, { minLength: 1, maxLength: 5 }),
      (key, messages) => {
        const ours = new HmacKey(key);
        for (const one of messages)
          expect(ours.mac(one).toString('hex')).toBe(createHmac('sha256', key).update(one).digest('hex'));
      },
    ),
    { numRuns: 1_000 },
  );
});

test('refuses a key that would have to be hashed first', () => {
  expect(() => new HmacKey(new Uint8Array(65))).toThrow('at most 64 bytes');
});

let root: string;
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'voting-key-folders-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const any = (): boolean => true;

test('a file stands in all folders or in none', async () => {
  const [main, copy] = [path.join(root, 'a/b/main'), path.join(root, 'copy')];
  const folders = new KeyFolders(main, [copy]);
  await expect(folders.write('one.key', Buffer.from('secret'))).rejects.toThrow(FolderUnusable);
  expect(readdirSync(main)).toEqual([]);
  mkdirSync(copy);
  await folders.write('one.key', Buffer.from('secret'));
  expect([main, copy].map((folder) => readFileSync(path.join(folder, 'one.key'), 'utf8'))).toEqual([
    'secret',
    'secret',
  ]);
});

test('a file is read from the first folder that has the right one', async () => {
  const folders = new KeyFolders(path.join(root, 'main'), [root]);
  await folders.write('one.key', Buffer.from('secret'));
  writeFileSync(path.join(root, 'main/one.key'), 'damaged');
  expect(await folders.read('one.key', (content) => content.equals(Buffer.from('secret')))).toEqual(
    Buffer.from('secret'),
  );
  expect(await folders.read('two.key', any)).toBeUndefined();
});

test('a file is gone when it was destroyed; one that is gone already is, too, and a folder that is away is not', async () => {
  const copy = path.join(root, 'copy');
  mkdirSync(copy);
  const folders = new KeyFolders(path.join(root, 'main'), [copy]);
  await folders.write('one.key', Buffer.from('secret'));
  rmSync(copy, { recursive: true });
  await expect(folders.destroy('one.key')).rejects.toThrow(FolderUnusable);
  expect(existsSync(path.join(root, 'main/one.key'))).toBe(false);
  mkdirSync(copy);
  await folders.destroy('one.key');
});

test('keys stand below DATA_DIR with the embedded database, and where they are told to with another one', () => {
  const own = { DATABASE_URL: 'postgres://one:two@host/voting', SECRET_KEY: Buffer.alloc(32, 1).toString('base64') };
  expect(readConfig({ DATA_DIR: root })).toMatchObject({ ballotKeysDir: path.join(root, 'ballot-keys') });
  expect(readConfig({ ...own, DATA_DIR: root })).toMatchObject({ ballotKeysDir: undefined, ballotKeysCopies: [] });
  expect(readConfig({ ...own, BALLOT_KEYS_DIR: '/keys', BALLOT_KEYS_COPIES: '/a, /b' })).toMatchObject({
    ...{ ballotKeysDir: '/keys', ballotKeysCopies: ['/a', '/b'] },
  });
  const link = `${root}-link`;
  symlinkSync(root, link);
  onTestFinished(() => rmSync(link));
  for (const wrong of [
    { BALLOT_KEYS_COPIES: '/a' },
    { BALLOT_KEYS_DIR: '/keys', BALLOT_KEYS_COPIES: '/a,,/b' },
    { BALLOT_KEYS_DIR: '/keys', BALLOT_KEYS_COPIES: '/keys' },
    { BALLOT_KEYS_DIR: root, BALLOT_KEYS_COPIES: link },
  ])
    expect(() => readConfig({ ...own, ...wrong })).toThrow(ConfigError);
});
