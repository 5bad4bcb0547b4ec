import { createHash } from 'node:crypto';

/**
 * The count once more, from docs/counting.md alone and as plainly as can be: every ballot is looked at again in every
 * round, nothing is grouped, nothing is kept, nothing of the service is imported. `broken` switches one rule to a wrong
 * one, to show that a comparison finds it.
 */
export interface PlainFraction {
  readonly numerator: number;
  readonly denominator: number;
  readonly inclusive: boolean;
}

export interface PlainCandidate {
  readonly id: string;
  readonly name: string;
  readonly sortOrder: number;
  readonly withdrawn: boolean;
  readonly referendumRole: 'yes' | 'no' | 'abstain' | null;
}

export interface PlainPosition {
  readonly id: string;
  readonly title: string;
  readonly votingMethod:
    | 'plurality'
    | 'approval'
    | 'referendum'
    | 'score'
    | 'cumulative'
    | 'quadratic'
    | 'ranked_choice';
  readonly seats: number;
  readonly maxSelections?: number;
  readonly scoreMin?: number;
  readonly scoreMax?: number;
  readonly majorityRequired?: { readonly numerator: number; readonly denominator: number } | null;
  readonly tieBreak: 'joint' | 'lot' | 'candidate_order';
  readonly rules: {
    readonly threshold: PlainFraction & { readonly base: 'yes_no' | 'answers' | 'electorate' };
    readonly turnoutQuorum: PlainFraction | null;
    readonly approvalQuorum: PlainFraction | null;
  } | null;
  readonly candidates: readonly PlainCandidate[];
}

export interface PlainBallot {
  readonly marks: readonly { readonly candidate: number; readonly value: number }[];
  readonly weight: bigint;
  /** Counted, and taken back later. */
  readonly voided: boolean;
}

export interface PlainOptions {
  readonly lot: { readonly seed: string; readonly root: string } | null;
  readonly electorate: bigint | null;
  readonly whole: boolean;
  readonly unit: boolean;
}

interface PlainTie {
  readonly candidateIds: readonly string[];
  readonly policy: string;
  readonly seed: string | null;
}

interface PlainTally {
  readonly candidateId: string;
  readonly votesWon: number;
  readonly weightWon: string;
}

interface PlainRound {
  readonly round: number;
  readonly threshold: string;
  readonly tallies: readonly PlainTally[];
  readonly others: { readonly candidates: number; readonly votesWon: number; readonly weightWon: string } | null;
  readonly exhausted: string;
  readonly roundingLoss: string;
  elected: string[];
  eliminated: string[];
  transfers: { readonly from: string; readonly to: string | null; readonly weight: string }[];
  tie: PlainTie | null;
  provisional: boolean;
}

/** Everything that a result says of a position, but its own settings. */
export interface PlainResult {
  readonly vacantSeats: number;
  readonly totalVotes: number;
  readonly ballots: number;
  readonly abstentions: number;
  readonly candidates: readonly {
    readonly id: string;
    readonly votesWon: number;
    readonly weightWon: string;
    readonly winner: boolean;
    readonly tied: boolean;
  }[];
  readonly winners: readonly string[];
  readonly runnerUp: string | null;
  readonly runoff: readonly string[] | null;
  readonly margin: { readonly votes: string; readonly exact: boolean; readonly bound: string | null } | null;
  readonly tie: PlainTie | null;
  readonly rounds: readonly PlainRound[] | null;
  readonly roundsOmitted: boolean;
  readonly firstChoices: readonly PlainTally[] | null;
  readonly pairwise: unknown;
  readonly finalTwo: readonly PlainTally[] | null;
  readonly referendum: unknown;
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
  'lot without the root',
  'lowest wins a seat',
  'earliest round decides',
  'joint eliminates by candidate order',
  'whole quota for every weight',
  'quota reached is enough',
  'left out is always zero',
  'abstentions outside of the base',
  'voids counted',
] as const;
export type Breakage = (typeof BREAKAGES)[number];

const MICRO = 1_000_000n;
const VALUE = 100_000n;
/** Tallies of ranked counts have 11 decimals. */
const FINE = MICRO * VALUE;
const MOST_LISTED = 200;
const MOST_TALLIES = 2_000;

const total = (values: readonly bigint[]): bigint => values.reduce((sum, value) => sum + value, 0n);
const highestOf = (values: readonly bigint[]): bigint => values.reduce((a, b) => (b > a ? b : a));
const lowestOf = (values: readonly bigint[]): bigint => values.reduce((a, b) => (b < a ? b : a));

