import { readFileSync, renameSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { NO_FAULTS } from '#sandbox/faults.ts';
import type { Chaos } from './world.ts';

type Dice = (below: number) => number;

/** Makes something go wrong, and puts it right again: it is over when the promise resolves. */
type Fault = (chaos: Chaos, dice: Dice) => Promise<void>;

const shortly = (dice: Dice): Promise<void> => delay(500 + dice(4_000));
const anyOf = <T>(dice: Dice, list: readonly T[]): T => {
  const one = list[dice(list.length)];
  if (one === undefined) throw new Error('nothing to choose from');
  return one;
};

/** Something of one process's way to the database, for a while. */
const ofProxy =
  (spoil: 'silent' | 'deaf' | 'away'): Fault =>
  async ({ proxies }, dice) => {
    const proxy = anyOf(dice, proxies);
    proxy[spoil] = true;
    if (spoil === 'away') proxy.cut();
    await shortly(dice);
    proxy[spoil] = false;
    // What was swallowed meanwhile is gone for good: such a connection ends, as one behind a router that lost it.
    proxy.cut();
  };

async function end(chaos: Chaos, place: number, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  const one = chaos.processes[place];
  if (one === undefined) return;
  chaos.processes[place] = undefined;
  if (signal === 'SIGKILL') await one.kill();
  // Beside another fault it may have to break off what it waits for, and says so by its exit status.
  else await one.stop();
}

const LOCKED = [
  'jobs',
  'pending_ballots',
  'ballot_queue',
  'idempotency_keys',
  'voting_events',
  'voters',
  'payment_attempts',
];

export const FAULTS: Readonly<Record<string, Fault>> = {
  async 'a process is killed'(chaos, dice) {
    const place = dice(2);
    await end(chaos, place, 'SIGKILL');
    await shortly(dice);
    await chaos.start(place);
  },
  async 'both processes are killed'(chaos, dice) {
    await Promise.all([end(chaos, 0, 'SIGKILL'), end(chaos, 1, 'SIGKILL')]);
    await shortly(dice);
    await Promise.all([chaos.start(0), chaos.start(1)]);
  },
  async 'a process is asked to stop'(chaos, dice) {
    const place = dice(2);
    await end(chaos, place, 'SIGTERM');
    await shortly(dice);
    await chaos.start(place);
  },
  async 'a process stands still'({ processes }, dice) {
    // It may be gone, by another fault.
    const one = processes[dice(2)];
    one?.child.kill('SIGSTOP');
    await shortly(dice);
    one?.child.kill('SIGCONT');
  },
  async 'the server of the database is killed'({ serverFolder, paid }) {
    const file = path.join(serverFolder, 'postgres/cluster/postmaster.pid');
    const begun = async (): Promise<number | undefined> =>
      (await paid.service.query('SELECT pg_postmaster_start_time() AS at').catch(() => []))[0]?.at.getTime();
    const before = await begun();
    process.kill(Number(readFileSync(file, 'utf8').split('\n')[0]), 'SIGKILL');
    // Its children answer for a moment longer than it lives.
    for (let now = before; now === undefined || now === before; now = await begun()) await delay(100);
  },
  async 'connections to the database are broken off'({ paid }, dice) {
    const text = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND pid % $1 = 0`;
    await paid.service.query(text, [1 + dice(3)]).catch(() => undefined);
  },
  'nothing reaches the database': ofProxy('silent'),
  'no answer of the database arrives': ofProxy('deaf'),
  'the database takes no connections': ofProxy('away'),
  async 'a table is locked'({ paid }, dice) {
    const table = anyOf(dice, LOCKED);
    // Its own connection may be broken off by another fault, which ends the lock.
    const client = await paid.service.deps.db.$client.connect().catch(() => undefined);
    await client?.query(`BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`).catch(() => undefined);
    await shortly(dice);
    client?.release(true);
  },
  async 'the folder of the keys goes away'({ ballotKeysDir }, dice) {
    renameSync(ballotKeysDir, `${ballotKeysDir}.away`);
    await shortly(dice);
    // A process that began meanwhile was given an empty one.
    rmSync(ballotKeysDir, { recursive: true, force: true });
    renameSync(`${ballotKeysDir}.away`, ballotKeysDir);
  },
  async 'clients hang up'({ ports, account, poll }, dice) {
    const targets = [
      `/voting-events/${poll.id}/results/pdf`,
      `/public/voting-events/${poll.id}`,
      '/voting-events',
      '/health',
    ];
    const until = performance.now() + 500 + dice(4_000);
    while (performance.now() < until) {
      const socket = connect(anyOf(dice, ports), '127.0.0.1').on('error', () => undefined);
      const request = `GET ${anyOf(dice, targets)} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${account.write}\r\n\r\n`;
      socket.write(request.slice(0, dice(2) === 0 ? undefined : dice(request.length)));
      await delay(dice(60));
      socket.destroy();
    }
  },
  async 'the mail server refuses'({ mails }, dice) {
    mails.answerWith(async () => ({ code: 451, words: '4.3.0 try again later' }));
    await shortly(dice);
    mails.answerWith(async () => undefined);
  },
  async 'the receiver of webhooks refuses'({ refusal }, dice) {
    refusal.status = 503;
    await shortly(dice);
    refusal.status = undefined;
  },
  async 'the providers of payments are ill'({ paid: { sandbox } }, dice) {
    const ills = [
      ...([{ latencyMs: 3_000 }, { refuseStatus: 503, refuseTimes: 1_000 }, { resetAfterTimes: 5 }] as const),
      ...([{ malformedTimes: 5 }, { webhooks: 'lost' }, { webhooks: 'duplicate' }, { webhooks: 'reordered' }] as const),
    ];
    Object.assign(sandbox.faults, anyOf<object>(dice, ills));
    await shortly(dice);
    Object.assign(sandbox.faults, NO_FAULTS);
  },
};
