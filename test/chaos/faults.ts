import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { NO_FAULTS } from '#sandbox/faults.ts';
import { MARKER } from '#src/voting-events/key-places.ts';
import { hasFaketime } from '#test/harness/faketime.ts';
import { hasPostgresTools } from '#test/harness/own-server.ts';
import { type Chaos, note, type Place } from './world.ts';

type Dice = (below: number) => number;

/** Makes something go wrong, and puts it right again: it is over when the promise resolves. */
type Fault = (chaos: Chaos, dice: Dice) => Promise<void>;

const shortly = (dice: Dice): Promise<void> => delay(500 + dice(4_000));
const anyOf = <T>(dice: Dice, list: readonly T[]): T => {
  const one = list[dice(list.length)];
  if (one === undefined) throw new Error('nothing to choose from');
  return one;
};

/** `/health` says so much later than something happened, at the latest. */
const SEEN_MS = 3_000;

/** For a while `/health` of a place must not say what is false by then. */
async function whileHealthSees(
  { amiss }: Chaos,
  { port, running }: Place,
  dice: Dice,
  isLie: (checks: { database: string; worker: string }) => boolean,
): Promise<void> {
  await shortly(dice);
  await delay(SEEN_MS);
  const answer = await fetch(`http://127.0.0.1:${port}/health`, { signal: AbortSignal.timeout(2_000) }).catch(
    () => undefined,
  );
  if (answer === undefined || running === undefined) return;
  const { data } = (await answer.json()) as { data: { checks: { database: string; worker: string } } };
  if (isLie(data.checks)) amiss.push(`/health says ${JSON.stringify(data.checks)}`);
}

/** Something of one process's way to the database, for a while. */
const ofProxy =
  (spoil: 'silent' | 'deaf' | 'away'): Fault =>
  async (chaos, dice) => {
    const place = anyOf(dice, chaos.places);
    const { database: proxy } = place;
    proxy[spoil] = true;
    if (spoil === 'away') proxy.cut();
    // Another fault may have put it right.
    await whileHealthSees(chaos, place, dice, ({ database }) => proxy[spoil] && database === 'ok');
    proxy[spoil] = false;
    // What was swallowed meanwhile is gone for good: such a connection ends, as one behind a router that lost it.
    proxy.cut();
  };

async function end(place: Place, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  const one = place.running;
  if (one === undefined) return;
  place.running = undefined;
  if (signal === 'SIGKILL') await one.kill();
  // Beside another fault it may have to break off what it waits for, and says so by its exit status.
  else await one.stop();
}

/** A process ends at a step that it sends to the database or to a provider of payments: before that arrives, or once it is done. */
const STEPS: Readonly<Record<string, { readonly to: 'database' | 'provider'; readonly what: RegExp }>> = {
  'a commit': { to: 'database', what: /\bcommit\b/i },
  'a cast': { to: 'database', what: /cast_ballots/ },
  'a confirm': { to: 'database', what: /confirm_ballots/ },
  'a claim': { to: 'database', what: /claim_requests/ },
  'a payment': { to: 'database', what: /payment_attempts/ },
  voters: { to: 'database', what: /into "?voters"?/i },
  'a job': { to: 'database', what: /jobs/ },
  'a webhook': { to: 'database', what: /webhook_/ },
  'the log': { to: 'database', what: /ballot_log/ },
  'a key of ballots': { to: 'database', what: /ballot_keys/ },
  'a call of a provider': { to: 'provider', what: /HTTP/ },
};
/** A step that does not come within this time is not waited for. */
const STEP_MS = 6_000;

/** How long an old process may take to end once it is replaced. */
const REPLACED_MS = 25_000;