function decimal(value: bigint, places: number): string {
  const sign = value < 0n ? '-' : '';
  const digits = (value < 0n ? -value : value).toString().padStart(places + 1, '0');
  const fraction = digits.slice(-places).replace(/0+$/, '');
  return sign + digits.slice(0, -places) + (fraction === '' ? '' : `.${fraction}`);
}

/** What both kinds of counts go by. */
class Rules {
  readonly position: PlainPosition;
  readonly options: PlainOptions;
  readonly broken: Breakage | undefined;

  constructor(position: PlainPosition, options: PlainOptions, broken: Breakage | undefined) {
    this.position = position;
    this.options = options;
    this.broken = broken;
  }

  isOut(candidate: PlainCandidate): boolean {
    return candidate.withdrawn && this.broken !== 'withdrawn ignored';
  }

  inCandidateOrder(candidates: readonly PlainCandidate[]): PlainCandidate[] {
    return candidates.toSorted((a, b) => a.sortOrder - b.sortOrder || (a.id < b.id ? -1 : 1));
  }

  inLotOrder(candidates: readonly PlainCandidate[], lot: { seed: string; root: string }): PlainCandidate[] {
    const root = Buffer.from(this.broken === 'lot without the root' ? '' : lot.root, 'hex');
    const number = (id: string): Buffer =>
      createHash('sha256')
        .update(Buffer.concat([Buffer.from(lot.seed, 'hex'), root, Buffer.from(id, 'utf8')]))
        .digest();
    const drawn = candidates.toSorted((a, b) => Buffer.compare(number(a.id), number(b.id)));
    return this.broken === 'lot from the end' ? drawn.reverse() : drawn;
  }

  tie(tied: readonly PlainCandidate[], policy: string): PlainTie {
    const seed = policy === 'lot' ? (this.options.lot?.seed ?? null) : null;
    return { candidateIds: this.inCandidateOrder(tied).map(({ id }) => id), policy, seed };
  }

  /** Who wins a tie for open seats. */
  seat(tied: readonly PlainCandidate[], open: number): { won: PlainCandidate[]; tie: PlainTie; undecided: boolean } {
    const { tieBreak } = this.position;
    const { lot } = this.options;
    const tie = this.tie(tied, tieBreak);
    if (tieBreak === 'joint') return { won: this.inCandidateOrder(tied), tie, undecided: false };
    if (tieBreak === 'candidate_order')
      return { won: this.inCandidateOrder(tied).slice(0, open), tie, undecided: false };
    if (lot === null) return { won: [], tie, undecided: true };
    return { won: this.inLotOrder(tied, lot).slice(0, open), tie, undecided: false };
  }

  /** Sorted by a figure, highest first; equal ones in candidate order. */
  byFigure(candidates: readonly PlainCandidate[], figure: (one: PlainCandidate) => bigint): PlainCandidate[] {
    return this.inCandidateOrder(candidates).toSorted((a, b) =>
      figure(b) > figure(a) ? 1 : figure(b) < figure(a) ? -1 : 0,
    );
  }
}

export function countPlainly(
  position: PlainPosition,
  box: readonly PlainBallot[],
  options: PlainOptions,
  broken?: Breakage,
): PlainResult {
  const rules = new Rules(position, options, broken);
  const ballots = box
    .filter(({ voided }) => !voided || broken === 'voids counted')
    .map((ballot) => (broken === 'weights ignored' ? { ...ballot, weight: MICRO } : ballot));
  if (position.votingMethod === 'ranked_choice') return countRanks(rules, ballots);
  return countSums(rules, ballots);
}

