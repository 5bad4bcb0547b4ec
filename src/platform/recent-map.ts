/**
 * A map that forgets what was set longest ago, in constant time: entries live in two generations, and once the younger one
 * is full it becomes the older one, whose entries go. (A single `Map` that drops its first entry each time walks over the
 * places of those dropped before.)
 */
export class RecentMap<Value> {
  readonly #half: number;
  #younger = new Map<string, Value>();
  #older = new Map<string, Value>();

  /** @param max entries kept at most; at least half as many of the newest always are */
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
