import type { BallotCandidate, BallotPosition } from './ballot-definition.ts';
import { decimalOf, fewest, figuresOfSums, marginOf, NO_FIGURES } from './further-figures.ts';
import { type Fields, fieldsOf, isFields } from './json.ts';
import { sha256 } from './primitives.ts';
import { runOff } from './run-off.ts';
import { transferVotes } from './transfer-votes.ts';

// A second implementation of the count, made from docs/counting.md for the verifier.

/** An entry of an opened ballot. */
export interface OpenedVote {
  readonly positionId: string;
  readonly candidateId: string;
  readonly value?: number;
  readonly rank?: number;
}

/** The recount of a position. Weights are in millionths. */
export interface Recount {
  readonly votesWon: ReadonlyMap<string, bigint>;
  /** With 11 decimals, which a transferable vote needs. */
  readonly weightWon: ReadonlyMap<string, bigint>;
  readonly winners: readonly string[];
  readonly tied: readonly string[];
  readonly totalVotes: bigint;
  readonly referendum: RecountedReferendum | null;
  /** Null for methods without rounds. */
  readonly rounds: readonly CountedRound[] | null;
  /** Runner-up, margin and other figures that decide nothing, in the form of the results. */
  readonly further: Fields;
}

export interface CountedRound {
  readonly elected: readonly string[];
  readonly eliminated: readonly string[];
  /** The tally of each candidate who still stands, with 11 decimals. */
  readonly tallies: ReadonlyMap<string, bigint>;
  /** The same in numbers of ballots, with 5 decimals. */
  readonly heads: ReadonlyMap<string, bigint>;
  readonly threshold: bigint;
  /** The weight that rounding down had lost before this round. */
  readonly lost: bigint;
  readonly transfers: readonly Fields[];
  readonly tie: Fields | null;
}

/** The result of a referendum. Weights are in millionths. */
export interface RecountedReferendum {
  readonly yes: bigint;
  readonly no: bigint;
  readonly abstain: bigint;
  /** In the form of the results, with the threshold first. */
  readonly rules: readonly Fields[];
  readonly outcome: string;
}

export interface RecountOptions {
  /** The lot's seed, in hex. */
  readonly seed: string;
  /** Root of the log before its `close` leaf, in hex. */
  readonly root: string;
  /** Whether every weight of the event is whole. Then figures are sums of weights. */
  readonly whole: boolean;
  /** Whether every weight of the event is 1. */
  readonly unit: boolean;
  /** Weight, in millionths, of the voters to whom the position is open. */
  readonly electorate: bigint | null;
  /** Weight, in millionths, of the ballots that could answer the position; by default of all ballots. */
  readonly turnout?: bigint;
}

export const MILLION = 1_000_000n;
/** The factor from millionths to 11 decimals. */
export const FINE = 100_000n;

/** Ballots with the same ranking. They count as one ballot with the sum of their weights. */
export interface Pile {
  readonly ranking: readonly string[];
  weight: bigint;
  heads: bigint;
}

/** Adds the ballots of one position. Memory grows with the candidates, and in ranked choice with the number of different rankings. */
export class PositionTally {
  readonly position: BallotPosition;
  answered = 0n;
  answeredWeight = 0n;
  ballots = 0n;
  ballotsWeight = 0n;
  /** By candidate: the number of ballots that name the candidate. */
  readonly named = new Map<string, bigint>();
  readonly namedWeight = new Map<string, bigint>();
  readonly heads = new Map<string, bigint>();
  readonly weights = new Map<string, bigint>();
  readonly piles = new Map<string, Pile>();

  constructor(position: BallotPosition) {
    this.position = position;
  }

  /** @param times 1 to add, -1 to take a void ballot out */
  add(votes: readonly OpenedVote[], weight: bigint, times: bigint): void {
    this.ballots += times;
    this.ballotsWeight += times * weight;
    if (votes.length === 0) return;
    this.answered += times;
    this.answeredWeight += times * weight;
    if (this.position.method === 'ranked_choice') this.#addRanking(votes, weight, times);
    else this.#addMarks(votes, weight, times);
  }