function countSums(rules: Rules, ballots: readonly PlainBallot[]): PlainResult {
  const { position, options, broken } = rules;
  const { candidates, votingMethod, seats } = position;
  const answering = ballots.filter(({ marks }) => marks.length > 0);
  const answeredWeight = total(answering.map(({ weight }) => weight));
  const [scoreMin, scoreMax] = [position.scoreMin ?? 0, position.scoreMax ?? 0];
  const withoutZero = votingMethod === 'score' && (scoreMin > 0 || scoreMax < 0);
  const leftOut = withoutZero && broken !== 'left out is always zero' ? scoreMin : 0;
  const worth = (ballot: PlainBallot, candidate: number): bigint => {
    const marks =
      broken === 'first approval only' && votingMethod === 'approval' ? ballot.marks.slice(0, 1) : ballot.marks;
    const value = marks.find((mark) => mark.candidate === candidate)?.value ?? leftOut;
    return BigInt(
      broken === 'square root of points' && votingMethod === 'quadratic' ? Math.floor(Math.sqrt(value)) : value,
    );
  };
  const heads = candidates.map((_, index) => total(answering.map((ballot) => worth(ballot, index))));
  const weights = candidates.map((_, index) =>
    total(
      answering.map((ballot) => {
        const twice = broken === 'weight twice in scores' && votingMethod === 'score' ? ballot.weight : MICRO;
        return (worth(ballot, index) * ballot.weight * twice) / MICRO;
      }),
    ),
  );
  if (broken === 'abstention is a vote' && weights[0] !== undefined)
    weights[0] += total(ballots.filter(({ marks }) => marks.length === 0).map(({ weight }) => weight));
  const weightOf = (one: PlainCandidate): bigint => weights[candidates.indexOf(one)] ?? 0n;
  const votesWon = candidates.map((_, index) =>
    Number(options.whole ? (weights[index] ?? 0n) / MICRO : (heads[index] ?? 0n)),
  );
  const finish = (
    result: Pick<PlainResult, 'vacantSeats' | 'winners' | 'runnerUp' | 'runoff' | 'margin' | 'tie' | 'referendum'>,
  ): PlainResult => ({
    ...result,
    totalVotes: votesWon.reduce((sum, votes) => sum + votes, 0),
    ballots: answering.length,
    abstentions: ballots.length - answering.length,
    candidates: candidates.map(({ id }, index) => ({
      id,
      votesWon: votesWon[index] ?? 0,
      weightWon: decimal(weights[index] ?? 0n, 6),
      winner: result.winners.includes(id),
      tied: result.tie?.candidateIds.includes(id) === true,
    })),
    rounds: null,
    roundsOmitted: false,
    firstChoices: null,
    pairwise: null,
    finalTwo: null,
  });
  if (votingMethod === 'referendum') return finish(refer(rules, ballots, weightOf, answering.length));

  const standing = candidates.filter((one) => !rules.isOut(one));
  const chosen = standing.filter((one) => votingMethod === 'score' || weightOf(one) > 0n);
  const majority = position.majorityRequired ?? null;
  const share = majority ?? { numerator: 0, denominator: 1 };
  const exceeds = (weight: bigint): boolean =>
    majority === null || weight * BigInt(share.denominator) > answeredWeight * BigInt(share.numerator);
  const electable = answering.length === 0 ? [] : chosen.filter((one) => exceeds(weightOf(one)));
  const sign = broken === 'lowest wins a seat' ? -1n : 1n;
  const ranked = rules.byFigure(electable, (one) => weightOf(one) * sign);
  let won = ranked.slice(0, seats);
  let tie: PlainTie | null = null;
  let undecided = false;
  const [last, next] = [ranked[seats - 1], ranked[seats]];
  if (last !== undefined && next !== undefined && weightOf(last) === weightOf(next)) {
    const tied = ranked.filter((one) => weightOf(one) === weightOf(last));
    const above = ranked.slice(
      0,
      ranked.findIndex((one) => tied.includes(one)),
    );
    const decided = rules.seat(tied, seats - above.length);
    won = [...above, ...decided.won];
    ({ tie, undecided } = decided);
  }
  const vacantSeats = undecided ? 0 : Math.max(0, seats - won.length);
  const losers = standing.filter((one) => !won.includes(one));
  const others =
    answering.length === 0
      ? []
      : rules.byFigure(
          chosen.filter((one) => !won.includes(one)),
          weightOf,
        );
  const lastInRunoff = others[vacantSeats];
  return finish({
    vacantSeats,
    winners: won.map(({ id }) => id),
    runnerUp: undecided ? null : (others[0]?.id ?? null),
    runoff:
      majority === null || vacantSeats === 0
        ? null
        : others
            .filter((one) => lastInRunoff === undefined || weightOf(one) >= weightOf(lastInRunoff))
            .map(({ id }) => id),
    margin:
      answering.length === 0
        ? null
        : sumMargin(rules, { answeredWeight, won: won.map(weightOf), lost: losers.map(weightOf), tie: tie !== null }),
    tie,
    referendum: null,
  });
}

