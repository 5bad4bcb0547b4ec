import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { reportWords } from '#src/results/report/report-words.ts';
import { thresholdBar } from '#src/results/report/write-position.ts';
import { mark, print, rank, type SamplePosition, sampleReport } from './sample-report.ts';

// Guarantee: a chart or table of a report shows the whole of what its rule is about, and never contradicts the outcome.

const LANGUAGES = ['en', 'de', 'es', 'fr'] as const;
type Language = (typeof LANGUAGES)[number];

async function read(position: SamplePosition, language: Language = 'en') {
  const input = sampleReport([position]);
  const { text, alternatives } = await print({ ...input, event: { ...input.event, language } });
  return { text: text.replaceAll(/\s+/g, ' '), alternatives };
}

/** Ten of twenty vote: seven yes, one no, two abstain. */
function referendum(base: 'yes_no' | 'answers' | 'electorate', weightMicro = 1_000_000n): SamplePosition {
  const ballots = [0, 0, 0, 0, 0, 0, 0, 1, 2, 2].map((option) => mark(option));
  const threshold = { numerator: 1, denominator: 2, inclusive: false, base };
  const settings = { rules: { threshold, turnoutQuorum: null, approvalQuorum: null } };
  return { title: 'Move', votingMethod: 'referendum', names: ['Qy', 'Qn', 'Qa'], ballots, settings, weightMicro };
}

describe('the bar of a referendum', () => {
  test.each([
    ['yes_no', 'Yes 7, No 1; needed: more than 1/2 of yes and no.'],
    ['answers', 'Yes 7, No 1, Abstain 2; needed: more than 1/2 of yes, no and abstentions.'],
    ['electorate', 'Yes 7, No 1, Abstain 2, No answer 10; needed: more than 1/2 of the electorate.'],
  ] as const)('is all of what the share of yes is taken of: %s', async (base, shares) => {
    const { alternatives, text } = await read(referendum(base));
    expect(alternatives).toContain(`Bar of shares: ${shares}`);
    // What is too narrow for its name is named below the bar.
    expect(text).toContain(shares.split('; ')[1]?.slice(0, -1));
  });

  test('has the mark where its rule turns, whatever was voted', () => {
    const weight = fc.integer({ min: 0, max: 40 });
    const base = fc.constantFrom('yes_no' as const, 'answers' as const, 'electorate' as const);
    const sample = fc.record({ yes: weight, no: weight, abstain: weight, electorate: weight, base, numerator: weight });
    fc.assert(
      fc.property(sample, ({ yes, no, abstain, electorate, base, numerator }) => {
        const rules = {
          threshold: { numerator, denominator: 40, inclusive: false, base },
          turnoutQuorum: null,
          approvalQuorum: null,
        };
        const whole = { yes_no: yes + no, answers: yes + no + abstain, electorate }[base];
        const actual = `${yes}/${whole}`;
        const met = yes * 40 > whole * numerator;
        const figures = { yes: `${yes}`, no: `${no}`, abstain: `${abstain}`, electorate: `${electorate}` };
        const rule = { name: 'threshold' as const, required: `${numerator}/40`, actual, met };
        const result = { ...figures, rules: [rule], outcome: met ? ('passed' as const) : ('rejected' as const) };
        const bar = thresholdBar(result, rules, reportWords('en'));
        // Nothing that a share could be taken of: nothing to draw.
        if (whole === 0) return bar === undefined;
        const all = bar?.shares.reduce((sum, { figure }) => sum + Number(figure), 0) ?? 0;
        const past = yes / all - (bar?.at ?? 0);
        return Math.abs(past) < 1e-5 ? yes * 40 === whole * numerator : past > 0 === met;
      }),
      { numRuns: 5_000 },
    );
  });

  test('weighs who did not answer', async () => {
    const { alternatives } = await read(referendum('electorate', 2_500_000n));
    expect(alternatives.join(' ')).toContain('Yes 17.5, No 2.5, Abstain 5, No answer 25; needed');
  });

  test.each([
    ['de', 'Ja 7, Nein 1, Enthaltung 2, Keine Antwort 10; erforderlich: mehr als 1/2 aller Wahlberechtigten.'],
    ['es', 'Sí 7, No 1, Abstención 2, Sin respuesta 10; necesario: más de 1/2 del censo.'],
    ['fr', 'Oui 7, Non 1, Abstention 2, Sans réponse 10 ; requis : plus de 1/2 (base : l’électorat).'],
  ] as const)('says so in %s', async (language, shares) => {
    expect((await read(referendum('electorate'), language)).alternatives.join('\n')).toContain(shares);
  });
});

describe('a table of rounds', () => {
  const times = (count: number, ...order: number[]) => Array.from({ length: count }, () => rank(...order));
  const names = ['Ada', 'Bea', 'Cy', 'Dan', 'Eve', 'Flo'];
  const board = (ballots: SamplePosition['ballots'], settings: SamplePosition['settings'] = {}): SamplePosition => ({
    title: 'Board',
    votingMethod: 'ranked_choice',
    names,
    ballots,
    settings: { seats: 2, ...settings },
  });

  test('says of each round who was elected in it and who went out', async () => {
    // The quota of fourteen ballots is five: Ada has it without a surplus, so that the lowest goes out in the same round.
    const ballots = [...times(5, 0), ...times(4, 1), ...times(2, 2), ...times(1, 3, 2), ...times(2, 5)];
    const { text } = await read(board(ballots));
    expect(text).toContain('1 Elected: Ada. Out: Eve 2 Out: Dan From Dan: Cy 1.');
  });

  test('says so of several at once, and of a lot that decided who went out', async () => {
    const ballots = [...times(5, 0), ...times(5, 1), ...times(3, 2), ...times(1, 3), ...times(2, 4)];
    const { text } = await read(board([...ballots, ...times(1, 5)], { seats: 3, tieBreak: 'lot' }));
    expect(text).toMatch(/1 Elected: Ada, Bea\. Out: Flo From Flo: exhausted 1\. Tied: Dan, Flo\. Decided by lot/);
  });
});
