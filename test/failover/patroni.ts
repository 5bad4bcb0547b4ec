import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync, chmodSync, chownSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { chooseServerUser } from '#src/embedded-postgres/user.ts';
import { signalServer } from '#test/harness/standby.ts';
import { freePort } from '#test/harness/started-service.ts';
import { runStatements } from '#test/harness/test-database.ts';
import { eventually } from '#test/harness/test-service.ts';

// Two servers of PostgreSQL that Patroni keeps, with synchronous replication, and HAProxy in front of them. etcd has one member: what is
// tried is what happens to votes when the writer goes, and not a vote of etcd's. All of it runs on this machine, below one folder.

const BIN = '/usr/lib/postgresql/15/bin';
const PASSWORD = 'a-password-of-tests';
const READY_MS = 90_000;
/** What is lost without its keeper is noticed when this has passed; the least for a loop of 1 s and retries of 3 s. */
const TTL_SECONDS = 8;

const PROGRAMS = ['/usr/bin/patroni', '/usr/bin/etcd', '/usr/sbin/haproxy', `${BIN}/postgres`];
/** What is to be installed first. */
export const lackingPrograms = (): string[] => PROGRAMS.filter((program) => !existsSync(program));

/** One machine: a server and its Patroni. */
interface Node {
  readonly name: string;
  readonly port: number;
  readonly restPort: number;
  readonly data: string;
  keeper: ChildProcess | undefined;
}

interface Member {
  readonly name: string;
  readonly role: string;
  readonly state: string;
}