/** Tries one step after the other in thought: which change is the first that does it. */
function sumMargin(
  { position, options }: Rules,
  given: { answeredWeight: bigint; won: readonly bigint[]; lost: readonly bigint[]; tie: boolean },
): PlainResult['margin'] {
  if (given.tie) return { votes: '0', exact: true, bound: null };
  const step = options.unit ? MICRO : 1n;
  /** The fewest steps x with holds(x): by doubling, then halving. */
  const fewest = (holds: (change: bigint) => boolean): bigint => {
    let high = 0n;
    while (!holds(high * step)) high = high * 2n + 1n;
    let low = -1n;
    while (high - low > 1n) {
      const middle = (high + low) / 2n;
      if (holds(middle * step)) high = middle;
      else low = middle;
    }
    return high * step;
  };
  const share = position.majorityRequired ?? null;
  const [part, whole] = [BigInt(share?.numerator ?? 0), BigInt(share?.denominator ?? 1)];
  const changes: bigint[] = [];
  const vacant = given.won.length < position.seats;
  if (share !== null && given.won.length > 0) {
    const least = lowestOf(given.won);
    changes.push(fewest((x) => (least - x) * whole <= given.answeredWeight * part));
  }
  if (given.lost.length > 0) {
    const best = highestOf(given.lost);
    if (!vacant) {
      const least = lowestOf(given.won);
      changes.push(fewest((x) => least - x <= best + x));
    } else if (share !== null) changes.push(fewest((x) => (best + x) * whole > given.answeredWeight * part));
    else if (position.votingMethod !== 'score') changes.push(step);
  }
  if (changes.length === 0) return null;
  const exact = options.unit && ['plurality', 'approval', 'cumulative'].includes(position.votingMethod);
  return { votes: decimal(lowestOf(changes), 6), exact, bound: exact ? null : 'lower' };
}

function refer(
  rules: Rules,
  ballots: readonly PlainBallot[],
  weightOf: (one: PlainCandidate) => bigint,
  answered: number,
): Pick<PlainResult, 'vacantSeats' | 'winners' | 'runnerUp' | 'runoff' | 'margin' | 'tie' | 'referendum'> {
  const { position, options, broken } = rules;
  const law = position.rules;
  if (law === null) throw new Error('a referendum has rules');
  const ofRole = (role: string): bigint =>
    total(position.candidates.filter((one) => one.referendumRole === role).map(weightOf));
  const all = total(ballots.map(({ weight }) => weight));
  const roll = broken === 'quorum of ballots' ? all : (options.electorate ?? 0n);
  const reaches = (part: bigint, of: bigint, share: PlainFraction): boolean => {
    const left = part * BigInt(share.denominator);
    const right = of * BigInt(share.numerator);
    const inclusive = share.inclusive || broken === 'threshold is inclusive';
    return of > 0n && (left > right || (inclusive && left === right));
  };
  const judge = (yes: bigint, no: bigint, abstain: bigint) => {
    const { base } = law.threshold;
    const answers = broken === 'abstentions outside of the base' ? yes + no : yes + no + abstain;
    const of = base === 'electorate' ? roll : base === 'answers' ? answers : yes + no;
    const say = (name: string, part: bigint, whole: bigint, share: PlainFraction) => ({
      name,
      required: `${share.numerator}/${share.denominator}`,
      actual: `${decimal(part, 6)}/${decimal(whole, 6)}`,
      met: reaches(part, whole, share),
    });
    const threshold = say('threshold', yes, of, law.threshold);
    const quorums = [
      ...(law.turnoutQuorum === null ? [] : [say('turnout_quorum', all, roll, law.turnoutQuorum)]),
      ...(law.approvalQuorum === null ? [] : [say('approval_quorum', yes, roll, law.approvalQuorum)]),
    ];
    const outcome = quorums.some(({ met }) => !met) ? 'no_quorum' : threshold.met ? 'passed' : 'rejected';
    return { rules: [threshold, ...quorums], outcome };
  };
  const [yes, no, abstain] = [ofRole('yes'), ofRole('no'), ofRole('abstain')];
  const judged = judge(yes, no, abstain);
  const role = { passed: 'yes', rejected: 'no' }[judged.outcome];
  const winners =
    answered === 0
      ? []
      : rules.inCandidateOrder(position.candidates).filter((one) => one.referendumRole === role && !rules.isOut(one));
  const step = options.unit ? MICRO : 1n;
  const toNo = (x: bigint) => judge(yes - x, no + x, abstain);
  const toYes = (x: bigint) => (x <= no ? judge(yes + x, no - x, abstain) : judge(yes + x, 0n, abstain - (x - no)));
  const first = (most: bigint, after: (x: bigint) => { outcome: string }): bigint | undefined => {
    if (after((most / step) * step).outcome === judged.outcome) return undefined;
    let [low, high] = [0n, most / step];
    while (high - low > 1n) {
      const middle = (low + high) / 2n;
      if (after(middle * step).outcome === judged.outcome) low = middle;
      else high = middle;
    }
    return high * step;
  };
  const ways = [first(yes, toNo), first(no + abstain, toYes)].filter((way) => way !== undefined);
  return {
    vacantSeats: 0,
    winners: winners.map(({ id }) => id),
    runnerUp: null,
    runoff: null,
    margin:
      answered === 0 || ways.length === 0
        ? null
        : { votes: decimal(lowestOf(ways), 6), exact: options.unit, bound: options.unit ? null : 'lower' },
    tie: null,
    referendum: {
      yes: decimal(yes, 6),
      no: decimal(no, 6),
      abstain: decimal(abstain, 6),
      electorate: options.electorate === null ? null : decimal(options.electorate, 6),
      ...judged,
    },
  };
}

