import { type Issue, invalidField, validationError } from '#src/platform/errors.ts';
import { findJsonFaults, MAX_DEPTH, MAX_FIELDS, MAX_VALUES } from './json-fault.ts';

/** The most bytes that a request body may have (completions 1.1): more is an attack or a mistake, never a ballot. */
export const MAX_BODY_BYTES = 1024 * 1024;

export interface BodyBounds {
  readonly bytes: number;
  readonly values: number;
  /** The schema of a body that may be large: module and name of the export. A thread loads it and validates the body there. */
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

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The index of the quote that closes the string opened at `start`, or the text's length if none does. */
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

/** A number that parsing rounds has at least this many digits, or a negative exponent of three digits. */
const LONG_NUMBER = 17;

/** Scans a JSON text before it is parsed; undefined if it is nested too deep, or holds too many values or fields. */
function outlineOf(text: string, maxValues: number) {
  /** Field counts of the open objects, by depth. */
  const fields: number[] = [];
  /** Field names of the text, duplicates included. */
  let names = 0;
  let depth = 0;
  let commas = 0;
  let digits = 0;
  /** Whether parsing may round a number of the text. */
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

/**
 * Whether a JSON text may have more than `values` values, by its commas and its opening brackets and braces. Such a text must not reach a
 * parser that does work for each value: a megabyte can hold half a million values.
 */
export function mayHoldMore(bytes: Uint8Array, values: number): boolean {
  let found = 0;
  for (const byte of bytes) {
    if (byte === COMMA || (byte | BRACE_BIT) === OPENING) found += 1;
    if (found > values) return true;
  }
  return false;
}

function isKeepableText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

/** Stops at the first part that cannot be stored. Counts field names: if the text has more names, one is a duplicate. */
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
    if (typeof value === 'number')
      return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
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

/** Parses a text as a strict JSON object; undefined for any fault, whatever its reason. */
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
  /** Faults of the JSON text itself, such as a number without an exact value. One 422 lists them with the faults that validation finds. */
  readonly faults: readonly Issue[];
  /** Hash that is stored and compared in place of a large body's value. The order of its field names does not change it. */
  readonly digest?: string;
  /** Present if a thread has validated the body; `value` is empty then. */
  readonly judged?: Judged;
}

/** The result of validating a body: its faults, or the value that the schema gives. */
export interface Judged {
  readonly issues: readonly Issue[];
  readonly value: unknown;
}

/** Parses a faulty text to its end and returns its faults. @throws ApiError `validation_error` with all faults, if one ends parsing */
function readFaulty(text: string, maxValues: number): JsonBody {
  const { faults, isRead } = findJsonFaults(text, maxValues);
  if (!isRead || faults.length === 0)
    throw validationError(faults.length === 0 ? [{ field: '', message: 'must be a JSON object' }] : faults);
  const value: unknown = JSON.parse(text);
  return { value: isObject(value) ? value : {}, faults };
}

/**
 * Parses a body as strict JSON with an object at the top (completions 1.1). `JSON.parse` does the work, and two cheap passes
 * find the texts that `JSON.parse` accepts and this service refuses. Only a refused body is parsed again, to explain its faults.
 * @throws ApiError `validation_error` with field, fault and place in the text, if parsing cannot reach the end of the text
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
