import PDFDocument from 'pdfkit';
import { describe, expect, test, vi } from 'vitest';
import { groupTurnout } from '#src/results/print-order.ts';
import type { ReportInput } from '#src/results/report/report-input.ts';
import { reportWords } from '#src/results/report/report-words.ts';
import { Sheet } from '#src/results/report/sheet.ts';
import { isolateLines, splitRuns } from '#src/results/report/text-runs.ts';
import { TextSetter } from '#src/results/report/text-setter.ts';
import { writeReport } from '#src/results/report/write-report.ts';
import { give, mark, members, print, rank, type SamplePosition, sampleReport } from './sample-report.ts';

const board = (candidates: number, ballots: readonly number[], title = 'Board'): SamplePosition => ({
  title,
  votingMethod: 'plurality',
  names: members(candidates),
  ballots: ballots.map((candidate) => mark(candidate)),
});

const A4_HEIGHT = 841.89;

describe('pages of a report', () => {
  test('name many candidates without a vote in one line, a few in rows', async () => {
    const { pages, text, alternatives } = await print(sampleReport([board(30, [0, 0, 1])]));
    const folded = text.slice(text.indexOf('Without a vote: Member 3, Member 4,')).replaceAll('\n', ' ');
    expect(folded).toMatch(/Member 29, ?Member 30\./);
    expect(text.match(/^Member 17$/gm)).toBeNull();
    expect(alternatives).toContain('Bar chart of votes: Member 1 2, Member 2 1.');
    expect(pages).toHaveLength(2);
    const few = await print(sampleReport([board(5, [0, 0, 1])]));
    expect(few.text).not.toContain('Without a vote');
    expect(few.text.match(/^Member 5$/gm)?.length).toBeGreaterThan(0);
  });

  test('never fold a winner, a tied or a withdrawn candidate, nor a sum of zero among negative ones', async () => {
    const input = sampleReport([board(12, [0, 0, 1])]);
    const [position] = input.positions;
    if (position === undefined) throw new Error('the sample has no position');
    const everCandidates = position.definition.everCandidates.map((one, index) =>
      index === 5 ? { ...one, status: 'withdrawn' as const } : one,
    );
    const withdrawn = { ...position, definition: { ...position.definition, everCandidates } };
    const { text } = await print({ ...input, positions: [withdrawn] });
    expect(text).toContain('Withdrawn');
    expect(text.match(/^Member 6$/gm)?.length).toBeGreaterThan(0);
    const score: SamplePosition = {
      ...board(12, []),
      votingMethod: 'score',
      ballots: [give(2, -1)],
      settings: { scoreMin: -2, scoreMax: 2 },
    };
    const scored = await print(sampleReport([score]));
    expect(scored.text).not.toMatch(/Without a vote|With a score of 0/);
    expect(scored.text).toContain('-1.00');
  });

  // Guarantee: a heading stands on the page of what it heads, wherever a page happens to end.
  test('never end with a heading', async () => {
    const words = reportWords('en');
    for (let size = 1; size <= 24; size += 3) {
      const ranked: SamplePosition = {
        title: `Chair ${'long title '.repeat(size % 7)}`.trim(),
        votingMethod: 'ranked_choice',
        names: Array.from(
          { length: 2 + (size % 11) },
          (_, index) => `Member ${index} ${'x'.repeat((index * 37) % 120)}`,
        ),
        ballots: Array.from({ length: 9 }, (_, index) =>
          rank(index % (2 + (size % 11)), (index + 1) % (2 + (size % 11))),
        ),
      };
      const voted = Array.from({ length: size * 3 }, (_, index) => index % size);
      const input = sampleReport([board(size, voted), ranked, board(size, [0]), ranked], {
        groups: Array.from({ length: size }, (_, index) => ({ name: `Group ${index}`, voters: 9, voted: 3 })),
      });
      const { pages } = await print(input);
      const headings = new Set<string>([
        ...[words.rules.title, words.cover.summary, words.groups.title, words.log.title, words.log.verify],
        ...[words.declaration.title],
      ]);
      // The three texts of the foot come last on each page.
      const ends = pages.map((page) => page.trimEnd().split('\n').at(-4) ?? '');
      expect(
        ends.filter((line) => headings.has(line) || /^\d+ rounds$|^One round$|^\d+\. (Board|Chair)/.test(line)),
      ).toEqual([]);
    }
  });

  // Guarantee: no row of a table stands alone on a page, and what colours mean stands below the figures that have them.
  test('keep the last rows of a table together, with what is said of it', async () => {
    const { legend, exhausted, needed } = reportWords('en').rounds;
    for (let size = 1; size <= 8; size += 1) {
      const names = members(9);
      const ballots = Array.from({ length: 45 }, (_, index) => Math.floor(Math.sqrt(index))).map((one) =>
        rank(one, one + 1),
      );
      const ranked = { title: 'Chair', votingMethod: 'ranked_choice' as const, names, ballots };
      const groups = Array.from({ length: size }, (_, index) => ({ name: `Group ${index}`, voters: 9, voted: 3 }));
      const { pages } = await print(sampleReport([board(size, [0]), ranked], { groups }));
      const lines = pages.map((page) => page.split('\n').filter((line) => line !== ''));
      const alone = lines.filter((page) => page.includes(needed) && !page.includes(exhausted));
      expect(alone).toEqual([]);
      expect(lines.filter((page) => page.includes(legend) && !page.includes(needed))).toEqual([]);
      const [last] = lines.filter((page) => page.includes(legend));
      expect(last?.indexOf(legend)).toBeGreaterThan(last?.lastIndexOf(needed) ?? 0);
    }
  });

  // Guarantee: nothing is cut off at the foot, whatever names the fifty have who won, or share a place.
  test('go on with a row that is higher than a page', async () => {
    const name = (index: number): string => `Member ${index}. ${'Konstantinopolitanska '.repeat(8)}`.trim();
    const won = Array.from({ length: 50 }, (_, index) => index);
    const ballots = won.map((candidate) => mark(...won.slice(0, candidate + 1)));
    const elected = { title: 'Assembly', votingMethod: 'approval' as const, names: won.map(name), ballots };
    const tied = { ...elected, votingMethod: 'plurality' as const, ballots: won.map((candidate) => mark(candidate)) };
    const draw = vi.spyOn(TextSetter.prototype, 'draw');
    const { text } = await print(sampleReport([{ ...elected, settings: { seats: 50 } }, tied]));
    const below = draw.mock.calls.filter(([, , top, style]) => top + style.size > A4_HEIGHT).map(([text]) => text);
    draw.mockRestore();
    expect(below).toEqual([]);
    const summary = text.slice(0, text.indexOf('1. Assembly'));
    expect(won.filter((index) => !summary.includes(`Member ${index}.`))).toEqual([]);
  });

  test('are filled: a position begins below the one before it', async () => {
    const { pages } = await print(sampleReport(Array.from({ length: 12 }, () => board(30, [0, 0, 1, 2, 3]))));
    // Each takes about a third of a page: chart, five rows, rules.
    expect(pages.length).toBeLessThanOrEqual(8);
    const spread = Array.from({ length: 30 }, (_, index) => index);
    const full = await print(sampleReport(Array.from({ length: 6 }, () => board(30, spread))));
    expect(full.pages.length).toBeLessThanOrEqual(12);
  });

  test.each(['en', 'de', 'es', 'fr'] as const)('of a rehearsal say so, each, in %s', async (language) => {
    const input = sampleReport(Array.from({ length: 12 }, () => board(30, [0, 0, 1])));
    const { rehearsal, rehearsed, final } = reportWords(language).cover;
    const marked = await print({ ...input, event: { ...input.event, language, rehearsal: true } });
    expect(marked.pages.length).toBeGreaterThan(3);
    expect(marked.pages.filter((page) => !page.includes(rehearsal))).toEqual([]);
    expect(marked.subject).toContain(rehearsal);
    // Neither stamp, foot nor subject calls its figures final.
    expect(marked.lines).toContain(rehearsed.toLocaleUpperCase(language));
    expect(`${marked.text} ${marked.subject}`.toLowerCase()).not.toContain(final);
    const real = await print({ ...input, event: { ...input.event, language } });
    expect(real.text + real.subject).not.toContain(rehearsal);
  });
});

