import type pg from 'pg';
import type { Config } from '#src/config.ts';
import { type Finding, failed, found, warned, withConnection } from '#src/database/check-server.ts';
import { countLivingProcesses } from '#src/database/heartbeat.ts';
import { conflict } from '#src/platform/errors.ts';
import { inPages } from '#src/platform/loop-turns.ts';
import { createSecrets, equalSecrets, type Secrets } from '#src/platform/secrets.ts';
import { createLogKey } from './checkpoint.ts';
import { rememberAgain } from './checkpoint-memory.ts';
import {
  createNoteSigner,
  type NoteSigner,
  type NoteVerifier,
  openNote,
  parseVerifierKey,
  renameSigner,
  renameVerifier,
  signNote,
  unlessRefused,
} from './signed-note.ts';

/**
 * The contents of the table `service_identity`, which outlive a restart:
 * - `secret_key`, by the key's ID: a MAC of a constant under each key in use. A start is refused if no configured key matches.
 * - `log_key`: the verifier key of the logs, `<name>+<key ID>+<public key>`. Name and key stay when BASE_URL or SECRET_KEY change.
 * - `earlier_log_key`: the verifier keys that `log_key` has replaced.
 */
interface Stored {
  readonly checks: ReadonlyMap<string, Buffer>;
  readonly logKey: string | undefined;
  readonly earlierLogKeys: readonly string[];
}

const CHECKED = 'voting-service key check';
const LOG_KEY = 'log_key';
const EARLIER_LOG_KEY = 'earlier_log_key';
const SECRET_KEY = 'secret_key';

/** One `Secrets` per key listed in SECRET_KEY, the current key first. */
const each = (config: Config): Secrets[] => config.secretKeys.map((key) => createSecrets([key]));

async function hasTable(client: pg.Client, name: string): Promise<boolean> {
  const { rows } = await client.query<{ there: boolean }>('SELECT to_regclass($1) IS NOT NULL AS there', [
    `public.${name}`,
  ]);
  return rows[0]?.there === true;
}

