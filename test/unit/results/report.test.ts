import { describe, expect, test } from 'vitest';
import { isolate, splitRuns, withoutIsolates } from '#src/results/report/text-runs.ts';
import { give, mark, print, rank, type SamplePosition, sampleReport } from './sample-report.ts';

const NAMES = [
  'Ọlá Adébáyọ̀',
  'Nguyễn Thị Minh Khai',
  '山田 太郎',
  '김민수',
  '张伟',
  'محمد علي',
  'דנה כהן',
  'Владимир Петров',
  'Ελένη Παπαδοπούλου',
  'अनीता शर्मा',
  'Þórður Guðmundsson',
  'Արամ Խաչատրյան',
  'ნინო ბერიძე',
  'ሰላማዊት ገብሬ',
  'রবীন্দ্রনাথ ঠাকুর',
  'ਹਰਪ੍ਰੀਤ ਸਿੰਘ',
  'મહેન્દ્ર પટેલ',
  'ଜଗନ୍ନାଥ ଦାସ',
  'கார்த்திகா முருகன்',
  'శ్రీనివాస్ రావు',
  'ಕೃಷ್ಣ ಮೂರ್ತಿ',
  'മോഹൻലാൽ നായർ',
  'ශ්‍රී ලංකා',
  'สมชาย ใจดี',
  'ສົມໄຊ ວົງສາ',
  'សុខ សុវណ្ណ',
  'အောင်ဆန်း',
  'Ada 🗳️ ✅ Lovelace',
];

const plurality = (names: readonly string[], ...choices: number[]): SamplePosition => ({
  title: 'Chair',
  votingMethod: 'plurality',
  names,
  ballots: choices.map((candidate) => mark(candidate)),
});

const THREE = plurality(['Ada', 'Bea'], 0, 0, 1);

