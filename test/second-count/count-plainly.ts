import { createHash } from 'node:crypto';
import type { TallyCandidate, TallyPosition } from '#src/tally/types.ts';

/**
 * The count once more, from docs/counting.md alone and as plainly as can be: every ballot is looked at again in every
 * round, nothing is grouped, nothing is kept. `broken` switches one rule to a wrong one, to show that a comparison finds it.
 */
export interface PlainBallot {
  readonly marks: readonly { readonly candidate: number; readonly value: number }[];
  readonly weight: bigint;
}

export interface PlainOptions {
  readonly seed: string | null;
  readonly electorate: bigint | null;
  readonly whole: boolean;
}

export interface PlainResult {
  readonly figures: readonly { readonly votes: number; readonly weight: string }[];
  readonly winners: readonly string[];
  readonly tied: readonly string[];
  readonly totalVotes: number;
  readonly ballots: number;
  readonly abstentions: number;
  readonly outcome: string | null;
  readonly rounds: readonly {
    readonly tallies: Readonly<Record<string, string>>;
    readonly elected: readonly string[];
    readonly eliminated: readonly string[];
    readonly exhausted: string;
    readonly threshold: string;
  }[];
}

export const BREAKAGES = [
  'first tied is eliminated',
  'majority is half or more',
  'majority of all ballots',
  'no stop at a majority',
  'only the first rank',
  'only two ranks',
  'weights ignored',
  'weight twice in scores',
  'withdrawn ignored',
  'highest is eliminated',
  'square root of points',
  'first approval only',
  'abstention is a vote',
  'threshold is inclusive',
  'quorum of ballots',
  'surplus stays',
  'lot from the end',
  'lowest wins a seat',
] as const;
export type Breakage = (typeof BREAKAGES)[number];

const MICRO = 1_000_000n;
const VALUE = 100_000n;

function decimal(value: bigint, places: number): string {
  const sign = value < 0n ? '-' : '';
  const digits = (value < 0n ? -value : value).toString().padStart(places + 1, '0');
  const fraction = digits.slice(-places).replace(/0+$/, '');
  return sign + digits.slice(0, -places) + (fraction === '' ? '' : `.${fraction}`);
}

export function countPlainly(
  position: TallyPosition,
  given: readonly PlainBallot[],
  options: PlainOptions,
  broken?: Breakage,
): PlainResult {
  const ballots = broken === 'weights ignored' ? given.map((ballot) => ({ ...ballot, weight: MICRO })) : given;
  if (position.votingMethod === 'ranked_choice') return countRanks(position, ballots, options, broken);
  return countSums(position, ballots, options, broken);
}

/** Candidates from the first to the last of an order: candidate order, or the lot's. */
function inOrder(candidates: readonly TallyCandidate[], seed: string | null, broken?: Breakage): TallyCandidate[] {
  const byPlace = candidates.toSorted((a, b) => a.sortOrder - b.sortOrder || (a.id < b.id ? -1 : 1));
  if (seed === null) return byPlace;
  const lot = (id: string) => createHash('sha256').update(Buffer.from(seed, 'hex')).update(id).digest('hex');
  const drawn = byPlace.toSorted((a, b) => (lot(a.id) < lot(b.id) ? -1 : 1));
  return broken === 'lot from the end' ? drawn.reverse() : drawn;
}

/** Who wins a tie for `open` seats. */
function breakTie(
  position: TallyPosition,
  tied: readonly TallyCandidate[],
  open: number,
  seed: string | null,
  broken?: Breakage,
): TallyCandidate[] {
  if (position.tieBreak === 'candidate_order') return inOrder(tied, null).slice(0, open);
  if (position.tieBreak === 'lot' && seed !== null) return inOrder(tied, seed, broken).slice(0, open);
  return inOrder(tied, null);
}