interface Carried {
  readonly ranking: readonly PlainCandidate[];
  readonly weight: bigint;
  /** In hundred-thousandths. */
  value: bigint;
  holder: PlainCandidate | undefined;
}

/** Tallies of one moment, with 11 decimals by weight and 5 by heads. */
type Tallies = ReadonlyMap<PlainCandidate, { readonly weight: bigint; readonly heads: bigint }>;

/** What a ranked count comes to; the caller makes the result of it. */
interface Ran {
  readonly won: PlainCandidate[];
  tied: PlainCandidate[];
  tie: PlainTie | null;
  undecided: boolean;
  runnerUp: PlainCandidate | undefined;
  finalTwo: { readonly candidate: PlainCandidate; readonly weight: bigint; readonly heads: bigint }[] | null;
}

class PlainRanks {
  readonly rules: Rules;
  readonly all: readonly Carried[];
  readonly rounds: PlainRound[] = [];
  readonly history: Tallies[] = [];
  readonly last = new Map<PlainCandidate, { weight: bigint; heads: bigint }>();
  lost = 0n;

  constructor(rules: Rules, ballots: readonly PlainBallot[]) {
    this.rules = rules;
    const { position, broken } = rules;
    const reach = broken === 'only the first rank' ? 1 : broken === 'only two ranks' ? 2 : Number.POSITIVE_INFINITY;
    this.all = ballots
      .filter(({ marks }) => marks.length > 0)
      .map(({ marks, weight }) => ({
        ranking: marks
          .toSorted((a, b) => a.value - b.value)
          .flatMap((mark) => position.candidates[mark.candidate] ?? [])
          .filter((one) => !rules.isOut(one))
          .slice(0, reach),
        weight,
        value: VALUE,
        holder: undefined,
      }));
  }

  figures(weight: bigint, heads: bigint): { votesWon: number; weightWon: string } {
    return {
      votesWon: Number(this.rules.options.whole ? weight / FINE : heads / VALUE),
      weightWon: decimal(weight, 11),
    };
  }

  held(candidate: PlainCandidate): { weight: bigint; heads: bigint } {
    const own = this.all.filter(({ holder }) => holder === candidate);
    return {
      weight: total(own.map(({ weight, value }) => weight * value)),
      heads: total(own.map(({ value }) => value)),
    };
  }

  /** Writes a round down, in the position's order. */
  open(tallies: Tallies, threshold: bigint): PlainRound {
    const shown = this.rules.position.candidates.filter((one) => tallies.has(one));
    const weightOf = (one: PlainCandidate): bigint => tallies.get(one)?.weight ?? 0n;
    const listed = shown
      .toSorted((a, b) => (weightOf(b) > weightOf(a) ? 1 : weightOf(b) < weightOf(a) ? -1 : 0))
      .slice(0, MOST_LISTED);
    const rest = shown.filter((one) => !listed.includes(one));
    const everything = total(this.all.map(({ weight }) => weight)) * VALUE;
    for (const [one, tally] of tallies) this.last.set(one, tally);
    const round: PlainRound = {
      round: this.rounds.length + 1,
      threshold: decimal(threshold, 11),
      tallies: shown
        .filter((one) => listed.includes(one))
        .map((one) => ({ candidateId: one.id, ...this.figures(weightOf(one), tallies.get(one)?.heads ?? 0n) })),
      others:
        rest.length === 0
          ? null
          : {
              candidates: rest.length,
              ...this.figures(total(rest.map(weightOf)), total(rest.map((one) => tallies.get(one)?.heads ?? 0n))),
            },
      exhausted: decimal(everything - total(shown.map(weightOf)) - this.lost, 11),
      roundingLoss: decimal(this.lost, 11),
      elected: [],
      eliminated: [],
      transfers: [],
      tie: null,
      provisional: false,
    };
    this.rounds.push(round);
    return round;
  }

