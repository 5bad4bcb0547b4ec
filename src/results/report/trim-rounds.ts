import type { Round } from '#src/tally/types.ts';
import { MAX_ROUNDS_DRAWN } from './round-flow.ts';

/** More tallies than these would be pages that nobody reads; the exports have them. */
export const MAX_TALLIES = 2_000;
/** The same of rounds with what they decided. */
export const MAX_DECISIONS = 100;

export const countTallies = (rounds: readonly Round[]): number =>
  rounds.reduce((sum, round) => sum + round.tallies.length, 0);

/**
 * The rounds without what a report leaves out anyway: those of a thousand candidates hold half a million tallies, too many
 * to hand to another thread.
 */
export function trimRounds(rounds: readonly Round[]): readonly Round[] {
  if (countTallies(rounds) <= MAX_TALLIES) return rounds;
  return rounds.map((round, index) => {
    const fromEnd = rounds.length - index;
    const drawn = index === 0 || fromEnd <= MAX_ROUNDS_DRAWN;
    const decided = fromEnd <= MAX_DECISIONS;
    return {
      ...round,
      tallies: drawn ? round.tallies : [],
      transfers: decided ? round.transfers : [],
      tie: decided ? round.tie : null,
    };
  });
}
