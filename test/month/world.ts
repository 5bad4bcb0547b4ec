/** A deployment of its own for a simulated month: a server that keeps what it commits, processes, a mail server, receivers. */
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { createApiKey } from '#src/accounts/create-api-key.ts';
import { createAccount } from '#src/accounts/repository.ts';
import { readConfig } from '#src/config.ts';
import { migrate } from '#src/database/migrate.ts';
import type { RecurringJob } from '#src/jobs/queue.ts';
import { createLog } from '#src/platform/log.ts';
import { closeDeps, createDeps } from '#src/service.ts';
import { recurringJobs } from '#src/work.ts';
import { readContract } from '#test/harness/api-document.ts';
import { type MailServer, startMailServer } from '#test/harness/mail-server.ts';
import { Met } from '#test/harness/met.ts';
import { makeServerFolder, type OwnServer, startOwnServer, startServer, stopServer } from '#test/harness/own-server.ts';
import { type Receiver, startReceiver } from '#test/harness/receiver.ts';
import { type Ended, freePort, runCommand } from '#test/harness/started-service.ts';
import { runStatements } from '#test/harness/test-database.ts';
import { untilTrue } from '#test/harness/test-service.ts';
import { SHIFTED_TIME } from '#test/model/driver-database.ts';
import { type ServiceProgram, startProgram } from '#test/model/driver-services.ts';
import { passedBy, settleAll } from '#test/model/driver-settle.ts';
import { setTimeOffset } from '#test/model/driver-time.ts';

const PROCESSES = 2;
/** What the server's disk holds: small enough to be filled, large enough for a month of small events. */
const DISK_MB = 900;

export interface Keys {
  readonly organizer: string;
  readonly voting: string;
}

export class World {
  readonly folder: string;
  #archive: string;
  readonly mail: MailServer;
  /** A receiver that is always there, and one that dies for a time. */
  readonly steady: Receiver;
  readonly frail: Receiver;
  frailIsDead = false;
  /** Whether the server has a disk of its own, which can be filled. */
  readonly ownDisk: boolean;
  /** Alarms that the processes raised, with the hour. */
  readonly alarms: { readonly hour: number; readonly name: string }[] = [];
  /** Hours since the month began. */
  hour = 0;
  /** Requests that were answered with 500, whatever for: none is acknowledged. */
  unanswered = 0;
  /** What its requests met. */
  met: Met | undefined;
  requests = 0;
  #url: string;
  #data: string;
  #keys = [newKey()];
  readonly #logKey = newKey();
  readonly #processes: (ServiceProgram | undefined)[] = [];
  #client: pg.Client | undefined;
  #offsetMs = 0;
  #passed: string[] = [];
  /** The recurring jobs of the service, for their times alone. */
  #recurring: readonly RecurringJob[] = [];
  #restores = 0;
  #retired: string[] = [];

  private constructor(
    folder: string,
    parts: { mail: MailServer; steady: Receiver; server: OwnServer; ownDisk: boolean; archive: string },
  ) {
    this.folder = folder;
    this.#archive = parts.archive;
    this.mail = parts.mail;
    this.steady = parts.steady;
    this.#url = parts.server.url;
    this.#data = parts.server.data;
    this.ownDisk = parts.ownDisk;
    this.frail = parts.steady;
  }

