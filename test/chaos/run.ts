import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { bundlePrograms } from '#test/harness/bundle-programs.ts';
import { BUNDLES } from '#test/harness/programs.ts';
import { createRandom } from '#test/second-count/random-elections.ts';
import { type Interval, judge, watchHealth } from './check.ts';
import { FAULTS, NAMES } from './faults.ts';
import { setGoing } from './people.ts';
import { note, startChaos } from './world.ts';

/**
 * `npm run chaos -- [--seed S] [--minutes M] [--only PART]`: faults, one to three at a time, while people vote, pay and organize through two
 * processes and repeat as the API reference says. Ends with 1 where anything acknowledged is lost, doubled or wrong, where a
 * request has no answer 10 s after the last fault, or where money is not where it belongs. `--only` draws the faults alone
 * whose names hold a text. With `--control` the database loses the last votes when it is killed, and a run that finds nothing ends with 1.
 */
const text = { type: 'string' } as const;
const { values } = parseArgs({ options: { seed: text, minutes: text, only: text, control: { type: 'boolean' } } });
const isControl = values.control === true;
const seed = Number(values.seed ?? Math.floor(Date.now() / 86_400_000));
const minutes = Number(values.minutes ?? 1);
const MOST_TOGETHER = 3;
const CALM_MS = 2_500;

const say = (line: string): void => void process.stdout.write(`${line}\n`);
say(`Chaos of seed ${seed} (npm run chaos -- --seed ${seed} --minutes ${minutes})`);
const dice = createRandom(seed);
const only = values.only ?? (isControl ? 'the server of the database is killed' : '');
const names = NAMES.filter((name) => name.includes(only));
if (names.length === 0) throw new Error(`no fault is called ${only}; there are: ${NAMES.join(', ')}`);
process.env[BUNDLES] = JSON.stringify(await bundlePrograms());
const chaos = await startChaos(Math.ceil(600 * minutes), isControl, createRandom(seed + 2));
process.once('exit', () => {
  for (const { running } of chaos.places) running?.child.kill('SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
const faults: Interval[] = [];
const lateness = monitorEventLoopDelay();
lateness.enable();
try {
  const stop = setGoing(chaos, createRandom(seed + 1));
  const endWatch = watchHealth(chaos);
  const until = performance.now() + minutes * 60_000;
  while (performance.now() < until) {
    await delay(CALM_MS);
    const drawn = new Set(Array.from({ length: 1 + dice(MOST_TOGETHER) }, () => names[dice(names.length)] ?? ''));
    const before = chaos.asked.length;
    const from = performance.now();
    await Promise.all([...drawn].map((name) => FAULTS[name]?.(chaos, dice)));
    await Promise.all(chaos.places.map(chaos.start));
    faults.push({ from, to: performance.now() });
    for (const name of drawn) note(chaos, name);
    const ms = Math.round(performance.now() - from);
    say(
      `${faults.length}: ${[...drawn].join(' + ')}: ${ms} ms, ${chaos.asked.length - before} requests answered meanwhile`,
    );
  }
  const done = await stop();
  await endWatch();
  const longest = await judge(chaos, done, faults);
  const votes = [...done.votes.values()].reduce((sum, count) => sum + count, 0);
  const rows = `${votes} votes (${done.elections.length} elections of a moment), ${done.paid.size} paid votes, ${done.added.length} voters, ${done.mailed.length} mails`;
  say(`${chaos.asked.length} requests, ${rows} acknowledged; ${faults.length} rounds of faults`);
  // What was never drawn is shown, too.
  for (const name of names) if (!chaos.drawn.has(name)) chaos.drawn.set(name, 0);
  say(`Drawn: ${[...chaos.drawn].map(([name, times]) => `${name}: ${times}`).join('; ')}`);
  const late = [lateness.percentile(99), lateness.max].map((ns) => Math.round(ns / 1e6));
  say(`How late this program itself was, by the load of the machine: ${late[0]} ms (99 %), ${late[1]} ms at most`);
  const alarms = [...new Set(chaos.output().match(/"alarm":"\w+"/g))].join(', ');
  say(`The longest wait for an answer without a fault: ${longest} ms. Alarms: ${alarms === '' ? 'none' : alarms}`);
} finally {
  for (const line of chaos.amiss.slice(0, 40)) say(`AMISS ${line}`);
  say(chaos.amiss.length === 0 ? 'Nothing is amiss.' : `${chaos.amiss.length} things are amiss.`);
  if (chaos.amiss.length > 0) {
    const file = path.join(tmpdir(), `chaos-${seed}.log`);
    writeFileSync(file, chaos.output());
    say(`What the processes wrote: ${file}`);
  }
  await chaos.stop();
}
process.exit((chaos.amiss.length === 0) === isControl ? 1 : 0);