/** @param folder an empty one, that other users may pass */
export async function startPatroniCluster(folder: string) {
  const user = chooseServerUser();
  const children: ChildProcess[] = [];
  const nodes: Node[] = [];
  /** Kills all of it at once, as happens where the program that started it ends. */
  const stop = (): void => {
    for (const child of children) child.kill('SIGKILL');
    for (const node of nodes) if (existsSync(path.join(node.data, 'postmaster.pid'))) signalServer(node, 'KILL');
  };
  process.once('exit', stop);
  /** Runs a program as the servers' user; what it says stands in `<name>.log`. */
  const run = (name: string, program: string, words: readonly string[]): ChildProcess => {
    const env = { PATH: `${BIN}:/usr/bin:/bin`, LC_ALL: 'C', TZ: 'UTC', HOME: folder };
    const child = spawn(program, words, { ...user, cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (text: Buffer) => appendFileSync(path.join(folder, `${name}.log`), text));
    children.push(child);
    return child;
  };
  const makeFolder = (name: string): string => {
    const made = path.join(folder, name);
    mkdirSync(made, { mode: 0o700 });
    if (user !== undefined) chownSync(made, user.uid, user.gid);
    return made;
  };
  const makeFile = (name: string, text: string): string => {
    const file = path.join(folder, name);
    writeFileSync(file, text);
    chmodSync(file, 0o644);
    return file;
  };

  const [etcd, peer, proxy] = [await freePort(), await freePort(), await freePort()];
  const own = `http://127.0.0.1:${etcd}`;
  const ownPeer = `http://127.0.0.1:${peer}`;
  run('etcd', '/usr/bin/etcd', [
    ...['--name', 'one', '--data-dir', makeFolder('etcd'), '--listen-client-urls', own, '--advertise-client-urls', own],
    ...['--listen-peer-urls', ownPeer, '--initial-advertise-peer-urls', ownPeer, '--initial-cluster', `one=${ownPeer}`],
  ]);
  await ready(async () => (await fetch(`${own}/health`)).ok);

  for (const name of ['one', 'two']) {
    const [port, restPort] = [await freePort(), await freePort()];
    nodes.push({ name, port, restPort, data: makeFolder(name), keeper: undefined });
  }
  const startKeeper = (node: Node): void => {
    const file = makeFile(`${node.name}.yml`, JSON.stringify(settingsOf(node, etcd, folder)));
    node.keeper = run(`patroni-${node.name}`, '/usr/bin/patroni', [file]);
  };
  const members = async (): Promise<readonly Member[]> => {
    for (const { restPort } of nodes) {
      const answer = await fetch(`http://127.0.0.1:${restPort}/cluster`).catch(() => undefined);
      if (answer?.ok === true) return ((await answer.json()) as { members: Member[] }).members;
    }
    return [];
  };
  /** Waits until there is a writer and a synchronous standby of it; the name of the writer. */
  const whenSafe = () =>
    ready(async () => {
      const now = await members();
      const isSafe = now.some(({ role, state }) => role === 'sync_standby' && state === 'running');
      return isSafe && now.find(({ role, state }) => role === 'leader' && state === 'running')?.name;
    });
  for (const node of nodes) startKeeper(node);
  await whenSafe();
  const lines = nodes.map(({ name, port, restPort }) => `  server ${name} 127.0.0.1:${port} check port ${restPort}`);
  run('haproxy', '/usr/sbin/haproxy', [
    '-db',
    '-f',
    makeFile('haproxy.cfg', `${HAPROXY(proxy)}\n${lines.join('\n')}\n`),
  ]);
  const urlOf = (hosts: string, database: string) => `postgres://postgres:${PASSWORD}@${hosts}/${database}`;
  const proxyHost = `127.0.0.1:${proxy}`;
  await ready(() => runStatements(urlOf(proxyHost, 'postgres'), ['CREATE DATABASE voting']).then(() => true));
  return {
    /** Both servers in one address. */
    hostsUrl: urlOf(nodes.map(({ port }) => `127.0.0.1:${port}`).join(), 'voting'),
    /** Through HAProxy, which asks each Patroni who takes writes. */
    proxyUrl: urlOf(proxyHost, 'voting'),
    whenSafe,
    /** Kills (-9) every process of the writer, with its Patroni where the machine is lost. @returns what brings the machine back */
    async killWriter(withKeeper: boolean): Promise<() => void> {
      const writer = await whenSafe();
      const node = nodes.find(({ name }) => name === writer);
      if (node === undefined) throw new Error(`${writer} is no node`);
      if (withKeeper) node.keeper?.kill('SIGKILL');
      signalServer(node, 'KILL');
      return () => {
        if (withKeeper) startKeeper(node);
      };
    },
    stop,
  };
}

/** What is not there yet may answer with a fault. */
const ready = <T>(look: () => Promise<T | undefined | false>): Promise<T> =>
  eventually(async () => (await look().catch(() => undefined)) || undefined, READY_MS);

/** Sessions with a server that takes no writes any more are cut: a client would wait on them. */
const HAPROXY = (port: number): string => `global
  maxconn 500
defaults
  mode tcp
  timeout connect 2s
  timeout client 30m
  timeout server 30m
listen writer
  bind 127.0.0.1:${port}
  option httpchk GET /primary
  http-check expect status 200
  default-server inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions`;

const settingsOf = ({ name, port, restPort, data }: Node, etcd: number, folder: string) => ({
  scope: 'voting',
  name,
  restapi: { listen: `127.0.0.1:${restPort}`, connect_address: `127.0.0.1:${restPort}` },
  etcd3: { host: `127.0.0.1:${etcd}` },
  bootstrap: {
    dcs: {
      ttl: TTL_SECONDS,
      loop_wait: 1,
      retry_timeout: 3,
      // A server that crashed is not waited for: the standby has everything that was acknowledged.
      primary_start_timeout: 0,
      synchronous_mode: true,
      postgresql: { use_pg_rewind: true, use_slots: true, parameters: { max_connections: 100, wal_log_hints: 'on' } },
    },
    initdb: [{ encoding: 'UTF8' }, { locale: 'C' }],
    pg_hba: ['host all all 127.0.0.1/32 scram-sha-256', 'host replication all 127.0.0.1/32 scram-sha-256'],
  },
  postgresql: {
    listen: `127.0.0.1:${port}`,
    connect_address: `127.0.0.1:${port}`,
    data_dir: data,
    bin_dir: BIN,
    pgpass: path.join(folder, `${name}.pgpass`),
    authentication: {
      superuser: { username: 'postgres', password: PASSWORD },
      replication: { username: 'replicator', password: PASSWORD },
      rewind: { username: 'rewinder', password: PASSWORD },
    },
    parameters: { unix_socket_directories: folder },
  },
});
