import { largestAbove } from './exact.ts';
import { TALLY_DECIMALS } from './piles.ts';
import type { RankedCount, RankedOutcome } from './ranked-count.ts';
import type { SeatTie } from './ties.ts';

const WHOLE = 10n ** BigInt(TALLY_DECIMALS);

/**
 * Several seats: who reaches the Droop quota is elected, surpluses pass on by the weighted inclusive Gregory method, the
 * lowest is eliminated when there is no surplus; one transfer a round.
 */
export function runSingleTransferableVote(count: RankedCount): RankedOutcome {
  const valid = count.activeWeight();
  if (valid === 0n) {
    return { winners: [], tied: [], seatTie: null };
  }
  return new TransferableVote(count, droopQuota(valid, count.position.seats)).run();
}

/** The smallest whole weight that more candidates than seats cannot reach together. */
function droopQuota(valid: bigint, seats: number): bigint {
  return (valid / (BigInt(seats + 1) * WHOLE) + 1n) * WHOLE;
}

class TransferableVote {
  readonly #count: RankedCount;
  readonly #quota: bigint;
  readonly #winners: number[] = [];
  #seatTie: SeatTie | null = null;
  #tied: readonly number[] = [];

  constructor(count: RankedCount, quota: bigint) {
    this.#count = count;
    this.#quota = quota;
  }

  run(): RankedOutcome {
    // Every round elects, empties a surplus or eliminates, so there are at most two for each candidate.
    let ended = false;
    while (!ended) {
      ended = this.#round();
    }
    return { winners: this.#winners, tied: this.#tied, seatTie: this.#seatTie };
  }

  /** Runs one round; true when it was the last. */
  #round(): boolean {
    const count = this.#count;
    const continuing = count.continuing();
    count.log.open(
      [...continuing, ...this.#winners].sort((a, b) => a - b),
      this.#quota,
    );
    const elected = this.#elect(continuing.filter((candidate) => count.tally(candidate) >= this.#quota));
    const left = count.continuing();
    if (left.length <= this.#openSeats()) {
      elected.push(...this.#elect(left));
    }
    if (this.#openSeats() === 0 || count.continuing().length === 0) {
      count.log.close({ elected, eliminated: [], transfer: null, tie: null });
      return true;
    }
    if (this.#transferSurplus(elected)) {
      return false;
    }
    if (left.length === this.#openSeats() + 1 && count.lowest(left).length > 1) {
      return this.#decideLastSeat(left, elected);
    }
    count.eliminateLowest(left, elected);
    return false;
  }

  #openSeats(): number {
    return this.#count.position.seats - this.#winners.length;
  }

  /** Elects candidates, highest tally first, and returns them in that order. */
  #elect(candidates: readonly number[]): number[] {
    const elected = this.#count.ties.byFigure(candidates, (candidate) => this.#count.tally(candidate));
    for (const candidate of elected) {
      this.#count.piles.close(candidate);
      this.#winners.push(candidate);
    }
    return elected;
  }

  /** Transfers the largest surplus and closes the round; false when no elected candidate holds more than the quota. */
  #transferSurplus(elected: readonly number[]): boolean {
    const { piles, ties, log } = this.#count;
    const tally = largestAbove(
      this.#quota,
      this.#winners.map((candidate) => this.#count.tally(candidate)),
    );
    const surplus = tally - this.#quota;
    if (surplus === 0n) {
      return false;
    }
    const largest = this.#winners.filter((candidate) => this.#count.tally(candidate) === tally);
    const { picked: from, decision } = ties.forSurplus(largest, log.earlier);
    const passed = piles.passFraction(from, surplus, tally);
    const nobody = piles.weight.length;
    const moved = passed.weight.reduce((sum, weight) => sum + weight, 0n);
    passed.weight[nobody] = (passed.weight[nobody] ?? 0n) + surplus - moved;
    piles.weight[from] = this.#quota;
    piles.heads[from] = (piles.heads[from] ?? 0n) - passed.heads.reduce((sum, heads) => sum + heads, 0n);
    log.close({ elected, eliminated: [], transfer: { from, passed }, tie: largest.length > 1 ? decision : null });
    return true;
  }

  /** One more continues than seats are open, and the lowest share their tally: the seats' policy decides. */
  #decideLastSeat(left: readonly number[], elected: readonly number[]): boolean {
    const count = this.#count;
    const tied = count.lowest(left);
    const seatTie = count.ties.forSeat(tied, tied.length - 1);
    this.#seatTie = seatTie;
    this.#tied = tied;
    if (!seatTie.separated) {
      const all = [...elected, ...this.#elect(left)];
      count.log.close({ elected: all, eliminated: [], transfer: null, tie: seatTie.decision });
      return true;
    }
    const loser = tied.find((candidate) => !seatTie.winners.includes(candidate));
    if (loser !== undefined) {
      count.eliminate(loser, elected, seatTie.decision);
    }
    return false;
  }
}