function countSums(
  position: TallyPosition,
  ballots: readonly PlainBallot[],
  { seed, electorate, whole }: PlainOptions,
  broken?: Breakage,
): PlainResult {
  const { candidates, votingMethod } = position;
  const heads = candidates.map(() => 0n);
  const weights = candidates.map(() => 0n);
  let answered = 0;
  for (const { marks, weight } of ballots) {
    if (marks.length > 0) answered += 1;
    const counted = broken === 'first approval only' && votingMethod === 'approval' ? marks.slice(0, 1) : marks;
    for (const { candidate, value } of counted) {
      let points = BigInt(value);
      if (broken === 'square root of points' && votingMethod === 'quadratic')
        points = BigInt(Math.floor(Math.sqrt(value)));
      heads[candidate] = (heads[candidate] ?? 0n) + points;
      const twice = broken === 'weight twice in scores' && votingMethod === 'score' ? weight : MICRO;
      weights[candidate] = (weights[candidate] ?? 0n) + (points * weight * twice) / MICRO;
    }
    if (broken === 'abstention is a vote' && marks.length === 0) weights[0] = (weights[0] ?? 0n) + weight;
  }
  const figures = candidates.map((_, index) => ({
    votes: Number(whole ? (weights[index] ?? 0n) / MICRO : (heads[index] ?? 0n)),
    weight: decimal(weights[index] ?? 0n, 6),
  }));
  const shared = {
    figures,
    totalVotes: figures.reduce((sum, figure) => sum + figure.votes, 0),
    ballots: answered,
    abstentions: ballots.length - answered,
    rounds: [],
  };
  if (votingMethod === 'referendum')
    return { ...shared, ...decide(position, ballots, weights, electorate, answered, broken), tied: [] };
  const weightOf = (candidate: TallyCandidate): bigint => weights[candidates.indexOf(candidate)] ?? 0n;
  const standing = inOrder(candidates, null).filter(
    (one) => (broken === 'withdrawn ignored' || !one.withdrawn) && (votingMethod === 'score' || weightOf(one) > 0n),
  );
  const sign = broken === 'lowest wins a seat' ? -1n : 1n;
  const ranked =
    answered === 0
      ? []
      : standing.toSorted(
          (a, b) => Number((weightOf(b) - weightOf(a)) * sign > 0n) - Number((weightOf(b) - weightOf(a)) * sign < 0n),
        );
  const last = ranked[position.seats - 1];
  if (
    last === undefined ||
    ranked.length === position.seats ||
    weightOf(ranked[position.seats] as TallyCandidate) !== weightOf(last)
  ) {
    return { ...shared, winners: ranked.slice(0, position.seats).map((one) => one.id), tied: [], outcome: null };
  }
  const above = ranked.filter((one) => (weightOf(one) - weightOf(last)) * sign > 0n);
  const tied = ranked.filter((one) => weightOf(one) === weightOf(last));
  const won = breakTie(position, tied, position.seats - above.length, seed, broken);
  return {
    ...shared,
    winners: [...above, ...won].map((one) => one.id),
    tied: tied.map((one) => one.id),
    outcome: null,
  };
}

function decide(
  position: TallyPosition,
  ballots: readonly PlainBallot[],
  weights: readonly bigint[],
  electorate: bigint | null,
  answered: number,
  broken?: Breakage,
): { winners: string[]; outcome: string } {
  const sum = (role: string): bigint =>
    position.candidates.reduce(
      (total, one, index) => (one.referendumRole === role ? total + (weights[index] ?? 0n) : total),
      0n,
    );
  const [yes, no] = [sum('yes'), sum('no')];
  const all = ballots.reduce((total, ballot) => total + ballot.weight, 0n);
  const rules = position.rules;
  if (rules === null) throw new Error('a referendum has rules');
  type Share = typeof rules.threshold;
  const reaches = (part: bigint, of: bigint, share: Share, inclusive = share.inclusive): boolean => {
    const left = part * BigInt(share.denominator);
    const right = of * BigInt(share.numerator);
    return of > 0n && (left > right || (inclusive && left === right));
  };
  const roll = broken === 'quorum of ballots' ? all : (electorate ?? 0n);
  const quorums =
    (rules.turnoutQuorum === null || reaches(all, roll, rules.turnoutQuorum)) &&
    (rules.approvalQuorum === null || reaches(yes, roll, rules.approvalQuorum));
  const passed = reaches(
    yes,
    yes + no,
    rules.threshold,
    broken === 'threshold is inclusive' ? true : rules.threshold.inclusive,
  );
  const outcome = !quorums ? 'no_quorum' : passed ? 'passed' : 'rejected';
  const role = outcome === 'passed' ? 'yes' : outcome === 'rejected' ? 'no' : '';
  const winners =
    answered === 0
      ? []
      : inOrder(position.candidates, null).filter(
          (one) => one.referendumRole === role && (broken === 'withdrawn ignored' || !one.withdrawn),
        );
  return { winners: winners.map((one) => one.id), outcome };
}

