import { existsSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { unlessRefused } from '#src/ballot-log/signed-note.ts';
import { MAIN_CELL } from '#src/database/other-cells.ts';
import type { ProgramFolders } from '#src/database/postgres-programs.ts';
import { PROVIDER_NAMES, type ProviderName } from '#src/payment-providers/registered.ts';
import { SECRET_KEY_BYTES } from '#src/platform/secrets.ts';
import type { WitnessPlace } from '#src/service-log/ask-witness.ts';
import { parseWitnessKey } from '#src/service-log/cosignature.ts';

export class ConfigError extends Error {}

const onOff = z.enum(['on', 'off']).transform((value) => value === 'on');
const port = z
  .string()
  .regex(/^\d{1,5}$/, 'must be a port number')
  .transform(Number)
  .pipe(z.int().max(65_535));
const count = (max: number) =>
  z
    .string()
    .regex(/^\d{1,4}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().max(max));
const webUrl = z
  .string()
  .refine(
    (value) => URL.canParse(value) && /^https?:\/\//.test(value) && !/\s/.test(value),
    'must be an address such as https://vote.example.org',
  )
  .transform((value) => /^.*[^/]/s.exec(value)?.[0] ?? '');
/** A URL to which paths are appended. */
const baseOfUrls = webUrl.refine((value) => !/[?#@]/.test(value), 'must be an address without query and credentials');
const key32 = (name: string) =>
  z
    .string()
    // The decoder would ignore any other character.
    .regex(/^[\w+/-]+={0,2}$/, `must be ${name} in base64 (make one: openssl rand -base64 32)`)
    .transform((value): Buffer => Buffer.from(value, 'base64'))
    .refine(
      (bytes) => bytes.length === SECRET_KEY_BYTES,
      `must be ${name} in base64 (make one: openssl rand -base64 32)`,
    );

const WITNESS_WORDS = 'must list witnesses as "ADDRESS VERIFIER-KEY", several with commas, each key once';
const MOST_WITNESSES = 16;

/** Parses `https://witness.example witness.example+1a2b3c4d+BA…`; undefined for any other text. */
function readWitness(text: string): WitnessPlace | undefined {
  const [address = '', keyText = '', ...rest] = text.trim().split(/\s+/);
  const url = webUrl.safeParse(address);
  if (!url.success || rest.length > 0 || /[?#@]/.test(address)) return undefined;
  const key = unlessRefused(() => parseWitnessKey(keyText));
  return key && { url: url.data, key, keyText };
}

const witnesses = z.string().transform((value, context): readonly WitnessPlace[] => {
  const places = value.split(',').flatMap((text) => readWitness(text) ?? []);
  const names = new Set(places.map(({ key }) => key.name));
  const isWhole = places.length === value.split(',').length && places.length <= MOST_WITNESSES;
  if (isWhole && names.size === places.length) return places;
  context.addIssue({ code: 'custom', message: WITNESS_WORDS });
  return z.NEVER;
});

const UNREADABLE = 'cannot be read as an address: write signs such as # and / in the password as %23 and %2F';

/** Whether libraries can parse an address, with several hosts or none. They would print an unreadable one with its password. */
function isReadable(address: string): boolean {
  const [, start = '', hosts = '', rest = ''] = /^([a-z]+:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s.exec(address) ?? [];
  return hosts.split(',').every((host) => URL.canParse(`${start}${host === '' ? 'localhost' : host}${rest}`));
}

const databaseUrl = z
  .string()
  .regex(/^postgres(ql)?:\/\//, 'must be an address such as postgres://user:password@host:5432/database')
  .refine(isReadable, UNREADABLE);

/** One of several databases, called cells (docs/scaling.md, "More than one database"). */
export interface CellPlace {
  readonly name: string;
  /** May contain a password: never log it. */
  readonly url: string;
}

const CELL = /^([a-z][a-z0-9-]{0,19})=(postgres(?:ql)?:\/\/\S+)$/;
const CELL_WORDS = `must list cells as name=postgres://…, several with commas: each name once, in lower case and not ${MAIN_CELL}, each address once`;

/** Splits only at commas before the next cell, because the address of a cell may name several hosts with commas. */
const cells = z.string().transform((value, context): readonly CellPlace[] => {
  const parts = value.split(/,(?=[a-z][a-z0-9-]{0,19}=postgres)/).map((part) => CELL.exec(part.trim()));
  const places = parts.flatMap((part) => (part === null ? [] : [{ name: part[1] ?? '', url: part[2] ?? '' }]));
  const distinct = (values: readonly string[]): boolean => new Set(values).size === parts.length;
  const names = places.map(({ name }) => name);
  const isRight = distinct(names) && distinct(places.map(({ url }) => url)) && !names.includes(MAIN_CELL);
  const isParsed = places.every(({ url }) => isReadable(url));
  if (isRight && isParsed) return places;
  context.addIssue({ code: 'custom', message: isRight ? UNREADABLE : CELL_WORDS });
  return z.NEVER;
});

const environmentSchema = z.object({
  PORT: port.default(3000),
  HOST: z.string().min(1).optional(),
  BASE_URL: baseOfUrls.optional(),
  /** Undefined in embedded mode, in which the database is in `dataDir`. */
  DATABASE_URL: databaseUrl
    .refine(
      (value) => !/[?&]target_session_attrs=(?!any|read-write|primary)/.test(value),
      'must lead to the server that takes writes: leave target_session_attrs out',
    )
    .optional(),
  /** A replica for long reads; undefined if there is none. */
  DATABASE_READ_URL: databaseUrl.optional(),
  DATABASE_REQUIRE_STANDBY: onOff.default(false),
  /** Further databases, each with the whole data of some accounts. */
  DATABASE_CELLS: cells.default([]),
  DATA_DIR: z.string().min(1).optional(),
  /** The folder for the keys of secret events. If undefined, `readKeyFolders` chooses; the database stores keys encrypted. */
  BALLOT_KEYS_DIR: z.string().min(1).optional(),
  /** Folders with copies of `BALLOT_KEYS_DIR`. */
  BALLOT_KEYS_COPIES: z
    .string()
    .transform((value) => value.split(',').map((folder) => folder.trim()))
    .refine((folders) => folders.every((folder) => folder !== ''), 'must list folders with commas between them')
    .default([]),
  SECRET_KEY: z
    .string()
    .transform((value) => value.split(',').map((part) => part.trim()))
    .pipe(z.array(key32('32 bytes')).min(1))
    // A key that a template lists twice would make each mail count twice in one statement.
    .transform((keys) => keys.filter((key, at) => keys.findIndex((one) => one.equals(key)) === at))
    .optional(),
  /** The key that signs the ballot logs. If undefined, it is derived from the secret key. */
  LOG_SIGNING_KEY: key32('32 bytes').optional(),
  /** The witnesses that cosign the service's own log. */
  WITNESSES: witnesses.default([]),
  COMPANY_NAME: z.string().min(1).default('Voting Service'),
  WEBSITE_URL: webUrl.optional(),
  API_DOC_URL: webUrl.optional(),
  STATUS_PAGE_URL: webUrl.optional(),
  SMTP_URL: z
    .string()
    .regex(/^smtps?:\/\/[^/]/, 'must be an address such as smtp://user:password@mail.example.org:587')
    .refine(isReadable, UNREADABLE)
    .optional(),
  MAIL_FROM: z
    .string()
    .regex(/@[^\s<>@]+>?$/, 'must hold an address, such as Voting <no-reply@example.org>')
    .default('Voting Service <no-reply@localhost.localdomain>'),
  /** The envelope sender, to which bounces go; by default the sender's address. */
  MAIL_BOUNCES: z
    .string()
    .regex(/^[^\s<>@]+@[^\s<>@]+$/, 'must be an address such as bounces@example.org')
    .optional(),
  WORKER: onOff.default(true),
  /** Number of processes that serve one port. */
  WEB_CONCURRENCY: count(64)
    .refine((value) => value >= 1, 'must be at least 1')
    .default(1),
  /** The port of the metrics; undefined if no metrics are served. */
  METRICS_PORT: port.optional(),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  EMAIL_DOMAIN_CHECK: onOff.optional(),
  PLANS_FILE: z.string().min(1).optional(),
  TRUST_PROXY: count(16).default(0),
  NODE_ENV: z.string().optional(),
  /** Whether webhook receivers may be in private networks, and may use plain HTTP. */
  WEBHOOK_ALLOW_PRIVATE: onOff.default(false),
});

/** The name of a payment provider's setting, such as `PROVIDER_A_API_URL`. */
const addressOf = (name: ProviderName): string => `${name.toUpperCase()}_API_URL`;
const providerAddresses = z
  .object(Object.fromEntries(PROVIDER_NAMES.map((name) => [addressOf(name), baseOfUrls.optional()])))
  .transform((found) => Object.fromEntries(PROVIDER_NAMES.map((name) => [name, found[addressOf(name)]])));

/** The name of a setting as a property: `DATA_DIR` becomes `dataDir`. */
type Camel<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${Lowercase<First>}${Capitalize<Camel<Rest>>}`
  : Lowercase<Name>;
/** The settings of a schema, by property name; undefined if not set. */
type Read<Schema extends z.ZodObject> = {
  readonly [Name in keyof Required<z.output<Schema>> as Camel<Name & string>]: z.output<Schema>[Name];
};

/** Settings whose default depends on other settings. */
type Given = 'host' | 'dataDir' | 'baseUrl' | 'websiteUrl' | 'apiDocUrl' | 'statusPageUrl';

/** The settings from the environment. They are read and validated once, at the start (completions 9.4). */
export interface Config
  extends Omit<Read<typeof environmentSchema>, Given | 'databaseRequireStandby' | 'secretKey' | 'nodeEnv'>,
    Readonly<Record<Given, string>> {
  readonly emailDomainCheck: boolean;
  /** Whether the service refuses to start without a synchronous standby, and raises an alarm if it is lost. */
  readonly requireStandby: boolean;
  /** The current key first, then replaced keys. Empty in embedded mode until a key is generated. */
  readonly secretKeys: readonly Buffer[];
  /** The name of the ballot logs. It is stored in the database, no setting. While it is null (not stored yet), BASE_URL gives the name. */
  readonly logName: string | null;
  readonly production: boolean;
  /** Base URLs of the payment providers, where they are not the real URLs. */
  readonly providerUrls: Readonly<Partial<Record<ProviderName, string | undefined>>>;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The folder of the checkout, so that `.data` and `.env` do not depend on the current directory. */
const PROJECT_ROOT = path.resolve(import.meta.dirname, '..');

/** Loads settings from the file `.env` of the checkout, if there is one. Variables of the environment take precedence. */
export function loadEnvironmentFile(): void {
  const file = path.join(PROJECT_ROOT, '.env');
  if (existsSync(file)) process.loadEnvFile(file);
}

const resolveFolder = (folder: string): string => path.resolve(folder.replace(/^~(?=\/)/, homedir()));

/** Identifies a folder, so that a link to it and a mount of it count as the same. */
function placeOf(folder: string): string {
  if (!existsSync(folder)) return folder;
  const { dev, ino } = statSync(folder);
  return `${dev}:${ino}`;
}

/**
 * Where the keys of secret events are stored. If BALLOT_KEYS_DIR is set, they are there, and all processes must share that folder.
 * Otherwise, with the embedded database, which only one machine uses, below DATA_DIR; else in the database.
 */
function readKeyFolders(
  settings: Read<typeof environmentSchema>,
  dataDir: string,
  embedded: boolean,
): Pick<Config, 'ballotKeysDir' | 'ballotKeysCopies'> {
  const named = settings.ballotKeysDir === undefined ? undefined : resolveFolder(settings.ballotKeysDir);
  const ballotKeysDir = named ?? (embedded ? path.join(dataDir, 'ballot-keys') : undefined);
  const ballotKeysCopies = settings.ballotKeysCopies.map(resolveFolder);
  if (ballotKeysDir === undefined && ballotKeysCopies.length > 0)
    throw new ConfigError('BALLOT_KEYS_COPIES needs BALLOT_KEYS_DIR: the folder that these are copies of');
  if (new Set([ballotKeysDir ?? '', ...ballotKeysCopies].map(placeOf)).size <= ballotKeysCopies.length)
    throw new ConfigError('BALLOT_KEYS_COPIES must name each folder once, and not BALLOT_KEYS_DIR');
  return { ballotKeysDir, ballotKeysCopies };
}

function withoutEmpty(environment: Environment): Environment {
  const trimmed = Object.entries(environment).map(([name, value]) => [name, value?.trim()] as const);
  return Object.fromEntries(trimmed.filter(([, value]) => value !== undefined && value !== ''));
}

function parseSettings<T>(schema: z.ZodType<T>, environment: Environment): T {
  const parsed = schema.safeParse(withoutEmpty(environment));
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new ConfigError(`${String(issue?.path[0])} ${issue?.message ?? 'is wrong'}`);
}

function readSettings<Schema extends z.ZodObject>(schema: Schema, environment: Environment): Read<Schema> {
  const found: Readonly<Record<string, unknown>> = parseSettings(schema, environment);
  const camel = (name: string): string => name.toLowerCase().replace(/_(.)/g, (_, letter) => letter.toUpperCase());
  return Object.fromEntries(Object.keys(schema.shape).map((name) => [camel(name), found[name]])) as Read<Schema>;
}

/** @throws ConfigError with one line that names the bad setting, but not its value, which may be secret */
export function readConfig(environment: Environment = process.env): Config {
  const read = readSettings(environmentSchema, environment);
  const { databaseRequireStandby, secretKey, nodeEnv, ...settings } = read;
  const embedded = settings.databaseUrl === undefined;
  if (!embedded && secretKey === undefined) {
    throw new ConfigError('SECRET_KEY must be set when DATABASE_URL is set (make one: openssl rand -base64 32)');
  }
  if (embedded && settings.databaseReadUrl !== undefined)
    throw new ConfigError('DATABASE_READ_URL needs DATABASE_URL: the database that it leads to a copy of');
  const { databaseCells } = settings;
  if (embedded && databaseCells.length > 0)
    throw new ConfigError(`DATABASE_CELLS needs DATABASE_URL: the cell ${MAIN_CELL}`);
  if (databaseCells.some(({ url }) => url === settings.databaseUrl))
    throw new ConfigError(`DATABASE_CELLS must not name the database of DATABASE_URL, which is the cell ${MAIN_CELL}`);
  if (settings.metricsPort !== undefined && settings.metricsPort !== 0 && settings.metricsPort === settings.port)
    throw new ConfigError('METRICS_PORT must be another port than PORT');
  const baseUrl = settings.baseUrl ?? `http://localhost:${settings.port}`;
  const dataDir = resolveFolder(settings.dataDir ?? path.join(PROJECT_ROOT, '.data'));
  return {
    ...settings,
    host: settings.host ?? (embedded ? '127.0.0.1' : '0.0.0.0'),
    baseUrl,
    requireStandby: databaseRequireStandby,
    dataDir,
    ...readKeyFolders(read, dataDir, embedded),
    secretKeys: secretKey ?? [],
    logName: null,
    websiteUrl: settings.websiteUrl ?? baseUrl,
    apiDocUrl: settings.apiDocUrl ?? `${baseUrl}/reference`,
    statusPageUrl: settings.statusPageUrl ?? `${baseUrl}/health`,
    // The demo uses the embedded database, and its e-mail addresses end in .example, for which there are no mail servers.
    emailDomainCheck: settings.emailDomainCheck ?? !embedded,
    plansFile: settings.plansFile === undefined ? undefined : path.resolve(settings.plansFile),
    production: nodeEnv === 'production',
    providerUrls: parseSettings(providerAddresses, environment),
  };
}

const COMMAND_SETTINGS = [
  'PAYMENT_SECRET_KEY',
  'PAYMENT_WEBHOOK_SECRET',
  'VOTING_KEY',
  'VOTING_API_KEY',
  'VOTING_API',
  'PG_BIN',
];
/** Prefixes of variables that only this service uses. */
const OWN_PREFIX = /^(?:BALLOT_KEYS|WEBHOOK|PROVIDER_[AB]|METRICS|VOTING)_/;
/** Kubernetes sets variables with these words for a service that is called `voting`. */
const OF_KUBERNETES = /_(?:SERVICE|PORT)(?:_|$)/;

/** The Levenshtein distance of two texts. */
function editDistance(one: string, other: string): number {
  let above = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [row, letter] of [...one].entries()) {
    const current = [row + 1];
    for (const [column, its] of [...other].entries()) {
      const [left = 0, over = 0, across = 0] = [current[column], above[column + 1], above[column]];
      current.push(Math.min(left + 1, over + 1, across + (letter === its ? 0 : 1)));
    }
    above = current;
  }
  return above.at(-1) ?? 0;
}

/** A line for each variable that looks like a misspelled setting. Short names must be closer: other programs have similar names. */
export function listUnknownSettings(environment: Environment = process.env): string[] {
  const known = [
    ...Object.keys(environmentSchema.shape),
    ...Object.keys(providerAddresses.in.shape),
    ...COMMAND_SETTINGS,
  ];
  const unknown = Object.keys(withoutEmpty(environment)).filter((name) => name.length < 40 && !known.includes(name));
  return unknown.flatMap((name) => {
    const most = ({ length }: string): number => (length < 6 ? 0 : length < 9 ? 1 : 2);
    const meant = known.find((one) => editDistance(name.toUpperCase(), one) <= most(one));
    const isOwn = OWN_PREFIX.test(name) && !OF_KUBERNETES.test(name);
    if (meant === undefined && !isOwn) return [];
    return [`${name} is not a setting${meant === undefined ? '' : `: ${meant} is`}`];
  });
}

/** The keys of a payment business to connect, where they are set. */
export function readPaymentCredentials(): { secretKey?: string; webhookSecret?: string } {
  const { PAYMENT_SECRET_KEY: secretKey, PAYMENT_WEBHOOK_SECRET: webhookSecret } = withoutEmpty(process.env);
  return {
    ...(secretKey === undefined ? {} : { secretKey }),
    ...(webhookSecret === undefined ? {} : { webhookSecret }),
  };
}

export const hasApiKey = (environment: Environment = process.env): boolean =>
  withoutEmpty(environment)['VOTING_API_KEY'] !== undefined;

const apiAccessSchema = environmentSchema.pick({ PORT: true }).extend({
  VOTING_API_KEY: z
    .string('must be set: a key of your account with the scopes read and write')
    .regex(/^[\x21-\x7e]{1,255}$/, 'must be a key as it was shown once, without spaces or line breaks'),
  VOTING_API: baseOfUrls.optional(),
});

/** The API key and base URL for organizers' commands; without VOTING_API, the URL of this machine's service. @throws ConfigError */
export function readApiAccess(environment: Environment = process.env) {
  const { votingApiKey: key, votingApi: address, port } = readSettings(apiAccessSchema, environment);
  return { key, baseUrl: address ?? `http://127.0.0.1:${port}` };
}

/** The environment of the verifier process: the present environment, with the API key if one is given. */
export function verifierEnvironment(votingKey: string | undefined): Environment {
  return votingKey === undefined ? process.env : { ...process.env, VOTING_KEY: votingKey };
}

/** Folders that may contain PostgreSQL's programs: PG_BIN, and the folders of PATH. */
export function readProgramFolders(environment: Environment = process.env): ProgramFolders {
  const { PG_BIN: named, PATH: searched = '' } = withoutEmpty(environment);
  return { named, path: searched.split(path.delimiter).filter((folder) => folder !== '') };
}