  #addMarks(votes: readonly OpenedVote[], weight: bigint, times: bigint): void {
    for (const { candidateId, value } of votes) {
      const points = BigInt(value ?? 1) * times;
      this.named.set(candidateId, (this.named.get(candidateId) ?? 0n) + times);
      this.namedWeight.set(candidateId, (this.namedWeight.get(candidateId) ?? 0n) + times * weight);
      this.heads.set(candidateId, (this.heads.get(candidateId) ?? 0n) + points);
      this.weights.set(candidateId, (this.weights.get(candidateId) ?? 0n) + points * weight);
    }
  }

  #addRanking(votes: readonly OpenedVote[], weight: bigint, times: bigint): void {
    const ranking = votes.toSorted((a, b) => (a.rank ?? 0) - (b.rank ?? 0)).map(({ candidateId }) => candidateId);
    const key = ranking.join(' ');
    const pile = this.piles.get(key) ?? { ranking, weight: 0n, heads: 0n };
    pile.weight += weight * times;
    pile.heads += times;
    if (pile.heads === 0n) this.piles.delete(key);
    else this.piles.set(key, pile);
  }
}

export type Lot = Pick<RecountOptions, 'seed' | 'root'>;

/** Sorts candidates in the order of the lot, the winner first. */
function byLot(ids: readonly string[], { seed, root }: Lot): string[] {
  const bytes = Buffer.from(seed + root, 'hex');
  const lot = (id: string): string => sha256(bytes, id).toString('hex');
  return ids.toSorted((a, b) => (lot(a) < lot(b) ? -1 : 1));
}

export const inOrderOf = (position: BallotPosition, ids: readonly string[]): string[] =>
  position.candidates.map(({ id }) => id).filter((id) => ids.includes(id));

/** The order in which ties for a seat are decided: that of the lot, or of the candidates. */
export function tieOrder(position: BallotPosition, ids: readonly string[], lot: Lot): string[] {
  const inOrder = inOrderOf(position, ids);
  return position.tieBreak === 'lot' ? byLot(inOrder, lot) : inOrder;
}

/** The order for ties of eliminations and surpluses, which cannot be shared: for a `joint` position, that of the lot. */
export function pickOrder(position: BallotPosition, ids: readonly string[], lot: Lot): string[] {
  const inOrder = inOrderOf(position, ids);
  return position.tieBreak === 'candidate_order' ? inOrder : byLot(inOrder, lot);
}

export function recount(tally: PositionTally, options: RecountOptions): Recount {
  const { position } = tally;
  if (position.method === 'ranked_choice')
    return position.seats === 1 ? runOff(tally, options) : transferVotes(tally, options);
  const votesWon = new Map(
    position.candidates.map(({ id }) => [id, options.whole ? weightOf(tally, id) / MILLION : headsOf(tally, id)]),
  );
  const shared = {
    votesWon,
    weightWon: new Map(position.candidates.map(({ id }) => [id, weightOf(tally, id) * FINE])),
    totalVotes: [...votesWon.values()].reduce((sum, votes) => sum + votes, 0n),
    rounds: null,
  };
  if (position.method === 'referendum') return { ...shared, ...decideReferendum(tally, options), tied: [] };
  const seats = fillSeats(tally, options);
  const further = figuresOfSums(tally, seats, (id) => weightOf(tally, id), options);
  return { ...shared, ...seats, further, referendum: null };
}

/** The stored sums are of the given marks. Add the mark that each answering ballot gives to candidates whom it does not name. */
const weightOf = (tally: PositionTally, id: string): bigint =>
  (tally.weights.get(id) ?? 0n) +
  BigInt(tally.position.leftOut) * (tally.answeredWeight - (tally.namedWeight.get(id) ?? 0n));
const headsOf = (tally: PositionTally, id: string): bigint =>
  (tally.heads.get(id) ?? 0n) + BigInt(tally.position.leftOut) * (tally.answered - (tally.named.get(id) ?? 0n));