/** What stands where a folder was. */
const INSTEAD: Readonly<Record<string, (folder: string) => void>> = {
  nothing: () => undefined,
  'an empty folder': (folder) => mkdirSync(folder),
  'another disk': (folder) => {
    mkdirSync(folder);
    writeFileSync(path.join(folder, MARKER), 'of-another\n');
  },
};

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
    const place = anyOf(dice, chaos.places);
    await end(place, 'SIGKILL');
    await shortly(dice);
    await chaos.start(place);
  },
  async 'both processes are killed'(chaos, dice) {
    await Promise.all(chaos.places.map((place) => end(place, 'SIGKILL')));
    await shortly(dice);
    await Promise.all(chaos.places.map(chaos.start));
  },
  async 'a process is killed at a step'(chaos, dice) {
    const place = anyOf(dice, chaos.places);
    const step = anyOf(dice, Object.keys(STEPS));
    const isBefore = dice(2) === 0;
    const { to = 'database', what } = STEPS[step] ?? {};
    const lines = [place.database, place.provider];
    const reached = Promise.withResolvers<'reached'>();
    let left = 1 + dice(to === 'provider' ? 2 : 8);
    place[to].onSent = (bytes) => {
      if (what?.test(bytes.toString('latin1')) !== true) return;
      left -= 1;
      if (left !== 0) return;
      for (const line of lines) Object.assign(line, { deaf: true, silent: isBefore });
      // What was sent is done meanwhile, and its answer is not seen.
      setTimeout(() => reached.resolve('reached'), isBefore ? 0 : 100);
    };
    const how = await Promise.race([reached.promise, delay(STEP_MS)]);
    place[to].onSent = undefined;
    await end(place, 'SIGKILL');
    for (const line of lines) {
      Object.assign(line, { deaf: false, silent: false });
      line.cut();
    }
    note(chaos, how === undefined ? `no step came: ${step}` : `killed ${isBefore ? 'before' : 'after'} ${step}`);
    await shortly(dice);
    await chaos.start(place);
  },
  async 'a process is asked to stop'(chaos, dice) {
    const place = anyOf(dice, chaos.places);
    await end(place, 'SIGTERM');
    await shortly(dice);
    await chaos.start(place);
  },
  async 'a process stands still'({ places }, dice) {
    // It may be gone, by another fault.
    const one = anyOf(dice, places).running;
    one?.child.kill('SIGSTOP');
    await shortly(dice);
    one?.child.kill('SIGCONT');
  },
  async 'a newer release takes over'(chaos) {
    const replaced = chaos.places.flatMap(({ running }) => running ?? []);
    for (const place of chaos.places) place.running = undefined;
    await chaos.upgrade();
    for (const one of replaced) {
      const code = await Promise.race([one.exited, delay(REPLACED_MS, 'does not end' as const, { ref: false })]);
      // Another fault may have killed it.
      if (code === 1 || one.child.signalCode !== null) continue;
      chaos.amiss.push(`a process that is replaced: ${code}`);
      await one.kill();
    }
    await Promise.all(chaos.places.map(chaos.start));
  },
  async 'a clock jumps'(chaos, dice) {
    const place = anyOf(
      dice,
      chaos.places.filter(({ clock }) => clock !== undefined),
    );
    const offset = anyOf(dice, ['+30m', '-30m', '+4s', '-4s']);
    note(chaos, `a clock jumps by ${offset}`);
    place.clock?.step(offset);
    const { running } = place;
    const isSame = () => place.running === running && place.running !== undefined;
    await whileHealthSees(chaos, place, dice, ({ worker }) => isSame() && offset.endsWith('m') && worker === 'ok');
    place.clock?.step('+0s');
  },
  'the server of the database is killed': ({ database }) => database.kill(),
  'the server of the database is lost, its standby takes over': ({ database, leadToWriter }, dice) =>
    database.failOver(500 + dice(4_000), leadToWriter),
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
  async 'a folder of keys goes away'(chaos, dice) {
    const folder = anyOf(dice, chaos.keyFolders);
    const instead = anyOf(dice, Object.keys(INSTEAD));
    note(chaos, `${instead} instead of the folder ${path.basename(folder)}`);
    renameSync(folder, `${folder}.away`);
    INSTEAD[instead]?.(folder);
    await shortly(dice);
    const written = existsSync(folder) ? readdirSync(folder).filter((name) => name !== MARKER) : [];
    if (written.length > 0) chaos.amiss.push(`${written.join(', ')} was written into ${instead}`);
    rmSync(folder, { recursive: true, force: true });
    renameSync(`${folder}.away`, folder);
  },
  async 'clients hang up and repeat'(chaos, dice) {
    chaos.hangUps = 20 + dice(60);
    await shortly(dice);
    chaos.hangUps = 0;
  },
  async 'strangers hang up'({ places, account, poll }, dice) {
    const targets = [
      `/voting-events/${poll.id}/results/pdf`,
      `/public/voting-events/${poll.id}`,
      '/voting-events',
      '/health',
    ];
    const until = performance.now() + 500 + dice(4_000);
    while (performance.now() < until) {
      const socket = connect(anyOf(dice, places).port, '127.0.0.1').on('error', () => undefined);
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

/** What a fault needs that a machine may lack. */
const NEEDS: Readonly<Record<string, boolean>> = {
  'a clock jumps': hasFaketime,
  'the server of the database is lost, its standby takes over': hasPostgresTools,
};

/** Names of the faults that this machine can produce. */
export const NAMES = Object.keys(FAULTS).filter((name) => NEEDS[name] ?? true);