  /** Gives every ballot of a holder to its next continuing candidate, and tells the round what went where. */
  pass(from: PlainCandidate, standing: readonly PlainCandidate[], round: PlainRound | undefined): void {
    const own = this.all.filter(({ holder }) => holder === from);
    for (const ballot of own) ballot.holder = ballot.ranking.find((one) => standing.includes(one));
    if (round === undefined) return;
    for (const to of [...this.rules.position.candidates, undefined]) {
      const weight = total(own.filter(({ holder }) => holder === to).map((one) => one.weight * one.value));
      if (weight > 0n) round.transfers.push({ from: from.id, to: to?.id ?? null, weight: decimal(weight, 11) });
    }
  }

  /** Who of a tie is picked: earlier rounds first, then the lot or the candidate order. */
  pick(group: readonly PlainCandidate[], which: 'lowest' | 'highest', round: PlainRound | undefined): PlainCandidate {
    const { rules } = this;
    const { tieBreak } = rules.position;
    const { lot } = rules.options;
    let kept = [...group];
    const rounds = rules.broken === 'earliest round decides' ? this.history : this.history.toReversed();
    for (const earlier of rounds) {
      const figures = kept.map((one) => earlier.get(one)?.weight ?? 0n);
      const best = which === 'lowest' ? lowestOf(figures) : highestOf(figures);
      kept = kept.filter((one) => (earlier.get(one)?.weight ?? 0n) === best);
    }
    const joint = tieBreak === 'joint' && rules.broken === 'joint eliminates by candidate order';
    const byLot = tieBreak !== 'candidate_order' && !joint;
    const order = byLot && lot !== null ? rules.inLotOrder(kept, lot) : rules.inCandidateOrder(kept);
    const firstOne = which === 'highest' || rules.broken === 'first tied is eliminated';
    const picked = firstOne ? order[0] : order.at(-1);
    if (picked === undefined) throw new Error('a tie of nobody');
    if (round !== undefined && group.length > 1) {
      const policy = kept.length === 1 ? 'earlier_round' : byLot && lot !== null ? 'lot' : 'candidate_order';
      round.tie = rules.tie(group, policy);
      round.provisional = kept.length > 1 && byLot && lot === null;
    }
    return picked;
  }

  lowest(standing: readonly PlainCandidate[], tallies: Tallies): PlainCandidate[] {
    const weightOf = (one: PlainCandidate): bigint => tallies.get(one)?.weight ?? 0n;
    const figures = standing.map(weightOf);
    const least = this.rules.broken === 'highest is eliminated' ? highestOf(figures) : lowestOf(figures);
    return standing.filter((one) => weightOf(one) === least);
  }
}

