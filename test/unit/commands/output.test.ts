import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { commandOf } from '#src/commands/cli.ts';
import { padTo, table, textWidth } from '#src/commands/print.ts';
import { useFolder } from '#test/harness/use.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const CLI = path.join(ROOT, 'src/cli.ts');
const LIST_LOADED = path.join(ROOT, 'test/harness/list-loaded.ts');

const folder = useFolder('voting-help-');

function run(...words: string[]) {
  const file = path.join(folder, 'loaded');
  const env = { PATH: process.env['PATH'] ?? '', HOME: folder, LOADED_FILE: file };
  const ended = spawnSync(process.execPath, ['--import', LIST_LOADED, CLI, ...words], { env, encoding: 'utf8' });
  const loaded = readFileSync(file, 'utf8').split('\n');
  const packages = loaded.flatMap((url) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1] ?? []);
  return { ...ended, loaded, packages: [...new Set(packages)] };
}

/** Asks bash what it would offer for a line. */
function complete(script: string, ...words: string[]): string[] {
  const line = words.map((word) => `'${word}'`).join(' ');
  const asked = `${script}\nCOMP_WORDS=(voting ${line}); COMP_CWORD=${words.length}; _voting_complete; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync('bash', ['-c', asked], { encoding: 'utf8' });
  expect(stderr).toBe('');
  return stdout.split('\n').filter((word) => word !== '');
}

describe('help and completion', () => {
  test.each([
    ['--help'],
    ['--version'],
    ['voters', 'import', '--help'],
    ['event', 'apply', '--help'],
    ['completion', 'bash'],
  ])('%s %s loads the tree of commands and nothing that does their work', (...words) => {
    const { status, stdout, loaded, packages } = run(...words);
    expect(status).toBe(0);
    expect(stdout).not.toBe('');
    expect(packages).toEqual(['commander']);
    expect(loaded.filter((url) => url.includes('/src/')).length).toBeLessThan(30);
  });

  test('bash is offered commands, then those of a group, then options of the one that stands there', () => {
    const { stdout } = run('completion', 'bash');
    expect(complete(stdout, '')).toEqual(expect.arrayContaining(['accounts', 'keys', 'migrate', 'doctor', '--json']));
    expect(complete(stdout, 'acc')).toEqual(['accounts']);
    expect(complete(stdout, 'accounts', '')).toEqual(expect.arrayContaining(['create', 'list', 'set-plan']));
    expect(complete(stdout, 'accounts', 'create', '--')).toEqual(
      expect.arrayContaining(['--name', '--plan', '--contact-email', '--json']),
    );
    expect(complete(stdout, 'event', 'apply', '--')).toEqual(
      expect.arrayContaining(['--event', '--dry-run', '--json']),
    );
    expect(complete(stdout, 'results', '')).toEqual(expect.arrayContaining(['pdf', 'csv', 'json']));
    // The value of an option is no command.
    expect(complete(stdout, 'voters', 'import', '--event', 'keys', '--dry')).toEqual(['--dry-run']);
  });

  test('each shell gets every command, under the name it is called by', () => {
    const commands = ['apply', 'notify', 'watch', 'set-plan', 'payment-businesses', 'disconnect', 'verify', 'recount'];
    for (const shell of ['bash', 'zsh', 'fish']) {
      const { stdout, status } = run('completion', shell, '--name', 'vote-ops');
      expect([shell, status]).toEqual([shell, 0]);
      expect(stdout).toContain('_vote_ops_complete');
      expect(commands.filter((word) => !stdout.includes(word))).toEqual([]);
    }
    expect(run('completion', 'tcsh').status).toBe(2);
    expect(run('watch', '--event', '..').stderr).toContain('must be the ID or the code of an event');
  });
});

describe('command lines that are shown', () => {
  test('hold every option as a shell takes it', () => {
    const given = { event: 'E1', map: ["Voter's name=name", 'Straße=group'], dryRun: false, ignoreColumns: true };
    const line = commandOf('voters import', { ...given, file: 'a $(b).csv', format: undefined });
    const words = spawnSync('sh', ['-c', `printf '%s|' ${line}`], { encoding: 'utf8' }).stdout;
    expect(words).toBe(
      "npm|run|--silent|cli|--|voters|import|--event|E1|--map|Voter's name=name|--map|Straße=group|--ignore-columns|--file|a $(b).csv|",
    );
  });

  test('the help names letters, and the example’s says what it does instead of running', () => {
    expect(run('--help').stdout).toMatch(/Organizers’ commands .*letters/);
    const example = path.join(ROOT, 'examples/run-example.ts');
    const { status, stdout, stderr } = spawnSync(process.execPath, [example, '--help'], { encoding: 'utf8' });
    expect([status, stdout, stderr]).toEqual([0, expect.stringMatching(/^npm run example: .*voting page.*\n$/), '']);
  });
});

describe('tables for people', () => {
  test('measure text as terminals draw it: wide, combining, joined and invisible characters', () => {
    const widths = ['', 'abc', 'é', 'é', '日本', 'ﾊﾝｶｸ', '한국어', '👍', '👩‍👩‍👧', '🇩🇪', 'a​b', '①', '✓', '–'].map(
      textWidth,
    );
    expect(widths).toEqual([0, 3, 1, 1, 4, 4, 6, 2, 2, 2, 2, 1, 1, 1]);
    expect(padTo('日', 4, 'right')).toBe('日  ');
    expect(padTo('日', 4, 'left')).toBe('  日');
  });

  test('stand in columns whatever names are in them, figures on their last digit', () => {
    const rows = [
      { name: 'Ada', votes: 12, createdAt: 1_763_700_000_000 },
      { name: '日本 太郎', votes: 1_300, createdAt: null },
    ];
    expect(table(rows).split('\n')).toEqual([
      'name       votes  createdAt',
      '─────────  ─────  ───────────────────────',
      'Ada           12  2025-11-21 04:40:00 UTC',
      '日本 太郎  1,300  –',
      '',
    ]);
    expect(table([])).toBe('none\n');
  });

  test('show every time as a date, also one that is called `at` alone', () => {
    expect(table([{ requestId: 'r1', at: 1_795_443_014_531, ms: 1_200 }]).split('\n')).toEqual([
      'requestId  at                          ms',
      '─────────  ───────────────────────  ─────',
      'r1         2026-11-23 14:10:14 UTC  1,200',
      '',
    ]);
  });

  test('let no name move the cursor, change colours or turn the reading direction', () => {
    const drawn = table([{ name: 'A\u001b[31m\r\u202Ex' }]);
    expect(drawn).toContain('A\\u001b[31m\\u000d\\u202ex');
    for (const character of '\u001b\r\u202E') expect(drawn).not.toContain(character);
  });
});
