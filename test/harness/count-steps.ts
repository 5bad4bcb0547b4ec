import { Session } from 'node:inspector';
import path from 'node:path';

const PROJECT = path.resolve(import.meta.dirname, '../..');
const TESTS = path.join(PROJECT, 'test/');

const lengthOf = (value: unknown): number => (typeof value === 'string' || Array.isArray(value) ? value.length : 0);
/** Putting marks into their order takes the square of their number. */
const costOfOrder = (text: string): number =>
  text.length + (text.match(/\p{M}+/gu) ?? []).reduce((sum, run) => sum + run.length ** 2, 0);

type Cost = (receiver: unknown, given: readonly unknown[], result: unknown) => number;
const ofOne: Cost = () => 1;
const ofResult: Cost = (_receiver, _given, result) => lengthOf(result);
const ofNeedle: Cost = (_receiver, [needle]) => lengthOf(needle);
const ofAll: Cost = (receiver, _given, result) => lengthOf(receiver) + lengthOf(result);
/** The characters, or entries, that functions of the engine go through at most. All of them, where nothing else is said. */
const COSTS: Readonly<Record<string, Cost>> = {
  ...{ at: ofOne, charAt: ofOne, charCodeAt: ofOne, codePointAt: ofOne, slice: ofResult, substring: ofResult },
  ...{ startsWith: ofNeedle, endsWith: ofNeedle, normalize: (text) => costOfOrder(String(text)) },
  indexOf: (all, [_, from], at) => (at === -1 ? lengthOf(all) : Number(at) + 1) - Number(from ?? 0),
};

/** Of a regular expression: from where it begins to the end of what it finds. */
function costOfMatch({ sticky }: RegExp, from: number, text: unknown, found: unknown): number {
  if (Array.isArray(found)) return Number(Reflect.get(found, 'index')) + lengthOf(found[0]) - from + 1;
  return sticky ? 1 : Math.max(1, lengthOf(text) - from);
}

/** Ends a count that would go on for minutes. */
const ENDLESS = 5_000_000;

const COUNTED: readonly (readonly [prototype: object, names: readonly string[]])[] = [
  [
    String.prototype,
    Object.getOwnPropertyNames(String.prototype).filter(
      (name) => !/^(?:constructor|length|toString|valueOf)$/.test(name),
    ),
  ],
  [Array.prototype, ['concat', 'includes', 'indexOf', 'join', 'lastIndexOf', 'shift', 'slice', 'splice', 'unshift']],
  [RegExp.prototype, ['exec']],
];

/**
 * Counts steps, the same on every machine: the blocks of code that are entered, and the characters that the engine's own functions go
 * through. How often a regular expression turns back is not among them: its pattern says that.
 */
export class StepCounter {
  readonly #session = new Session();
  #characters = 0;
  #isCounting = false;

  /** Made before the code that is counted is loaded: what was loaded earlier has no counters. */
  constructor() {
    this.#session.connect();
    this.#session.post('Profiler.enable');
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  /** The steps that a function takes for some texts. Errors are answers, but for too many steps: Infinity. */
  async count(take: (text: string) => unknown, texts: readonly string[]): Promise<number> {
    this.#characters = 0;
    const undo = COUNTED.flatMap(([prototype, names]) => names.map((name) => this.#watch(prototype, name)));
    for (const text of texts) {
      try {
        if (this.#characters < ENDLESS) await take(text);
        else this.#characters = Number.POSITIVE_INFINITY;
      } catch (fault) {
        if (fault instanceof RangeError && fault.message.includes('call stack'))
          this.#characters = Number.POSITIVE_INFINITY;
      }
    }
    for (const put of undo) put();
    return this.#takeBlocks() + this.#characters;
  }

  stop(): void {
    this.#session.disconnect();
  }

  /** How many blocks were entered since it was asked for last. */
  #takeBlocks(): number {
    let blocks = 0;
    this.#session.post('Profiler.takePreciseCoverage', (_fault, { result }) => {
      for (const { url, functions } of result) {
        const file = url.replace(/^file:\/\//, '');
        if (!file.startsWith(PROJECT) || file.startsWith(TESTS)) continue;
        for (const { ranges } of functions) for (const { count } of ranges) blocks += count;
      }
    });
    return blocks;
  }

  /** Puts a counter around a function of the engine. @returns what takes it off again */
  #watch(prototype: object, name: string): () => void {
    const method = Object.getOwnPropertyDescriptor(prototype, name) ?? {};
    const costOf = COSTS[name] ?? ofAll;
    const add = (count: () => number): void => {
      // What counts is no step itself.
      if (this.#isCounting) return;
      this.#isCounting = true;
      this.#characters += count();
      this.#isCounting = false;
    };
    function watched(this: unknown, ...given: unknown[]): unknown {
      const pattern = name === 'exec' && this instanceof RegExp ? this : undefined;
      const from = pattern !== undefined && (pattern.sticky || pattern.global) ? pattern.lastIndex : 0;
      const result: unknown = Reflect.apply(method.value, this, given);
      add(() => (pattern ? costOfMatch(pattern, from, given[0], result) : costOf(this, given, result)));
      return result;
    }
    Object.defineProperty(prototype, name, { ...method, value: watched });
    return () => Object.defineProperty(prototype, name, method);
  }
}