interface Drawn {
  readonly page: number;
  readonly text: string;
  readonly x: number;
  readonly end: number;
  readonly top: number;
  readonly size: number;
}

/** Every text of a report with its place on its page. */
async function drawnTexts(input: ReportInput): Promise<Drawn[]> {
  const drawn: Drawn[] = [];
  let page = 1;
  const [draw, newPage] = [TextSetter.prototype.draw, Sheet.prototype.newPage];
  const watched = [
    vi.spyOn(TextSetter.prototype, 'draw').mockImplementation(function (this: TextSetter, text, x, top, style) {
      drawn.push({ page, text, x, end: x + this.width(text, style), top, size: style.size });
      draw.call(this, text, x, top, style);
    }),
    vi.spyOn(Sheet.prototype, 'newPage').mockImplementation(function (this: Sheet) {
      page += 1;
      newPage.call(this);
    }),
    // The foot is drawn on every page at the end.
    vi.spyOn(Sheet.prototype, 'finish').mockResolvedValue(new Uint8Array()),
  ];
  await writeReport(input, 'a4');
  for (const spy of watched) spy.mockRestore();
  return drawn;
}

/** Positions of several kinds, with weights, groups and rounds. */
function richReport(language: ReportInput['event']['language']): ReportInput {
  const ballots = Array.from({ length: 21 }, (_, index) => rank(index % 4, (index + 1) % 4));
  const names = members(5);
  const referendum = { title: 'Statutes', votingMethod: 'referendum' as const, names: ['Yes', 'No', 'Abstain'] };
  const ranked = { title: 'Chair', votingMethod: 'ranked_choice' as const, names, ballots };
  const input = sampleReport(
    [
      board(5, [0, 0, 1]),
      { ...referendum, ballots: [mark(0), mark(1)] },
      ranked,
      { ...ranked, weightMicro: 1_250_000n },
    ],
    {
      unitWeights: false,
      groups: [{ name: 'Winemakers', voters: 8, voted: 4 }],
      roll: { approved: 330, voted: 27, approvedWeightMicro: 330_000_000n, votedWeightMicro: 27_750_000n },
    },
  );
  return { ...input, event: { ...input.event, language } };
}

