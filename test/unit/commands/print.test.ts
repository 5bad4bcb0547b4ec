import { describe, expect, test } from 'vitest';
import { padTo, table, textWidth } from '#src/commands/print.ts';

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