function countRanks(rules: Rules, ballots: readonly PlainBallot[]): PlainResult {
  const { position, options } = rules;
  const { candidates, seats } = position;
  const ranks = new PlainRanks(rules, ballots);
  const standing = candidates.filter((one) => !rules.isOut(one));
  for (const ballot of ranks.all) ballot.holder = ballot.ranking[0];
  const valid = ranks.all.some(({ ranking }) => ranking.length > 0);
  const firsts = standing.map((one) => ({ one, ...ranks.held(one) }));
  const nobody: Ran = { won: [], tied: [], tie: null, undecided: false, runnerUp: undefined, finalTwo: null };
  const ran = !valid ? nobody : seats === 1 ? runOff(ranks, standing) : transfer(ranks, standing);
  const listed = ranks.rounds.reduce((sum, { tallies }) => sum + tallies.length, 0);
  const omitted = listed > MOST_TALLIES;
  const tally = (one: PlainCandidate, weight: bigint, heads: bigint): PlainTally => ({
    candidateId: one.id,
    ...ranks.figures(weight, heads),
  });
  const [first, second] = ran.finalTwo ?? [];
  let margin: PlainResult['margin'] = null;
  // One rule for every tie for a seat.
  if (ran.tie !== null) margin = { votes: '0', exact: true, bound: null };
  else if (first !== undefined && second !== undefined && options.unit) {
    // Weights of 1: votes apart are whole.
    const apart = (first.weight - second.weight) / FINE;
    margin = { votes: String((apart + 1n) / 2n), exact: false, bound: 'upper' };
  }
  return {
    vacantSeats: ran.undecided ? 0 : Math.max(0, seats - ran.won.length),
    totalVotes: options.whole ? Number(total(ranks.all.map(({ weight }) => weight)) / MICRO) : ranks.all.length,
    ballots: ranks.all.length,
    abstentions: ballots.length - ranks.all.length,
    candidates: candidates.map((one) => ({
      id: one.id,
      ...ranks.figures(ranks.last.get(one)?.weight ?? 0n, ranks.last.get(one)?.heads ?? 0n),
      winner: ran.won.includes(one),
      tied: ran.tied.includes(one),
    })),
    winners: ran.won.map(({ id }) => id),
    runnerUp: ran.undecided ? null : (ran.runnerUp?.id ?? null),
    runoff: null,
    margin,
    tie: ran.tie,
    rounds: omitted ? null : ranks.rounds,
    roundsOmitted: omitted,
    firstChoices: firsts.filter(({ weight }) => weight > 0n).map(({ one, weight, heads }) => tally(one, weight, heads)),
    pairwise: valid && standing.length <= 50 ? pairs(ranks, standing) : null,
    finalTwo: ran.finalTwo?.map(({ candidate, weight, heads }) => tally(candidate, weight, heads)) ?? null,
    referendum: null,
  };
}

function pairs(ranks: PlainRanks, standing: readonly PlainCandidate[]): unknown {
  const prefers = (a: PlainCandidate, b: PlainCandidate): bigint =>
    total(
      ranks.all
        .filter(({ ranking }) => {
          const [at, other] = [ranking.indexOf(a), ranking.indexOf(b)];
          return a !== b && at !== -1 && (other === -1 || at < other);
        })
        .map(({ weight }) => weight),
    );
  const table = standing.map((a) => standing.map((b) => prefers(a, b)));
  const winner = standing.find((_, a) =>
    standing.every((__, b) => a === b || (table[a]?.[b] ?? 0n) > (table[b]?.[a] ?? 0n)),
  );
  return {
    candidateIds: standing.map(({ id }) => id),
    table: table.map((row) => row.map((weight) => decimal(weight, 6))),
    condorcetWinner: winner?.id ?? null,
  };
}

function runOff(ranks: PlainRanks, candidates: readonly PlainCandidate[]): Ran {
  const { rules } = ranks;
  const { broken, options } = rules;
  const everything = total(ranks.all.map(({ weight }) => weight)) * VALUE;
  let standing = [...candidates];
  const ran: Ran = { won: [], tied: [], tie: null, undecided: false, runnerUp: undefined, finalTwo: null };
  let counting = true;
  for (;;) {
    const tallies = new Map(standing.map((one) => [one, ranks.held(one)]));
    const weightOf = (one: PlainCandidate): bigint => tallies.get(one)?.weight ?? 0n;
    const active = total(standing.map(weightOf));
    const base = broken === 'majority of all ballots' ? everything : active;
    const unit = options.whole ? FINE : VALUE;
    const round = counting ? ranks.open(tallies, (base / (2n * unit) + 1n) * unit) : undefined;
    if (counting) {
      const majority = standing.find((one) =>
        broken === 'majority is half or more' ? weightOf(one) * 2n >= base : weightOf(one) * 2n > base,
      );
      if (majority !== undefined && (broken !== 'no stop at a majority' || standing.length <= 2)) {
        ran.won.push(majority);
        counting = false;
      } else if (standing.length <= 2) {
        // With the rule for a majority broken, the last two need not be level.
        const decided = rules.seat(standing, 1);
        ran.won.push(...decided.won);
        ran.tied = [...standing];
        ran.tie = decided.tie;
        ran.undecided = decided.undecided;
        if (round !== undefined) round.tie = decided.tie;
        counting = false;
      }
      if (round !== undefined) round.elected = ran.won.map(({ id }) => id);
    }
    if (!counting && standing.length <= 2) {
      if (standing.length === 2) {
        const sorted = rules.byFigure(standing, weightOf);
        const order = [
          ...sorted.filter((one) => ran.won.includes(one)),
          ...sorted.filter((one) => !ran.won.includes(one)),
        ];
        ran.finalTwo = order.map((candidate) => ({ candidate, ...ranks.held(candidate) }));
        ran.runnerUp = order.find((one) => !ran.won.includes(one) && weightOf(one) > 0n);
      }
      return ran;
    }
    // After a majority the rounds go on unseen, to the last two.
    const seen = counting ? round : undefined;
    const out = ranks.pick(ranks.lowest(standing, tallies), 'lowest', seen);
    if (seen !== undefined) seen.eliminated = [out.id];
    ranks.history.push(tallies);
    standing = standing.filter((one) => one !== out);
    ranks.pass(out, standing, seen);
  }
}

