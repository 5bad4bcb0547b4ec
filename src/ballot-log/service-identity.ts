import type pg from 'pg';
import type { Config } from '#src/config.ts';
import { type Finding, failed, found, warned, withConnection } from '#src/database/check-server.ts';
import { conflict } from '#src/platform/errors.ts';
import { inPages } from '#src/platform/loop-turns.ts';
import { createSecrets, equalSecrets, type Secrets } from '#src/platform/secrets.ts';
import {
  createNoteSigner,
  NoteRefused,
  type NoteSigner,
  type NoteVerifier,
  openNote,
  parseVerifierKey,
  signNote,
} from './signed-note.ts';

/**
 * What a service keeps from one start to the next, in the table `service_identity`:
 * - `secret_key`, by the key's ID: a keyed hash that only this key makes. A start under keys that fit none is refused.
 * - `log_key`: the verifier key of the logs, `<name>+<key ID>+<public key>`. Name and key stay when BASE_URL or SECRET_KEY change.
 */
interface Stored {
  readonly checks: ReadonlyMap<string, Buffer>;
  readonly logKey: string | undefined;
}

const CHECKED = 'voting-service key check';
const LOG_KEY = 'log_key';
const SECRET_KEY = 'secret_key';

/** Each listed key alone, the current one first. */
const each = (config: Config): Secrets[] => config.secretKeys.map((key) => createSecrets([key]));

async function hasTable(client: pg.Client, name: string): Promise<boolean> {
  const { rows } = await client.query<{ there: boolean }>('SELECT to_regclass($1) IS NOT NULL AS there', [
    `public.${name}`,
  ]);
  return rows[0]?.there === true;
}

async function readStored(client: pg.Client): Promise<Stored> {
  const checks = new Map<string, Buffer>();
  let logKey: string | undefined;
  if (await hasTable(client, 'service_identity')) {
    const { rows } = await client.query<{ kind: string; id: string; value: Buffer }>(
      'SELECT kind, id, value FROM service_identity',
    );
    for (const { kind, id, value } of rows) {
      if (kind === SECRET_KEY) checks.set(id, value);
      if (kind === LOG_KEY) logKey = value.toString('utf8');
    }
  }
  return { checks, logKey };
}

function checkSecretKeys(config: Config, { checks }: Stored): Finding {
  const keys = each(config);
  const known = keys.filter((secrets) => {
    const check = checks.get(secrets.id);
    return check !== undefined && equalSecrets(check, secrets.mac('key-check', CHECKED));
  }).length;
  if (known === 0 && checks.size > 0)
    return failed(
      'secret key',
      'SECRET_KEY is not the one that this database was used with',
      'Start with the key that was used so far; to change it, list both: SECRET_KEY=new,old.',
    );
  const words = keys.length === 1 ? 'fits the database' : `${known} of ${keys.length} listed keys fit the database`;
  return found('secret key', words);
}

/** The 32 bytes that may be the logs' signing key: the one that is set, otherwise one derived from each listed secret key. */
function logSeeds(config: Config): Buffer[] {
  return config.logSigningKey === undefined
    ? each(config).map((secrets) => secrets.derive('log-signing'))
    : [config.logSigningKey];
}

/** The name of the logs so far; undefined before the first start. */
const nameOfLogs = ({ logKey }: Stored): string | undefined =>
  logKey === undefined ? undefined : parseVerifierKey(logKey).name;

/** The seed, among the possible ones, that the logs were signed with so far. */
function findLogSeed(config: Config, stored: Stored): Buffer | undefined {
  const name = nameOfLogs(stored);
  if (name === undefined) return logSeeds(config)[0];
  return logSeeds(config).find((seed) => createNoteSigner(name, seed).verifierKey === stored.logKey);
}

function checkLogKey(config: Config, stored: Stored): Finding {
  if (findLogSeed(config, stored) === undefined)
    return failed(
      'log key',
      'the ballot logs of this database were signed with another key',
      config.logSigningKey === undefined
        ? 'List the SECRET_KEY that they were begun with too, or set LOG_SIGNING_KEY (`log signing-key --out FILE` writes it).'
        : 'Set LOG_SIGNING_KEY to the one used so far; `log adopt-key` takes the new one, and observers must be told.',
    );
  const name = nameOfLogs(stored);
  const host = new URL(config.baseUrl).hostname;
  return name === undefined || name === host
    ? found('log key', 'fits the ballot logs')
    : warned('log name', `the ballot logs keep their name ${name}, though BASE_URL names ${host}`, '');
}

