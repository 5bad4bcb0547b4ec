import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { rmSync } from 'node:fs';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { migrate } from '#src/database/migrate.ts';
import { Draw } from '#test/bench/seed.ts';
import { startOwnDatabase } from '#test/harness/own-database.ts';
import { CHAOS } from './chaos.ts';
import { codeMutants } from './code.ts';
import { apply, copyProject, type Mutant } from './copy-project.ts';
import { MONEY } from './money.ts';
import { PROMISES } from './promises.ts';
import { isTaken, sqlMutants } from './sql.ts';

/**
 * Applies each mutant to a copy of the program and shows which check kills it:
 *   npm run mutants -- code|sql|money|promises|chaos [part of a name] [--sample NUMBER] [--seed NUMBER]
 * Those of code and SQL are made by machine, thousands of them: a sample is drawn by the seed. Ends with 1 where one lives.
 */
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { sample: { type: 'string', default: '40' }, seed: { type: 'string', default: String(randomInt(1e6)) } },
});
const [suite = '', part = ''] = positionals;
const LIMIT_MS = 600_000;

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

/** A year of the one habit that a build is broken for. */
const ACCOUNTANT: Checks = {
  'the accountant': (folder, mutant) =>
    passes(folder, vitest('test/money/year.test.ts'), {
      MONEY_PAYMENTS: '6',
      ...(mutant?.habit === undefined ? {} : { MONEY_HABIT: mutant.habit }),
    }),
};

/** The test of the promise that a build breaks; before the first one, the tests of all that were asked for. */
const KEPT: Checks = {
  'its test'(folder, mutant) {
    const named = PROMISES.filter(({ name }) => name.includes(part));
    const tests = (mutant === undefined ? named : [mutant]).flatMap(({ test }) => test ?? []);
    const titles = tests.map(({ title }) => title.replace(/[^\p{L}\p{N} ]/gu, '.')).join('|');
    return passes(folder, [...vitest(...new Set(tests.map(({ file }) => file))), '-t', titles]);
  },
};

/** A minute of the fault that a build cannot bear; before the first one, of each of them. Only what is amiss counts, not a run that fails. */
const NEMESIS: Checks = {
  chaos(folder, mutant) {
    const faults = mutant === undefined ? CHAOS.filter(({ name }) => name.includes(part)) : [mutant];
    return [...new Set(faults.flatMap(({ fault = [] }) => fault))].every((fault) => {
      const args = ['test/chaos/run.ts', '--seed', '12', '--only', fault];
      const run = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8', timeout: LIMIT_MS });
      if (run.status !== 0 && !run.stdout.includes(' things are amiss.'))
        throw new Error(`chaos with ${fault} did not end: ${run.stdout}${run.stderr}`);
      return run.status === 0;
    });
  },
};

interface Suite {
  readonly mutants: readonly Mutant[];
  readonly checks: Checks;
}

/**
 * Rules with the tests of their files, on one server for all; all tests that will be asked, before the first mutant.
 * @param isMutant whether it is one at all: what no compiler takes is none
 */
async function rulesSuite(
  all: readonly Mutant[],
  isMutant: (client: pg.Client, mutant: Mutant) => Promise<boolean>,
): Promise<Suite & AsyncDisposable> {
  const server = await startOwnDatabase('tests', false);
  await migrate(server.url);
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  const mutants: Mutant[] = [];
  const named = all.filter(({ name }) => name.includes(part));
  for (const mutant of new Draw(Number(options.seed)).shuffled(named)) {
    if (mutants.length === Number(options.sample)) break;
    if (await isMutant(client, mutant)) mutants.push(mutant);
  }
  await client.end();
  process.stdout.write(`seed ${options.seed}: ${mutants.length} of ${named.length}\n`);
  const run = (folder: string, files: Iterable<string>): boolean =>
    passes(folder, [...vitest(...new Set(files)), '--bail', '1'], { TEST_DATABASE_URL: server.url });
  const checks: Checks = {
    'its tests': (folder, mutant) =>
      mutant === undefined
        ? run(
            folder,
            mutants.flatMap(({ tests = [] }) => tests.flat()),
          )
        : (mutant.tests ?? []).every((files) => run(folder, files)),
  };
  return { mutants, checks, [Symbol.asyncDispose]: () => server.stop() };
}

const SUITES: Readonly<Record<string, () => (Suite & Partial<AsyncDisposable>) | Promise<Suite & AsyncDisposable>>> = {
  money: () => ({ mutants: MONEY, checks: ACCOUNTANT }),
  promises: () => ({ mutants: PROMISES, checks: KEPT }),
  chaos: () => ({ mutants: CHAOS, checks: NEMESIS }),
  sql: () => rulesSuite(sqlMutants(), isTaken),
  code: () => rulesSuite(codeMutants(), async () => true),
};

async function main(): Promise<void> {
  const begin = SUITES[suite];
  if (begin === undefined) throw new Error(`which mutants: ${Object.keys(SUITES).join(' or ')}?`);
  const chosen = await begin();
  try {
    tryAll(chosen);
  } finally {
    await chosen[Symbol.asyncDispose]?.();
  }
}

function tryAll({ mutants, checks }: Suite): void {
  const wanted = mutants.filter(({ name }) => name.includes(part));
  if (wanted.length === 0) throw new Error(`no mutant of ${suite} has "${part}" in its name`);
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

await main();