function transfer(ranks: PlainRanks, candidates: readonly PlainCandidate[]): Ran {
  const { rules } = ranks;
  const { broken, options, position } = rules;
  const { seats } = position;
  let standing = [...candidates];
  const valid = total(ranks.all.filter(({ ranking }) => ranking.length > 0).map(({ weight }) => weight));
  const droop = options.unit || broken === 'whole quota for every weight';
  // The quota is numerator / denominator; the fraction is compared by multiplying.
  const share = BigInt(seats + 1);
  const [numerator, denominator] = droop ? [(valid / (share * MICRO) + 1n) * FINE, 1n] : [valid * VALUE, share];
  const threshold = numerator / denominator;
  const hasQuota = (weight: bigint): boolean => {
    const [left, right] = [weight * denominator, numerator];
    return left > right || ((droop || broken === 'quota reached is enough') && left === right);
  };
  const ran: Ran = { won: [], tied: [], tie: null, undecided: false, runnerUp: undefined, finalTwo: null };
  /** Elected candidates whose surplus was passed on: they keep the quota, and the heads that stayed. */
  const settled = new Map<PlainCandidate, { weight: bigint; heads: bigint }>();
  let lastOut: PlainCandidate | undefined;
  for (;;) {
    const tallies = new Map([...standing, ...ran.won].map((one) => [one, settled.get(one) ?? ranks.held(one)]));
    const weightOf = (one: PlainCandidate): bigint => tallies.get(one)?.weight ?? 0n;
    const round = ranks.open(tallies, threshold);
    const elect = (winners: readonly PlainCandidate[]): void => {
      for (const one of rules.byFigure(winners, weightOf)) {
        ran.won.push(one);
        round.elected.push(one.id);
      }
      standing = standing.filter((one) => !winners.includes(one));
    };
    const end = (): Ran => {
      const [best] = rules.byFigure(standing, weightOf);
      const near = best ?? lastOut;
      ran.runnerUp = near !== undefined && (ranks.last.get(near)?.weight ?? 0n) > 0n ? near : undefined;
      return ran;
    };
    elect(standing.filter((one) => hasQuota(weightOf(one))));
    if (standing.length <= seats - ran.won.length) elect(standing);
    if (ran.won.length >= seats || standing.length === 0) return end();
    const over = ran.won.filter(
      (one) => !settled.has(one) && weightOf(one) * denominator > numerator && broken !== 'surplus stays',
    );
    if (over.length > 0) {
      const most = highestOf(over.map(weightOf));
      const from = ranks.pick(
        over.filter((one) => weightOf(one) === most),
        'highest',
        round,
      );
      const before = weightOf(from);
      const own = ranks.all.filter(({ holder }) => holder === from);
      for (const ballot of own)
        ballot.value = (ballot.value * (before * denominator - numerator)) / (before * denominator);
      const moved = total(own.map(({ weight, value }) => weight * value));
      const passedHeads = total(own.map(({ value }) => value));
      ranks.pass(from, standing, round);
      ranks.lost += before - threshold - moved;
      settled.set(from, { weight: threshold, heads: (tallies.get(from)?.heads ?? 0n) - passedHeads });
      ranks.history.push(tallies);
      continue;
    }
    const group = ranks.lowest(standing, tallies);
    let out: PlainCandidate;
    if (standing.length === seats - ran.won.length + 1 && group.length > 1) {
      const decided = rules.seat(group, group.length - 1);
      ran.tied = group;
      ran.tie = decided.tie;
      round.tie = decided.tie;
      ran.undecided = decided.undecided;
      const loser = group.find((one) => !decided.won.includes(one));
      if (decided.undecided || loser === undefined) {
        elect(decided.undecided ? standing.filter((one) => !group.includes(one)) : standing);
        return end();
      }
      out = loser;
    } else out = ranks.pick(group, 'lowest', round);
    lastOut = out;
    round.eliminated = [out.id];
    ranks.history.push(tallies);
    standing = standing.filter((one) => one !== out);
    ranks.pass(out, standing, round);
  }
}
