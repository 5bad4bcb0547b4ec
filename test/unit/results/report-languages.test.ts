import { describe, expect, test } from 'vitest';
import { VOTING_METHODS } from '#src/ballot-definition/types.ts';
import type { ReportInput } from '#src/results/report/report-input.ts';
import { type ReportWords, reportWords } from '#src/results/report/report-words.ts';
import { mark, print, rank, type SamplePosition, sampleReport } from './sample-report.ts';

// Guarantee: a report of an event has no word of another language beside the texts of its organizer.

type Language = ReportWords['language'];
const OTHERS = ['de', 'es', 'fr'] as const;

/** Names of things, the same in every language. */
const TECHNICAL = ['base', 'csv', 'hash', 'json', 'merkle', 'nist', 'rfc', 'sha', 'sp', 'gmt', 'gregory'];
/** Words that a language writes as English writes another or the same, each looked at. */
const ALIKE: Readonly<Record<(typeof OTHERS)[number], readonly string[]>> = {
  de: ['an', 'hand', 'in', 'november', 'quorum', 'stand', 'was'],
  es: ['a', 'final', 'no', 'provisional', 'visible'],
  fr: `a abstention abstentions code confirmation date extension figure minutes on page pages part points
    proportion quorum report secret service signature visible vote votes`.split(/\s+/),
};

/** Texts of an organizer: no language has such words. */
const own = (count: number): string[] => Array.from({ length: count }, (_, index) => `Qx${'zyw'[index % 3]}q${index}`);

/** Every method, with ties of each policy, quorums, majorities, many candidates without a vote, heavy ballots, long counts. */
function positions(): SamplePosition[] {
  const names = own(30);
  const one = (...choices: number[]) => choices.map((candidate) => mark(candidate));
  const fraction = { numerator: 1, denominator: 2, inclusive: false };
  const settings = {
    scoreMin: 0,
    scoreMax: 5,
    cumulativePointBudget: 10,
    quadraticBaseCreditBudget: 100,
    selectionLimit: 3,
    majorityRequired: { numerator: 1, denominator: 2 },
  };
  const plain = VOTING_METHODS.map((votingMethod): SamplePosition => {
    const referendum = votingMethod === 'referendum';
    const rules = {
      threshold: { ...fraction, base: 'answers' as const },
      turnoutQuorum: { ...fraction, inclusive: true },
      approvalQuorum: fraction,
    };
    return {
      title: `Qxt${VOTING_METHODS.indexOf(votingMethod)}`,
      votingMethod,
      names: referendum ? own(3) : names,
      ballots: one(0, 0, 0, 1, 1, 2),
      settings: referendum ? { rules } : settings,
    };
  });
  const tied = { votingMethod: 'plurality' as const, names: own(3), ballots: one(0, 1) };
  const policies = (['joint', 'lot', 'candidate_order'] as const).map((tieBreak) => ({
    ...tied,
    title: 'Qxu',
    settings: { tieBreak },
  }));
  const ranked = { votingMethod: 'ranked_choice' as const, names, title: 'Qxv' };
  const long = names.flatMap((_, index) => Array.from({ length: index + 1 }, () => rank(index, (index + 1) % 30)));
  return [
    ...plain,
    ...policies,
    { ...tied, title: 'Qxw', ballots: [] },
    { ...tied, title: 'Qxx', weightMicro: 1_500_000n },
    { ...ranked, ballots: long },
    { ...ranked, ballots: long, settings: { seats: 3, tieBreak: 'candidate_order' }, weightMicro: 2_500_000n },
    { ...ranked, ballots: [rank(0), rank(1), rank(2)], settings: { tieBreak: 'lot' } },
  ];
}

const READ: Partial<ReportInput>[] = [
  {},
  { final: false, ballotsAfterReversals: 1, unitWeights: false },
  { disputed: true, lot: { seedHash: null, seed: null, root: 'f0'.repeat(32) } },
  { positions: [] },
];

function inputOf(language: Language, changes: Partial<ReportInput>, event: Partial<ReportInput['event']>): ReportInput {
  const input = sampleReport(positions(), {
    groups: [
      { name: 'Qxg', voters: 5, voted: 3 },
      { name: null, voters: 7, voted: 1 },
    ],
    ...changes,
  });
  const grouped = input.positions.map((position, index) => ({ ...position, groupName: index === 1 ? 'Qxg' : null }));
  return {
    ...input,
    positions: grouped,
    issuer: { company: 'Qxc', baseUrl: HOST },
    event: { ...input.event, title: 'Qxe', code: 'QX1', timeZone: 'UTC', language, ...event },
  };
}

const HOST = 'https://qx.test';
/** What is typed, not read: addresses and a command, which break over lines wherever they have to. */
const TYPED = [
  `VOTING_KEY=… node voting-verifier.mjs --base-url ${HOST} --event evt_sample`,
  `${HOST}/verify#event=evt_sample`,
  `${HOST}/verify/voting-verifier.mjs`,
  `${HOST}/public/voting-events/QX1/log/checkpoint`,
  `${HOST}/.well-known/voting-log-key`,
].map((typed) => new RegExp([...typed].map((character) => RegExp.escape(character)).join('\\s*'), 'g'));

