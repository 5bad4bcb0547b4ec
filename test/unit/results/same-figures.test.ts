import { expect, test } from 'vitest';
import type { EventResults } from '#src/results/event-results.ts';
import { writeReport } from '#src/results/report/write-report.ts';
import { FILES } from '#src/results/result-files.ts';
import { parseCsv } from '#test/harness/parse-csv.ts';
import { readPdf } from '#test/harness/read-pdf.ts';
import { createRandom } from '#test/second-count/random-elections.ts';
import { type SamplePosition, sampleReport } from './sample-report.ts';

// Guarantee: who won, alone or jointly, who was tied, and by how much, is the same in every form of a result: JSON, both tables,
// and the report that a board signs.

const SEED = 20_261_126;
const POSITIONS = 60;
const random = createRandom(SEED);
const METHODS = ['plurality', 'approval', 'score', 'cumulative', 'ranked_choice'] as const;

/** A few ballots on a few candidates: every other position is tied. */
function randomPosition(number: number): SamplePosition {
  const votingMethod = METHODS[random(METHODS.length)] ?? 'plurality';
  const size = 2 + random(4);
  const names = Array.from({ length: size }, (_, index) => `N${number}x${index}`);
  const order = (): number[] => names.map((_, index) => index).toSorted(() => random(3) - 1);
  const ballots = Array.from({ length: 1 + random(5) }, () => {
    const some = order();
    if (votingMethod === 'plurality') return some.slice(0, 1).map((candidate) => [candidate, 1] as const);
    const chosen = some.slice(0, 1 + random(size));
    if (votingMethod === 'ranked_choice') return chosen.map((candidate, index) => [candidate, index + 1] as const);
    if (votingMethod === 'approval') return chosen.map((candidate) => [candidate, 1] as const);
    return chosen.map((candidate) => [candidate, 1 + random(2)] as const);
  });
  const settings = {
    seats: 1 + random(Math.min(3, size)),
    tieBreak: (['joint', 'lot', 'candidate_order'] as const)[random(3)] ?? 'joint',
    ...(votingMethod === 'score' ? { scoreMin: 0, scoreMax: 2 } : {}),
    ...(votingMethod === 'cumulative' ? { cumulativePointBudget: 12 } : {}),
  };
  return { title: `Office ${number}`, votingMethod, names, ballots, settings };
}

interface Figures {
  readonly winners: readonly string[];
  readonly tied: readonly string[];
  /** Undefined where the form does not say it. */
  readonly margin?: string | null;
  /** Those who share what was left of the seats, all of them winners. */
  readonly jointly?: readonly string[];
}

const sorted = (names: Iterable<string>): string[] => [...names].toSorted();

test(`${POSITIONS} random positions of seed ${SEED} read the same in JSON, in both tables, and in the report`, async () => {
  const input = sampleReport(Array.from({ length: POSITIONS }, (_, index) => randomPosition(index + 1)));
  const stats = { ballots: 0, totalVotes: 0, abstentions: 0, electorate: 0, turnout: null };
  const results = {
    ...{ votingEventId: 'evt_sample', title: 'Sample', final: true, disputed: false, asOf: 0, stats, byGroup: [] },
    ...{
      log: { size: 0, rootHash: '', close: null },
      lot: input.lot,
      positions: input.positions.map(({ result }) => result),
    },
  } as unknown as EventResults;
  const [json, csv, table] = (['json', 'csv', 'table'] as const).map((kind) => [...FILES[kind](results)].join(''));

  const fromJson = new Map<string, Figures>();
  for (const { title, candidates, winners, tie, margin, seats } of JSON.parse(json ?? '').data.positions) {
    const nameOf = (id: string): string => candidates.find((one: { id: string }) => one.id === id).name;
    fromJson.set(title, {
      winners: sorted(winners.map(nameOf)),
      tied: sorted(candidates.filter((one: { tied: boolean }) => one.tied).map(({ name }: { name: string }) => name)),
      margin: margin === null ? null : margin.votes,
      jointly: tie !== null && winners.length > seats ? sorted(tie.candidateIds.map(nameOf)) : [],
    });
  }

  const rowsOf = (text: string | undefined): Record<string, string>[] => {
    const [head = [], ...rows] = parseCsv(String(text).replace('\ufeff', ''));
    return rows.map((cells) => Object.fromEntries(head.map((name, index) => [name, cells[index] ?? ''])));
  };
  const [facts, people] = [rowsOf(csv), rowsOf(table)];
  const pages = readPdf(await writeReport(input, 'a4')).pages.join('\n');
  const wrong: unknown[] = [];
  for (const [title, said] of fromJson) {
    const own = facts.filter(({ position }) => position === title);
    const candidates = own.filter(({ record }) => record === 'candidate');
    const margin = own.find(({ item }) => item === 'margin')?.['weight'] ?? null;
    const having = (rows: Record<string, string>[], is: (row: Record<string, string>) => boolean): string[] =>
      sorted(rows.filter(is).map(({ candidate = '' }) => candidate));
    const fromCsv = {
      winners: having(candidates, ({ value = '' }) => /\bwinner\b/.test(value)),
      tied: having(candidates, ({ value = '' }) => /\btied\b/.test(value)),
      margin,
    };
    const rows = people.filter(({ position }) => position === title);
    const fromTable = {
      winners: having(rows, ({ winner }) => winner === 'true'),
      tied: having(rows, ({ tied }) => tied === 'true'),
    };
    const start = pages.search(new RegExp(`^\\d+\\. ${title}$`, 'm'));
    const part = pages.slice(start).replaceAll('\n', ' ');
    const number = Number(title.split(' ')[1]);
    const end = part.indexOf(`${number + 1}. Office ${number + 1} `);
    const page = end === -1 ? part : part.slice(0, end);
    const jointly = /Elected jointly: ((?:N\d+x\d+(?:, | and )?)+)/.exec(page)?.[1] ?? '';
    const alone = /Elected: ((?:N\d+x\d+(?:, )?)+)/.exec(page)?.[1] ?? '';
    const names = (text: string): string[] => text.match(/N\d+x\d+/g) ?? [];
    const changed = /would have taken (?:at least |at most )?([\d.,]+) changed/.exec(page)?.[1];
    const fromReport = {
      winners: sorted([...names(jointly), ...names(alone)]),
      jointly: sorted(names(jointly)),
      margin: changed ?? (page.includes('It was a tie: one vote would have decided it.') ? '0' : null),
    };
    for (const other of [fromCsv, fromTable, fromReport]) {
      const same = Object.fromEntries(Object.keys(other).map((key) => [key, said[key as keyof Figures]]));
      if (JSON.stringify(same) !== JSON.stringify(other)) wrong.push([title, same, other]);
    }
  }
  expect(wrong).toEqual([]);
  // What is not among them would go unread.
  const all = [...fromJson.values()];
  expect(all.filter(({ jointly = [] }) => jointly.length > 0).length).toBeGreaterThan(3);
  expect(all.filter(({ tied, jointly = [] }) => tied.length > 0 && jointly.length === 0).length).toBeGreaterThan(3);
  expect(all.filter(({ margin }) => margin !== null && margin !== '0').length).toBeGreaterThan(10);
});
