import { createHash } from 'node:crypto';
import { requireThat } from './count-refused.ts';
import type { EarlierRounds } from './earlier-rounds.ts';
import type { TieDecision } from './position-result.ts';
import type { Lot, TallyPosition } from './types.ts';

/** How the tied for a seat fare: who of them wins, in the order in which seats are given. */
export interface SeatTie {
  readonly winners: readonly number[];
  readonly decision: TieDecision;
  /** Some of the tied win and some lose; false for `joint`, where no one loses, and for a lot that is not drawn yet. */
  readonly separated: boolean;
  /** A lot that is not drawn yet: none of the tied has won or lost. */
  readonly undecided: boolean;
}

/** Which one of the tied is picked, where no seat depends on it. */
interface Pick {
  readonly picked: number;
  /** Made when a round is written down: hundreds may tie without a vote in each of a thousand rounds. */
  readonly decision: () => TieDecision;
  /** The lot is to decide and is not drawn yet. */
  readonly provisional: boolean;
}

const HEX_BYTES = /^(?:[0-9a-f]{2})+$/i;

/** The ties of one position. Candidates are indexes into `position.candidates`. */
export class Ties {
  readonly #position: TallyPosition;
  readonly #lot: Lot | null;
  /** Place in the candidate order, by candidate. */
  readonly #place: readonly number[];
  /** Place in the order of the lot, by candidate, once a tie has needed it. */
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

  /** Sorts by `sortOrder`, then id. */
  inCandidateOrder(candidates: Iterable<number>): number[] {
    return [...candidates].sort((a, b) => this.#placeOf(a) - this.#placeOf(b));
  }

  /** Sorts by figure, highest first; equal ones in candidate order. */
  byFigure(candidates: Iterable<number>, figure: (candidate: number) => bigint): number[] {
    return this.inCandidateOrder(candidates).sort((a, b) => compare(figure(b), figure(a)));
  }

  /** Decides, by the position's policy, who of the tied takes the open seats (fewer than the tied). */
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

  /** Picks the one who goes out among those who share the lowest tally. */
  forElimination(tied: readonly number[], earlier: EarlierRounds): Pick {
    return this.#pick(tied, earlier.best(tied, -1), -1);
  }

  /** Candidates who were level in every round, in the order in which they go out. */
  outFirst(tied: readonly number[]): number[] {
    const byLot = this.#position.tieBreak !== 'candidate_order' && this.#lot !== null;
    return (byLot ? this.#luckiestFirst(tied) : this.inCandidateOrder(tied)).toReversed();
  }

  /** Picks the one whose surplus is transferred first among those who share the largest. */
  forSurplus(tied: readonly number[], earlier: EarlierRounds): Pick {
    return this.#pick(tied, earlier.best(tied, 1), 0);
  }

  /** Picks among those whom the earlier rounds left: the luckiest (`at` 0) or the unluckiest (-1), if they are several. */
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

  #placeOf(candidate: number): number {
    return this.#place[candidate] ?? 0;
  }
}

/** Ascending by lot number. */
function lotPlaces(position: TallyPosition, lot: Lot): number[] {
  const numbers = position.candidates.map(({ id }) => lotNumber(lot, id));
  return placesBy(numbers.length, (a, b) => compare(numbers[a] ?? '', numbers[b] ?? ''));
}

/** Hex of SHA-256(seed ‖ log root ‖ candidate id): the smaller, the luckier. */
function lotNumber({ seed, root }: Lot, candidateId: string): string {
  const hash = createHash('sha256').update(seed, 'hex').update(root, 'hex');
  return hash.update(candidateId, 'utf8').digest('hex');
}

/** The place of each candidate when all are sorted. */
function placesBy(candidates: number, compareTwo: (a: number, b: number) => number): number[] {
  const sorted = Array.from({ length: candidates }, (_, candidate) => candidate).sort(compareTwo);
  const places = new Array<number>(candidates).fill(0);
  for (const [place, candidate] of sorted.entries()) places[candidate] = place;
  return places;
}

const compare = <T extends bigint | number | string>(a: T, b: T): number => (a < b ? -1 : a > b ? 1 : 0);
