import pg from 'pg';
import { monotonicMs } from '#src/platform/clock.ts';

// DATABASE_URL may name several servers, a primary and its standbys: postgres://user:password@one:5432,two:5432/name. Every
// connection goes to the server that takes writes; its URL is cached until a connection to it fails. DATABASE_READ_URL may name the
// same servers: its connections go to a standby.

/** Time limit for a host to report whether it takes writes. */
const PROBE_MS = 2_000;
/** After no host was usable, callers fail for this long without another probe. */
const LOOK_AGAIN_MS = 250;

/** Groups: scheme and user, hosts, and the rest of a connection URL. */
const PARTS = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s;

export function splitHosts(url: string): string[] {
  const [, start = '', hosts = '', rest = ''] = PARTS.exec(url) ?? [];
  return hosts.includes(',') ? hosts.split(',').map((host) => `${start}${host}${rest}`) : [url];
}

/** Splits a connection URL, of one or several hosts, into the URL without its password and the password. */
export function withoutPassword(url: string): { readonly address: string; readonly password: string | undefined } {
  const [, start = '', hosts = '', rest = ''] = PARTS.exec(url) ?? [];
  const [, user, before] = /^([^:]*:\/\/[^:]*):(.*)@$/s.exec(start) ?? [];
  // A password in the query has priority, as in the driver.
  const [found, password = before] = /[?&]password=([^&]*)/.exec(rest) ?? [];
  if (password === undefined) return { address: url, password };
  const query = found === undefined ? rest : rest.replace(found, '').replace(/^([^?&]*)&/, '$1?');
  const address = `${user === undefined ? start : `${user}@`}${hosts}${query}`;
  return { address, password: decodeURIComponent(password.replace(/%(?![0-9a-f]{2})/gi, '%25')) };
}

const nameOf = ({ host, port }: pg.Client): string => `${host}:${port}`;

export const IN_RECOVERY = 'SELECT pg_is_in_recovery() AS standby';

/** No host of a connection URL can be used; the message says why in one line. No statement was sent. */
export class NoWriter extends Error {
  override readonly name = 'NoWriter';
  /** The same code as for a single server that is down. */
  readonly code = 'ECONNREFUSED';
}

/** Finds the primary, or with `isStandby` a standby, among the servers of a connection URL. */
class Servers {
  readonly #urls: readonly string[];
  readonly #isStandby: boolean;
  #found: string | undefined;
  #looking: Promise<string> | undefined;
  #failed: { readonly at: number; readonly reason: NoWriter } | undefined;

  constructor(urls: readonly string[], isStandby: boolean) {
    this.#urls = urls;
    this.#isStandby = isStandby;
  }

