/**
 * Numbers that depend on a seed alone: sizes, mixes and the order of windows are drawn from it, so that no figure depends on
 * one lucky case, and a run can be repeated.
 */
export class Draw {
  #state: number;

  constructor(seed: number) {
    this.#state = mix(seed, 0);
  }

  /** A whole number from 0 to below `limit`. */
  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    return scatter(this.#state) % limit;
  }

  /** A whole number from `least` to `most`, both included. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  /** The same values in a drawn order (Fisher–Yates). */
  shuffled<Value>(values: readonly Value[]): Value[] {
    const mixed = [...values];
    for (let place = mixed.length - 1; place > 0; place -= 1) {
      const other = this.below(place + 1);
      [mixed[place], mixed[other]] = [mixed[other] as Value, mixed[place] as Value];
    }
    return mixed;
  }
}

/** A number of 32 bits that depends on a seed and an index: for rows that are made out of order. */
export function mix(seed: number, index: number): number {
  return scatter(Math.imul(index + 1, 0x9e3779b1) ^ scatter(seed));
}

function scatter(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
