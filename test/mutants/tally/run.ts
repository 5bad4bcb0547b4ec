import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { MUTANTS, type Mutant } from './mutants.ts';

/**
 * Applies each mutant to a copy of the count and shows which comparison kills it:
 *   npm run mutants:tally -- [part of a name]
 * Ends with 1 where one lives.
 */
const ROOT = path.resolve(import.meta.dirname, '../../..');
/** Ballot positions of the second count for each mutant. */
const POSITIONS = '60000';
const LIMIT_MS = 180_000;

/** The program without its dependencies, which the copy shares. */
function copyProject(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'tally-mutants-'));
  for (const name of ['src', 'sandbox', 'test', 'verifier', 'migrations', 'docs', 'package.json', 'tsconfig.json'])
    cpSync(path.join(ROOT, name), path.join(folder, name), { recursive: true });
  // The tests of the count need no database.
  const config = "export default { test: { pool: 'forks', testTimeout: 120_000 } };\n";
  writeFileSync(path.join(folder, 'vitest.config.ts'), config);
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'));
  return folder;
}

/** Writes the wrong rule into the copy. @throws Error where the text is not in its file once: the list is older than the count */
function apply(folder: string, { name, file, find, replace }: Mutant): () => void {
  const target = path.join(folder, 'src/tally', file);
  const right = readFileSync(target, 'utf8');
  if (right.split(find).length !== 2) throw new Error(`"${name}": its text does not stand once in ${file}`);
  writeFileSync(
    target,
    right.replace(find, () => replace),
  );
  return () => writeFileSync(target, right);
}

const passes = (folder: string, ...args: readonly string[]): boolean =>
  spawnSync(process.execPath, args, { cwd: folder, stdio: 'ignore', timeout: LIMIT_MS }).status === 0;

const countsTwice = (folder: string): boolean => passes(folder, 'test/second-count/run.ts', POSITIONS);

function passesTests(folder: string): boolean {
  const files = readdirSync(path.join(folder, 'test/unit/tally'))
    .filter((name) => name.endsWith('.test.ts') && name !== 'second-count.test.ts')
    .map((name) => `test/unit/tally/${name}`);
  return passes(folder, 'node_modules/vitest/vitest.mjs', 'run', '--maxWorkers', '1', ...files);
}

function main(): void {
  const wanted = MUTANTS.filter(({ name }) => name.includes(process.argv[2] ?? ''));
  const folder = copyProject();
  const alive: string[] = [];
  try {
    if (!countsTwice(folder) || !passesTests(folder)) throw new Error('the count is wrong before anything was changed');
    for (const mutant of wanted) {
      const undo = apply(folder, mutant);
      const killer = !countsTwice(folder) ? 'second count' : !passesTests(folder) ? 'tests' : undefined;
      undo();
      if (killer === undefined) alive.push(mutant.name);
      process.stdout.write(`${killer === undefined ? 'ALIVE' : `killed by the ${killer}`}: ${mutant.name}\n`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  process.stdout.write(`${wanted.length} mutants, ${alive.length} alive\n`);
  if (alive.length > 0) process.exitCode = 1;
}

main();
