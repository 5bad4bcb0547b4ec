import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { codeTagOf } from '#src/ballots/waiting-ballot.ts';
import { demand, finishEvent } from '#test/harness/elections.ts';
import { cast, confirm, createKeyedElection, type KeyedElection, keyFiles } from '#test/harness/keyed-elections.ts';
import { useAccount } from '#test/harness/test-service.ts';
import { useOwnServer } from '#test/harness/use.ts';
import { attackFiles, type DiskFile, holdLog, type KnownVoter, readDisk } from './file-attacker.ts';

/** SECRECY_VOTERS=1000 plays a larger election, which takes minutes. */
const VOTERS = Number(process.env['SECRECY_VOTERS'] ?? 9);
/** Pairing two orders that have nothing to do with each other is right once on average, and once for each batch; so often in one case of 10,000. */
const RIGHT_BY_CHANCE = VOTERS > 100 ? 12 : 7;
const ATTACK_MS = 900_000;

// Nothing is sealed before the end: every ballot waits in the queue when the backup is taken.
// Beside other tests their server writes gigabytes, all of which an attacker would go through.
const { service, account } = await useAccount({ worker: false, databaseUrl: await useOwnServer('stolen-files') });
let election: KeyedElection;
let apiKeyId: string;
let eventKey: Buffer;
const known: KnownVoter[] = [];
let log: string[];
/** A base backup of the time of voting, with the log of then; everything that lies on the disk after the end. */
let backup: DiskFile[];
let afterwards: DiskFile[];
/** Every 32 bytes that are a file of the service, or stand in one in base64. */
let dataBefore: Buffer[];
let dataAfter: Buffer[];

const secretKey = (): Buffer => Buffer.from(service.secretKey, 'base64');

function keysIn(folder: string): Buffer[] {
  const found: Buffer[] = [];
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const file = path.join(folder, name);
    if (!statSync(file).isFile()) continue;
    if (statSync(file).size === 32) found.push(readFileSync(file));
    for (const [text] of readFileSync(file, 'latin1').matchAll(/[\w+/]{43}=/g)) found.push(Buffer.from(text, 'base64'));
  }
  return found;
}

beforeAll(async () => {
  const { $client } = service.deps.db;
  const { rows: keys } = await $client.query('SELECT id FROM api_keys WHERE account_id = $1 AND scopes = $2', [
    account.id,
    ['vote'],
  ]);
  apiKeyId = keys[0]?.id;
  // Autovacuum would remove dead rows at a moment of its own, before or after the files are read.
  await $client.query(`
    DO $$ DECLARE own regclass; BEGIN
      FOR own IN SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace LOOP
        EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = off)', own);
      END LOOP;
    END $$`);
  const held = await holdLog($client);
  election = await createKeyedElection(
    service,
    account,
    Array.from({ length: VOTERS }, () => 1),
  );
  const folder = service.deps.config.ballotKeysDir ?? '';
  eventKey = readFileSync(path.join(folder, keyFiles(folder, election.id)[0] ?? ''));
  for (const [index, { id, email }] of election.voters.entries()) {
    const idempotencyKeys = [`cast:${email}`, `confirm:${email}`] as const;
    const { confirmationCode } = demand(await cast(service, election, index, idempotencyKeys[0]), 201);
    demand(await confirm(service, election, confirmationCode, idempotencyKeys[1]), 200);
    known.push({ id, idempotencyKeys, ballot: codeTagOf(confirmationCode).toString('hex') });
  }
  backup = await readDisk($client, held.since);
  dataBefore = keysIn(service.deps.config.dataDir);
  await finishEvent(service, election.id);
  afterwards = await readDisk($client, held.since);
  await held.letGo();
  dataAfter = keysIn(service.deps.config.dataDir);
  const { rows } = await $client.query(
    "SELECT encode(code_tag, 'hex') AS tag FROM sealed_ballots($1) ORDER BY leaf_index",
    [election.id],
  );
  log = rows.map(({ tag }) => tag);
}, 1_800_000);

const attack = (files: readonly DiskFile[], masters: readonly Buffer[]) =>
  attackFiles({ files, eventId: election.id, apiKeyId, voters: known, masters }, log);

describe(`an attacker with every file of an election of ${VOTERS} voters: pages with their dead rows, the write-ahead log, a base backup, the data folder`, {
  timeout: ATTACK_MS,
}, () => {
  test('who has the key of the election too links all of them: while it is open, and had it been kept', () => {
    expect(dataBefore.some((key) => key.equals(eventKey))).toBe(true);
    for (const files of [backup, afterwards])
      expect(attack(files, [secretKey(), eventKey])).toMatchObject({
        ...{ found: VOTERS, byPendingRows: VOTERS, byClaims: VOTERS },
      });
  });

  test('links nobody after its end, with SECRET_KEY or without: the order of what was written is all there is', () => {
    expect(dataAfter.some((key) => key.equals(eventKey))).toBe(false);
    const files = [...backup, ...afterwards];
    for (const masters of [dataAfter, [...dataAfter, secretKey()]]) {
      const report = attack(files, masters);
      expect(report).toMatchObject({ found: VOTERS, byPendingRows: 0, byClaims: 0 });
      expect(report.byOrder).toBeLessThan(RIGHT_BY_CHANCE);
    }
  });

  test('finds the key of the election in no page, no log and no file', () => {
    const forms = [eventKey, eventKey.toString('base64'), eventKey.toString('base64url'), eventKey.toString('hex')];
    const holders = [...backup, ...afterwards].filter(({ bytes }) => forms.some((form) => bytes.includes(form)));
    expect(holders.map(({ name }) => name)).toEqual([]);
  });

  test('finds no confirmation code in clear', () => {
    const texts = backup.map(({ name, bytes }) => ({
      name,
      codes: bytes.toString('latin1').match(/\b[0-9A-HJKMNP-TV-Z]{26}\b/g) ?? [],
    }));
    const tags = new Set(known.map(({ ballot }) => ballot));
    const held = texts.filter(({ codes }) => codes.some((code) => tags.has(codeTagOf(code).toString('hex'))));
    expect(held.map(({ name }) => name)).toEqual([]);
  });
});