interface Carried {
  readonly ranking: readonly TallyCandidate[];
  readonly weight: bigint;
  /** In hundred-thousandths. */
  value: bigint;
  holder: TallyCandidate | undefined;
}

function countRanks(
  position: TallyPosition,
  ballots: readonly PlainBallot[],
  options: PlainOptions,
  broken?: Breakage,
): PlainResult {
  const { candidates } = position;
  const gone = new Set(candidates.filter((one) => one.withdrawn && broken !== 'withdrawn ignored'));
  const reach = broken === 'only the first rank' ? 1 : broken === 'only two ranks' ? 2 : candidates.length;
  const carried: Carried[] = ballots
    .filter((ballot) => ballot.marks.length > 0)
    .map((ballot) => {
      const named = ballot.marks
        .toSorted((a, b) => a.value - b.value)
        .map((mark) => candidates[mark.candidate] as TallyCandidate);
      return {
        ranking: named.filter((one) => !gone.has(one)).slice(0, reach),
        weight: ballot.weight,
        value: VALUE,
        holder: undefined,
      };
    });
  const answered = carried.length;
  const answeredWeight = carried.reduce((sum, ballot) => sum + ballot.weight, 0n);
  const run =
    position.seats === 1 ? runOff(position, carried, options, broken) : transfer(position, carried, options, broken);
  const final = new Map<string, { weight: string; heads: bigint }>();
  for (const round of run.rounds) {
    for (const [id, weight] of Object.entries(round.tallies))
      final.set(id, { weight, heads: round.heads.get(id) ?? 0n });
  }
  const figures = candidates.map(({ id }) => {
    const figure = final.get(id) ?? { weight: '0', heads: 0n };
    return {
      votes: Number(options.whole ? BigInt(figure.weight.split('.')[0] ?? '0') : figure.heads / VALUE),
      weight: figure.weight,
    };
  });
  return {
    figures,
    winners: run.winners,
    tied: run.tied,
    totalVotes: options.whole ? Number(answeredWeight / MICRO) : answered,
    ballots: answered,
    abstentions: ballots.length - answered,
    outcome: null,
    rounds: run.rounds.map(({ heads: _, ...round }) => round),
  };
}

interface PlainRound {
  readonly tallies: Record<string, string>;
  readonly heads: Map<string, bigint>;
  elected: string[];
  eliminated: string[];
  readonly exhausted: string;
  readonly threshold: string;
}

type Run = { rounds: PlainRound[]; winners: string[]; tied: string[] };

/** Who of those with the lowest (or highest) tally is picked: earlier rounds first, then the lot or the candidate order. */
function pick(
  position: TallyPosition,
  group: readonly TallyCandidate[],
  history: readonly ReadonlyMap<TallyCandidate, bigint>[],
  seed: string | null,
  which: 'lowest' | 'highest',
  broken?: Breakage,
): TallyCandidate {
  let kept = [...group];
  for (const earlier of [...history].reverse()) {
    const figures = kept.map((one) => earlier.get(one) ?? 0n);
    const best = figures.reduce((a, b) => ((which === 'lowest' ? b < a : b > a) ? b : a));
    kept = kept.filter((one) => (earlier.get(one) ?? 0n) === best);
  }
  const order = position.tieBreak === 'lot' && seed !== null ? inOrder(kept, seed, broken) : inOrder(kept, null);
  const first = which === 'highest' || broken === 'first tied is eliminated';
  return (first ? order[0] : order.at(-1)) as TallyCandidate;
}

