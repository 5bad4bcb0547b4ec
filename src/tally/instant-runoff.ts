import { TALLY_DECIMALS, VALUE_DECIMALS } from './piles.ts';
import type { FinalTally, RankedCount, RankedOutcome } from './ranked-count.ts';

/** One seat: eliminates the lowest until one has more than half of the active weight, or two tie. Then counts on to the last two. */
export function runInstantRunoff(count: RankedCount): RankedOutcome {
  const ended = runRounds(count);
  count.log.seal();
  const finalTwo = ended.winners.length === 0 && ended.seatTie === null ? null : countOnToTwo(count, ended.winners);
  const second = finalTwo?.find(({ candidate, weight }) => !ended.winners.includes(candidate) && weight > 0n);
  return { ...ended, finalTwo, runnerUp: ended.seatTie?.undecided === true ? null : (second?.candidate ?? null) };
}

function runRounds(count: RankedCount): Pick<RankedOutcome, 'winners' | 'tied' | 'seatTie'> {
  const { ties, log } = count;
  for (;;) {
    const continuing = count.continuing();
    const active = count.activeWeight();
    if (active === 0n) return { winners: [], tied: [], seatTie: null };
    log.open(continuing, majority(active, count.wholeWeights));
    const elected = continuing.filter((candidate) => count.tally(candidate) * 2n > active);
    if (elected.length > 0) {
      log.close({ elected, eliminated: [], transfer: null, tie: null });
      return { winners: elected, tied: [], seatTie: null };
    }
    if (continuing.length === 2) {
      const seatTie = ties.forSeat(continuing, 1);
      log.close({ elected: seatTie.winners, eliminated: [], transfer: null, tie: () => seatTie.decision });
      return { winners: seatTie.winners, tied: continuing, seatTie };
    }
    count.eliminateLowest(continuing, [], 2);
  }
}

/** Eliminates candidates until two remain. The majority of the winner can only grow, so the winner is one of these two. */
function countOnToTwo(count: RankedCount, winners: readonly number[]): FinalTally[] | null {
  while (count.continuing().length > 2) {
    count.log.open(count.continuing(), 0n);
    count.eliminateLowest(count.continuing(), [], 2);
  }
  if (count.continuing().length < 2) return null;
  const byTally = count.ties.byFigure(count.continuing(), (candidate) => count.tally(candidate));
  const first = byTally.filter((candidate) => winners.includes(candidate));
  const rest = byTally.filter((candidate) => !winners.includes(candidate));
  return [...first, ...rest].map((candidate) => ({
    candidate,
    weight: count.tally(candidate),
    heads: count.piles.heads[candidate] ?? 0n,
  }));
}

/** The smallest weight above half of `active`, in whole units or in millionths. */
function majority(active: bigint, wholeWeights: boolean): bigint {
  const unit = 10n ** BigInt(wholeWeights ? TALLY_DECIMALS : VALUE_DECIMALS);
  return (active / (2n * unit) + 1n) * unit;
}