  /** The URL of a server with the wanted role. @throws NoWriter */
  async find(): Promise<string> {
    if (this.#found !== undefined) return this.#found;
    if (this.#failed !== undefined && monotonicMs() < this.#failed.at + LOOK_AGAIN_MS) throw this.#failed.reason;
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  /** Forgets a server to which a connection failed, or whose role has changed. */
  lose(url: string): void {
    if (this.#found === url) this.#found = undefined;
  }

  async #look(): Promise<string> {
    const answers = await Promise.all(this.#urls.map(async (url) => ({ url, ...(await probe(url, this.#isStandby)) })));
    const found = answers.find(({ fault }) => fault === undefined);
    if (found !== undefined) {
      this.#found = found.url;
      return found.url;
    }
    const reasons = answers.map(({ name, fault }) => `${name} ${fault}`).join(', ');
    const none = this.#isStandby ? 'no host of DATABASE_READ_URL is a standby' : 'no host of DATABASE_URL takes writes';
    const reason = new NoWriter(`${none}: ${reasons}`);
    this.#failed = { at: monotonicMs(), reason };
    throw reason;
  }
}

const roleOf = (isStandby: boolean): string => (isStandby ? 'is a standby' : 'takes writes');

/** Why a server is unreachable or has the wrong role; without `fault` if it can be used. */
async function probe(url: string, isStandby: boolean): Promise<{ readonly name: string; readonly fault?: string }> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'check of voting-service',
    connectionTimeoutMillis: PROBE_MS,
    query_timeout: PROBE_MS,
  });
  client.on('error', () => undefined);
  const name = nameOf(client);
  try {
    await client.connect();
    const { rows } = await client.query<{ standby: boolean }>(IN_RECOVERY);
    return rows[0]?.standby === isStandby ? { name } : { name, fault: roleOf(!isStandby) };
  } catch (fault) {
    const code: unknown = fault instanceof Error ? Reflect.get(fault, 'code') : undefined;
    return { name, fault: typeof code === 'string' ? `cannot be used (${code})` : 'gives no answer' };
  } finally {
    client.end().catch(() => undefined);
  }
}

const known = new Map<string, Servers>();

function serversOf(url: string, isStandby: boolean): Servers | undefined {
  const urls = splitHosts(url);
  if (urls.length === 1) return undefined;
  const name = `${isStandby} ${url}`;
  const servers = known.get(name) ?? new Servers(urls, isStandby);
  known.set(name, servers);
  return servers;
}

/**
 * Random reads are cheap: an event's rows lie close together, in memory or on an SSD. With PostgreSQL's default of 4, and without
 * statistics by event (0000_tables.sql), a query for a page of a large roll would sort the roll instead of using an index.
 */
const PLANNER = 'SET random_page_cost = 1.1';

/**
 * An operator may have set other defaults for the role or the database. Rows of JSON are read with bytes in hex; a statement that waited
 * for a lock must see what was committed meanwhile, or a limit is exceeded; and PostgreSQL looks first in a schema of the role's name.
 * Time limits are those that a connection was opened with: a move of an account works for longer than any other would allow.
 */
export const ASSUMED = `SET bytea_output = 'hex'; SET default_transaction_isolation = 'read committed';
  SELECT set_config('search_path', 'public', false) WHERE current_schema() IS DISTINCT FROM 'public';
  SELECT set_config(name, '0', false) FROM unnest('{transaction_timeout,idle_session_timeout}'::text[]) AS name
    WHERE current_setting(name, true) IS NOT NULL`;
const LIMITS = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'] as const;

/** A connection to the server that takes writes. All connections of the service use this class or `StandbyClient`. */
export class WriterClient extends pg.Client {
  readonly #servers: Servers | undefined;
  readonly #isStandby: boolean;
  readonly #settings: string;

  /** @param isStandby whether to connect to a standby instead */
  constructor(config: pg.ClientConfig = {}, isStandby = false) {
    const { connectionString: url = '' } = config;
    super({ ...config, connectionString: splitHosts(url)[0] });
    this.#servers = serversOf(url, isStandby);
    this.#isStandby = isStandby;
    const own = LIMITS.filter((limit) => config[limit] === undefined).map((limit) => `SET ${limit} = 0`);
    this.#settings = [PLANNER, ...own, ASSUMED].join(';');
    // A lost connection already fails its running query. Without a listener, the error event would end the process.
    this.on('error', () => undefined);
  }

  /** @throws NoWriter, and what the library throws */
  override connect(): Promise<pg.Client>;
  override connect(callback: (fault: Error) => void): void;
  override connect(callback?: (fault: Error) => void): Promise<pg.Client> | undefined {
    const connected = this.#connect();
    if (callback === undefined) return connected;
    const report = callback as (fault?: Error) => void;
    connected.then(() => report(), report);
    return undefined;
  }

  async #connect(): Promise<pg.Client> {
    try {
      await (this.#servers === undefined ? super.connect() : this.#connectToOne(this.#servers));
      await this.query(this.#settings);
      return this;
    } catch (fault) {
      // A pool does not end a connection that it did not get. Not awaited, because a silent server never confirms the end.
      this.end().catch(() => undefined);
      throw fault;
    }
  }

  async #connectToOne(servers: Servers): Promise<void> {
    const url = await servers.find();
    // The driver reads `host` and `port` when it connects.
    const { host, port } = new pg.Client({ connectionString: url });
    Object.assign(this, { host, port });
    try {
      await super.connect();
      const { rows } = await this.query<{ standby: boolean }>(IN_RECOVERY);
      if (rows[0]?.standby === this.#isStandby) return;
      // The server changed its role since it was found.
      throw new NoWriter(`${nameOf(this)} ${roleOf(!this.#isStandby)} now`);
    } catch (fault) {
      servers.lose(url);
      throw fault;
    }
  }
}

/** A connection to a standby. A single named server may have any role: its WAL position decides whether it is used. */
export class StandbyClient extends WriterClient {
  constructor(config?: pg.ClientConfig) {
    super(config, true);
  }
}
