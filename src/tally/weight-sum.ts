/**
 * A sum of weights in millionths. Most ballots have the weight of the one before: those are counted in a plain number, and
 * multiplied when the weight changes or the sum is asked for. A bigint a ballot would cost more than reading it.
 */
export class WeightSum {
  #sum: bigint;
  #weightMicro = 0n;
  /** Ballots of that weight which are not in the sum yet. */
  #times = 0;

  constructor(sum = 0n) {
    this.#sum = sum;
  }

  /** Adds a weight so many times; a number below zero takes it out again. */
  add(weightMicro: bigint, times: number): void {
    if (weightMicro !== this.#weightMicro || !Number.isSafeInteger(this.#times + times)) {
      this.#sum = this.micro;
      this.#weightMicro = weightMicro;
      this.#times = 0;
    }
    this.#times += times;
  }

  get micro(): bigint {
    return this.#sum + this.#weightMicro * BigInt(this.#times);
  }
}
