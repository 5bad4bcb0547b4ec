import { createHash } from 'node:crypto';
import type { EarlierRounds } from './earlier-rounds.ts';
import { compare, requireThat } from './exact.ts';
import type { TieDecision } from './position-result.ts';
import type { Lot, TallyPosition } from './types.ts';

/** Outcome of a tie for seats. `winners` are the tied candidates who win, in the order of their seats. */
export interface SeatTie {
  readonly winners: readonly number[];
  readonly decision: TieDecision;
  /** Whether some of the tied candidates win and others lose. False for `joint` (all win), and until the lot is drawn. */
  readonly separated: boolean;
  /** Whether a lot must decide that is not drawn yet. Then no tied candidate has won or lost. */
  readonly undecided: boolean;
}

/** The candidate who was picked from a tie that is not about a seat. */
interface Pick {
  readonly picked: number;
  /** A function, because only recorded rounds need the decision. In each of a thousand rounds hundreds may tie, which makes long lists. */
  readonly decision: () => TieDecision;
  /** Whether a lot must decide that is not drawn yet. The candidate order was used instead, so the pick may change. */
  readonly provisional: boolean;
}

const HEX_BYTES = /^(?:[0-9a-f]{2})+$/i;

/** The ties of one position. Candidates are indexes into `position.candidates`. */
export class Ties {
  readonly #position: TallyPosition;
  readonly #lot: Lot | null;
  /** By candidate: the place in the candidate order. */
  readonly #place: readonly number[];
  /** By candidate: the place in the order of the lot. Computed when a tie first needs it. */
  #lotPlace: readonly number[] | undefined;

  /** @param lot null while the result is not final */
  constructor(position: TallyPosition, lot: Lot | null) {
    requireThat(
      lot === null || (HEX_BYTES.test(lot.seed) && HEX_BYTES.test(lot.root)),
      'the lot is not drawn from hexadecimal bytes',
    );
    this.#position = position;
    this.#lot = lot;
    const orders = position.candidates.map(({ sortOrder }) => sortOrder);
    const ids = position.candidates.map(({ id }) => id);
    this.#place = placesBy(
      ids.length,
      (a, b) => compare(orders[a] ?? 0, orders[b] ?? 0) || compare(ids[a] ?? '', ids[b] ?? ''),
    );
  }

  /** Sorts by `sortOrder`, then by ID. */
  inCandidateOrder(candidates: Iterable<number>): number[] {
    return [...candidates].sort((a, b) => (this.#place[a] ?? 0) - (this.#place[b] ?? 0));
  }

  /** Sorts by figure, highest first; equal figures are in candidate order. */
  byFigure(candidates: Iterable<number>, figure: (candidate: number) => bigint): number[] {
    return this.inCandidateOrder(candidates).sort((a, b) => compare(figure(b), figure(a)));
  }

  /** Decides by the position's policy which of the tied candidates win. There must be fewer open seats than tied candidates. */
  forSeat(tied: readonly number[], openSeats: number): SeatTie {
    requireThat(openSeats > 0 && openSeats < tied.length, 'a tie for a seat needs more candidates than seats');
    const policy = this.#position.tieBreak;
    const decision = this.#decision(tied, policy);
    if (policy === 'joint')
      return { winners: this.inCandidateOrder(tied), decision, separated: false, undecided: false };
    if (policy === 'lot' && this.#lot === null) return { winners: [], decision, separated: false, undecided: true };
    const order = policy === 'lot' ? this.#luckiestFirst(tied) : this.inCandidateOrder(tied);
    return { winners: order.slice(0, openSeats), decision, separated: true, undecided: false };
  }

  /** Picks the candidate to eliminate from the candidates who share the lowest tally. */
  forElimination(tied: readonly number[], earlier: EarlierRounds): Pick {
    return this.#pick(tied, earlier.best(tied, -1), -1);
  }

  /** Sorts candidates whose tallies were equal in every round. The first in the list is eliminated first. */
  outFirst(tied: readonly number[]): number[] {
    const byLot = this.#position.tieBreak !== 'candidate_order' && this.#lot !== null;
    return (byLot ? this.#luckiestFirst(tied) : this.inCandidateOrder(tied)).toReversed();
  }

  /** Picks the candidate whose surplus is transferred first, from the candidates who share the largest surplus. */
  forSurplus(tied: readonly number[], earlier: EarlierRounds): Pick {
    return this.#pick(tied, earlier.best(tied, 1), 0);
  }

  /** Picks from the candidates whom earlier rounds leave tied (`left`): the first (`at` 0) or last (-1) by lot or candidate order. */
  #pick(tied: readonly number[], left: readonly number[], at: 0 | -1): Pick {
    const byLot = left.length > 1 && this.#position.tieBreak !== 'candidate_order';
    const drawn = byLot && this.#lot !== null;
    const place = drawn ? this.#lotPlaces() : this.#place;
    const isBefore = (one: number, other: number): boolean => (place[one] ?? 0) < (place[other] ?? 0) === (at === 0);
    const [first, ...others] = left;
    requireThat(first !== undefined, 'a tie has nobody in it');
    const picked = others.reduce((best, one) => (isBefore(one, best) ? one : best), first);
    const policy = left.length === 1 ? 'earlier_round' : drawn ? 'lot' : 'candidate_order';
    return { picked, decision: () => this.#decision(tied, policy), provisional: byLot && !drawn };
  }

  #lotPlaces(): readonly number[] {
    requireThat(this.#lot !== null, 'a lot is asked for before it is drawn');
    this.#lotPlace ??= lotPlaces(this.#position, this.#lot);
    return this.#lotPlace;
  }

  #luckiestFirst(tied: readonly number[]): number[] {
    const place = this.#lotPlaces();
    return [...tied].sort((a, b) => (place[a] ?? 0) - (place[b] ?? 0));
  }

  #decision(tied: readonly number[], policy: TieDecision['policy']): TieDecision {
    return {
      candidateIds: this.inCandidateOrder(tied).map((candidate) => this.#idOf(candidate)),
      policy,
      seed: policy === 'lot' ? (this.#lot?.seed ?? null) : null,
    };
  }

  #idOf(candidate: number): string {
    const found = this.#position.candidates[candidate];
    requireThat(found !== undefined, 'a candidate does not stand in the position');
    return found.id;
  }
}

/** The place of each candidate by ascending lot number. */
function lotPlaces(position: TallyPosition, lot: Lot): number[] {
  const numbers = position.candidates.map(({ id }) => lotNumber(lot, id));
  return placesBy(numbers.length, (a, b) => compare(numbers[a] ?? '', numbers[b] ?? ''));
}

/** A candidate's lot number: hex of SHA-256(seed ‖ log root ‖ candidate id). The smallest number wins. */
function lotNumber({ seed, root }: Lot, candidateId: string): string {
  const hash = createHash('sha256').update(seed, 'hex').update(root, 'hex');
  return hash.update(candidateId, 'utf8').digest('hex');
}

/** Sorts all candidates. @returns by candidate: the place in the sorted order */
function placesBy(candidates: number, compareTwo: (a: number, b: number) => number): number[] {
  const sorted = Array.from({ length: candidates }, (_, candidate) => candidate).sort(compareTwo);
  const places = new Array<number>(candidates).fill(0);
  for (const [place, candidate] of sorted.entries()) places[candidate] = place;
  return places;
}
