import type { OpenedLog } from './check-openings.ts';
import { decimalOf } from './further-figures.ts';
import { type Fields, fieldsOf, listOf, numberOf, sortedJson, textOf } from './json.ts';
import { sha256 } from './primitives.ts';
import type { ReadLog } from './read-leaves.ts';
import {
  type CountedRound,
  FINE,
  highestFirst,
  MILLION,
  type PositionTally,
  type Recount,
  recount,
} from './recount.ts';

const PLACES = 11;

/** Converts an exact decimal to 11 decimals; undefined for any other text. */
function toFine(text: string): bigint | undefined {
  const [, sign, units, decimals = ''] = /^(-?)(\d{1,20})(?:\.(\d{1,11}))?$/.exec(text) ?? [];
  if (units === undefined) return undefined;
  const fine = BigInt(units) * 10n ** BigInt(PLACES) + BigInt(decimals.padEnd(PLACES, '0'));
  return sign === '-' ? -fine : fine;
}

/** Facts about a count that the log contains besides the ballots. */
export interface CountedBy {
  /** Weight of the approved voters in millionths, from the close; null in polls. */
  readonly electorate: bigint | null;
}

/** The differences between a published position and its recount, in words. */
function differences(published: Fields, own: Recount, tally: PositionTally, whole: boolean): string[] {
  const { position } = tally;
  const wrong: string[] = [];
  const say = (agrees: boolean, what: string): void => {
    if (!agrees) wrong.push(`${what} of "${position.title}"`);
  };
  say(published['title'] === position.title, 'the title');
  say(published['votingMethod'] === position.method, 'the method');
  say(published['seats'] === position.seats, 'the seats');
  const vacant = position.method === 'referendum' ? 0 : Math.max(0, position.seats - own.winners.length);
  say(published['vacantSeats'] === vacant, 'the vacant seats');
  const rows = listOf(published['candidates']).map(fieldsOf);
  const names = new Map(position.candidates.map(({ id, name }) => [id, name]));
  say(rows.length === names.size && new Set(rows.map(({ id }) => id)).size === names.size, 'the candidates');
  for (const row of rows) {
    const [id, name] = [textOf(row['id']), textOf(row['name'])];
    say(names.get(id) === name, `the name of ${name}`);
    say(row['votesWon'] === Number(own.votesWon.get(id)), `the votes of ${name}`);
    say(toFine(textOf(row['weightWon'])) === own.weightWon.get(id), `the weight of ${name}`);
    say((row['winner'] === true) === own.winners.includes(id), `whether ${name} won`);
    say((row['tied'] === true) === own.tied.includes(id), `whether ${name} is tied`);
  }
  say(sortedJson(published['winners']) === sortedJson(own.winners), 'the winners');
  say(published['totalVotes'] === Number(own.totalVotes), 'the total');
  say(numberOf(published['ballots']) === Number(tally.answered), 'the number of ballots');
  // Ballots do not show how many voters of a group could have answered its position but did not.
  const [silent, shownSilent] = [Number(tally.ballots - tally.answered), numberOf(published['abstentions'])];
  const mayBe = position.grouped && Number.isInteger(shownSilent) && shownSilent >= 0 && shownSilent < silent;
  say(shownSilent === silent || mayBe, 'the abstentions');
  say((published['referendum'] === null) === (own.referendum === null), 'the referendum');
  if (own.referendum !== null) {
    const { yes, no, abstain, rules, outcome } = own.referendum;
    const shown = fieldsOf(published['referendum']);
    say(shown['outcome'] === outcome, 'the outcome');
    for (const [name, weight] of Object.entries({ yes, no, abstain }))
      say(toFine(textOf(shown[name])) === weight * FINE, `the weight of ${name}`);
    say(sortedJson(shown['rules']) === sortedJson(rules), 'the rules that are met');
  }
  for (const [name, value] of Object.entries(own.further))
    say(sortedJson(published[name]) === sortedJson(value), `\`${name}\``);
  const isOmitted = areTooMany(own.rounds ?? []);
  say(published['roundsOmitted'] === isOmitted, 'whether rounds are left out');
  const rounds = isOmitted ? null : (own.rounds?.map((round, index) => showRound(round, index, tally, whole)) ?? null);
  for (const [index, round] of (rounds ?? []).entries())
    say(sortedJson(listOf(published['rounds'])[index] ?? null) === sortedJson(round), `round ${index + 1}`);
  say(sortedJson(published['rounds']) === sortedJson(rounds), 'the rounds');
  return wrong;
}

