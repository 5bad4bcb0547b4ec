/** Small tools that every part of the model uses: randomness, matching of answers, rules for bodies. */

export class Random {
  private state: number;
  constructor(seed: number) {
    this.state = seed >>> 0;
  }
  /** 0 ≤ x < 1 (mulberry32). */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }
  int(below: number): number {
    return Math.floor(this.next() * below);
  }
  between(low: number, high: number): number {
    return low + this.int(high - low + 1);
  }
  chance(probability: number): boolean {
    return this.next() < probability;
  }
  pick<T>(items: readonly T[]): T {
    const item = items[this.int(items.length)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  }
  shuffle<T>(items: readonly T[]): T[] {
    const copy = [...items];
    for (let i = copy.length - 1; i > 0; i -= 1) {
      const j = this.int(i + 1);
      [copy[i], copy[j]] = [copy[j] as T, copy[i] as T];
    }
    return copy;
  }
  /** @param weighted pairs of weight and thing */
  weighted<T>(weighted: readonly (readonly [number, T])[]): T {
    let at = this.next() * weighted.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, item] of weighted) {
      at -= weight;
      if (at < 0) return item;
    }
    throw new Error('no weights');
  }
}

export type Json = Record<string, unknown>;

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A field of an answer, '' of nothing: answers are unknown until they are looked at. */
export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  let current = value;
  for (const step of path) {
    if (typeof current !== 'object' || current === null) return undefined;
    current = (current as Json)[step];
  }
  return current;
}
/** Some fields of an object, as they stand. */
export function fieldsOf<T extends object, Name extends keyof T & string>(
  from: T,
  names: readonly Name[],
): Pick<T, Name> {
  return Object.fromEntries(names.map((name) => [name, from[name]])) as Pick<T, Name>;
}
/** The fields of a body that were given. */
export const givenOf = (body: Json, names: readonly string[]): Json =>
  Object.fromEntries(names.flatMap((name) => (body[name] === undefined ? [] : [[name, body[name]]])));
export function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
export function number(value: unknown): number {
  return typeof value === 'number' ? value : Number.NaN;
}

/** Stands in an expected body for a value which the service chooses, or which the contract leaves open. */
export class Match {
  name: string;
  readonly test: (value: unknown) => boolean;
  constructor(name: string, test: (value: unknown) => boolean) {
    this.name = name;
    this.test = test;
  }
}
/** A list in any order. */
export class Bag {
  readonly items: readonly unknown[];
  constructor(items: readonly unknown[]) {
    this.items = items;
  }
}
export const ANY = new Match('present', (value) => value !== undefined);
export const TIME = new Match('a time', (value) => Number.isInteger(value) && number(value) > 1_500_000_000_000);
export const TIME_OR_NULL = new Match('a time or null', (value) => value === null || TIME.test(value));
export const INTEGER = new Match('an integer', Number.isInteger);
export const ABSENT = new Match('absent', (value) => value === undefined);
export const STRING = new Match('a string', (value) => typeof value === 'string' && value !== '');
export function oneOf(...allowed: readonly unknown[]): Match {
  return new Match(`one of ${JSON.stringify(allowed)}`, (value) =>
    allowed.some((one) => differences(one, value).length === 0),
  );
}
export function prefixed(prefix: string): Match {
  return new Match(`${prefix}…`, (value) => typeof value === 'string' && value.startsWith(prefix));
}

/** One of several bodies; told with what keeps the nearest of them from fitting. */
export function anyOf(what: string, bodies: readonly unknown[]): Match {
  const match = new Match(what, (got) => {
    const tried = bodies.map((one) => differences(one, got));
    if (tried.some((one) => one.length === 0)) return true;
    const [first] = tried.toSorted((a, b) => a.length - b.length)[0] ?? [];
    if (first !== undefined) match.name = `${what}: ${first.path} ${first.expected}, not ${first.got}`;
    return false;
  });
  return match;
}

export interface Difference {
  readonly path: string;
  readonly expected: string;
  readonly got: string;
}

export function short(value: unknown, most = 300): string {
  if (value instanceof Match) return value.name;
  const shown = JSON.stringify(value, (_, inner: unknown) =>
    inner instanceof Match ? `<${inner.name}>` : inner instanceof Bag ? inner.items : inner,
  );
  return shown === undefined ? 'nothing' : shown.length > most ? `${shown.slice(0, most - 3)}...` : shown;
}

/**
 * Gives every row an expected one of its own (augmenting paths: what is left open fits several).
 * @returns a row that none is left for
 */
export function unpaired(rows: readonly unknown[], expected: readonly unknown[]): unknown {
  const owner = new Map<number, number>();
  const fit = rows.map(() => new Map<number, boolean>());
  const fits = (row: number, item: number): boolean => {
    const known = fit[row]?.get(item);
    if (known !== undefined) return known;
    const found = differences(expected[item], rows[row]).length === 0;
    fit[row]?.set(item, found);
    return found;
  };
  const place = (row: number, tried: Set<number>): boolean => {
    for (const item of expected.keys()) {
      if (tried.has(item) || owner.has(item) || !fits(row, item)) continue;
      owner.set(item, row);
      return true;
    }
    for (const item of expected.keys()) {
      if (tried.has(item) || !fits(row, item)) continue;
      tried.add(item);
      if (!place(owner.get(item) ?? -1, tried)) continue;
      owner.set(item, row);
      return true;
    }
    return false;
  };
  return rows.find((_, row) => !place(row, new Set()));
}