describe.each(['en', 'de', 'es', 'fr'] as const)('a report in %s', (language) => {
  // Guarantee: no label reaches its value, nor any text another one on its line.
  test('prints no text over another', async () => {
    const drawn = await drawnTexts(richReport(language));
    expect(drawn.some(({ text }) => text === reportWords(language).cover.weightTurnout)).toBe(true);
    const over = drawn.flatMap((one, index) =>
      drawn
        .slice(index + 1)
        .filter(
          (other) =>
            one.page === other.page &&
            Math.abs(one.top - other.top) < Math.min(one.size, other.size) / 2 &&
            one.x < other.end + 2 &&
            other.x < one.end + 2,
        )
        .map((other) => `${one.text} | ${other.text}`),
    );
    expect(over).toEqual([]);
  });
});

describe('lines of a text', () => {
  test('break before an opening bracket, not within the word behind it', async () => {
    const { lines } = await print(sampleReport([board(2, [0, 1], `${'Word '.repeat(30)}(${'x'.repeat(40)})`)]));
    expect(lines.some((line) => line.includes(`(${'x'.repeat(40)})`))).toBe(true);
  });

  test('keep a name that is written from right to left in its place where it goes on over lines', () => {
    const lines = isolateLines(['Von \u2068محمد', 'علي\u2069, Ada']);
    expect(lines).toEqual(['Von \u2068محمد\u2069', '\u2068علي\u2069, Ada']);
    expect(
      splitRuns(lines[1] ?? '')
        .map(({ text }) => text)
        .join(''),
    ).toBe('علي, Ada');
  });
});

