/**
 * A map that evicts its oldest entries in constant time. Entries live in two generations: once the younger generation is full,
 * it replaces the older one, whose entries are dropped. (A single `Map` that deletes its first entry each time has to skip the
 * slots of all entries deleted before.)
 */
export class RecentMap<Value> {
  readonly #half: number;
  readonly #weigh: (value: Value) => number;
  #younger = new Map<string, Value>();
  #youngerWeight = 0;
  #older = new Map<string, Value>();

  /**
   * @param max weight of all entries at most, but for one of them; the newest half of it is always kept
   * @param weigh the constant weight of an entry; each weighs 1 by default
   */
  constructor(max: number, weigh: (value: Value) => number = () => 1) {
    this.#half = Math.max(1, Math.floor(max / 2));
    this.#weigh = weigh;
  }

  get size(): number {
    return this.#younger.size + this.#older.size;
  }

  get(key: string): Value | undefined {
    return this.#younger.get(key) ?? this.#older.get(key);
  }

  set(key: string, value: Value): void {
    this.#older.delete(key);
    this.#youngerWeight += this.#weigh(value) - this.#weightOf(key);
    this.#younger.set(key, value);
    if (this.#youngerWeight < this.#half) return;
    this.#older = this.#younger;
    this.#younger = new Map();
    this.#youngerWeight = 0;
  }

  delete(key: string): void {
    this.#youngerWeight -= this.#weightOf(key);
    this.#younger.delete(key);
    this.#older.delete(key);
  }

  #weightOf(key: string): number {
    const young = this.#younger.get(key);
    return young === undefined ? 0 : this.#weigh(young);
  }

  clear(): void {
    this.#younger.clear();
    this.#older.clear();
    this.#youngerWeight = 0;
  }

  *[Symbol.iterator](): IterableIterator<[string, Value]> {
    yield* this.#younger;
    yield* this.#older;
  }
}
