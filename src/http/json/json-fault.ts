import { MAX_ISSUES } from '#src/platform/errors.ts';

/** Bounds on what a body may hold (completions 1.1). */
export const MAX_DEPTH = 32;
export const MAX_VALUES = 20_000;
/** Field limit of one object; no schema has so many. Thousands of fields, above all with numeric names, slow down each check. */
export const MAX_FIELDS = 1_000;
/** Characters of a number. Every number that can be stored exactly has a shorter form. */
const MAX_NUMBER_LENGTH = 40;

/** Characters of a field name that an answer quotes: a body with one long name must not cause an equally long answer. */
const MAX_QUOTED_NAME = 64;
export const quoteName = (name: string): string =>
  name.length > MAX_QUOTED_NAME ? `${name.slice(0, MAX_QUOTED_NAME).toWellFormed()}…` : name;

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WHITE_SPACE = /[ \t\n\r]*/y;
/** The part of a string that needs no decoding: no quote, no escape, no control character. */
const PLAIN_CHARACTERS = /[ !#-[\]-\uffff]*/y;
const HEX_DIGITS = /[0-9a-fA-F]{4}/y;
const LITERALS = ['true', 'false', 'null'];

const PARTS = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** A decimal number without its sign in one form, `<digits>e<exponent>`: the digits have no zeros at either end. */
function digitsOf(literal: string): string {
  const [, whole = '', fraction = '', exponent = '0'] = PARTS.exec(literal) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const [kept] = /^\d*[1-9]/.exec(digits) ?? [];
  if (kept === undefined) return '0';
  return `${kept}e${Number(exponent) - fraction.length + digits.length - kept.length}`;
}

interface JsonFault {
  /** The path down to the fault, such as `votes[2].rank`; empty for the body as a whole. */
  readonly field: string;
  readonly message: string;
}

const NEW_LINE = 0x0a;
/** Code units that are the second half of a surrogate pair. */
const [LOW_SURROGATES, LOW_SURROGATES_END] = [0xdc00, 0xe000];
const BEGINNING = { at: 0, line: 1, column: 1 };

class SearchEnds extends Error {}

/** Parses by RFC 8259 and the stricter rules of this service. Collects faults up to the first that ends parsing. */
class FaultSearch {
  readonly faults: JsonFault[] = [];
  readonly #text: string;
  readonly #maxValues: number;
  #at = 0;
  #values = 0;
  #lastPlace = { ...BEGINNING };

  constructor(text: string, maxValues: number) {
    this.#text = text;
    this.#maxValues = maxValues;
  }

  /** @throws SearchEnds at a fault that ends parsing, or at the last fault that an answer lists */
  run(): void {
    if (this.#text.startsWith('\ufeff')) this.#end({ field: '', message: 'must not begin with a byte order mark' });
    this.#skip(WHITE_SPACE);
    if (this.#next() !== '{') this.#end({ field: '', message: 'must be a JSON object' });
    this.#readValue('', 1);
    this.#skip(WHITE_SPACE);
    if (this.#at < this.#text.length) this.#refuseSyntax('', 'nothing may follow the object');
  }

  #next(): string {
    return this.#text.charAt(this.#at);
  }

  #skip(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? '';
    this.#at += found.length;
    return found;
  }

  /** Line and column in characters, from 1. Counts on from the last fault's place, because faults are found front to back. */
  #place(at: number): string {
    const place = at < this.#lastPlace.at ? { ...BEGINNING } : this.#lastPlace;
    for (; place.at < at; place.at += 1) {
      const code = this.#text.charCodeAt(place.at);
      if (code === NEW_LINE) {
        place.line += 1;
        place.column = 1;
      } else if (!(code >= LOW_SURROGATES && code < LOW_SURROGATES_END)) place.column += 1;
    }
    this.#lastPlace = place;
    return `line ${place.line}, column ${place.column}`;
  }

  #end(fault: JsonFault): never {
    this.faults.push(fault);
    throw new SearchEnds();
  }

  /** Records a fault after which parsing can continue. */
  #refuse(field: string, message: string, at: number): void {
    const fault = { field, message: `${message} (${this.#place(at)})` };
    if (this.faults.length + 1 >= MAX_ISSUES) this.#end(fault);
    this.faults.push(fault);
  }

  #refuseText(field: string, message: string): never {
    this.#end({ field, message: `${message} (${this.#place(this.#at)})` });
  }

  #refuseSyntax(field: string, message: string): never {
    this.#refuseText(field, `is not valid JSON: ${message}`);
  }

  #readValue(path: string, depth: number): void {
    this.#values += 1;
    if (this.#values > this.#maxValues) this.#refuseText('', `must hold at most ${this.#maxValues} values`);
    const first = this.#next();
    if (first === '{' || first === '[') {
      if (depth > MAX_DEPTH) this.#refuseText(path, `must not be nested more than ${MAX_DEPTH} deep`);
      this.#at += 1;
      if (first === '{') this.#readObject(path, depth);
      else this.#readArray(path, depth);
    } else if (first === '"') {
      this.#readString(path, '');
    } else if (first === '-' || (first >= '0' && first <= '9')) {
      this.#readNumber(path);
    } else {
      const literal = LITERALS.find((word) => this.#text.startsWith(word, this.#at));
      if (literal === undefined) this.#refuseSyntax(path, 'a value was expected');
      this.#at += literal.length;
    }
  }

  #readObject(path: string, depth: number): void {
    const names = new Set<string>();
    this.#skip(WHITE_SPACE);
    if (this.#takes('}')) return;
    for (;;) {
      this.#skip(WHITE_SPACE);
      if (this.#next() !== '"') this.#refuseSyntax(path, 'a field name in double quotes was expected');
      const start = this.#at;
      const name = this.#readString(path, 'a field name ');
      const field = path === '' ? quoteName(name) : `${path}.${quoteName(name)}`;
      if (names.has(name)) this.#refuse(field, 'must not be given more than once', start);
      names.add(name);
      if (names.size > MAX_FIELDS) this.#refuseText(path, `must have at most ${MAX_FIELDS} fields`);
      this.#skip(WHITE_SPACE);
      if (!this.#takes(':')) this.#refuseSyntax(field, 'a colon was expected');
      this.#skip(WHITE_SPACE);
      this.#readValue(field, depth + 1);
      this.#skip(WHITE_SPACE);
      if (this.#takes('}')) return;
      if (!this.#takes(',')) this.#refuseSyntax(path, 'a comma or a closing brace was expected');
    }
  }

  #readArray(path: string, depth: number): void {
    this.#skip(WHITE_SPACE);
    if (this.#takes(']')) return;
    for (let index = 0; ; index += 1) {
      this.#skip(WHITE_SPACE);
      this.#readValue(`${path}[${index}]`, depth + 1);
      this.#skip(WHITE_SPACE);
      if (this.#takes(']')) return;
      if (!this.#takes(',')) this.#refuseSyntax(path, 'a comma or a closing bracket was expected');
    }
  }

  #takes(character: string): boolean {
    if (this.#next() !== character) return false;
    this.#at += 1;
    return true;
  }

  #readNumber(path: string): void {
    const start = this.#at;
    const literal = this.#skip(NUMBER);
    if (literal.length > MAX_NUMBER_LENGTH) {
      this.#refuse(path, `must be written with at most ${MAX_NUMBER_LENGTH} characters`, start);
      return;
    }
    const value = Number.parseFloat(literal);
    if (Number.isNaN(value)) this.#refuseSyntax(path, 'a number was expected');
    if (!Number.isFinite(value)) this.#refuse(path, 'is larger than any number this service can hold', start);
    else if (Number.isInteger(value) && !Number.isSafeInteger(value))
      this.#refuse(path, `is a whole number beyond ${Number.MAX_SAFE_INTEGER}, which cannot be kept exactly`, start);
    // `2.99999999999999999` would become 3.
    else if (digitsOf(literal) !== digitsOf(String(value)))
      this.#refuse(path, 'has more digits than can be kept', start);
  }

  /** Reads and decodes a string. @param subject begins the message if the fault lies in a field's name; empty for a value */
  #readString(path: string, subject: string): string {
    const start = this.#at;
    this.#at += 1;
    this.#skip(PLAIN_CHARACTERS);
    while (this.#next() !== '"') {
      this.#readCharacter(path);
      this.#skip(PLAIN_CHARACTERS);
    }
    this.#at += 1;
    const decoded: unknown = JSON.parse(this.#text.slice(start, this.#at));
    const text = typeof decoded === 'string' ? decoded : '';
    if (text.includes('\0')) this.#refuse(path, `${subject}must not hold a NUL character`, start);
    if (!text.isWellFormed()) this.#refuse(path, `${subject}must not hold half of a surrogate pair`, start);
    return text;
  }

  #readCharacter(path: string): void {
    const character = this.#next();
    if (character === '') this.#refuseSyntax(path, 'the text ends within a string');
    if (character < ' ') this.#refuseSyntax(path, 'a control character within a string must be escaped');
    this.#at += 1;
    if (character !== '\\') return;
    const escaped = this.#next();
    if (escaped === '' || !'"\\/bfnrtu'.includes(escaped))
      this.#refuseSyntax(path, 'an unknown escape within a string');
    this.#at += 1;
    if (escaped === 'u' && this.#skip(HEX_DIGITS) === '')
      this.#refuseSyntax(path, 'four hexadecimal digits were expected');
  }
}

/**
 * Finds why a text is not a strict JSON object, up to as many faults as an answer lists.
 * @returns also whether parsing reached the end of the text, so that its values can be validated further
 */
export function findJsonFaults(text: string, maxValues = MAX_VALUES) {
  const search = new FaultSearch(text, maxValues);
  try {
    search.run();
    return { faults: search.faults, isRead: true };
  } catch (error) {
    if (error instanceof SearchEnds) return { faults: search.faults, isRead: false };
    throw error;
  }
}
