import { TALLY_DECIMALS } from './piles.ts';
import type { RankedCount, RankedOutcome } from './ranked-count.ts';
import type { SeatTie } from './ties.ts';

const WHOLE = 10n ** BigInt(TALLY_DECIMALS);

/**
 * Several seats: a candidate who reaches the quota is elected. Each round makes one transfer. It transfers the largest surplus, by the
 * weighted inclusive Gregory method; without a surplus, it transfers the ballots of the candidate with the lowest tally, who is eliminated.
 */
export function runSingleTransferableVote(count: RankedCount): RankedOutcome {
  const valid = count.activeWeight();
  if (valid === 0n) return { winners: [], tied: [], seatTie: null, runnerUp: null, finalTwo: null };
  return transfer(count, quotaOf(valid, count.position.seats, count.unitWeights));
}

/**
 * The Droop quota if every weight is 1. Otherwise valid / (seats + 1), which must be exceeded, so that the unit of weights does not matter.
 * @returns an exact fraction of tally units; `inclusive` if reaching it suffices
 */
function quotaOf(valid: bigint, seats: number, unitWeights: boolean) {
  const denominator = BigInt(seats + 1);
  if (!unitWeights) return { numerator: valid, denominator, inclusive: false };
  return { numerator: (valid / (denominator * WHOLE) + 1n) * WHOLE, denominator: 1n, inclusive: true };
}

function transfer(count: RankedCount, quota: ReturnType<typeof quotaOf>): RankedOutcome {
  const { piles, ties, log, position } = count;
  /** The quota, rounded down to the decimals of a tally. An elected candidate keeps this tally when the surplus is transferred. */
  const kept = quota.numerator / quota.denominator;
  const winners: number[] = [];
  let seatTie = null as SeatTie | null;
  let tied: readonly number[] = [];
  /** Weight lost so far, because transfers round down. */
  let lost = 0n;
  let lastEliminated: number | undefined;

  const openSeats = (): number => position.seats - winners.length;

  /** The tally minus the quota, times the quota's denominator. */
  const scaledSurplus = (candidate: number): bigint => count.tally(candidate) * quota.denominator - quota.numerator;

  function hasQuota(candidate: number): boolean {
    const surplus = scaledSurplus(candidate);
    return surplus > 0n || (quota.inclusive && surplus === 0n);
  }

  /** Elects candidates, highest tally first, and returns them in that order. */
  function elect(candidates: readonly number[]): number[] {
    const elected = ties.byFigure(candidates, (candidate) => count.tally(candidate));
    for (const candidate of elected) {
      count.stop(candidate);
      winners.push(candidate);
    }
    return elected;
  }

  /** Transfers the largest surplus and closes the round. Returns false if no elected candidate has more than the quota. */
  function transferSurplus(elected: readonly number[]): boolean {
    const surplus = winners.map(scaledSurplus).reduce((most, one) => (one > most ? one : most), 0n);
    if (surplus === 0n) return false;
    const largest = winners.filter((candidate) => scaledSurplus(candidate) === surplus);
    const { picked: from, decision, provisional } = ties.forSurplus(largest, log.earlier);
    const tally = count.tally(from);
    const passed = piles.passFraction(from, surplus, tally * quota.denominator);
    const moved = passed.reduce((sum, { weight }) => sum + weight, 0n);
    lost += tally - kept - moved;
    piles.weight[from] = kept;
    piles.heads[from] = (piles.heads[from] ?? 0n) - passed.reduce((sum, { heads }) => sum + heads, 0n);
    const tie = largest.length > 1 ? decision : null;
    log.close({ elected, eliminated: [], transfer: { from, passed }, tie, provisional });
    return true;
  }

  /** Decides a tie of the lowest for the last seats by the position's policy, if one candidate more continues than seats are open. */
  function decideLastSeat(left: readonly number[], elected: readonly number[]): boolean {
    const lowest = count.lowest(left);
    const decided = ties.forSeat(lowest, lowest.length - 1);
    seatTie = decided;
    tied = lowest;
    if (!decided.separated) {
      const seated = decided.undecided ? left.filter((candidate) => !lowest.includes(candidate)) : left;
      log.close({
        elected: [...elected, ...elect(seated)],
        eliminated: [],
        transfer: null,
        tie: () => decided.decision,
      });
      return true;
    }
    const loser = lowest.find((candidate) => !decided.winners.includes(candidate));
    if (loser !== undefined) {
      count.eliminate(loser, elected, () => decided.decision);
      lastEliminated = loser;
    }
    return false;
  }

  /** Runs one round. Returns true if it was the last. */
  function runRound(): boolean {
    const continuing = count.continuing();
    log.open(
      [...continuing, ...winners].sort((a, b) => a - b),
      kept,
      lost,
    );
    const elected = elect(continuing.filter(hasQuota));
    const left = count.continuing();
    if (left.length <= openSeats()) elected.push(...elect(left));
    if (openSeats() === 0 || count.continuing().length === 0) {
      log.close({ elected, eliminated: [], transfer: null, tie: null });
      return true;
    }
    if (transferSurplus(elected)) return false;
    if (left.length === openSeats() + 1 && count.lowest(left).length > 1) return decideLastSeat(left, elected);
    count.eliminateLowest(left, elected, openSeats() + 1);
    lastEliminated = left.find((candidate) => !piles.continues(candidate));
    return false;
  }

  /** The continuing candidate with the highest tally; if none continues, the last eliminated one. */
  function findRunnerUp(): number | null {
    if (seatTie?.undecided === true) return null;
    const [best] = ties.byFigure(count.continuing(), (candidate) => log.lastWeight(candidate));
    const runnerUp = best ?? lastEliminated;
    return runnerUp !== undefined && log.lastWeight(runnerUp) > 0n ? runnerUp : null;
  }

  // The loop ends after at most two rounds for each candidate: every round elects, transfers a surplus or eliminates.
  let ended = false;
  while (!ended) ended = runRound();
  return { winners, tied, seatTie, runnerUp: findRunnerUp(), finalTwo: null };
}
