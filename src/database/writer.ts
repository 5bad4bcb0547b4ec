import pg from 'pg';
import { monotonicMs } from '#src/platform/clock.ts';

// DATABASE_URL may name several servers, a primary and its standbys: postgres://user:password@one:5432,two:5432/name. Every
// connection goes to the one that takes writes, which is remembered and looked for again when it is lost. DATABASE_READ_URL may name the
// same ones: its connections go to one that is a standby.

/** A host gets so long to say whether it takes writes. */
const PROBE_MS = 2_000;
/** After no host did, callers fail for so long without another look. */
const LOOK_AGAIN_MS = 250;

/** Scheme and user, hosts, and the rest of an address. */
const PARTS = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s;

/** The addresses of an address with several hosts, one for each. */
export function splitHosts(url: string): string[] {
  const [, start = '', hosts = '', rest = ''] = PARTS.exec(url) ?? [];
  return hosts.includes(',') ? hosts.split(',').map((host) => `${start}${host}${rest}`) : [url];
}

/** `host:port`, for people. */
const nameOf = ({ host, port }: pg.Client): string => `${host}:${port}`;

export const IN_RECOVERY = 'SELECT pg_is_in_recovery() AS standby';

/** Why no host of an address can be used, in one line. Nothing was sent to any. */
export class NoWriter extends Error {
  override readonly name = 'NoWriter';
  /** As of one server that is gone. */
  readonly code = 'ECONNREFUSED';
}

/** The servers of an address, and which of them takes writes, or is a standby. */
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

  /** The address of the server that is looked for. @throws NoWriter */
  async find(): Promise<string> {
    if (this.#found !== undefined) return this.#found;
    if (this.#failed !== undefined && monotonicMs() < this.#failed.at + LOOK_AGAIN_MS) throw this.#failed.reason;
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  /** A connection to a server failed, or it takes no writes any more. */
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

/** Why a server is not what is looked for; no `fault` where it is. */
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

/** A connection to the server that takes writes. Every one of the service is made by it, or by the one below. */
export class WriterClient extends pg.Client {
  readonly #servers: Servers | undefined;
  readonly #isStandby: boolean;

  /** @param isStandby whether it leads to a standby instead */
  constructor(config: pg.ClientConfig = {}, isStandby = false) {
    const { connectionString: url = '' } = config;
    super({ ...config, connectionString: splitHosts(url)[0] });
    this.#servers = serversOf(url, isStandby);
    this.#isStandby = isStandby;
    // A connection that is lost fails the query that waits on it. Who keeps connections hears of it besides.
    this.on('error', () => undefined);
  }

  /** @throws NoWriter, and what the library throws */
  override connect(): Promise<pg.Client>;
  override connect(callback: (fault: Error) => void): void;
  override connect(callback?: (fault: Error) => void): Promise<pg.Client> | undefined {
    const connected = this.#servers === undefined ? super.connect() : this.#connectToOne(this.#servers);
    if (callback === undefined) return connected;
    const report = callback as (fault?: Error) => void;
    connected.then(() => report(), report);
    return undefined;
  }

  async #connectToOne(servers: Servers): Promise<pg.Client> {
    const url = await servers.find();
    // The library reads both when it connects.
    const { host, port } = new pg.Client({ connectionString: url });
    Object.assign(this, { host, port });
    try {
      await super.connect();
      const { rows } = await this.query<{ standby: boolean }>(IN_RECOVERY);
      if (rows[0]?.standby === this.#isStandby) return this;
      // It was the primary, and came back as the standby of another one; or the other way round.
      throw new NoWriter(`${nameOf(this)} ${roleOf(!this.#isStandby)} now`);
    } catch (fault) {
      servers.lose(url);
      throw fault;
    }
  }
}

/** A connection to a standby. Where one server is named it may be any: its place in the log says whether it is used. */
export class StandbyClient extends WriterClient {
  constructor(config?: pg.ClientConfig) {
    super(config, true);
  }
}
