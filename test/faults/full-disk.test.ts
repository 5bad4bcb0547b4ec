import { readdirSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { CheckpointMemory } from '#src/ballot-log/checkpoint-memory.ts';
import { readConfig } from '#src/config.ts';
import { createFileMailer } from '#src/mail/mailer.ts';
import { createLog } from '#src/platform/log.ts';
import { withSecretKey } from '#src/prepare-start.ts';
import { checkpointFolder } from '#src/voting-events/key-places.ts';
import { onFullDisk } from '#test/harness/full-disk.ts';
import { useAccount } from '#test/harness/test-service.ts';
import { useFolder } from '#test/harness/use.ts';

const lines: Record<string, unknown>[] = [];
const log = createLog('error', { write: (line) => void lines.push(JSON.parse(line)) });
const { service, account } = await useAccount({ log });
const folder = useFolder('voting-full-disk-');

// Completions 1.6: 422 says that the body is wrong, and is not repeated; a fault of the service is 500 with Retry-After.
test('a long body of which the disk takes a part is refused as a fault of the service, and taken once there is room', async () => {
  const { id } = await account.event({ type: 'election' }, [], false);
  const voters = Array.from({ length: 100 }, (_, index) => ({
    name: 'ü'.repeat(199),
    voterId: `${index}`.padEnd(190, 'ü'),
  }));
  const send = () => account.of({ id }).post('/voters/batch', { voters });
  for (const missing of [1, 1_000]) {
    const { status, headers, body } = await onFullDisk(Buffer.byteLength(JSON.stringify({ voters })) - missing, send);
    expect([status, headers.get('retry-after'), body.error.code]).toEqual([500, '1', 'internal']);
  }
  expect((await send()).status).toBe(201);
});

test('a first start that is cut off leaves no part of a secret key, and the next start makes a whole one', async () => {
  const config = readConfig({ DATA_DIR: path.join(folder, 'first-start') });
  await expect(onFullDisk(10, async () => withSecretKey(config))).rejects.toMatchObject({ code: 'EFBIG' });
  expect(readdirSync(config.dataDir)).toEqual([]);
  const { secretKeys } = withSecretKey(config);
  expect(secretKeys.map(({ length }) => length)).toEqual([32]);
  expect(withSecretKey(config).secretKeys).toEqual(secretKeys);
});

test('checkpoints and mails that the disk does not take leave no files behind', async () => {
  const memory = new CheckpointMemory(folder, () => ({ size: 1, confirmed: 1, rootHash: Buffer.alloc(32) }));
  const checkpoints = path.join(checkpointFolder(folder), 'evt_1');
  const mails = path.join(folder, 'mail');
  const mailer = createFileMailer(mails, 'Club <club@club.example>', () => 0);
  const mail = { to: 'v@club.example', subject: 'Key', text: 'Key', id: 'a' };
  await expect(onFullDisk(10, () => memory.remember('evt_1', 'a signed note'))).rejects.toMatchObject({
    code: 'EFBIG',
  });
  await expect(onFullDisk(10, () => mailer.send(mail))).rejects.toMatchObject({ code: 'EFBIG' });
  expect([checkpoints, mails].flatMap((one) => readdirSync(one))).toEqual([]);
  await memory.remember('evt_1', 'a signed note');
  expect(readdirSync(checkpoints)).toEqual(['1.1.txt']);
});

test('a change that the full disk of the database refuses raises an alarm, and is taken once there is room', async () => {
  const rename = () => account.of(event).patch('', { title: 'Renamed' });
  const event = await account.event({}, undefined, false);
  await service.behindTheGuards(
    [
      "CREATE FUNCTION fill() RETURNS trigger AS $$ BEGIN RAISE 'full' USING ERRCODE = '53100'; END $$ LANGUAGE plpgsql",
    ],
    ['CREATE TRIGGER full_disk BEFORE UPDATE ON voting_events FOR EACH ROW EXECUTE FUNCTION fill()'],
  );
  expect((await rename()).status).toBe(500);
  expect(lines).toContainEqual(expect.objectContaining({ level: 50, alarm: 'database_full' }));
  await service.behindTheGuards(['DROP FUNCTION fill() CASCADE']);
  expect((await rename()).status).toBe(200);
});