function fillSeats(tally: PositionTally, lot: Lot): { winners: string[]; tied: string[] } {
  const { position } = tally;
  const figure = (id: string): bigint => weightOf(tally, id);
  const { majority } = position;
  const enough = (id: string): boolean =>
    majority === null || reaches(figure(id), tally.answeredWeight, { ...majority, inclusive: false });
  const electable = position.candidates
    .filter(({ id, withdrawn }) => !withdrawn && (position.method === 'score' || figure(id) > 0n) && enough(id))
    .map(({ id }) => id);
  const ranked = tally.answered === 0n ? [] : highestFirst(electable, figure);
  const [last, next] = [ranked[position.seats - 1], ranked[position.seats]];
  if (last === undefined || next === undefined || figure(last) !== figure(next))
    return { winners: ranked.slice(0, position.seats), tied: [] };
  const above = ranked.filter((id) => figure(id) > figure(last));
  const tied = ranked.filter((id) => figure(id) === figure(last));
  const open = position.tieBreak === 'joint' ? tied.length : position.seats - above.length;
  return { winners: [...above, ...tieOrder(position, tied, lot).slice(0, open)], tied };
}

/** A stable sort: equal candidates keep their order. */
export function highestFirst(ids: readonly string[], figure: (id: string) => bigint): string[] {
  return ids.toSorted((a, b) => (figure(a) > figure(b) ? -1 : figure(a) < figure(b) ? 1 : 0));
}

function reaches(part: bigint, whole: bigint, rule: Fields): boolean {
  const [left, right] = [part * BigInt(Number(rule['denominator'])), whole * BigInt(Number(rule['numerator']))];
  return whole > 0n && (left > right || (rule['inclusive'] === true && left === right));
}

function decideReferendum(
  tally: PositionTally,
  { electorate, unit, turnout = tally.ballotsWeight }: RecountOptions,
): { winners: string[]; referendum: RecountedReferendum; further: Fields } {
  const { candidates, rules } = tally.position;
  const inRole = (role: string): BallotCandidate[] => candidates.filter((candidate) => candidate.role === role);
  const sum = (role: string): bigint => inRole(role).reduce((all, { id }) => all + (tally.weights.get(id) ?? 0n), 0n);
  const [yes, no, abstain] = [sum('yes'), sum('no'), sum('abstain')];
  const { base } = fieldsOf(rules['threshold']);
  const rule = (name: string, shown: string, part: bigint, whole: bigint): Fields[] => {
    const { numerator, denominator } = fieldsOf(rules[name]);
    const [required, actual] = [`${numerator}/${denominator}`, `${decimalOf(part, 6)}/${decimalOf(whole, 6)}`];
    return isFields(rules[name]) ? [{ name: shown, required, actual, met: reaches(part, whole, rules[name]) }] : [];
  };
  const decide = (ayes: bigint, noes: bigint, others: bigint) => {
    const voters = electorate ?? 0n;
    const of = base === 'electorate' ? voters : base === 'answers' ? ayes + noes + others : ayes + noes;
    const [passed] = rule('threshold', 'threshold', ayes, of);
    const quorums = [
      ...rule('turnoutQuorum', 'turnout_quorum', turnout, voters),
      ...rule('approvalQuorum', 'approval_quorum', ayes, voters),
    ];
    const isQuorate = quorums.every(({ met }) => met === true);
    const outcome = isQuorate ? (passed?.['met'] === true ? 'passed' : 'rejected') : 'no_quorum';
    return { rules: [...(passed === undefined ? [] : [passed]), ...quorums], outcome };
  };
  const decided = decide(yes, no, abstain);
  const { outcome } = decided;
  const role = outcome === 'passed' ? 'yes' : 'no';
  const won = outcome !== 'no_quorum' && tally.answered > 0n ? inRole(role).filter(({ withdrawn }) => !withdrawn) : [];
  const least = (a: bigint, b: bigint): bigint => (a < b ? a : b);
  const changes = [
    ...fewest(yes, unit, (some) => decide(yes - some, no + some, abstain).outcome !== outcome),
    ...fewest(no + abstain, unit, (some) => {
      const fromNo = least(some, no);
      return decide(yes + some, no - fromNo, abstain - some + fromNo).outcome !== outcome;
    }),
  ];
  const margin = tally.answered === 0n ? null : marginOf(changes, unit, true);
  return {
    winners: won.map(({ id }) => id),
    referendum: { yes, no, abstain, ...decided },
    further: { ...NO_FIGURES, margin },
  };
}
