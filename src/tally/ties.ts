import { createHash } from 'node:crypto';
import { requireThat } from './count-refused.ts';
import type { TallyPosition, TieDecision } from './types.ts';

/** How the tied for a seat fare: who of them wins, in the order in which seats are given. */
export interface SeatTie {
  readonly winners: readonly number[];
  readonly decision: TieDecision;
  /** False where nobody of the tied loses: `joint`, and a lot that is not drawn yet. */
  readonly separated: boolean;
}

/** Which one of the tied is picked, where no seat depends on it. */
export interface Pick {
  readonly picked: number;
  readonly decision: TieDecision;
}

/** The ties of one position. Candidates are indexes into `position.candidates`. */
export class Ties {
  readonly #position: TallyPosition;
  readonly #seed: string | null;
  /** Place in the candidate order, by candidate. */
  readonly #place: readonly number[];

  /** @param seed hex of the lot's seed, or null while it is not revealed. */
  constructor(position: TallyPosition, seed: string | null) {
    requireThat(seed === null || /^(?:[0-9a-f]{2})+$/i.test(seed), 'the seed of the lot is not hexadecimal');
    this.#position = position;
    this.#seed = seed;
    this.#place = placesInOrder(position);
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
    if (policy === 'joint' || (policy === 'lot' && this.#seed === null)) {
      return { winners: this.inCandidateOrder(tied), decision: this.#decision(tied, policy), separated: false };
    }
    return {
      winners: this.#luckiestFirst(tied).slice(0, openSeats),
      decision: this.#decision(tied, policy),
      separated: true,
    };
  }

  /**
   * Picks the one who goes out among those who share the lowest figure.
   * @param earlier figures of the rounds before, by candidate, oldest first.
   */
  forElimination(tied: readonly number[], earlier: readonly (readonly bigint[])[]): Pick {
    return this.#pick(tied, earlier, 'lowest');
  }

  /** Picks the one whose equal surplus is transferred first; `earlier` as for an elimination. */
  forSurplus(tied: readonly number[], earlier: readonly (readonly bigint[])[]): Pick {
    return this.#pick(tied, earlier, 'highest');
  }

  #pick(tied: readonly number[], earlier: readonly (readonly bigint[])[], end: 'lowest' | 'highest'): Pick {
    const sign = end === 'lowest' ? 1 : -1;
    let left = [...tied];
    for (let round = earlier.length - 1; round >= 0 && left.length > 1; round -= 1) {
      const figures = earlier[round] ?? [];
      const outermost = left.reduce((a, b) => (sign * compare(figures[b] ?? 0n, figures[a] ?? 0n) < 0 ? b : a));
      left = left.filter((candidate) => figures[candidate] === figures[outermost]);
    }
    const ordered = this.#luckiestFirst(left);
    const picked = end === 'lowest' ? ordered.at(-1) : ordered[0];
    requireThat(picked !== undefined, 'a tie has nobody in it');
    const policy = left.length === 1 ? 'earlier_round' : this.#drawsLots() ? 'lot' : 'candidate_order';
    return { picked, decision: this.#decision(tied, policy) };
  }

  #drawsLots(): boolean {
    return this.#position.tieBreak === 'lot' && this.#seed !== null;
  }

  /** Lot order where the lot is drawn, candidate order otherwise: an elimination cannot be shared. */
  #luckiestFirst(tied: readonly number[]): number[] {
    const seed = this.#seed;
    if (this.#position.tieBreak !== 'lot' || seed === null) {
      return this.inCandidateOrder(tied);
    }
    const lot = new Map(tied.map((candidate) => [candidate, lotNumber(seed, this.#idOf(candidate))]));
    return [...tied].sort((a, b) => compare(lot.get(a) ?? '', lot.get(b) ?? ''));
  }

  #decision(tied: readonly number[], policy: TieDecision['policy']): TieDecision {
    return {
      candidateIds: this.inCandidateOrder(tied).map((candidate) => this.#idOf(candidate)),
      policy,
      seed: policy === 'lot' ? this.#seed : null,
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

/** Hex of SHA-256(seed ‖ candidate id): the smaller, the luckier. */
function lotNumber(seed: string, candidateId: string): string {
  return createHash('sha256').update(seed, 'hex').update(candidateId, 'utf8').digest('hex');
}

function placesInOrder(position: TallyPosition): number[] {
  const sorted = position.candidates
    .map((candidate, index) => ({ index, id: candidate.id, sortOrder: candidate.sortOrder }))
    .sort((a, b) => a.sortOrder - b.sortOrder || compare(a.id, b.id));
  const places = new Array<number>(sorted.length).fill(0);
  for (const [place, { index }] of sorted.entries()) {
    places[index] = place;
  }
  return places;
}

function compare<T extends bigint | string>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
