import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import stringWidth from 'string-width';
import { describe, expect, test } from 'vitest';
import { commandOf } from '#src/commands/cli.ts';
import { padTo, table } from '#src/commands/print.ts';
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

describe('help', () => {
  test.each([['--help'], ['--version'], ['voters', 'import', '--help'], ['event', 'apply', '--help']])(
    '%s %s loads the tree of commands and nothing that does their work',
    (...words) => {
      const { status, stdout, loaded, packages } = run(...words);
      expect(status).toBe(0);
      expect(stdout).not.toBe('');
      expect(packages).toEqual(['commander']);
      expect(loaded.filter((url) => url.includes('/src/')).length).toBeLessThan(30);
    },
  );

  test('refuses what is no ID or code of an event before anything is loaded', () => {
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
      (text) => stringWidth(text),
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
