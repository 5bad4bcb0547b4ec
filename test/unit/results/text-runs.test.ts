import { describe, expect, test } from 'vitest';
import { isolate, splitRuns, withoutIsolates } from '#src/results/report/text-runs.ts';

const faces = (text: string) => splitRuns(text).map((run) => [run.face, run.text]);

describe('a line of text', () => {
  test('is set in the face that has its script, spaces going with what stands before them', () => {
    expect(faces('Ada Lovelace')).toEqual([['latin', 'Ada Lovelace']]);
    expect(faces('Ọlá, Ελένη, Влади, अनीता')).toEqual([['latin', 'Ọlá, Ελένη, Влади, अनीता']]);
    expect(faces('Ada 山田 太郎')).toEqual([
      ['latin', 'Ada '],
      ['japanese', '山田 太郎'],
    ]);
    expect(faces('김민수')).toEqual([['korean', '김민수']]);
  });

  test('keeps the characters of a Chinese name in one face', () => {
    expect(faces('张伟')).toEqual([['chinese', '张伟']]);
  });

  test('runs from right to left where its script does, figures within it do not', () => {
    const runs = splitRuns('דנה 12 כהן').filter((run) => run.text.trim() !== '');
    expect(runs.map((run) => [run.text.trim(), run.rightToLeft])).toEqual([
      ['כהן', true],
      ['12', false],
      ['דנה', true],
    ]);
  });

  test('of ours keeps figures after a name that is written from right to left', () => {
    const line = `From Ada: ${isolate('محمد')} 3, exhausted 1.`;
    const drawn = splitRuns(line)
      .map((run) => run.text)
      .join('');
    expect(drawn).toBe('From Ada: محمد 3, exhausted 1.');
    expect(withoutIsolates(line)).toBe('From Ada: محمد 3, exhausted 1.');
    expect(isolate('Ada')).toBe('Ada');
  });

  test('marks what no face has by its code point, and drops what is invisible', () => {
    expect(splitRuns('a\u{12000}\ufe0f\u2060b').map((run) => [run.text, run.missing])).toEqual([
      ['a', false],
      ['[U+12000]', true],
      ['b', false],
    ]);
  });
});