function runOff(
  position: TallyPosition,
  ballots: readonly Carried[],
  { seed, whole }: PlainOptions,
  broken?: Breakage,
): Run {
  let standing = inOrder(position.candidates, null).filter((one) => broken === 'withdrawn ignored' || !one.withdrawn);
  const all = ballots.reduce((sum, ballot) => sum + ballot.weight, 0n);
  const history: Map<TallyCandidate, bigint>[] = [];
  const run: Run = { rounds: [], winners: [], tied: [] };
  if (!ballots.some((ballot) => ballot.ranking.length > 0)) return run;
  for (;;) {
    const tally = new Map(standing.map((one) => [one, 0n]));
    const heads = new Map(standing.map((one) => [one.id, 0n]));
    for (const { ranking, weight } of ballots) {
      const holder = ranking.find((one) => tally.has(one));
      if (holder === undefined) continue;
      tally.set(holder, (tally.get(holder) ?? 0n) + weight);
      heads.set(holder.id, (heads.get(holder.id) ?? 0n) + VALUE);
    }
    const active = [...tally.values()].reduce((a, b) => a + b, 0n);
    const base = broken === 'majority of all ballots' ? all : active;
    const half = whole ? base / MICRO / 2n : base / 2n;
    const threshold = whole ? (half + 1n) * MICRO : half + 1n;
    const round: PlainRound = {
      tallies: Object.fromEntries([...tally].map(([one, weight]) => [one.id, decimal(weight, 6)])),
      heads,
      elected: [],
      eliminated: [],
      exhausted: decimal(all - active, 6),
      threshold: decimal(threshold, 6),
    };
    run.rounds.push(round);
    const needs = (weight: bigint): boolean =>
      broken === 'majority is half or more' ? weight * 2n >= base : weight * 2n > base;
    const majority = standing.find((one) => needs(tally.get(one) ?? 0n));
    if (majority !== undefined && (broken !== 'no stop at a majority' || standing.length <= 2)) {
      round.elected = [majority.id];
      return { ...run, winners: [majority.id] };
    }
    const lowest = [...tally.values()].reduce((a, b) => (b < a ? b : a));
    const highest = [...tally.values()].reduce((a, b) => (b > a ? b : a));
    if (standing.length <= 2) {
      const leaders = standing.filter((one) => tally.get(one) === highest);
      const won = leaders.length === 1 ? leaders : breakTie(position, standing, 1, seed, broken);
      round.elected = won.map((one) => one.id);
      return { ...run, winners: round.elected, tied: leaders.length === 1 ? [] : standing.map((one) => one.id) };
    }
    const out = pick(
      position,
      standing.filter((one) => tally.get(one) === (broken === 'highest is eliminated' ? highest : lowest)),
      history,
      seed,
      'lowest',
      broken,
    );
    round.eliminated = [out.id];
    history.push(tally);
    standing = standing.filter((one) => one !== out);
  }
}

