/** A simulated month of a deployment: `npm run month -- [--seed S]`. Prints what happened, and ends with 1 where anything is amiss. */
import { chmodSync, rmSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { createEvent, judgeEvent, listLostMails, type MonthEvent, voteHour } from './events.ts';
import { type Deed, Dice, HOURS, type Outage, planMonth } from './plan.ts';
import { type Keys, World } from './world.ts';

const { values } = parseArgs({ options: { seed: { type: 'string' } } });
const seed = Number(values.seed ?? Math.floor(Math.random() * 1_000_000));
const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};
print(`A month of seed ${seed} (npm run month -- --seed ${seed})`);

const plan = planMonth(seed);
const dice = new Dice(seed + 1);
const world = await World.start();
if (!world.ownDisk) print('The disk of the server is not filled: mount is not allowed here.');
const keys: Keys = await world.createAccount();
const events: MonthEvent[] = [];
const amiss: string[] = [];
/** What was done, how often. */
const done = new Map<string, number>();
/** Alarms that must be raised, each because of something that was done. */
const caused = new Set<string>();
let newest: string | undefined;
const outages = new Set<Outage>();
const count = (name: string): void => void done.set(name, (done.get(name) ?? 0) + 1);
const at = (): string => `day ${Math.floor(world.hour / 24) + 1}, ${world.hour % 24}:00`;

async function createEndpoint(url: string): Promise<string> {
  const body = { url, eventTypes: ['voting_event.opened', 'voting_event.closed'] };
  const answer = await world.ask('POST', '/webhook-endpoints', keys.organizer, body);
  if (answer?.status !== 201) throw new Error(`an endpoint: ${answer?.status}`);
  return (answer.body as { data: { id: string } }).data.id;
}

async function endpointStatus(id: string): Promise<unknown> {
  const answer = await world.ask('GET', `/webhook-endpoints/${id}`, keys.organizer);
  return (answer?.body as { data: { status: string } } | undefined)?.data.status;
}

async function backUp(): Promise<void> {
  const to = path.join(world.folder, 'backups', `hour-${world.hour}`);
  const ended = await world.command('backup', '--to', to);
  // While nothing is archived, the command must say so, and must not end as if there were a backup.
  if (outages.has('archive')) {
    count('backup refused');
    if (ended.code === 0 || !/archiv/.test(ended.stderr))
      amiss.push(`${at()}: a backup without an archive: ${ended.stderr}`);
    return;
  }
  if (ended.code !== 0) return void amiss.push(`${at()}: backup ${ended.stderr}`);
  count('backup');
  if (newest !== undefined) rmSync(newest, { recursive: true, force: true });
  newest = to;
}

async function begin(outage: Outage): Promise<void> {
  outages.add(outage);
  count(`outage: ${outage}`);
  print(`  ${at()}: ${outage} fails`);
  if (outage === 'mail') world.mail.answerWith(async () => ({ code: 451, words: 'try again later' }));
  if (outage === 'receiver') world.frailIsDead = true;
  if (outage === 'archive') chmodSync(world.archive, 0o500);
  if (outage === 'clock') caused.add('clock_drift');
  if (outage === 'database') {
    await world.disconnect();
    world.stopDatabase();
    // Voters may not come in just this hour: somebody asks in any case.
    const answer = await world.ask('GET', '/voting-events', keys.organizer);
    if (answer !== undefined) amiss.push(`${at()}: answered ${answer.status} without a database`);
  }
  if (outage === 'disk' && world.ownDisk) world.fillDisk();
}

async function end(outage: Outage): Promise<void> {
  outages.delete(outage);
  print(`  ${at()}: ${outage} is back`);
  if (outage === 'mail') world.mail.answerWith(async () => undefined);
  if (outage === 'archive') chmodSync(world.archive, 0o700);
  if (outage === 'receiver') {
    if ((await endpointStatus(frail)) !== 'disabled') amiss.push(`${at()}: a dead receiver is not switched off`);
    world.frailIsDead = false;
    await world.ask('PATCH', `/webhook-endpoints/${frail}`, keys.organizer, { status: 'active' });
  }
  if (outage === 'database') {
    world.startDatabase();
    await world.connect();
  }
  if (outage === 'disk' && world.ownDisk) {
    world.emptyDisk();
    await world.recover();
  }
}

