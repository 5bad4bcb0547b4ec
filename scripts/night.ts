/**
 * What takes too long for every change, one after the other: `npm run night -- [part of a command]`. Each line says how it ended and
 * how long it took; ends with 1 where one failed. Their figures stand in docs/reliability.md.
 */
import { spawnSync } from 'node:child_process';

/** In the order of what they take: minutes first, hours last. */
const COMMANDS = [
  'test:night',
  'restarts -- 50',
  'elections',
  'breaks',
  'secrecy',
  'failover',
  'chaos -- --control',
  ...[1, 2, 3].map((seed) => `chaos -- --seed ${seed} --minutes 20`),
  'failover -- 20',
  'count-twice -- 500000',
  'prove-checks',
  'mutants -- code --sample 120',
  'mutants -- money',
  'mutants -- chaos',
  ...[1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((seed) => `money -- --seed ${seed}`),
  'tamper',
  'month -- --seed 3',
  'limits',
  'model -- --histories 20000 --shrinks 0',
  'money -- --kills Infinity --seed 7',
];

const [part = ''] = process.argv.slice(2);
const chosen = COMMANDS.filter((one) => one.includes(part));
if (chosen.length === 0) {
  process.stderr.write(`No command has "${part}" in it. There are:\n  ${COMMANDS.join('\n  ')}\n`);
  process.exit(2);
}
const failed: string[] = [];
for (const command of chosen) {
  const began = Date.now();
  process.stdout.write(`\n== npm run ${command}\n`);
  const [name = '', ...words] = command.split(' ');
  const { status } = spawnSync('npm', ['run', '--silent', name, ...words], { stdio: 'inherit' });
  const minutes = Math.round((Date.now() - began) / 6_000) / 10;
  process.stdout.write(
    `== npm run ${command}: ${status === 0 ? 'as it should be' : 'FAILED'} after ${minutes} minutes\n`,
  );
  if (status !== 0) failed.push(command);
}
process.stdout.write(failed.length === 0 ? '\nNothing failed.\n' : `\nFailed: ${failed.join('; ')}\n`);
process.exitCode = failed.length === 0 ? 0 : 1;