const words = (text: string): Set<string> =>
  new Set(
    TYPED.reduce((rest, typed) => rest.replaceAll(typed, ' '), text)
      .replaceAll(
        /\b(?:evt|pos|cnd)_\w+|\b(?:undefined|[Oo]bject|lower|upper|null)\b|\bQ[xX]\w*|\bUTC\b|\b(?:ab){8,}\b/g,
        ' ',
      )
      // What stands for an argument that was left out of a call, and bytes in hex and base64, which break over lines wherever they have to.
      .replaceAll(/[\p{L}\d+/=]*\d[\p{L}\d+/=]*/gu, ' ')
      .toLowerCase()
      .match(/\p{L}+/gu),
  );

const kept = new Map<Language, Promise<Set<string>>>();
/** Everything that a reader sees or hears of reports in a language. */
function read(language: Language): Promise<Set<string>> {
  const seen = kept.get(language) ?? readAll(language);
  kept.set(language, seen);
  return seen;
}

async function readAll(language: Language): Promise<Set<string>> {
  const seen: string[] = [];
  const events: Partial<ReportInput['event']>[] = [
    {},
    { type: 'poll', secrecy: 'identified', status: 'open', rehearsal: true },
    { secrecy: 'pseudonymous', status: 'scheduled' },
    {},
  ];
  for (const [index, changes] of READ.entries()) {
    const pdf = await print(inputOf(language, changes, events[index] ?? {}));
    expect([...pdf.objects.values()].join('\n')).toContain(`/Lang (${language})`);
    seen.push(...pdf.pages, pdf.subject, ...pdf.alternatives, ...pdf.outline);
  }
  return words(seen.join('\n'));
}

/** Every text of a table; what makes one of figures and names is called with some. */
function textsOf(table: unknown, where = ''): [where: string, text: string][] {
  if (typeof table === 'string') return [[where, table]];
  if (typeof table === 'function') {
    const some = { inclusive: true, numerator: 1, denominator: 2 };
    const calls = [['Qx1', 'Qx2', 'Qx3'], [1, 1, 1], [2, 3, 4], ['1', 'lower'], ['2', 'upper'], ['2', null], [some]];
    return calls.flatMap((args): [string, string][] => {
      try {
        return [[where, String(table(...args))]];
      } catch (fault) {
        // A figure was asked for, and this call has a name for it, or the other way round.
        if (fault instanceof SyntaxError || fault instanceof TypeError) return [];
        throw fault;
      }
    });
  }
  if (typeof table !== 'object' || table === null) return [];
  return Object.entries(table)
    .filter(([name]) => !['language', 'date', 'digits', 'percent'].includes(name))
    .flatMap(([name, entry]) => textsOf(entry, `${where}.${name}`));
}

const tableWords = (language: Language): Set<string> =>
  words(
    textsOf(reportWords(language))
      .map(([, text]) => text)
      .join('\n'),
  );

describe('a report', () => {
  test.each(OTHERS)('in %s has no word of the English table, in any method and state', async (language) => {
    const english = new Set([...tableWords('en'), ...(await read('en'))]);
    const shared = new Set([...TECHNICAL, ...ALIKE[language]]);
    const seen = await read(language);
    expect(seen.size).toBeGreaterThan(250);
    expect([...seen].filter((word) => english.has(word) && !shared.has(word))).toEqual([]);
  });

  test.each(OTHERS)('has a text of its own in %s for every English one', (language) => {
    const english = tableWords('en');
    const shared = new Set([...TECHNICAL, ...ALIKE[language]]);
    expect([...tableWords(language)].filter((word) => english.has(word) && !shared.has(word))).toEqual([]);
  });

  test.each([
    ['en', '1,234,567.500001', '50.0 %', '1 November 2026, 09:00 GMT+01:00'],
    ['de', '1.234.567,500001', '50,0 %', '1. November 2026 um 09:00 GMT+01:00'],
    ['es', '1.234.567,500001', '50,0 %', '1 de noviembre de 2026 a las 09:00 GMT+01:00'],
    ['fr', '1\u00a0234\u00a0567,500001', '50,0 %', '1 novembre 2026 à 09:00 UTC+01:00'],
  ] as const)('in %s writes figures, shares and dates as its readers do', (language, figure, share, date) => {
    const format = reportWords(language);
    expect(format.digits('1234567.500001')).toBe(figure);
    expect(format.digits('-0.5')).toMatch(/^-0[.,]5$/);
    expect(format.percent(1n, 2n)).toBe(share);
    expect(format.date(Date.UTC(2026, 10, 1, 8), 'Africa/Lagos')).toBe(date);
  });
});