/** Most candidates that a round lists; and most tallies of all rounds together, above which no round is listed. */
const [MOST_LISTED, MOST_TALLIES] = [200, 2_000];

/** Whether the rounds are too many for one answer. Then only the figures of the candidates show how the rounds ended. */
export const areTooMany = (rounds: readonly CountedRound[]): boolean =>
  rounds.reduce((sum, { tallies }) => sum + Math.min(tallies.size, MOST_LISTED), 0) > MOST_TALLIES;

/** A round in the form of the results. */
export function showRound(round: CountedRound, index: number, tally: PositionTally, whole: boolean): Fields {
  const { elected, eliminated, tallies, heads, threshold, lost, transfers, tie } = round;
  const ids = tally.position.candidates.map(({ id }) => id).filter((id) => tallies.has(id));
  const listed = new Set(highestFirst(ids, (id) => tallies.get(id) ?? 0n).slice(0, MOST_LISTED));
  const rest = ids.filter((id) => !listed.has(id));
  const sum = (of: readonly string[], figures: ReadonlyMap<string, bigint>): bigint =>
    of.reduce((all, id) => all + (figures.get(id) ?? 0n), 0n);
  const figures = (of: readonly string[]): Fields => {
    const [weight, ballots] = [sum(of, tallies), sum(of, heads)];
    return {
      votesWon: Number(whole ? weight / (MILLION * FINE) : ballots / FINE),
      weightWon: decimalOf(weight, PLACES),
    };
  };
  return {
    ...{ round: index + 1, threshold: decimalOf(threshold, PLACES), elected, eliminated, transfers, tie },
    tallies: ids.filter((id) => listed.has(id)).map((id) => ({ candidateId: id, ...figures([id]) })),
    others: rest.length === 0 ? null : { candidates: rest.length, ...figures(rest) },
    exhausted: decimalOf(tally.answeredWeight * FINE - sum(ids, tallies) - lost, PLACES),
    ...{ roundingLoss: decimalOf(lost, PLACES), provisional: false },
  };
}

/** The electorate of a referendum: that of the close, or a part of it if the position belongs to a group. Undefined if it is neither. */
function electorateOf(published: Fields, grouped: boolean, { electorate }: CountedBy): bigint | null | undefined {
  const shown = fieldsOf(published['referendum'])['electorate'];
  if (shown === null || electorate === null) return shown === electorate ? null : undefined;
  const own = (toFine(textOf(shown)) ?? -1n) / FINE;
  return own === electorate || (grouped && own >= 0n && own < electorate) ? own : undefined;
}

/** Weight of the ballots that could answer a position: all ballots, or a part of them if the position belongs to a group. */
function turnoutOf(published: Fields, { position, answeredWeight, ballotsWeight }: PositionTally): bigint {
  const rules = listOf(fieldsOf(published['referendum'])['rules']).map(fieldsOf);
  const rule = rules.find(({ name }) => name === 'turnout_quorum');
  const shown = (toFine(textOf(rule?.['actual']).split('/', 1)[0] ?? '') ?? -1n) / FINE;
  return position.grouped && shown >= answeredWeight && shown < ballotsWeight ? shown : ballotsWeight;
}

/**
 * Counts the opened ballots again, and compares every figure and winner with the published results.
 * @returns the differences in words; none if all agrees
 */
