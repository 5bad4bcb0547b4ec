import { InvalidArgumentError } from 'commander';
import type { Scope } from '#src/http/caller.ts';
import { SCOPES } from '#src/http/caller.ts';
import { emailFault } from '#src/platform/email-address.ts';
import { nameFault, normaliseText, rawTextFault } from '#src/platform/text.ts';

// Parsers of command-line arguments. Their errors say what would be valid.

export function parseName(text: string): string {
  const raw = rawTextFault(text, 200);
  if (raw !== undefined) throw new InvalidArgumentError(raw);
  const name = normaliseText(text);
  const fault = name.length > 200 ? 'must have at most 200 characters' : nameFault(name);
  if (fault !== undefined) throw new InvalidArgumentError(fault);
  return name;
}

export function parseEmail(text: string): string {
  const address = text.trim();
  const fault = emailFault(address);
  if (fault !== undefined) throw new InvalidArgumentError(fault);
  return address;
}

export function parseScopes(text: string): Scope[] {
  return text.split(',').map((part) => {
    const scope = SCOPES.find((name) => name === part.trim());
    if (scope === undefined)
      throw new InvalidArgumentError(`must be read, write, vote, observe or log, several with commas`);
    return scope;
  });
}

/** Parses a whole number from 1. @param digits the most digits allowed */
export const parseWhole =
  (digits: number, unit = 'from 1') =>
  (text: string): number => {
    if (!/^0*[1-9]\d*$/.test(text) || text.length > digits)
      throw new InvalidArgumentError(`must be a whole number ${unit}`);
    return Number(text);
  };

const MOMENT = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?) ?(Z|[+-]\d\d(?::?\d\d)?)$/;

export function parseMoment(text: string): number {
  const [, date, time, zone = ''] = MOMENT.exec(text.trim()) ?? [];
  const timeMs = Date.parse(`${date}T${time}${/^[+-]\d\d$/.test(zone) ? `${zone}:00` : zone}`);
  // `Date.parse` reads 31 June as 1 July.
  const isDay = new Date(`${date}T00:00Z`).getUTCDate() === Number(date?.slice(8));
  if (Number.isNaN(timeMs) || !isDay)
    throw new InvalidArgumentError('must be a moment with its time zone, such as 2026-11-21T09:59:00Z');
  return timeMs;
}

/** Converts a moment with its time zone into PostgreSQL's format, to the microsecond. */
export function parseServerMoment(text: string): string {
  parseMoment(text);
  const [, date = '', time = '', zone = ''] = MOMENT.exec(text.trim()) ?? [];
  return `${date} ${time}${zone === 'Z' ? '+00' : zone}`;
}

export const parseChoice =
  <Word extends string>(words: readonly Word[]) =>
  (text: string): Word => {
    const word = words.find((known) => known === text);
    if (word === undefined) throw new InvalidArgumentError(`must be one of ${words.join(', ')}`);
    return word;
  };

/** Whether a text can be the ID or code of an event; such a text is safe in a URL path. */
export const isReference = (text: string): boolean => /^[A-Za-z0-9_-]{1,64}$/.test(text);

/** Makes a parser for texts that match `form`. @param fault the error message, which says what is valid */
export const parseLike =
  (form: RegExp, fault: string) =>
  (text: string): string => {
    if (!form.test(text)) throw new InvalidArgumentError(fault);
    return text;
  };

/** Refuses an empty word, which an unset variable of a script gives: as a folder it would mean the current one. */
export const parseFolder = parseLike(/\S/, 'must name a folder');

export function parseEvent(text: string): string {
  if (isReference(text.trim())) return text.trim();
  throw new InvalidArgumentError('must be the ID or the code of an event');
}
