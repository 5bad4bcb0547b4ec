import { type ApiError, invalidField } from '#src/platform/errors.ts';

/** Bounds of a request body (completions 1.1): past them a body is an attack or a mistake, never a ballot. */
export const MAX_BODY_BYTES = 1024 * 1024;
export const MAX_DEPTH = 32;
export const MAX_VALUES = 20_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function invalidBody(field: string, message: string): ApiError {
  return invalidField(field, message);
}

interface Level {
  /** The names used so far in an object; undefined in an array. */
  readonly names: Set<string> | undefined;
  /** Where the level stands: `votes[2]`. */
  readonly path: string;
  index: number;
  name: string;
}

function pathOf(level: Level): string {
  if (level.names === undefined) return `${level.path}[${level.index}]`;
  return level.path === '' ? level.name : `${level.path}.${level.name}`;
}

/** The end of the string that begins at `start`, the index of its closing quote. The text is known to be valid JSON. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  for (;;) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return end;
    end = text.indexOf('"', end + 1);
  }
}

function decodedString(text: string, start: number, end: number, field: string): string {
  const inner = text.slice(start + 1, end);
  if (!inner.includes('\\')) return inner;
  const decoded: unknown = JSON.parse(text.slice(start, end + 1));
  if (typeof decoded !== 'string') throw invalidBody(field, 'must be a string');
  if (decoded.includes('\0')) throw invalidBody(field, 'must not hold a NUL character');
  if (!decoded.isWellFormed()) throw invalidBody(field, 'must not hold half of a surrogate pair');
  return decoded;
}

/**
 * One pass over text that `JSON.parse` has accepted, for what it lets through: duplicate names, NUL, lone surrogates,
 * numbers that no number holds, endless nesting.
 */
function checkStrictness(text: string): void {
  const levels: Level[] = [];
  let level: Level | undefined;
  let expectsName = false;
  let values = 0;
  const countValue = (): void => {
    values += 1;
    if (values > MAX_VALUES) throw invalidBody('', `must hold at most ${MAX_VALUES} values`);
  };
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const end = endOfString(text, at);
      const field = level === undefined ? '' : expectsName ? level.path : pathOf(level);
      const decoded = decodedString(text, at, end, field);
      at = end;
      if (expectsName && level?.names !== undefined) {
        level.name = decoded;
        if (level.names.has(decoded)) throw invalidBody(pathOf(level), 'stands more than once in the same object');
        level.names.add(decoded);
        expectsName = false;
      } else countValue();
    } else if (code === 0x7b || code === 0x5b) {
      countValue();
      if (levels.length === MAX_DEPTH) throw invalidBody('', `must not be nested more than ${MAX_DEPTH} deep`);
      const path = level === undefined ? '' : pathOf(level);
      level = { names: code === 0x7b ? new Set() : undefined, path, index: 0, name: '' };
      levels.push(level);
      expectsName = code === 0x7b;
    } else if (code === 0x7d || code === 0x5d) {
      levels.pop();
      level = levels.at(-1);
      expectsName = false;
    } else if (code === 0x2c) {
      if (level !== undefined) level.index += 1;
      expectsName = level?.names !== undefined;
    } else if (code === 0x2d || (code >= 0x30 && code <= 0x39)) {
      countValue();
      let end = at + 1;
      while (end < text.length && /[0-9.eE+-]/.test(text.charAt(end))) end += 1;
      const value = Number(text.slice(at, end));
      const field = level === undefined ? '' : pathOf(level);
      if (!Number.isFinite(value)) throw invalidBody(field, 'is larger than any number this service can hold');
      if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
        throw invalidBody(field, 'is a whole number beyond 9007199254740991, which cannot be kept exactly');
      }
      at = end - 1;
    }
  }
}

export type JsonObject = Record<string, unknown>;

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Reads a body as strict JSON with an object at the top (completions 1.1).
 * @throws ApiError `validation_error` that says what is wrong and in which field.
 */
export function parseJsonBody(bytes: Uint8Array): JsonObject {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    throw invalidBody('', 'must be valid UTF-8');
  }
  if (text.charCodeAt(0) === 0xfeff) throw invalidBody('', 'must not begin with a byte order mark');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (fault) {
    const place = fault instanceof Error ? /position (\d+)/.exec(fault.message)?.[1] : undefined;
    throw invalidBody('', `must be JSON${place === undefined ? '' : ` (it stops being JSON at character ${place})`}`);
  }
  if (!isObject(value)) throw invalidBody('', 'must be a JSON object');
  checkStrictness(text);
  return value;
}
