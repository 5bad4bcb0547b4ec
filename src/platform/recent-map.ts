/**
 * A map that evicts its oldest entries in constant time. Entries live in two generations: once the younger generation is full,
 * it replaces the older one, whose entries are dropped. (A single `Map` that deletes its first entry each time has to skip the
 * slots of all entries deleted before.)
 */
export class RecentMap<Value> {
  readonly #half: number;
  #younger = new Map<string, Value>();
  #older = new Map<string, Value>();

  /** @param max most entries; the newest half of them is always kept */
  constructor(max: number) {
    this.#half = Math.max(1, Math.floor(max / 2));
  }

  get size(): number {
    return this.#younger.size + this.#older.size;
  }

  get(key: string): Value | undefined {
    return this.#younger.get(key) ?? this.#older.get(key);
  }

  set(key: string, value: Value): void {
    this.#older.delete(key);
    this.#younger.set(key, value);
    if (this.#younger.size < this.#half) return;
    this.#older = this.#younger;
    this.#younger = new Map();
  }

  delete(key: string): void {
    this.#younger.delete(key);
    this.#older.delete(key);
  }

  clear(): void {
    this.#younger.clear();
    this.#older.clear();
  }

  *[Symbol.iterator](): IterableIterator<[string, Value]> {
    yield* this.#younger;
    yield* this.#older;
  }
}
