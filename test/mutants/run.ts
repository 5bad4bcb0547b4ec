import { spawnSync } from 'node:child_process';
import { readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { apply, copyProject, type Mutant } from './copy-project.ts';
import { MONEY } from './money.ts';
import { PROMISES } from './promises.ts';
import { MUTANTS } from './tally.ts';

/**
 * Applies each mutant to a copy of the program and shows which check kills it:
 *   npm run mutants -- tally|money|promises [part of a name]
 * Ends with 1 where one lives.
 */
const [suite = '', part = ''] = process.argv.slice(2);
const LIMIT_MS = 600_000;
/** Ballot positions of the second count for each mutant. */
const POSITIONS = '60000';

const passes = (folder: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): boolean =>
  spawnSync(process.execPath, args, {
    cwd: folder,
    stdio: 'ignore',
    timeout: LIMIT_MS,
    env: { ...process.env, ...env },
  }).status === 0;

const vitest = (...files: readonly string[]): string[] => [
  ...['node_modules/vitest/vitest.mjs', 'run', '--project', 'all', '--maxWorkers', '1'],
  ...files,
];

/** Checks by name, in their order: each says whether the program passes. */
type Checks = Readonly<Record<string, (folder: string, mutant: Mutant | undefined) => boolean>>;

const TALLY: Checks = {
  'the second count': (folder) => passes(folder, ['test/second-count/run.ts', POSITIONS]),
  'the tests'(folder) {
    const files = readdirSync(path.join(folder, 'test/unit/tally'))
      .filter((name) => name.endsWith('.test.ts') && name !== 'second-count.test.ts')
      .map((name) => `test/unit/tally/${name}`);
    return passes(folder, vitest(...files));
  },
};

/** A year of the one habit that a build is broken for. */
const ACCOUNTANT: Checks = {
  'the accountant': (folder, mutant) =>
    passes(folder, vitest('test/money/year.test.ts'), {
      MONEY_PAYMENTS: '6',
      ...(mutant?.habit === undefined ? {} : { MONEY_HABIT: mutant.habit }),
    }),
};

/** The test of the promise that a build breaks; all of them before the first. */
const KEPT: Checks = {
  'its test'(folder, mutant) {
    const tests = (mutant === undefined ? PROMISES : [mutant]).flatMap(({ test }) => test ?? []);
    const titles = tests.map(({ title }) => title.replace(/[^\p{L}\p{N} ]/gu, '.')).join('|');
    return passes(folder, [...vitest(...new Set(tests.map(({ file }) => file))), '-t', titles]);
  },
};

const SUITES: Readonly<Record<string, { readonly mutants: readonly Mutant[]; readonly checks: Checks }>> = {
  tally: { mutants: MUTANTS, checks: TALLY },
  money: { mutants: MONEY, checks: ACCOUNTANT },
  promises: { mutants: PROMISES, checks: KEPT },
};

function main(): void {
  const chosen = SUITES[suite];
  if (chosen === undefined) throw new Error(`which mutants: ${Object.keys(SUITES).join(' or ')}?`);
  const { mutants, checks } = chosen;
  const wanted = mutants.filter(({ name }) => name.includes(part));
  const killerOf = (folder: string, mutant?: Mutant): string | undefined =>
    Object.keys(checks).find((name) => checks[name]?.(folder, mutant) === false);
  const folder = copyProject();
  const alive: string[] = [];
  try {
    const wrong = killerOf(folder);
    if (wrong !== undefined) throw new Error(`${wrong} fails before anything was changed`);
    for (const mutant of wanted) {
      const undo = apply(folder, mutant);
      const killer = killerOf(folder, mutant);
      undo();
      if (killer === undefined) alive.push(mutant.name);
      process.stdout.write(`${killer === undefined ? 'ALIVE' : `killed by ${killer}`}: ${mutant.name}\n`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  process.stdout.write(`${wanted.length} mutants, ${alive.length} alive\n`);
  if (alive.length > 0) process.exitCode = 1;
}

main();