function transfer(
  position: TallyPosition,
  ballots: readonly Carried[],
  { seed }: PlainOptions,
  broken?: Breakage,
): Run {
  let standing = inOrder(position.candidates, null).filter((one) => broken === 'withdrawn ignored' || !one.withdrawn);
  const all = ballots.reduce((sum, ballot) => sum + ballot.weight, 0n) * VALUE;
  const valid = ballots.filter((ballot) => ballot.ranking.length > 0).reduce((sum, ballot) => sum + ballot.weight, 0n);
  const run: Run = { rounds: [], winners: [], tied: [] };
  if (valid === 0n) return run;
  const quota = (valid / (BigInt(position.seats + 1) * MICRO) + 1n) * MICRO * VALUE;
  const elected: TallyCandidate[] = [];
  /** Elected candidates whose surplus was passed on: they keep the quota, and the heads that stayed. */
  const settled = new Map<TallyCandidate, { weight: bigint; heads: bigint }>();
  const history: Map<TallyCandidate, bigint>[] = [];
  for (const ballot of ballots) ballot.holder = ballot.ranking.find((one) => standing.includes(one));
  for (;;) {
    const shown = inOrder(position.candidates, null).filter((one) => standing.includes(one) || elected.includes(one));
    const tally = new Map<TallyCandidate, bigint>();
    const heads = new Map<string, bigint>();
    for (const one of shown) {
      const own = ballots.filter((ballot) => ballot.holder === one);
      const kept = settled.get(one);
      tally.set(one, kept?.weight ?? own.reduce((sum, ballot) => sum + ballot.weight * ballot.value, 0n));
      heads.set(one.id, kept?.heads ?? own.reduce((sum, ballot) => sum + ballot.value, 0n));
    }
    const weightOf = (one: TallyCandidate): bigint => tally.get(one) ?? 0n;
    const round: PlainRound = {
      tallies: Object.fromEntries(shown.map((one) => [one.id, decimal(weightOf(one), 11)])),
      heads,
      elected: [],
      eliminated: [],
      exhausted: decimal(all - shown.reduce((sum, one) => sum + weightOf(one), 0n), 11),
      threshold: decimal(quota, 11),
    };
    run.rounds.push(round);
    const elect = (winners: readonly TallyCandidate[]): void => {
      for (const one of winners) {
        elected.push(one);
        round.elected.push(one.id);
      }
      standing = standing.filter((one) => !winners.includes(one));
    };
    const byTally = (group: readonly TallyCandidate[]) =>
      group.toSorted((a, b) => (weightOf(b) > weightOf(a) ? 1 : weightOf(b) < weightOf(a) ? -1 : 0));
    elect(byTally(standing.filter((one) => weightOf(one) >= quota)));
    if (standing.length <= position.seats - elected.length) elect(byTally(standing));
    if (elected.length >= position.seats || standing.length === 0) break;
    const over = elected.filter((one) => !settled.has(one) && weightOf(one) > quota && broken !== 'surplus stays');
    if (over.length > 0) {
      const most = over.map(weightOf).reduce((a, b) => (b > a ? b : a));
      const from = pick(
        position,
        over.filter((one) => weightOf(one) === most),
        history,
        seed,
        'highest',
        broken,
      );
      let passed = 0n;
      for (const ballot of ballots.filter((one) => one.holder === from)) {
        ballot.value = (ballot.value * (weightOf(from) - quota)) / weightOf(from);
        passed += ballot.value;
        ballot.holder = ballot.ranking.find((one) => standing.includes(one));
      }
      settled.set(from, { weight: quota, heads: (heads.get(from.id) ?? 0n) - passed });
      history.push(tally);
      continue;
    }
    const lowest = standing.map(weightOf).reduce((a, b) => (b < a ? b : a));
    const highest = standing.map(weightOf).reduce((a, b) => (b > a ? b : a));
    const group = standing.filter((one) => weightOf(one) === (broken === 'highest is eliminated' ? highest : lowest));
    let out: TallyCandidate;
    if (standing.length === position.seats - elected.length + 1 && group.length > 1) {
      run.tied = group.map((one) => one.id);
      const decided = position.tieBreak === 'candidate_order' || (position.tieBreak === 'lot' && seed !== null);
      if (!decided) {
        elect(byTally(standing));
        break;
      }
      out = inOrder(group, position.tieBreak === 'lot' ? seed : null, broken).at(-1) as TallyCandidate;
    } else out = pick(position, group, history, seed, 'lowest', broken);
    round.eliminated = [out.id];
    history.push(tally);
    standing = standing.filter((one) => one !== out);
    for (const ballot of ballots.filter((one) => one.holder === out))
      ballot.holder = ballot.ranking.find((one) => standing.includes(one));
  }
  return { ...run, winners: elected.map((one) => one.id) };
}
