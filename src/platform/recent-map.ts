interface Entry<Value> {
  readonly value: Value;
  readonly weight: number;
}

/**
 * A map that evicts its oldest entries in constant time. Entries live in two generations: once the younger generation is full,
 * it replaces the older one, whose entries are dropped. (A single `Map` that deletes its first entry each time has to skip the
 * slots of all entries deleted before.)
 */
export class RecentMap<Value> {
  readonly #half: number;
  readonly #weigh: (value: Value) => number;
  #younger = new Map<string, Entry<Value>>();
  #youngerWeight = 0;
  #older = new Map<string, Entry<Value>>();

  /**
   * @param max largest total weight, not counting at most two entries; the newest entries, up to half of it, are always kept
   * @param weigh the weight of a value at `set`, 1 by default; call `set` again for a value that has grown
   */
  constructor(max: number, weigh: (value: Value) => number = () => 1) {
    this.#half = Math.max(1, Math.floor(max / 2));
    this.#weigh = weigh;
  }

  get size(): number {
    return this.#younger.size + this.#older.size;
  }

  get(key: string): Value | undefined {
    return (this.#younger.get(key) ?? this.#older.get(key))?.value;
  }

  set(key: string, value: Value): void {
    this.#older.delete(key);
    this.#youngerWeight -= this.#younger.get(key)?.weight ?? 0;
    // The weight without this entry: otherwise a heavy entry that is set again and again would evict all others.
    if (this.#youngerWeight >= this.#half) {
      this.#younger.delete(key);
      this.#older = this.#younger;
      this.#younger = new Map();
      this.#youngerWeight = 0;
    }
    const weight = this.#weigh(value);
    this.#younger.set(key, { value, weight });
    this.#youngerWeight += weight;
  }

  delete(key: string): void {
    this.#youngerWeight -= this.#younger.get(key)?.weight ?? 0;
    this.#younger.delete(key);
    this.#older.delete(key);
  }

  clear(): void {
    this.#younger.clear();
    this.#older.clear();
    this.#youngerWeight = 0;
  }

  *[Symbol.iterator](): IterableIterator<[string, Value]> {
    for (const [key, { value }] of this.#younger) yield [key, value];
    for (const [key, { value }] of this.#older) yield [key, value];
  }
}
