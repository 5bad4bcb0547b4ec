import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createRandom } from '#test/second-count/random-elections.ts';
import { type Interval, judge } from './check.ts';
import { FAULTS } from './faults.ts';
import { setGoing } from './people.ts';
import { startChaos } from './world.ts';

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
const names = Object.keys(FAULTS).filter((name) => name.includes(only));
const chaos = await startChaos(Math.ceil(600 * minutes), isControl);
process.once('exit', () => {
  for (const one of chaos.processes) one?.child.kill('SIGKILL');
});
process.once('SIGINT', () => process.exit(1));
const faults: Interval[] = [];
const met = new Map<string, number>();
try {
  const stop = setGoing(chaos, createRandom(seed + 1));
  const until = performance.now() + minutes * 60_000;
  while (performance.now() < until) {
    await delay(CALM_MS);
    const drawn = new Set(Array.from({ length: 1 + dice(MOST_TOGETHER) }, () => names[dice(names.length)] ?? ''));
    const before = chaos.asked.length;
    const from = performance.now();
    await Promise.all([...drawn].map((name) => FAULTS[name]?.(chaos, dice)));
    await Promise.all([chaos.start(0), chaos.start(1)]);
    faults.push({ from, to: performance.now() });
    for (const name of drawn) met.set(name, (met.get(name) ?? 0) + 1);
    const ms = Math.round(performance.now() - from);
    say(
      `${faults.length}: ${[...drawn].join(' + ')}: ${ms} ms, ${chaos.asked.length - before} requests answered meanwhile`,
    );
  }
  const done = await stop();
  const longest = await judge(chaos, done, faults);
  const votes = [...done.votes.values()].reduce((sum, count) => sum + count, 0);
  const rows = `${votes} votes, ${done.paid.size} paid votes, ${done.added.length} voters, ${done.mailed.length} mails`;
  say(`${chaos.asked.length} requests, ${rows} acknowledged; ${faults.length} rounds of faults`);
  say([...met].map(([name, times]) => `${name}: ${times}`).join('; '));
  const alarms = [...new Set(chaos.output().match(/"alarm":"\w+"/g))].join(', ');
  say(`The longest wait for an answer without a fault: ${longest} ms. Alarms: ${alarms === '' ? 'none' : alarms}`);
} finally {
  for (const line of chaos.amiss.slice(0, 40)) say(`AMISS ${line}`);
  say(chaos.amiss.length === 0 ? 'Nothing is amiss.' : `${chaos.amiss.length} things are amiss.`);
  await chaos.stop();
}
process.exit((chaos.amiss.length === 0) === isControl ? 1 : 0);
