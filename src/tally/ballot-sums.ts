import { requireThat } from './count-refused.ts';
import { scaledToDecimal, toWholeNumber, WEIGHT_DECIMALS } from './exact.ts';
import { MarkCheck, requireValues, type ValueRange } from './mark-check.ts';
import { Participation } from './participation.ts';
import { CandidateSums } from './sums.ts';
import type { CandidateResult, PositionBallot, SavedCount, TallyPosition } from './types.ts';
import { WeightSum } from './weight-sum.ts';

const WHOLE = 10n ** BigInt(WEIGHT_DECIMALS);

/** What a ballot of a summing method may hold. */
export interface BallotRule {
  /** Most entries, unless the position says otherwise. */
  readonly maxEntries: number;
  /** What an answering ballot gives to each candidate whom it leaves out; 0 where left out. */
  readonly leftOut?: number;
  readonly values: ValueRange;
}

/** The running sums of one position, for the methods in which a candidate's figure is a sum of values. */
export class BallotSums {
  readonly participation: Participation;
  readonly #position: TallyPosition;
  readonly #check: MarkCheck;
  readonly #values: ValueRange;
  /** Sums of values minus `leftOut`: then nothing needs to be added for those whom a ballot leaves out. */
  readonly #sums: CandidateSums;
  readonly #leftOut: number;
  /** Weight of the ballots that answered. */
  readonly #answered: WeightSum;
  #shifted = new Float64Array(16);

  constructor(position: TallyPosition, rule: BallotRule, saved?: SavedCount) {
    this.#position = position;
    this.#check = new MarkCheck(position, rule.maxEntries);
    this.#values = rule.values;
    this.#sums = new CandidateSums(position.candidates.length, saved);
    this.participation = new Participation(saved);
    this.#leftOut = rule.leftOut ?? 0;
    this.#answered = new WeightSum(saved?.answeredMicro);
  }

  save(turnoutMicro = 0n): SavedCount {
    const { ballots, abstentions } = this.participation;
    return {
      ballots,
      abstentions,
      turnoutMicro,
      answeredMicro: this.answeredMicro,
      ...this.#sums.save(),
      rankings: [],
    };
  }

  add(ballot: PositionBallot, weightMicro: bigint, times: number): void {
    this.#check.require(ballot, weightMicro, times);
    const largest = requireValues(ballot, this.#values);
    this.participation.add(ballot.length > 0, times);
    if (ballot.length > 0) this.#answered.add(weightMicro, times);
    if (this.#leftOut === 0) this.#sums.add(ballot, largest, weightMicro, times);
    else this.#sums.add(this.#shift(ballot), largest + Math.abs(this.#leftOut), weightMicro, times);
  }

  /** Weight of the ballots that answered, in millionths. */
  get answeredMicro(): bigint {
    return this.#answered.micro;
  }

  /** Sum of value × weight of each candidate, in millionths. */
  weightsMicro(): bigint[] {
    const leftOut = BigInt(this.#leftOut) * this.answeredMicro;
    return this.#position.candidates.map((_, candidate) => this.#sums.weightMicro(candidate) + leftOut);
  }

  #shift({ candidates, values, length }: PositionBallot): PositionBallot {
    if (this.#shifted.length < length) this.#shifted = new Float64Array(length);
    for (let entry = 0; entry < length; entry += 1) this.#shifted[entry] = (values[entry] as number) - this.#leftOut;
    return { candidates, values: this.#shifted, length };
  }

  /** The candidates' rows in the position's order, and the sum of their `votesWon`. */
  rows(
    weightsMicro: readonly bigint[],
    wholeWeights: boolean,
    winners: readonly number[],
    tied: readonly number[],
  ): { candidates: CandidateResult[]; totalVotes: number } {
    let total = 0n;
    const leftOut = BigInt(this.#leftOut) * BigInt(this.participation.ballots);
    const [won, sharing] = [new Set(winners), new Set(tied)];
    const candidates = this.#position.candidates.map(({ id, name }, candidate) => {
      const weightMicro = weightsMicro[candidate] ?? 0n;
      const votes = wholeWeights ? wholeWeight(weightMicro) : this.#sums.heads(candidate) + leftOut;
      total += votes;
      return {
        id,
        name,
        votesWon: toWholeNumber(votes),
        weightWon: scaledToDecimal(weightMicro, WEIGHT_DECIMALS),
        winner: won.has(candidate),
        tied: sharing.has(candidate),
      };
    });
    return { candidates, totalVotes: toWholeNumber(total) };
  }
}

function wholeWeight(weightMicro: bigint): bigint {
  requireThat(weightMicro % WHOLE === 0n, 'weights said to be whole add up to a fraction');
  return weightMicro / WHOLE;
}