  static async start(): Promise<World> {
    setTimeOffset(0);
    const folder = mkdtempSync(path.join(tmpdir(), 'voting-month-'));
    // As root, PostgreSQL runs as another user, who has to pass.
    chmodSync(folder, 0o711);
    const archive = makeServerFolder(path.join(folder, 'archive'));
    for (const name of ['data', 'backups']) mkdirSync(path.join(folder, name));
    const disk = path.join(folder, 'disk');
    mkdirSync(disk, { mode: 0o711 });
    const ownDisk = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MB}m,mode=711`, 'tmpfs', disk]).status === 0;
    const server = await startOwnServer(path.join(disk, 'live'), [
      ...archiving(archive),
      // Many small files are written in this month: they are kept for its one disk, and recycled early.
      'max_wal_size = 128MB',
      'min_wal_size = 32MB',
    ]);
    await migrate(server.url);
    await runStatements(server.url, ['ALTER DATABASE voting SET search_path = public, pg_catalog', ...SHIFTED_TIME]);
    let world: World | undefined;
    const [mail, steady] = [await startMailServer(), await startReceiver()];
    world = new World(folder, { mail, steady, server, ownDisk, archive });
    const frail = await startReceiver((response) => {
      response.writeHead(world?.frailIsDead === true ? 500 : 200).end();
    });
    Object.assign(world, { frail });
    await world.connect();
    for (let place = 0; place < PROCESSES; place += 1) await world.startProcess(place);
    world.met = new Met(await readContract(world.#process(0).port));
    return world;
  }

  get databaseUrl(): string {
    return this.#url;
  }

  get client(): pg.Client {
    if (this.#client === undefined) throw new Error('the database is away');
    return this.#client;
  }

  get isDatabaseAway(): boolean {
    return this.#client === undefined;
  }

  async connect(): Promise<void> {
    const client = new pg.Client({ connectionString: this.#url });
    // A query on a lost connection fails by itself.
    client.on('error', () => undefined);
    await client.connect();
    this.#client = client;
    await this.#shiftDatabase();
  }

  async disconnect(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    await client?.end();
  }

  environment(place: number): Readonly<Record<string, string>> {
    return {
      ...{ DATABASE_URL: this.#url, SECRET_KEY: this.#keys.join(), LOG_SIGNING_KEY: this.#logKey },
      ...{ DATA_DIR: path.join(this.folder, 'data'), HOST: '127.0.0.1', LOG_LEVEL: 'error', SMTP_URL: this.mail.url },
      ...{ EMAIL_DOMAIN_CHECK: 'off', WEBHOOK_ALLOW_PRIVATE: 'on', WORKER: place === 0 ? 'on' : 'off' },
      BASE_URL: 'https://vote.example.org',
    };
  }

  async startProcess(place: number): Promise<void> {
    const settings = { ...this.environment(place), PORT: '0' };
    this.#processes[place] = await startProgram(settings, this.#offsetMs, (line) => {
      const name = /"alarm":"(\w+)"/.exec(line)?.[1];
      if (name !== undefined) this.alarms.push({ hour: this.hour, name });
    });
  }

  /** Ends a process and starts it with what is now set: by SIGTERM as a rollout does, or by kill -9. */
  async restart(place: number, how: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    await this.#process(place).end(how);
    await this.startProcess(place);
    // What a killed process held is free once it was not seen for a while; a month has no time for that.
    if (how === 'SIGKILL')
      await this.client.query('UPDATE jobs SET held_by = NULL, held_at = NULL WHERE held_by IS NOT NULL');
  }

  async rollOut(): Promise<void> {
    for (let place = 0; place < PROCESSES; place += 1) await this.restart(place, 'SIGTERM');
  }

  /** The documented steps: the new key is listed behind the old one, then in front, then alone. */
  async rotate(step: 1 | 2 | 3): Promise<void> {
    const [first = '', second = ''] = this.#keys;
    // Voter keys that a secret key made need it until they are replaced. So the third step takes away the one before the old
    // one: of the first rotation nothing, of the second what was the present one ten days before.
    if (step === 1) this.#keys = [first, newKey(), ...this.#keys.slice(1)];
    else if (step === 2) this.#keys = [second, first, ...this.#keys.slice(2)];
    else {
      const resealed = await this.command('secrets', 'reseal', '--json');
      if (resealed.code !== 0) throw new Error(`secrets reseal: ${resealed.stdout}${resealed.stderr}`);
      this.#keys = this.#keys.slice(0, 2);
    }
    await this.rollOut();
  }

  #process(place: number): ServiceProgram {
    const found = this.#processes[place];
    if (found === undefined) throw new Error(`there is no process ${place}`);
    return found;
  }

  /** Lets an hour pass for everything that has a clock. @param wrongMs how far process 1 is off */
  async passHour(wrongMs: number): Promise<void> {
    const before = Date.now() + this.#offsetMs;
    this.hour += 1;
    this.#offsetMs += 3_600_000;
    setTimeOffset(this.#offsetMs);
    this.#passed = [...new Set([...this.#passed, ...passedBy(this.#recurring, before, Date.now() + this.#offsetMs)])];
    await Promise.all([
      this.isDatabaseAway ? undefined : this.#shiftDatabase(),
      ...this.#processes.map((one, place) => one?.setOffset(this.#offsetMs + (place === 1 ? wrongMs : 0))),
    ]);
  }

  async #shiftDatabase(): Promise<void> {
    await this.client.query('UPDATE driver.time SET ms = $1', [this.#offsetMs]);
  }

  now(): number {
    return Date.now() + this.#offsetMs;
  }

  /** Waits until nothing is left that is due. */
  async settle(): Promise<void> {
    if (this.isDatabaseAway) return;
    const passed = this.#passed;
    this.#passed = [];
    await settleAll(this.client, passed, async () => undefined);
  }

  /** Asks the processes in turn. @returns undefined where there was no answer, or a 500 */
  async ask(
    method: string,
    target: string,
    key: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<{ readonly status: number; readonly body: unknown } | undefined> {
    this.requests += 1;
    const { port } = this.#process(this.requests % PROCESSES);
    try {
      const answer = await fetch(`http://127.0.0.1:${port}${target}`, {
        method,
        headers: {
          Authorization: `Bearer ${key}`,
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      if (answer.status >= 500) {
        this.unanswered += 1;
        return undefined;
      }
      const given = { status: answer.status, body: text === '' ? undefined : JSON.parse(text) };
      this.met?.see({ method, target, body }, given, this.now());
      return given;
    } catch {
      this.unanswered += 1;
      return undefined;
    }
  }

  addressOf(place: number): string {
    return `http://127.0.0.1:${this.#process(place).port}`;
  }

  async createAccount(): Promise<Keys> {
    const deps = this.#deps();
    this.#recurring = recurringJobs(deps);
    try {
      const { id } = await createAccount(deps.db, deps, { name: 'A club', plan: 'enterprise' });
      const key = async (...scopes: ('read' | 'write' | 'vote')[]): Promise<string> =>
        (
          await createApiKey(deps.db, deps, {
            ...{ accountId: id, scopes, expiresInDays: null, votingEventId: null, name: scopes.join() },
          })
        ).key;
      return { organizer: await key('read', 'write'), voting: await key('vote') };
    } finally {
      await closeDeps(deps);
    }
  }

  #deps() {
    return createDeps(readConfig({ ...this.environment(1), PORT: '0' }), this.#url, createLog('silent'));
  }

  stopDatabase(): void {
    stopServer(this.#data);
  }

  startDatabase(): void {
    // A server whose disk was full has ended by itself, and left the file that says that it runs.
    startServer(this.#data);
  }

  /** A command of the operator, as the documentation has it. */
  command(...words: string[]): Promise<Ended> {
    return runCommand(words, { ...this.environment(1), PORT: '0' });
  }

  /** Everything is given back from the newest backup and the archive, and becomes production. */
  async restore(backup: string): Promise<Ended> {
    const { rows } = await this.client.query<{ file: string }>(
      'SELECT pg_walfile_name(pg_current_wal_insert_lsn()) AS file',
    );
    await this.client.query('SELECT pg_switch_wal()');
    await untilTrue(() => readdirSync(this.archive).includes(rows[0]?.file ?? ''));
    for (let place = 0; place < PROCESSES; place += 1) await this.#process(place).end('SIGTERM');
    await this.disconnect();
    this.stopDatabase();
    this.#restores += 1;
    const target = path.join(this.folder, 'disk', `restored-${this.#restores}`);
    const port = await freePort();
    const ended = await this.command(
      ...['restore', '--backup', backup, '--archive', this.archive, '--to', target, '--port', String(port)],
    );
    if (ended.code !== 0) throw new Error(`restore: ${ended.stdout}${ended.stderr}`);
    this.#retired.push(this.#data);
    this.#data = target;
    this.#becomeProduction(target);
    const url = new URL(this.#url);
    url.port = String(port);
    this.#url = url.href;
    await this.connect();
    return ended;
  }

  /** What docs/operations.md says of a restored server that becomes production: an archive of its own, and nothing of the restore's. */
  #becomeProduction(data: string): void {
    const file = path.join(data, 'postgresql.auto.conf');
    const written = readFileSync(file, 'utf8').split('\n');
    const added = written.findIndex((line) => line.startsWith('# Written by'));
    const port = written.find((line) => line.startsWith('port'));
    this.#archive = makeServerFolder(path.join(this.folder, `archive-${this.#restores}`));
    const kept = [...written.slice(0, added), port ?? '', ...archiving(this.#archive)];
    stopServer(data);
    writeFileSync(file, kept.join('\n'));
    startServer(data);
  }

  get archive(): string {
    return this.#archive;
  }

  async startProcesses(): Promise<void> {
    for (let place = 0; place < PROCESSES; place += 1) await this.startProcess(place);
  }

  /** A file that takes all room that is left on the server's disk. */
  fillDisk(): void {
    const disk = path.join(this.folder, 'disk');
    const { bavail, bsize } = statfsSync(disk);
    const ballast = path.join(disk, 'ballast');
    writeFileSync(ballast, '');
    const piece = Buffer.alloc(1024 * 1024);
    for (let left = bavail * bsize; left > 0; left -= piece.length) {
      try {
        writeFileSync(ballast, piece.subarray(0, Math.min(left, piece.length)), { flag: 'a' });
      } catch {
        // No room is left: that is what was wanted.
        return;
      }
    }
  }

  /** After a full disk: the server may have ended by itself. */
  async recover(): Promise<void> {
    await this.disconnect().catch(() => undefined);
    this.stopDatabase();
    this.startDatabase();
    await this.connect();
  }

  emptyDisk(): void {
    rmSync(path.join(this.folder, 'disk/ballast'), { force: true });
  }

  async stop(): Promise<void> {
    for (const one of this.#processes) await one?.end('SIGKILL');
    await this.disconnect();
    for (const data of [this.#data, ...this.#retired]) stopServer(data);
    await Promise.all([this.mail.stop(), this.steady.stop(), this.frail.stop()]);
    if (this.ownDisk) spawnSync('umount', [path.join(this.folder, 'disk')]);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const archiving = (archive: string): string[] => [
  "archive_mode = 'on'",
  `archive_command = 'test ! -f ${archive}/%f && cp %p ${archive}/%f.part && mv ${archive}/%f.part ${archive}/%f'`,
  "archive_timeout = '5'",
];

const newKey = (): string => randomBytes(32).toString('base64');
