import { TALLY_DECIMALS } from './piles.ts';
import type { RankedCount, RankedOutcome } from './ranked-count.ts';
import type { SeatTie } from './ties.ts';

const WHOLE = 10n ** BigInt(TALLY_DECIMALS);

/**
 * Several seats: a candidate who reaches the quota is elected. Each round makes one transfer: of the largest surplus, by the weighted
 * inclusive Gregory method, or, without a surplus, of the ballots of the eliminated candidate with the lowest tally.
 */
export function runSingleTransferableVote(count: RankedCount): RankedOutcome {
  const valid = count.activeWeight();
  if (valid === 0n) return { winners: [], tied: [], seatTie: null, runnerUp: null, finalTwo: null };
  return new TransferableVote(count, quotaOf(valid, count.position.seats, count.unitWeights)).run();
}

/**
 * The Droop quota if every weight is 1. Otherwise valid / (seats + 1), to be exceeded, so that the unit of weights does not matter.
 * @returns an exact fraction of tally units; `inclusive` if reaching it suffices
 */
function quotaOf(valid: bigint, seats: number, unitWeights: boolean) {
  const denominator = BigInt(seats + 1);
  if (!unitWeights) return { numerator: valid, denominator, inclusive: false };
  return { numerator: (valid / (denominator * WHOLE) + 1n) * WHOLE, denominator: 1n, inclusive: true };
}

class TransferableVote {
  readonly #count: RankedCount;
  readonly #quota: ReturnType<typeof quotaOf>;
  /** The quota, rounded down to the decimals of a tally. A candidate keeps this tally after the transfer of the surplus. */
  readonly #kept: bigint;
  readonly #winners: number[] = [];
  #seatTie: SeatTie | null = null;
  #tied: readonly number[] = [];
  /** Weight lost so far, because transfers round down. */
  #lost = 0n;
  #lastEliminated: number | undefined;

  constructor(count: RankedCount, quota: ReturnType<typeof quotaOf>) {
    this.#count = count;
    this.#quota = quota;
    this.#kept = quota.numerator / quota.denominator;
  }

  run(): RankedOutcome {
    // Ends after at most two rounds per candidate: every round elects, transfers a surplus or eliminates.
    let ended = false;
    while (!ended) ended = this.#round();
    return {
      winners: this.#winners,
      tied: this.#tied,
      seatTie: this.#seatTie,
      runnerUp: this.#runnerUp(),
      finalTwo: null,
    };
  }

  /** Runs one round; true when it was the last. */
  #round(): boolean {
    const count = this.#count;
    const continuing = count.continuing();
    count.log.open(
      [...continuing, ...this.#winners].sort((a, b) => a - b),
      this.#kept,
      this.#lost,
    );
    const elected = this.#elect(continuing.filter((candidate) => this.#hasQuota(candidate)));
    const left = count.continuing();
    if (left.length <= this.#openSeats()) elected.push(...this.#elect(left));
    if (this.#openSeats() === 0 || count.continuing().length === 0) {
      count.log.close({ elected, eliminated: [], transfer: null, tie: null });
      return true;
    }
    if (this.#transferSurplus(elected)) return false;
    if (left.length === this.#openSeats() + 1 && count.lowest(left).length > 1)
      return this.#decideLastSeat(left, elected);
    count.eliminateLowest(left, elected, this.#openSeats() + 1);
    this.#lastEliminated = left.find((candidate) => !count.piles.continues(candidate));
    return false;
  }

  #openSeats(): number {
    return this.#count.position.seats - this.#winners.length;
  }

  /** The tally minus the quota, times the quota's denominator. */
  #scaledSurplus(candidate: number): bigint {
    return this.#count.tally(candidate) * this.#quota.denominator - this.#quota.numerator;
  }

  #hasQuota(candidate: number): boolean {
    const surplus = this.#scaledSurplus(candidate);
    return surplus > 0n || (this.#quota.inclusive && surplus === 0n);
  }

  /** Elects candidates, highest tally first, and returns them in that order. */
  #elect(candidates: readonly number[]): number[] {
    const elected = this.#count.ties.byFigure(candidates, (candidate) => this.#count.tally(candidate));
    for (const candidate of elected) {
      this.#count.stop(candidate);
      this.#winners.push(candidate);
    }
    return elected;
  }

  /** Transfers the largest surplus and closes the round; false when no elected candidate holds more than the quota. */
  #transferSurplus(elected: readonly number[]): boolean {
    const { piles, ties, log } = this.#count;
    const surpluses = this.#winners.map((candidate) => this.#scaledSurplus(candidate));
    const surplus = surpluses.reduce((most, one) => (one > most ? one : most), 0n);
    if (surplus === 0n) return false;
    const largest = this.#winners.filter((candidate) => this.#scaledSurplus(candidate) === surplus);
    const { picked: from, decision, provisional } = ties.forSurplus(largest, log.earlier);
    const tally = this.#count.tally(from);
    const passed = piles.passFraction(from, surplus, tally * this.#quota.denominator);
    const moved = passed.reduce((sum, { weight }) => sum + weight, 0n);
    this.#lost += tally - this.#kept - moved;
    piles.weight[from] = this.#kept;
    piles.heads[from] = (piles.heads[from] ?? 0n) - passed.reduce((sum, { heads }) => sum + heads, 0n);
    const tie = largest.length > 1 ? decision : null;
    log.close({ elected, eliminated: [], transfer: { from, passed }, tie, provisional });
    return true;
  }

  /** Decides a tie of the lowest for the last seats by the position's policy, when one candidate more than open seats continues. */
  #decideLastSeat(left: readonly number[], elected: readonly number[]): boolean {
    const count = this.#count;
    const tied = count.lowest(left);
    const seatTie = count.ties.forSeat(tied, tied.length - 1);
    this.#seatTie = seatTie;
    this.#tied = tied;
    if (!seatTie.separated) {
      const seated = seatTie.undecided ? left.filter((candidate) => !tied.includes(candidate)) : left;
      const all = [...elected, ...this.#elect(seated)];
      count.log.close({ elected: all, eliminated: [], transfer: null, tie: () => seatTie.decision });
      return true;
    }
    const loser = tied.find((candidate) => !seatTie.winners.includes(candidate));
    if (loser !== undefined) {
      count.eliminate(loser, elected, () => seatTie.decision);
      this.#lastEliminated = loser;
    }
    return false;
  }

  /** The continuing candidate with the highest tally; if none continues, the last eliminated one. */
  #runnerUp(): number | null {
    if (this.#seatTie?.undecided === true) return null;
    const { ties, log } = this.#count;
    const continuing = this.#count.continuing();
    const [best] = ties.byFigure(continuing, (candidate) => log.lastWeight(candidate));
    const runnerUp = best ?? this.#lastEliminated;
    return runnerUp !== undefined && log.lastWeight(runnerUp) > 0n ? runnerUp : null;
  }
}
