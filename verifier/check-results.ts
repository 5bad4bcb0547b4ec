import type { OpenedLog } from './check-openings.ts';
import { type Fields, fieldsOf, listOf, numberOf, sortedJson, textOf } from './json.ts';
import { sha256 } from './primitives.ts';
import { FINE, MILLION, type PositionTally, type Recount, recount } from './recount.ts';

const PLACES = 11;

/** An exact decimal to 11 decimals; undefined for anything else. */
function toFine(text: string): bigint | undefined {
  const [, sign, units, decimals = ''] = /^(-?)(\d{1,20})(?:\.(\d{1,11}))?$/.exec(text) ?? [];
  if (units === undefined) return undefined;
  const fine = BigInt(units) * 10n ** BigInt(PLACES) + BigInt(decimals.padEnd(PLACES, '0'));
  return sign === '-' ? -fine : fine;
}

/** What of a published position does not agree with a recount, in words. */
function differences(published: Fields, own: Recount, tally: PositionTally): string[] {
  const { position } = tally;
  const wrong: string[] = [];
  const say = (agrees: boolean, what: string): void => {
    if (!agrees) wrong.push(`${what} of "${position.title}"`);
  };
  const rows = listOf(published['candidates']).map(fieldsOf);
  say(rows.length === position.candidates.length, 'the candidates');
  for (const row of rows) {
    const id = textOf(row['id']);
    say(
      BigInt(Math.trunc(numberOf(row['votesWon']) || 0)) === own.votesWon.get(id),
      `the votes of ${textOf(row['name'])}`,
    );
    say(toFine(textOf(row['weightWon'])) === own.weightWon.get(id), `the weight of ${textOf(row['name'])}`);
    say((row['winner'] === true) === own.winners.includes(id), `whether ${textOf(row['name'])} won`);
    say((row['tied'] === true) === own.tied.includes(id), `whether ${textOf(row['name'])} is tied`);
  }
  say(sortedJson(published['winners']) === sortedJson(own.winners), 'the winners');
  say(BigInt(Math.trunc(numberOf(published['totalVotes']) || 0)) === own.totalVotes, 'the total');
  say(numberOf(published['ballots']) === Number(tally.answered), 'the number of ballots');
  // Ballots do not show which voters of a group could have answered its position and did not.
  if (!position.grouped)
    say(numberOf(published['abstentions']) === Number(tally.ballots - tally.answered), 'the abstentions');
  if (own.outcome !== null) say(fieldsOf(published['referendum'])['outcome'] === own.outcome, 'the outcome');
  // Too many rounds for one answer are left out of it; the figures of the candidates say how they ended.
  if (own.rounds !== null && published['roundsOmitted'] !== true) {
    const rounds = listOf(published['rounds']).map(fieldsOf);
    const shape = rounds.map(({ elected, eliminated }) => ({ elected, eliminated }));
    say(sortedJson(shape) === sortedJson(own.rounds), 'the rounds');
  }
  return wrong;
}

function electorateOf(published: Fields): bigint | null {
  const fine = toFine(textOf(fieldsOf(published['referendum'])['electorate']));
  return fine === undefined ? null : fine / FINE;
}

/**
 * Counts the opened ballots again and compares every figure and winner with the published ones.
 * @returns what differs, in words; nothing when all agrees
 */
export function compareResults(opened: OpenedLog, results: Fields): string[] {
  const published = new Map(listOf(results['positions']).map((one) => [textOf(fieldsOf(one)['id']), fieldsOf(one)]));
  const compare = (whole: boolean, unit: boolean): string[] =>
    opened.tallies.flatMap((tally) => {
      const own = published.get(tally.position.id);
      if (own === undefined) return [`"${tally.position.title}" is not in the results`];
      const lot = { seed: opened.tieSeed, root: opened.lotRoot };
      return differences(own, recount(tally, { ...lot, whole, unit, electorate: electorateOf(own) }), tally);
    });
  const extra = published.size === opened.tallies.length ? [] : ['the number of positions'];
  const total = numberOf(fieldsOf(results['stats'])['ballots']) === opened.ballots ? [] : ['the number of all ballots'];
  // Figures are heads as soon as one weight of the roll is not whole, and a roll may have weights that no ballot shows. The
  // same holds for the quota, which is another one as soon as one weight is not 1.
  const ways: (readonly [whole: boolean, unit: boolean])[] = [
    ...(opened.unit ? [[true, true] as const] : []),
    ...(opened.whole ? [[true, false] as const] : []),
    [false, false],
  ];
  let first: string[] | undefined;
  for (const [whole, unit] of ways) {
    const wrong = compare(whole, unit);
    if (wrong.length === 0) return [...extra, ...total];
    first ??= wrong;
  }
  return [...extra, ...total, ...(first ?? [])];
}

/**
 * The figures that are left after reversals: none without a reversal, all of them with one.
 * @param size of the log that was read; results of a longer one may hold a reversal that came since
 */
export function compareAfterReversals(opened: OpenedLog, results: Fields, size: number): string[] {
  if (numberOf(fieldsOf(results['log'])['size']) > size) return [];
  const left = opened.afterReversals;
  const published = results['afterReversals'];
  if (left === undefined)
    return published === null || published === undefined ? [] : ['reversals that the log does not hold'];
  const { ballots, positions } = fieldsOf(published);
  return compareResults({ ...opened, ...left }, { positions, stats: { ballots } }).map(
    (what) => `after reversals, ${what}`,
  );
}

export const resultHash = (results: Fields): string => sha256(sortedJson(results['positions'])).toString('hex');

export const weightText = (micro: bigint): string => {
  const decimals = (micro % MILLION).toString().padStart(6, '0').replace(/0+$/, '');
  return `${micro / MILLION}${decimals === '' ? '' : `.${decimals}`}`;
};