export function compareResults(opened: OpenedLog, results: Fields, by: CountedBy): string[] {
  const published = new Map(listOf(results['positions']).map((one) => [textOf(fieldsOf(one)['id']), fieldsOf(one)]));
  const compare = (whole: boolean, unit: boolean): string[] =>
    opened.tallies.flatMap((tally) => {
      const { id, title, method, grouped } = tally.position;
      const own = published.get(id);
      if (own === undefined) return [`"${title}" is not in the results`];
      const electorate = method === 'referendum' ? electorateOf(own, grouped, by) : null;
      if (electorate === undefined) return [`the electorate of "${title}"`];
      const lot = { seed: opened.tieSeed, root: opened.lotRoot };
      return differences(
        own,
        recount(tally, { ...lot, whole, unit, electorate, turnout: turnoutOf(own, tally) }),
        tally,
        whole,
      );
    });
  const extra = published.size === opened.tallies.length ? [] : ['the number of positions'];
  const total = numberOf(fieldsOf(results['stats'])['ballots']) === opened.ballots ? [] : ['the number of all ballots'];
  // Figures are numbers of ballots as soon as one weight of the roll is not whole, and the roll may have weights that no ballot shows.
  // Likewise, the quota is another one as soon as one weight is not 1. So try all variants that the ballots allow.
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

/** The log does not say which voters belong to a group. Checks only that no more than all voters are in groups, each once. */
function areOfThese(value: unknown, heads: number | undefined, ballots: number): boolean {
  const groups = listOf(value).map(fieldsOf);
  const sum = (name: string): number => groups.reduce((all, one) => all + numberOf(one[name]), 0);
  const ids = new Set(groups.map(({ groupId }) => textOf(groupId)));
  const sound = groups.every(
    ({ voters, voted }) => numberOf(voted) >= 0 && (heads === undefined || numberOf(voted) <= numberOf(voters)),
  );
  const fits = sum('voted') <= ballots && (heads === undefined || sum('voters') <= heads);
  return Array.isArray(value) && sound && fits && ids.size === groups.length;
}

/** Names the parts of results that are not compared: if the verifier left them out silently, it would seem to vouch for them. */
export function notCompared({ tallies }: OpenedLog, results: Fields): string {
  const ofGroups = tallies.filter(({ position }) => position.grouped).map(({ position }) => `"${position.title}"`);
  const published = listOf(results['positions']).map(fieldsOf);
  const omitted = published.filter((one) => one['roundsOmitted'] === true).map(({ title }) => `"${textOf(title)}"`);
  return [
    ...['`asOf`', '`stats.disclosure`', 'who belongs to a group (`byGroup`)'],
    ...(ofGroups.length === 0 ? [] : [`abstentions, electorate and turnout of ${ofGroups.join(', ')}`]),
    ...(omitted.length === 0 ? [] : [`rounds that stand apart, of ${omitted.join(', ')}`]),
  ].join(', ');
}

/** Compares the figures of all positions together, once each position agrees with its recount. */
export function compareTotals(opened: OpenedLog, results: Fields, log: ReadLog): string[] {
  const stats = fieldsOf(results['stats']);
  const positions = listOf(results['positions']).map(fieldsOf);
  const sum = (name: string, of: readonly Fields[]): number => of.reduce((all, one) => all + numberOf(one[name]), 0);
  const voted = positions.filter(({ votingMethod }) => votingMethod !== 'score');
  return [
    ...(stats['totalVotes'] === sum('totalVotes', voted) ? [] : ['the total of all votes']),
    ...(stats['abstentions'] === sum('abstentions', positions) ? [] : ['the abstentions']),
    ...(stats['entries'] === opened.entries ? [] : ['the number of all entries']),
    ...(fieldsOf(results['lot'])['seed'] === opened.tieSeed ? [] : ['the seed of the lot']),
    ...(results['title'] === opened.title ? [] : ['the title']),
    ...(sortedJson(fieldsOf(results['log'])['close']) === sortedJson(opened.close) ? [] : ['what opens the close']),
    ...(areOfThese(results['byGroup'], log.roll?.heads, log.ballots) ? [] : ['the turnout of the groups']),
  ];
}

/**
 * Compares the results after reversals: there must be none without a reversal, and all figures with one.
 * @param size of the log that was read; results of a longer log may contain a later reversal
 */
export function compareAfterReversals(opened: OpenedLog, results: Fields, size: number, by: CountedBy): string[] {
  if (numberOf(fieldsOf(results['log'])['size']) > size) return [];
  const left = opened.afterReversals;
  const published = results['afterReversals'];
  if (left === undefined) return published === null ? [] : ['reversals that the log does not hold'];
  const { ballots, positions } = fieldsOf(published);
  return compareResults({ ...opened, ...left }, { positions, stats: { ballots } }, by).map(
    (what) => `after reversals, ${what}`,
  );
}

export const resultHash = (results: Fields): string => sha256(sortedJson(results['positions'])).toString('hex');

export const weightText = (micro: bigint): string => decimalOf(micro, 6);
