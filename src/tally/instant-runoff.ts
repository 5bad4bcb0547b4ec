import { TALLY_DECIMALS, VALUE_DECIMALS } from './piles.ts';
import type { RankedCount, RankedOutcome } from './ranked-count.ts';

/**
 * One seat: eliminates the candidate with the lowest tally, one a round, until somebody has more than half of the weight
 * that is still active, or two with equal tallies remain.
 */
export function runInstantRunoff(count: RankedCount): RankedOutcome {
  const { ties, log } = count;
  for (;;) {
    const continuing = count.continuing();
    const active = count.activeWeight();
    if (active === 0n) {
      return { winners: [], tied: [], seatTie: null };
    }
    log.open(continuing, majority(active, count.wholeWeights));
    const elected = continuing.filter((candidate) => count.tally(candidate) * 2n > active);
    if (elected.length > 0) {
      log.close({ elected, eliminated: [], transfer: null, tie: null });
      return { winners: elected, tied: [], seatTie: null };
    }
    if (continuing.length === 2) {
      const seatTie = ties.forSeat(continuing, 1);
      log.close({ elected: seatTie.winners, eliminated: [], transfer: null, tie: seatTie.decision });
      return { winners: seatTie.winners, tied: continuing, seatTie };
    }
    count.eliminateLowest(continuing, []);
  }
}

/** The smallest weight above half, in whole units or in millionths. */
function majority(active: bigint, wholeWeights: boolean): bigint {
  const unit = 10n ** BigInt(wholeWeights ? TALLY_DECIMALS : VALUE_DECIMALS);
  return (active / (2n * unit) + 1n) * unit;
}