/** Holds the keys of a configuration against the database. Nothing is written. */
export async function checkIdentity(config: Config, client: pg.Client): Promise<Finding[]> {
  const stored = await readStored(client);
  const secretKey = checkSecretKeys(config, stored);
  // A wrong secret key derives a wrong log key, too: one line says both.
  return secretKey.status === 'failed' ? [secretKey] : [secretKey, checkLogKey(config, stored)];
}

/**
 * The configuration with name and key of the logs as the database knows them, so that a new BASE_URL or SECRET_KEY changes
 * neither. The keys fit: `checkIdentity` was asked.
 */
export async function withLogIdentity(config: Config, client: pg.Client): Promise<Config> {
  const stored = await readStored(client);
  const seed = findLogSeed(config, stored);
  return seed === undefined ? config : { ...config, logSigningKey: seed, logName: nameOfLogs(stored) ?? null };
}

const INSERT = 'INSERT INTO service_identity (kind, id, value, created_at) VALUES ($1, $2, $3, now_ms())';

/**
 * Stores a check value of every listed secret key that has none, and the logs' verifier key where there is none. Every listed
 * key counts as used: in the first step of a rotation (`old,new`) other processes seal under the new one already.
 */
export async function storeIdentity(config: Config, client: pg.Client): Promise<void> {
  for (const secrets of each(config)) {
    const check = secrets.mac('key-check', CHECKED);
    await client.query(`${INSERT} ON CONFLICT DO NOTHING`, [SECRET_KEY, secrets.id, check]);
  }
  const { verifierKey } = signerOf(config);
  await client.query(`${INSERT} ON CONFLICT DO NOTHING`, [LOG_KEY, 'current', Buffer.from(verifierKey)]);
}

/** The signer that a configuration asks for: LOG_SIGNING_KEY or a key derived from SECRET_KEY, under its name. */
function signerOf(config: Config) {
  const [seed] = logSeeds(config);
  if (seed === undefined) throw new Error('there is no secret key');
  return createNoteSigner(config.logName ?? new URL(config.baseUrl).hostname, seed);
}

/**
 * Makes the configured key the logs' key from now on, under the name that they have, and signs with it every head that the earlier
 * one has signed: a log goes on from a signed head alone. @returns its verifier key
 */
export function adoptLogKey(config: Config, url: string): Promise<string> {
  return withConnection(url, async (client) => {
    const stored = await readStored(client);
    const logName = nameOfLogs(stored) ?? null;
    const signer = signerOf({ ...config, logName });
    const { verifierKey } = signer;
    if (stored.logKey !== undefined) await signHeadsAgain(client, parseVerifierKey(stored.logKey), signer);
    await client.query(`${INSERT} ON CONFLICT (kind, id) DO UPDATE SET value = excluded.value, created_at = now_ms()`, [
      ...[LOG_KEY, 'current', Buffer.from(verifierKey)],
    ]);
    return verifierKey;
  });
}

/** Heads that are read at a time, however many logs there are. */
const HEADS_TOGETHER = 1_000;

async function signHeadsAgain(client: pg.Client, earlier: NoteVerifier, signer: NoteSigner): Promise<void> {
  const read = 'SELECT voting_event_id AS id, note FROM ballot_logs WHERE voting_event_id > $1 ORDER BY 1 LIMIT $2';
  const heads = inPages(
    HEADS_TOGETHER,
    async (...page) => (await client.query<{ id: string; note: string }>(read, page)).rows,
  );
  for await (const { id, note } of heads) {
    const text = textOf(note, earlier);
    if (text === undefined) continue;
    const again = [id, note, signNote(text, signer)];
    await client.query('UPDATE ballot_logs SET note = $3 WHERE voting_event_id = $1 AND note = $2', again);
  }
}

/** What a note says; undefined for one that the key has not signed, which stays as it is and is found. */
function textOf(note: string, verifier: NoteVerifier): string | undefined {
  try {
    return openNote(note, verifier);
  } catch (fault) {
    if (fault instanceof NoteRefused) return undefined;
    throw fault;
  }
}

/** The 32 bytes that sign the logs of a database. @throws where none of the configured keys does */
export function readLogSigningKey(config: Config, url: string): Promise<Buffer> {
  return withConnection(url, async (client) => {
    const seed = findLogSeed(config, await readStored(client));
    if (seed === undefined)
      throw conflict('log_key_unknown', 'none of the configured keys signs the logs of this database.');
    return seed;
  });
}
