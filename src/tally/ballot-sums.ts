import { requireThat } from './count-refused.ts';
import { scaledToDecimal, toWholeNumber, WEIGHT_DECIMALS } from './exact.ts';
import { MarkCheck, requireValues } from './mark-check.ts';
import { Participation } from './participation.ts';
import { CandidateSums } from './sums.ts';
import type { CandidateResult, PositionBallot, SavedCount, TallyPosition } from './types.ts';

const WHOLE = 10n ** BigInt(WEIGHT_DECIMALS);

/** What a ballot of a summing method may hold. */
export interface BallotRule {
  /** Most entries, unless the position says otherwise. */
  readonly maxEntries: number;
  readonly isValue: (value: number) => boolean;
}

/** The running sums of one position, for the methods in which a candidate's figure is a sum of values. */
export class BallotSums {
  readonly participation: Participation;
  readonly #position: TallyPosition;
  readonly #check: MarkCheck;
  readonly #isValue: BallotRule['isValue'];
  readonly #sums: CandidateSums;

  constructor(position: TallyPosition, rule: BallotRule, saved?: SavedCount) {
    this.#position = position;
    this.#check = new MarkCheck(position, rule.maxEntries);
    this.#isValue = rule.isValue;
    this.#sums = new CandidateSums(position.candidates.length, saved);
    this.participation = new Participation(saved);
  }

  save(turnoutMicro = 0n): SavedCount {
    const { ballots, abstentions } = this.participation;
    return { ballots, abstentions, turnoutMicro, ...this.#sums.save(), rankings: [] };
  }

  add(ballot: PositionBallot, weightMicro: bigint, times: number): void {
    this.#check.require(ballot, weightMicro, times);
    requireValues(ballot, this.#isValue);
    this.participation.add(ballot.length > 0, times);
    this.#sums.add(ballot, weightMicro, times);
  }

  /** Sum of value × weight of each candidate, in millionths. */
  weightsMicro(): bigint[] {
    return this.#position.candidates.map((_, candidate) => this.#sums.weightMicro(candidate));
  }

  /** The candidates' rows in the position's order, and the sum of their `votesWon`. */
  rows(
    weightsMicro: readonly bigint[],
    wholeWeights: boolean,
    winners: readonly number[],
    tied: readonly number[],
  ): { candidates: CandidateResult[]; totalVotes: number } {
    let total = 0n;
    const candidates = this.#position.candidates.map(({ id, name }, candidate) => {
      const weightMicro = weightsMicro[candidate] ?? 0n;
      const votes = wholeWeights ? wholeWeight(weightMicro) : this.#sums.heads(candidate);
      total += votes;
      return {
        id,
        name,
        votesWon: toWholeNumber(votes),
        weightWon: scaledToDecimal(weightMicro, WEIGHT_DECIMALS),
        winner: winners.includes(candidate),
        tied: tied.includes(candidate),
      };
    });
    return { candidates, totalVotes: toWholeNumber(total) };
  }
}

function wholeWeight(weightMicro: bigint): bigint {
  requireThat(weightMicro % WHOLE === 0n, 'weights said to be whole add up to a fraction');
  return weightMicro / WHOLE;
}