describe('turnout by group', () => {
  type Heads = readonly [id: string, voters: number, voted: number];
  const turnout = (groups: readonly Heads[], electorate: number, participants: number) => {
    const close = {
      ...{ salt: '', title: '', config: '', ballots: participants, weight: '0', abstentions: 0, participants },
      ...{ identityChanges: 0, rollChanges: 0, result: '', byGroup: [] },
      electorate: { heads: electorate, weight: String(electorate) },
    };
    const byGroup = groups.map(([groupId, voters, voted]) => ({ groupId, voters, voted }));
    const names = new Map(['a', 'b', 'c'].map((id) => [id, id.toUpperCase()]));
    const lines = groupTurnout({ byGroup, log: { size: 0, rootHash: '', close } }, names);
    return lines.map(({ name, voters, voted }) => [name, voters, voted]);
  };

  test('puts all who are in no shown group together', () => {
    const groups: Heads[] = [
      ['b', 6, 3],
      ['a', 9, 4],
    ];
    expect(turnout(groups, 20, 10)).toEqual([
      ['A', 9, 4],
      ['B', 6, 3],
      [null, 5, 3],
    ]);
    expect(turnout([['a', 9, 4]], 9, 4)).toEqual([['A', 9, 4]]);
  });

  // Guarantee: no line, and nothing reckoned from the lines and the whole turnout, stands for one to four voters.
  test.each(Array.from({ length: 8 }, (_, rest) => rest))('tells nothing of %i voters left over', (rest) => {
    for (const groups of [[5], [5, 6], [9, 5, 7], [4, 8, 12], [1, 2, 3]]) {
      const heads = groups.map((voters, index): Heads => [['a', 'b', 'c'][index] ?? 'a', voters, 1]);
      const whole = groups.reduce((sum, voters) => sum + voters, rest);
      const lines = turnout(heads, whole, groups.length);
      expect(lines.filter(([, voters]) => Number(voters) < 5)).toEqual([]);
      const left = lines.reduce((sum, [, voters]) => sum - Number(voters), whole);
      expect(left === 0 || left >= 5 || lines.length === 0).toBe(true);
    }
  });

  test('stands in the report with its shares', async () => {
    const groups = [
      { name: 'Winemakers', voters: 8, voted: 4 },
      { name: null, voters: 12, voted: 3 },
    ];
    const { pages } = await print(sampleReport([board(2, [0, 0, 1])], { groups }));
    const lines = pages[0]?.split('\n').filter((line) => line !== '') ?? [];
    expect(lines.slice(lines.indexOf('Winemakers'), lines.indexOf('Winemakers') + 8)).toEqual([
      'Winemakers',
      '8',
      '4',
      '50.0 %',
      'All others',
      '12',
      '3',
      '25.0 %',
    ]);
  });
});

test('text of every kind and weight parses each of its font files once', () => {
  const doc = new PDFDocument({ font: '' } as PDFKit.PDFDocumentOptions);
  const setter = new TextSetter(doc);
  for (const name of ['Ada', 'Team 🏳️‍🌈', '선거 🎉', 'Wahl 👩🏽‍💻'])
    for (const bold of [true, false, true, false]) setter.draw(name, 0, 0, { size: 10, bold });
  // Latin and Korean in two weights, emoji in one.
  expect(Reflect.get(doc, '_fontCount')).toBe(5);
});