describe('a report', () => {
  test.each(NAMES)('has a face for every letter of %s', (name) => {
    expect(splitRuns(name).filter(({ missing }) => missing)).toEqual([]);
  });

  test.each(NAMES)('prints the name %s so that it can be copied and found again', async (name) => {
    const { lines, text, alternatives } = await print(sampleReport([plurality([name, 'Other'], 0, 0, 1)]));
    // In the chart, the table, and the outcomes of cover and position.
    expect(lines.filter((line) => line === name).length).toBeGreaterThanOrEqual(2);
    expect(lines.filter((line) => line === `Elected: ${name}`)).toHaveLength(2);
    expect(alternatives).toContain(`Bar chart of votes: ${name} 2, Other 1.`);
    expect(text).not.toContain('\ufffd');
  });

  test('shows what no face has as its marked code point, never as an empty box', async () => {
    const { lines } = await print(sampleReport([plurality(['Sumer \u{12000} now', 'Ada'], 0)]));
    // The reading of such a line is the text itself; what is drawn names the code point.
    expect(lines).toContain('Sumer \u{12000} now');
  });

  test.each([
    ['a4', [595.28, 841.89]],
    ['letter', [612, 792]],
  ] as const)('fits %s', async (paper, size) => {
    expect((await print(sampleReport([plurality(['Ada', 'Bea'], 0)]), paper)).size).toEqual(size);
  });

  test('says on its first page how many ballots became void after the final result', async () => {
    const { pages } = await print(sampleReport([THREE], { final: true, ballotsAfterReversals: 1 }));
    expect(pages[0]?.replaceAll(/\s+/g, ' ')).toContain('2 of the ballots counted here became void');
  });

  test('says on every page that a result is disputed, final or not', async () => {
    const { text, pages } = await print(sampleReport([THREE], { final: true, disputed: true }));
    expect(text).toContain('DISPUTED');
    expect(text).toContain('Do not rely on these figures');
    expect(text).not.toContain('FINAL');
    expect(text.match(/Disputed, counted/g)).toHaveLength(pages.length);
  });

  test('is stamped final or provisional on its first page and at the foot of every page', async () => {
    const many = Array.from({ length: 12 }, () => plurality(['Ada', 'Bea'], 0));
    for (const [final, stamp, foot] of [
      [true, 'FINAL', 'Final, counted'],
      [false, 'PROVISIONAL', 'Provisional, counted'],
    ] as const) {
      const { pages } = await print(sampleReport(many, { final }));
      expect(pages.length).toBeGreaterThan(2);
      expect(pages[0]?.split('\n')).toContain(stamp);
      expect(pages.filter((page) => !page.includes(foot))).toEqual([]);
      expect(pages.map((page) => /Page (\d+) of (\d+)/.exec(page)?.slice(1))).toEqual(
        pages.map((_, index) => [String(index + 1), String(pages.length)]),
      );
    }
  });

  test('tells times in the zone of the event, turnout, log and lot', async () => {
    const { lines, outline, subject } = await print(sampleReport([plurality(['Ada', 'Bea'], 0, 1, 1)]));
    for (const line of [
      '1 November 2026, 09:00 GMT+01:00',
      '20 November 2026, 18:00 GMT+01:00',
      '50.0 %',
      '5 leaves',
      'XUdE7UlLs1BxsYxS0ytL9pBrwE2RhW4kf4wGqfKM6Oc=',
      'ab'.repeat(32),
      '0f'.repeat(32),
    ])
      expect(lines).toContain(line);
    expect(outline).toEqual(['Summary', '1. Chair', 'Ballot log and verification']);
    expect(subject).toBe('Results of SAMPLE7, final');
  });

  test('prints decimals as they were counted, digit by digit', async () => {
    const weighted = { ...plurality(['Ada', 'Bea'], 0, 0, 0, 1), weightMicro: 1_234_567_100_001n };
    const { lines } = await print(sampleReport([weighted], { unitWeights: false }));
    expect(lines).toContain('3,703,701.300003');
    expect(lines).toContain('1,234,567.100001');
  });

  test('says in words who came next and how close it was', async () => {
    const { text } = await print(sampleReport([plurality(['Ada', 'Bea', 'Cy'], 0, 0, 0, 1, 1, 2)]));
    expect(text).toContain('Next after the seats: Bea. It would have taken 1 changed vote to change who won.');
  });

  test('has lines to sign where the result is final and undisputed, and none elsewhere', async () => {
    for (const [options, lines] of [
      [{ final: true }, 2],
      [{ final: false }, 0],
      [{ final: true, disputed: true }, 0],
    ] as const) {
      const report = await print(sampleReport([THREE], options));
      expect(report.lines.filter((line) => line === 'Signature')).toHaveLength(lines);
      expect(report.text.includes('I declare the result')).toBe(lines > 0);
    }
  });

  test('names ties and how they were decided', async () => {
    const joint = plurality(['Ada', 'Bea', 'Cy'], 0, 1);
    const lot: SamplePosition = { ...joint, settings: { tieBreak: 'lot' } };
    const board: SamplePosition = {
      title: 'Board',
      votingMethod: 'approval',
      names: ['Ada', 'Bea', 'Cy'],
      ballots: [mark(0, 1), mark(0, 2)],
      settings: { seats: 2 },
    };
    const { text } = await print(sampleReport([joint, lot, board]));
    expect(text).toContain('Tied for the last seat: Ada, Bea. Reported jointly.');
    expect(text).toContain(`Tied: Ada, Bea. Decided by lot, seed ${'0f'.repeat(32)}.`);
    expect(text).toContain('Elected: Ada. Elected jointly: Bea, Cy');
    // "0 changed votes" stood above the declaration to be signed.
    expect(text.split('It was a tie: one vote would have decided it.')).toHaveLength(4);
    expect(text).not.toContain('It would have taken');
  });

  test('shows each rule of a referendum with what it asked for, what there was, and whether it was met', async () => {
    const ballots = Array.from({ length: 10 }, (_, index) => mark(index < 6 ? 0 : 1));
    const rules = {
      threshold: { numerator: 2, denominator: 3, inclusive: true, base: 'yes_no' as const },
      turnoutQuorum: { numerator: 1, denominator: 2, inclusive: true },
      approvalQuorum: null,
    };
    const { lines } = await print(
      sampleReport([{ title: 'Move', votingMethod: 'referendum', names: ['Yes', 'No'], ballots, settings: { rules } }]),
    );
    const at = lines.indexOf('Share of yes');
    expect(lines.slice(at, at + 12).filter((line) => line !== '')).toEqual(
      expect.arrayContaining(['at least 2/3', '6 of 10 (60.0 %)', 'No']),
    );
    expect(lines).toContain('10 of 20 (50.0 %)');
    expect(lines).toContain('Rejected');
    expect(lines).not.toContain('Elected');
  });

  test('follows the votes of a ranked count from round to round, in a figure and in tables', async () => {
    const ballots = [...Array.from({ length: 4 }, () => rank(0)), rank(1, 2), rank(1, 2), rank(1), rank(2), rank(2)];
    const { text, alternatives } = await print(
      sampleReport([{ title: 'Chair', votingMethod: 'ranked_choice', names: ['Ada', 'محمد', 'Cy'], ballots }]),
    );
    expect(alternatives.some((one) => one.startsWith('Flow of votes from round 1'))).toBe(true);
    expect(text).toContain('Out: Cy');
    expect(text).toContain('From Cy: exhausted 2.');
    expect(text).toContain('Round 2');
  });

  test('is a tagged document with a language and a title that is shown', async () => {
    const { objects } = await print(sampleReport([plurality(['Ada', 'Bea'], 0)]));
    const all = [...objects.values()].join('\n');
    for (const mark of ['/MarkInfo', '/StructTreeRoot', '/Lang (en)', '/DisplayDocTitle true', '/S /H1', '/S /TH'])
      expect(all).toContain(mark);
    expect(all).not.toMatch(/\/BaseFont \/Helvetica/);
  });

  test.each([
    ['no position', []],
    ['a position without a candidate', [plurality([])]],
    ['a position that nobody answered', [plurality(['Ada', 'Bea'])]],
    ['names as long as names may be', [plurality(['W'.repeat(200), '山'.repeat(200)], 0, 1)]],
    ['titles as long as titles may be', [{ ...plurality(['Ada'], 0), title: 'Ж'.repeat(200) }]],
    ['scores below zero', [{ ...plurality(['Up', 'Down']), votingMethod: 'score', ballots: [give(2, -5)] }]],
  ] satisfies [string, SamplePosition[]][])('prints an event with %s', async (_what, positions) => {
    expect((await print(sampleReport(positions))).pages.length).toBeGreaterThan(0);
  });

  test('of a thousand candidates and as many rounds stays below a hundred pages', async () => {
    const names = Array.from({ length: 1_000 }, (_, index) => `Candidate ${index + 1} ${NAMES[index % NAMES.length]}`);
    const ballots = Array.from({ length: 1_500 }, (_, index) =>
      rank((index * 7) % 1_000, (index * 13 + 1) % 1_000),
    ).filter(([first, second]) => first?.[0] !== second?.[0]);
    const { pages, text } = await print(
      sampleReport([{ title: 'Assembly', votingMethod: 'ranked_choice', names, ballots }]),
    );
    expect(pages.length).toBeLessThan(100);
    expect(text).toContain('Candidate 1000 ');
  });

  test('of a hundred positions gives each its heading and its place in the outline', async () => {
    const { outline } = await print(
      sampleReport(Array.from({ length: 100 }, () => plurality(NAMES.slice(0, 4), 0, 1, 1))),
    );
    expect(outline).toHaveLength(102);
    expect(outline).toContain('100. Chair');
  });
});

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
