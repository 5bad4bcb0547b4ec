import { isIP } from 'node:net';
import { z } from 'zod';
import { emailFault, MAX_EMAIL_LENGTH } from '#src/platform/email-address.ts';
import { isRefusedAddress } from '#src/platform/network-address.ts';
import {
  addressFault,
  codePointLength,
  countryCodeFault,
  MAX_URL_LENGTH,
  nameFault,
  normaliseText,
  normaliseUrl,
  paragraphFault,
  rawTextFault,
} from '#src/platform/text.ts';
import { isObject } from './json/strict-json.ts';

/** Runs a check of a whole list even if some entries have the wrong form, so that one answer names all faults. */
export const BESIDE_FAULTY_ENTRIES = { when: ({ value }: z.core.ParsePayload): boolean => Array.isArray(value) };

/** Runs a check of a whole object even if some fields have the wrong form, so that one answer names all faults. */
export const BESIDE_FAULTY_FIELDS = { when: ({ value }: z.core.ParsePayload): boolean => isObject(value) };

/** Adds an issue for each entry that repeats an earlier one. */
export function refuseRepeated(entries: readonly unknown[], context: z.core.$RefinementCtx, ...below: string[]): void {
  const seen = new Set<unknown>();
  entries.forEach((entry, index) => {
    if (seen.has(entry)) context.addIssue({ code: 'custom', path: [index, ...below], message: 'is named twice' });
    if (typeof entry === 'string') seen.add(entry);
  });
}

/** Makes a zod check of `fault`, which returns what is wrong with a text, or undefined. */
function faultless(fault: (text: string) => string | undefined) {
  return (context: z.core.ParsePayload<string>): void => {
    const message = fault(context.value);
    if (message !== undefined) context.issues.push({ code: 'custom', message, input: context.value, path: [] });
  };
}

const lengthFault = (min: number, max: number) => (text: string) => {
  const length = codePointLength(text);
  if (length < min) return min === 1 ? 'must not be empty' : `must have at least ${min} characters`;
  return length > max ? `must have at most ${max} characters` : undefined;
};

/** A text in the form in which it is stored and compared. An overlong raw text is refused before it is normalised. */
const normalisedText = (max: number) =>
  z
    .string()
    .check(faultless((text) => rawTextFault(text, max)))
    .overwrite(normaliseText);

/** A name or title: 1 to `max` code points after trimming, something visible in it. */
export const nameField = (max = 200) =>
  normalisedText(max)
    .check(faultless((text) => lengthFault(1, max)(text) ?? nameFault(text)))
    .meta({ minLength: 1, maxLength: max });

/** An amount in the currency's smallest unit, up to the largest single payment that a provider takes. */
export const amountMinorField = () => z.int().min(1).max(99_999_999);

/** ISO 4217, lower case. */
export const currencyField = () => z.string().regex(/^[a-z]{3}$/, 'must be a lowercase currency code');

/** A confirmation code as a voter sends it: spaces around it, from copying, are removed. */
export const confirmationCodeField = () => normalisedText(64).check(faultless(lengthFault(1, 64)));

/** A longer text; empty means null. */
export const descriptionField = (max = 5_000) =>
  normalisedText(max)
    .check(faultless((text) => lengthFault(0, max)(text) ?? paragraphFault(text)))
    .meta({ maxLength: max })
    .transform((text) => (text === '' ? null : text))
    .nullable();

export const emailField = () =>
  normalisedText(MAX_EMAIL_LENGTH).check(faultless(emailFault)).meta({ format: 'email', maxLength: MAX_EMAIL_LENGTH });

/** An identifier that people chose, such as a voter ID or a tier: trimmed, NFC, with its case unchanged. */
export const voterIdField = () => nameField(200);

/** The ID of a row. This schema does not check that the row exists. */
export const idField = () =>
  z
    .string()
    .overwrite((id) => id.trim())
    .min(1, 'must not be empty')
    .max(200, 'is not an ID');

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/** The fault of a URL that people are sent to or shown, which must be https and outside of private networks (completions 1.4). */
function webUrlFault(text: string, allowLoopbackHttp: boolean): string | undefined {
  const fault = addressFault(text);
  if (fault !== undefined) return fault;
  const url = new URL(text);
  if (url.protocol === 'http:') {
    return allowLoopbackHttp && LOOPBACK.has(url.hostname) ? undefined : 'must begin with https://';
  }
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0 && isRefusedAddress(host)) return 'must not point into a private network';
  return undefined;
}

/** A web address. @param fault checks the normalised address */
export const addressField = (fault: (address: string) => string | undefined) =>
  z
    .string()
    .check(faultless((text) => rawTextFault(text, MAX_URL_LENGTH)))
    .overwrite(normaliseUrl)
    .check(faultless(fault))
    .meta({ maxLength: MAX_URL_LENGTH });

/** A web address of completions 1.4. `loopback` also allows http to the own machine; `fault` adds a check. */
export const urlField = (rules: {
  readonly loopback: boolean;
  readonly fault?: (address: string) => string | undefined;
}) =>
  addressField((text) => webUrlFault(text, rules.loopback) ?? rules.fault?.(text)).meta({
    ...(rules.fault === undefined ? { format: 'uri' } : {}),
    maxLength: MAX_URL_LENGTH,
  });

export const httpsUrlField = () => urlField({ loopback: false });

/** The URL to which a payer returns: https, or http to the own machine while the service runs with its embedded database. */
export const returnUrlField = (embedded: boolean) => urlField({ loopback: embedded });

/** ISO 3166-1 alpha-2 in any case. */
export const countryCodeField = () =>
  z
    .string()
    .overwrite((text) => text.trim())
    .check(faultless(countryCodeFault))
    .overwrite((text) => text.toUpperCase())
    .meta({ pattern: '^[A-Za-z]{2}$', description: 'ISO 3166-1, two letters.' });

/** An instant in Unix milliseconds, from 1970 to the year 9999. */
export const timeField = () =>
  z
    .int({
      error: ({ input }) =>
        input === undefined ? 'is required' : 'must be a Unix time in milliseconds, a whole number',
    })
    .min(0, 'must be a Unix time in milliseconds, from 1970 on')
    .max(253_402_300_799_999, 'must be a Unix time in milliseconds, before the year 10000')
    .describe('Unix time in milliseconds.');

export const searchField = () =>
  normalisedText(200)
    .check(faultless(lengthFault(0, 200)))
    .meta({ maxLength: 200, description: 'Finds rows that hold this text, in any case.' });

/** The seed of a random order: any text that an address can hold, normalised, so that Unicode spellings of one text give one order. */
export const seedField = () => normalisedText(Number.POSITIVE_INFINITY);

export const sortOrderField = () => z.int().min(0).max(1_000_000).describe('Lower ones come first.');

export const uniqueIdsField = (what: string) =>
  z
    .array(idField())
    .min(1, `must name at least one ${what}`)
    .max(1_000, `must name at most 1000 ${what}s`)
    .superRefine((ids, context) => refuseRepeated(ids, context), BESIDE_FAULTY_ENTRIES);

/** For the body of a change: `.refine(...changesSomething)`. */
export const changesSomething = [
  (body: object): boolean => Object.keys(body).length > 0,
  'must change at least one field',
] as const;
