import type { VotingMethod } from '#src/ballot-definition/types.ts';
import type { PositionResult } from '#src/tally/position-result.ts';
import { startCount } from '#src/tally/start-count.ts';
import type { PositionBallot, PositionCount, ReportOptions, TallyCandidate, TallyPosition } from '#src/tally/types.ts';

export const WHOLE = 1_000_000n;

export const PLAIN: ReportOptions = { lot: null, electorateMicro: null, wholeWeights: true, unitWeights: true };

/** The log root that lots of these tests are drawn from. */
export const ROOT = 'f0'.repeat(32);

/** Candidates `a`, `b`, … in this order, unless a row says otherwise. */
export function position(
  votingMethod: VotingMethod,
  candidates: number | readonly Partial<TallyCandidate>[],
  settings: Partial<TallyPosition> = {},
): TallyPosition {
  const rows = typeof candidates === 'number' ? Array.from({ length: candidates }, () => ({})) : candidates;
  return {
    id: 'pos_1',
    title: 'Position',
    votingMethod,
    seats: 1,
    tieBreak: 'joint',
    rules: null,
    candidates: rows.map((row, index) => ({
      id: letter(index),
      name: letter(index).toUpperCase(),
      sortOrder: index,
      withdrawn: false,
      referendumRole: null,
      ...row,
    })),
    ...settings,
  };
}

function letter(index: number): string {
  return String.fromCharCode(97 + index);
}

/** `marks('ac')` marks the candidates a and c. */
export function marks(letters: string): PositionBallot {
  return values(Object.fromEntries([...letters].map((each) => [each, 1])));
}

/** `ranking('ca')` ranks c first and a second. */
export function ranking(letters: string): PositionBallot {
  return values(Object.fromEntries([...letters].map((each, place) => [each, place + 1])));
}

/** `values({ a: 3 })` gives a the value 3. */
export function values(entries: Readonly<Record<string, number>>): PositionBallot {
  const names = Object.keys(entries);
  return {
    length: names.length,
    candidates: names.map((name) => name.charCodeAt(0) - 97),
    values: Object.values(entries),
  };
}

export type Votes = readonly (readonly [ballot: PositionBallot, heads: number, weightMicro?: bigint])[];

/** A box as a returning officer writes it down: `4 abc, 2 -` are four ballots that rank a, b and c, and two empty ones. */
export const rankings = (box: string): Votes => boxOf(box, ranking);
export const markings = (box: string): Votes => boxOf(box, marks);

function boxOf(box: string, ballotOf: (letters: string) => PositionBallot): Votes {
  return box.split(', ').map((group) => {
    const [heads, letters = ''] = group.split(' ');
    return [ballotOf(letters.replace('-', '')), Number(heads)] as const;
  });
}

export function counted(of: TallyPosition, votes: Votes): PositionCount {
  const count = startCount(of);
  for (const [ballot, heads, weightMicro = WHOLE] of votes) count.add(ballot, weightMicro, heads);
  return count;
}

/** @param options `seed` draws the lot from it and `ROOT` */
export function result(
  of: TallyPosition,
  votes: Votes,
  { seed = null, ...options }: Partial<ReportOptions> & { readonly seed?: string | null } = {},
): PositionResult {
  const unitWeights = votes.every(([, , weightMicro = WHOLE]) => weightMicro === WHOLE);
  const lot = seed === null ? null : { seed, root: ROOT };
  return counted(of, votes).report({ ...PLAIN, unitWeights, lot, ...options });
}

/** `{ a: '3', b: '1.5' }`: what each candidate's weight came to. */
export function weightsOf(of: PositionResult): Record<string, string> {
  return Object.fromEntries(of.candidates.map(({ id, weightWon }) => [id, weightWon]));
}

export function votesOf(of: PositionResult): Record<string, number> {
  return Object.fromEntries(of.candidates.map(({ id, votesWon }) => [id, votesWon]));
}

/** A decimal in hundred-billionths, exactly: weights have six decimals, and published numbers at most five. */
export function scaled(figure: string | number): bigint {
  const [whole = '0', fraction = ''] = String(figure).split('.');
  return BigInt(whole) * 10n ** 11n + BigInt(fraction.padEnd(11, '0'));
}