/** What of `expected` isn't so in `got`. More fields in `got` are fine: changes are additive. */
export function differences(expected: unknown, got: unknown, path = '', out: Difference[] = []): Difference[] {
  if (out.length > 5) return out;
  const differ = () => out.push({ path, expected: short(expected), got: short(got) });
  if (expected instanceof Match) {
    if (!expected.test(got)) differ();
  } else if (expected instanceof Bag) {
    if (!Array.isArray(got)) differ();
    else if (got.length !== expected.items.length)
      out.push({
        path,
        expected: `${expected.items.length} of ${short(expected)}`,
        got: `${got.length} of ${short(got)}`,
      });
    else {
      const alone = unpaired(got, expected.items);
      if (alone === undefined) return out;
      const tried = expected.items.map((item) => differences(item, alone)).filter((one) => one.length > 0);
      const [nearest] = tried.toSorted((a, b) => a.length - b.length)[0] ?? [];
      const place = nearest === undefined || nearest.path === '' ? '' : `.${nearest.path}`;
      const wanted = nearest?.expected ?? short(expected);
      out.push({ path: `${path}[*]${place}`, expected: wanted, got: `${nearest?.got ?? ''} in ${short(alone)}` });
    }
  } else if (Array.isArray(expected)) {
    if (!Array.isArray(got) || got.length !== expected.length) differ();
    else for (const [index, item] of expected.entries()) differences(item, got[index], `${path}[${index}]`, out);
  } else if (isObject(expected)) {
    if (!isObject(got)) differ();
    else
      for (const [name, item] of Object.entries(expected))
        differences(item, got[name], path === '' ? name : `${path}.${name}`, out);
  } else if (expected !== got) differ();
  return out;
}

/** A rule adds the paths of what is wrong. */
export type Rule = (value: unknown, path: string, issues: string[]) => void;
export interface Spec {
  readonly [name: string]: Rule | readonly [Rule];
}

/** Control and direction-changing characters. */
const FORBIDDEN = /\p{Cc}|[\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;
export function clean(value: string): string {
  return value.trim().normalize('NFC');
}
const rule =
  (test: (value: unknown) => boolean): Rule =>
  (value, path, issues) => {
    if (!test(value)) issues.push(path);
  };
export const bool = rule((value) => typeof value === 'boolean');
export const str = (min: number, max: number): Rule =>
  rule((value) => {
    if (typeof value !== 'string') return false;
    const length = [...clean(value)].length;
    return length >= min && length <= max;
  });
/** Names and titles: something visible, no control characters. */
export const name = (max: number): Rule =>
  rule(
    (value) =>
      typeof value === 'string' &&
      [...clean(value)].length >= 1 &&
      [...clean(value)].length <= max &&
      !FORBIDDEN.test(clean(value)) &&
      /[^\p{Z}\p{C}\p{M}]/u.test(clean(value)),
  );
export const int = (min: number, max = Number.MAX_SAFE_INTEGER): Rule =>
  rule((value) => Number.isInteger(value) && number(value) >= min && number(value) <= max);
export const among = (...values: readonly unknown[]): Rule => rule((value) => values.includes(value));
export const nullable =
  (inner: Rule): Rule =>
  (value, path, issues) => {
    if (value !== null) inner(value, path, issues);
  };
export const pattern = (expression: RegExp): Rule =>
  rule((value) => typeof value === 'string' && expression.test(clean(value)));
export const email = rule(
  (value) =>
    typeof value === 'string' &&
    [...clean(value)].length <= 320 &&
    /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$/.test(clean(value)) &&
    !/\.(invalid|localhost)$/i.test(clean(value)),
);
export const httpsUrl = rule(
  (value) =>
    typeof value === 'string' && value.length <= 2048 && /^https:\/\/[a-z0-9-]+(\.[a-z0-9-]+)+(\/|$)/i.test(value),
);
export const weight = rule(
  (value) =>
    typeof value === 'number' &&
    value > 0 &&
    Number.isFinite(value) &&
    Math.abs(value * 1e6 - Math.round(value * 1e6)) < 1e-3,
);
export const list =
  (inner: Rule, min: number, max: number): Rule =>
  (value, path, issues) => {
    if (!Array.isArray(value) || value.length < min || value.length > max) issues.push(path);
    else for (const [index, item] of value.entries()) inner(item, `${path}[${index}]`, issues);
  };
export const object =
  (spec: Spec): Rule =>
  (value, path, issues) => {
    if (!isObject(value)) issues.push(path);
    else issues.push(...check(value, spec, path));
  };
/** The same rules, with some fields that must be there. */
export function required(spec: Spec, ...names: readonly string[]): Spec {
  return { ...spec, ...Object.fromEntries(names.map((name) => [name, [spec[name] as Rule] as const])) };
}
/** The paths of everything that is wrong with a body: unknown, missing and bad fields. A rule in brackets is required. */
export function check(body: Json, spec: Spec, path = ''): string[] {
  const issues: string[] = [];
  const full = (name: string) => (path === '' ? name : `${path}.${name}`);
  for (const name of Object.keys(body)) if (!(name in spec)) issues.push(full(name));
  for (const [name, given] of Object.entries(spec)) {
    const required = Array.isArray(given);
    const one = (required ? given[0] : given) as Rule;
    if (body[name] === undefined) {
      if (required) issues.push(full(name));
    } else one(body[name], full(name), issues);
  }
  return issues;
}