async function perform(deed: Deed): Promise<void> {
  if (deed.do === 'begin') return begin(deed.outage);
  if (deed.do === 'end') return end(deed.outage);
  if (deed.do === 'backup') return backUp();
  // What an organizer or operator does waits for a database, as people do.
  count(deed.do === 'rotate' ? `rotation, step ${deed.step}` : deed.do);
  if (deed.do === 'election' || deed.do === 'poll') {
    events.push(await createEvent(world, keys, dice, deed));
    return;
  }
  print(`  ${at()}: ${deed.do}`);
  if (deed.do === 'kill') await world.restart(deed.place, 'SIGKILL');
  if (deed.do === 'rotate') await world.rotate(deed.step);
  if (deed.do === 'upgrade') await world.rollOut();
  if (deed.do === 'restore' && newest !== undefined) {
    await world.restore(newest);
    await world.startProcesses();
    await backUp();
  }
}

const steady = await createEndpoint(world.steady.url);
const frail = await createEndpoint(world.frail.url);
const waiting: Deed[] = [];
const bar = process.stdout.isTTY;
for (let hour = 0; hour < HOURS; hour += 1) {
  await world.passHour(outages.has('clock') ? 30 * 60_000 : 0);
  waiting.push(...(plan.get(world.hour) ?? []));
  const isDown = (): boolean => outages.has('database') || outages.has('disk');
  while (waiting.length > 0) {
    const next = waiting.findIndex((deed) => !isDown() || deed.do === 'end');
    if (next === -1) break;
    for (const deed of waiting.splice(next, 1)) await perform(deed);
  }
  if (outages.has('clock')) await new Promise((resolve) => setTimeout(resolve, 3_000));
  await voteHour(world, keys, events);
  if (!isDown()) await world.settle();
  // Mails that have just come are used in the same hour.
  await voteHour(world, keys, events);
  if (bar) process.stdout.write(`\r  ${at()}, ${events.length} events, ${world.requests} requests  \r`);
}
await world.settle();

print('\nThe end of the month');
let ballots = 0;
for (const event of events) {
  const verdict = await judgeEvent(world, keys, event);
  ballots += verdict.ballots;
  amiss.push(...verdict.faults, ...(await listLostMails(world, keys, event)));
}
const heardOf = (bodies: readonly { readonly body: string }[], type: string): Set<string> =>
  new Set(
    bodies.flatMap(({ body }) => {
      const message = JSON.parse(body) as { type: string; data: { id: string } };
      return message.type === type ? [message.data.id] : [];
    }),
  );
for (const type of ['voting_event.opened', 'voting_event.closed']) {
  const heard = heardOf(world.steady.received, type);
  for (const { id, code } of events) if (!heard.has(id)) amiss.push(`${code}: ${type} did not reach its receiver`);
}
for (const [id, name] of [
  [steady, 'steady'],
  [frail, 'frail'],
] as const)
  if ((await endpointStatus(id)) !== 'active') amiss.push(`the ${name} receiver is switched off at the end`);
const raised = new Set(world.alarms.map(({ name }) => name));
for (const name of caused) if (!raised.has(name)) amiss.push(`the alarm ${name} was caused, and not raised`);
for (const { name, hour } of world.alarms)
  if (!caused.has(name)) amiss.push(`the alarm ${name} was raised in hour ${hour}, and not caused`);

const row = (name: string, value: unknown): void => print(`  ${name.padEnd(34)} ${String(value)}`);
row('events', events.length);
row('ballots acknowledged and counted', ballots);
row('mails taken', world.mail.taken.length);
row('requests, of them unanswered', `${world.requests}, ${world.unanswered}`);
for (const [name, times] of [...done].sort(([a], [b]) => (a < b ? -1 : 1))) row(name, times);
row('alarms caused', [...caused].join(', ') || 'none');
row('alarms raised', [...raised].join(', ') || 'none');
print(world.met?.confess('month') ?? '');
amiss.push(...(world.met?.faults('month', { operations: 10 }) ?? []));
await world.stop();
if (amiss.length > 0) {
  print(`\n${amiss.length} amiss:`);
  for (const line of amiss.slice(0, 40)) print(`  ${line}`);
  process.exit(1);
}
print(
  '\nEvery ballot is counted, every mail was sent or is shown as not deliverable, every alarm that was caused was raised, and no other.',
);
process.exit(0);