async function readStored(client: pg.Client): Promise<Stored> {
  const checks = new Map<string, Buffer>();
  const earlierLogKeys: string[] = [];
  let logKey: string | undefined;
  if (await hasTable(client, 'service_identity')) {
    const { rows } = await client.query<{ kind: string; id: string; value: Buffer }>(
      'SELECT kind, id, value FROM service_identity',
    );
    for (const { kind, id, value } of rows) {
      if (kind === SECRET_KEY) checks.set(id, value);
      if (kind === LOG_KEY) logKey = value.toString('utf8');
      if (kind === EARLIER_LOG_KEY) earlierLogKeys.push(value.toString('utf8'));
    }
  }
  return { checks, logKey, earlierLogKeys };
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

/** Candidates for the logs' signing key: LOG_SIGNING_KEY if set, otherwise a key derived from each listed secret key. */
function logSeeds(config: Config): Buffer[] {
  return config.logSigningKey === undefined
    ? each(config).map((secrets) => secrets.derive('log-signing'))
    : [config.logSigningKey];
}

/** The stored name of the logs; undefined before the first start. */
const nameOfLogs = ({ logKey }: Stored): string | undefined =>
  logKey === undefined ? undefined : parseVerifierKey(logKey).name;

/** The candidate with which the logs were signed so far. */
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

/** Compares the keys of a configuration with the stored identity. Writes nothing. */
export async function checkIdentity(config: Config, client: pg.Client): Promise<Finding[]> {
  const stored = await readStored(client);
  const secretKey = checkSecretKeys(config, stored);
  // A wrong secret key also derives a wrong log key: report only the cause.
  return secretKey.status === 'failed' ? [secretKey] : [secretKey, checkLogKey(config, stored)];
}

/** The configuration with the stored name and key of the logs, which a new BASE_URL or SECRET_KEY does not change. */
export async function withLogIdentity(config: Config, client: pg.Client): Promise<Config> {
  const stored = await readStored(client);
  const seed = findLogSeed(config, stored);
  return seed === undefined ? config : { ...config, logSigningKey: seed, logName: nameOfLogs(stored) ?? null };
}

const INSERT = 'INSERT INTO service_identity (kind, id, value, created_at) VALUES ($1, $2, $3, now_ms())';

/** Stores the missing values for all listed secret keys (in a rotation other processes may use the new one) and for the log key. */
export async function storeIdentity(config: Config, client: pg.Client): Promise<void> {
  for (const secrets of each(config)) {
    const check = secrets.mac('key-check', CHECKED);
    await client.query(`${INSERT} ON CONFLICT DO NOTHING`, [SECRET_KEY, secrets.id, check]);
  }
  const { verifierKey } = createLogKey(config, createSecrets(config.secretKeys));
  await client.query(`${INSERT} ON CONFLICT DO NOTHING`, [LOG_KEY, 'current', Buffer.from(verifierKey)]);
}

/**
 * Makes the configured key the logs' key: signs every head again, because a log accepts appends only after a valid signature. Run again
 * with the same key, it signs the heads that an earlier key has signed since.
 * @throws ApiError 409 while a process of the service runs: it would go on to sign with the earlier key, and could read no head
 */
export function adoptLogKey(config: Config, url: string): Promise<string> {
  return withConnection(url, async (client) => {
    const living = await countLivingProcesses(client);
    if (living > 0)
      throw conflict(
        'service_running',
        `the service runs (${living} ${living === 1 ? 'process' : 'processes'}), and would go on to sign with the earlier key. Stop every process, adopt the key, and start them with it.`,
      );
    const stored = await readStored(client);
    const logName = nameOfLogs(stored) ?? null;
    const signer = createLogKey({ ...config, logName }, createSecrets(config.secretKeys));
    const { verifierKey } = signer;
    const earlier = new Set([...stored.earlierLogKeys, ...(stored.logKey === undefined ? [] : [stored.logKey])]);
    earlier.delete(verifierKey);
    for (const key of earlier)
      await client.query(`${INSERT} ON CONFLICT DO NOTHING`, [EARLIER_LOG_KEY, key, Buffer.from(key)]);
    const verifiers = [...earlier].map((key) => parseVerifierKey(key));
    await signHeadsAgain(client, verifiers, signer);
    await signServiceHeadsAgain(client, verifiers, signer);
    const ofService = serviceKeys(verifiers, signer);
    await rememberAgain(config.dataDir, (note) => signAgain(note, verifiers, signer) ?? signAgain(note, ...ofService));
    await client.query(`${INSERT} ON CONFLICT (kind, id) DO UPDATE SET value = excluded.value, created_at = now_ms()`, [
      ...[LOG_KEY, 'current', Buffer.from(verifierKey)],
    ]);
    return verifierKey;
  });
}

const HEADS_TOGETHER = 1_000;
/** How many of the newest heads of the service's own log are searched for the head with the most cosignatures: the newest may have none yet. */
export const SERVICE_HEADS_SHOWN = 50;

/** The name of the service's own log. @param key the key of the ballot logs */
export const serviceLogName = (key: NoteVerifier): string => `${key.name}/log`;

/** The keys of the service's own log that belong to keys of the ballot logs. */
const serviceKeys = (earlier: readonly NoteVerifier[], signer: NoteSigner) =>
  [
    earlier.map((key) => renameVerifier(key, serviceLogName(key))),
    renameSigner(signer, serviceLogName(signer)),
  ] as const;

async function signHeadsAgain(client: pg.Client, earlier: readonly NoteVerifier[], signer: NoteSigner): Promise<void> {
  const read = 'SELECT voting_event_id AS id, note FROM ballot_logs WHERE voting_event_id > $1 ORDER BY 1 LIMIT $2';
  const heads = inPages(
    HEADS_TOGETHER,
    async (...page) => (await client.query<{ id: string; note: string }>(read, page)).rows,
  );
  for await (const { id, note } of heads) {
    const again = signAgain(note, earlier, signer);
    if (again !== undefined)
      await client.query('UPDATE ballot_logs SET note = $3 WHERE voting_event_id = $1 AND note = $2', [
        id,
        note,
        again,
      ]);
  }
}

/** Signs the heads of the service's own log that it may still show: the newest, and the newest with the most cosignatures. */
async function signServiceHeadsAgain(
  client: pg.Client,
  earlier: readonly NoteVerifier[],
  signer: NoteSigner,
): Promise<void> {
  const [keys, own] = serviceKeys(earlier, signer);
  const { rows } = await client.query<{ size: string; note: string }>(
    `SELECT size, note FROM service_checkpoints ORDER BY service_checkpoints.size DESC LIMIT ${SERVICE_HEADS_SHOWN}`,
  );
  for (const { size, note } of rows) {
    const again = signAgain(note, keys, own);
    if (again !== undefined)
      await client.query('UPDATE service_checkpoints SET note = $2 WHERE size = $1', [size, again]);
  }
}

/** Undefined for a note that no earlier key signed: it is left alone, and the check of its log reports it. */
function signAgain(note: string, earlier: readonly NoteVerifier[], signer: NoteSigner): string | undefined {
  const [text] = earlier.flatMap((key) => unlessRefused(() => openNote(note, key)) ?? []);
  return text === undefined ? undefined : signNote(text, signer);
}

/** The 32-byte signing key of a database's logs. @throws if no configured key matches the stored verifier key */
export function readLogSigningKey(config: Config, url: string): Promise<Buffer> {
  return withConnection(url, async (client) => {
    const seed = findLogSeed(config, await readStored(client));
    if (seed === undefined)
      throw conflict('log_key_unknown', 'none of the configured keys signs the logs of this database.');
    return seed;
  });
}
