import { type Issue, invalidField, validationError } from '#src/platform/errors.ts';
import { findJsonFaults, MAX_DEPTH, MAX_FIELDS, MAX_VALUES } from './json-fault.ts';

/** The most bytes that a request body may have (completions 1.1): more is an attack or a mistake, never a ballot. */
export const MAX_BODY_BYTES = 1024 * 1024;

export interface BodyBounds {
  readonly bytes: number;
  readonly values: number;
  /** The schema of what may be large: a module and the name of its export. A thread loads it, and judges the body there. */
  readonly schema?: { readonly module: URL; readonly name: string };
}

export const USUAL_BOUNDS: BodyBounds = { bytes: MAX_BODY_BYTES, values: MAX_VALUES };

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const POINT = 0x2e;
const [ZERO, NINE] = [0x30, 0x39];
const LETTER_E = 0x65;
const CASE_BIT = 0x20;
// A bracket and the brace of the same side differ in one bit only: [ 5b and { 7b, ] 5d and } 7d.
const BRACE_BIT = 0x20;
const OPENING = 0x7b;
const CLOSING = 0x7d;

const LOW_EXPONENT = /^[eE]-\d{3}$/;

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export type JsonObject = Record<string, unknown>;

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The index of the quote that closes the string opened at `start`, or the end of the text where none does. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end !== -1) {
    let before = end - 1;
    while (text.charCodeAt(before) === BACKSLASH) before -= 1;
    if ((end - before) % 2 === 1) return end;
    end = text.indexOf('"', end + 1);
  }
  return text.length;
}

/** Every number that the engine rounds to another one has so many digits, or is so small that its exponent has three. */
const LONG_NUMBER = 17;

/** What a look through a JSON text, without reading it, says. */
interface Outline {
  /** How many names its objects give, repetitions included. */
  readonly names: number;
  /** Whether a number in it may be another one than the engine's. */
  readonly mayBeRounded: boolean;
}

/** Looks through a JSON text before anything is made of it; undefined where it is nested too deep, or holds too many values or fields. */
function outlineOf(text: string, maxValues: number): Outline | undefined {
  /** How many each object that is open has, by its depth. */
  const fields: number[] = [];
  let names = 0;
  let depth = 0;
  let commas = 0;
  let digits = 0;
  let mayBeRounded = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if ((code >= ZERO && code <= NINE) || code === POINT) {
      digits += 1;
      if (digits >= LONG_NUMBER) mayBeRounded = true;
      continue;
    }
    digits = 0;
    if (code === QUOTE) {
      at = endOfString(text, at);
    } else if (code === COMMA) {
      commas += 1;
      if (commas > maxValues) return undefined;
    } else if (code === COLON) {
      names += 1;
      const own = (fields[depth] ?? 0) + 1;
      if (own > MAX_FIELDS) return undefined;
      fields[depth] = own;
    } else if ((code | BRACE_BIT) === OPENING) {
      depth += 1;
      if (depth > MAX_DEPTH) return undefined;
      fields[depth] = 0;
    } else if ((code | BRACE_BIT) === CLOSING) {
      depth -= 1;
      if (depth < 0) return undefined;
    } else if ((code | CASE_BIT) === LETTER_E && LOW_EXPONENT.test(text.slice(at, at + 5))) {
      mayBeRounded = true;
    }
  }
  return { names, mayBeRounded };
}

function isKeepableText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

function isKeepableNumber(value: number): boolean {
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
}

/**
 * A checker over a parsed value that stops at the first thing the service could not keep. It counts the names that are
 * left: fewer than the text gave means that one was given twice. Its depth is bounded, since the text's is.
 */
class JsonChecker {
  names = 0;
  values = 0;
  readonly #escaped: boolean;
  readonly #maxValues: number;

  /** Only text with `\u` in it can hold a NUL or half of a surrogate pair: the bytes are valid UTF-8, and JSON refuses a bare NUL. */
  constructor(escaped: boolean, maxValues: number) {
    this.#escaped = escaped;
    this.#maxValues = maxValues;
  }

  accepts(value: unknown): boolean {
    this.values += 1;
    if (this.values > this.#maxValues) return false;
    if (typeof value === 'string') return !this.#escaped || isKeepableText(value);
    if (typeof value === 'number') return isKeepableNumber(value);
    if (Array.isArray(value)) return value.every((item) => this.accepts(item));
    return !isObject(value) || this.#acceptsObject(value);
  }

  #acceptsObject(value: JsonObject): boolean {
    for (const name in value) {
      this.names += 1;
      if (this.#escaped && !isKeepableText(name)) return false;
      if (!this.accepts(value[name])) return false;
    }
    return true;
  }
}

/** The object that a text is, when it is strict JSON in every respect; undefined when it is not, whatever the reason. */
function parseStrictly(text: string, maxValues: number): JsonObject | undefined {
  const outline = outlineOf(text, maxValues);
  if (outline === undefined || (outline.mayBeRounded && findJsonFaults(text, maxValues).faults.length > 0))
    return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const checker = new JsonChecker(text.includes('\\u'), maxValues);
  return isObject(value) && checker.accepts(value) && checker.names === outline.names ? value : undefined;
}

export interface JsonBody {
  readonly value: JsonObject;
  /** What of it cannot be kept: it is refused for this and for whatever else is wrong with it, at once. */
  readonly faults: readonly Issue[];
  /** Stands for the value where a body may be large: its hash, the same whatever the order of its names. */
  readonly digest?: string;
  /** Present where a thread has judged it; `value` is empty then. */
  readonly judged?: Judged;
}

/** What a thread says of a body: what is wrong with it, or the value of its schema. */
export interface Judged {
  readonly issues: readonly Issue[];
  readonly value: unknown;
}

/** @throws ApiError `validation_error` with all faults up to the one after which the text cannot be read further */
function readFaulty(text: string, maxValues: number): JsonBody {
  const { faults, isRead } = findJsonFaults(text, maxValues);
  if (!isRead || faults.length === 0)
    throw validationError(faults.length === 0 ? [{ field: '', message: 'must be a JSON object' }] : faults);
  const value: unknown = JSON.parse(text);
  return { value: isObject(value) ? value : {}, faults };
}

/**
 * Reads a body as strict JSON with an object at the top (completions 1.1). The engine's own parser does the work, two
 * cheap passes find what it lets through, and only a body that is refused pays for the explanation.
 * @throws ApiError `validation_error` that names the field and says what is wrong and where, for what is no JSON object
 */
export function parseJsonBody(bytes: Uint8Array, { values } = USUAL_BOUNDS): JsonBody {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    throw invalidField('', 'must be valid UTF-8');
  }
  const value = parseStrictly(text, values);
  return value === undefined ? readFaulty(text, values) : { value, faults: [] };
}
