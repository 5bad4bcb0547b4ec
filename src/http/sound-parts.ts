import { z } from 'zod';
import type { Issue } from '#src/platform/errors.ts';
import type { Caller } from './caller.ts';
import { isObject, type JsonBody, type Judged } from './json/strict-json.ts';
import { issuesOf } from './validation.ts';

/** A body without the parts that fail its schema. */
export type SoundParts<T> = T extends readonly (infer Entry)[]
  ? readonly (SoundParts<Entry> | undefined)[]
  : T extends object
    ? { readonly [Name in keyof T]?: SoundParts<T[Name]> | undefined }
    : T;

/** Whether the shape of a field, or of something in it, is wrong. */
export type IsFaulty = (field: string) => boolean;

export const NOTHING_FAULTY: IsFaulty = () => false;

/**
 * Checks the values of a body's well-formed parts when other parts have a wrong shape, so that one answer names all faults
 * (completions 1.3). Not called for a body of valid shape: the operation checks its values itself, under its locks.
 */
export type Judge<Target, Body> = (
  target: Target,
  sound: SoundParts<Body>,
  isFaulty: IsFaulty,
  caller: Caller,
) => Promise<readonly Issue[]>;

/** The longest list that a body may contain. */
const MOST_ENTRIES = 1_000;

function withoutWrapping(schema: z.core.$ZodType): z.core.$ZodType {
  const wrapped = schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault;
  return wrapped ? withoutWrapping(schema.unwrap()) : schema;
}

/** The parts with a valid shape; an entry keeps its index. @param lost faults of parts that cannot be stored */
export function soundParts(
  schema: z.core.$ZodType,
  raw: unknown,
  lost: readonly Issue[] = [],
  path = '',
  isFaulty = faultyFields(lost),
): unknown {
  const parsed = z.safeParse(schema, raw);
  const isLost = path === '' ? lost.length > 0 : isFaulty(path);
  if (parsed.success && !isLost) return parsed.data;
  const inner = withoutWrapping(schema);
  if (inner instanceof z.ZodObject && isObject(raw)) {
    const parts = Object.entries<z.core.$ZodType>(inner.shape).filter(([name]) => Object.hasOwn(raw, name));
    const below = path === '' ? '' : `${path}.`;
    return Object.fromEntries(
      parts.map(([name, part]) => [name, soundParts(part, raw[name], lost, `${below}${name}`, isFaulty)]),
    );
  }
  if (inner instanceof z.ZodArray && Array.isArray(raw)) {
    const entries = raw.slice(0, MOST_ENTRIES);
    return entries.map((entry, index) => soundParts(inner.element, entry, lost, `${path}[${index}]`, isFaulty));
  }
  return undefined;
}

/** @param issues the shape errors of a body: scanned only once, because a body can have one per value */
export function faultyFields(issues: readonly Issue[]): IsFaulty {
  const faulty = new Set<string>();
  for (const { field } of issues) {
    faulty.add(field);
    // The field's parents are faulty too: for `voters[2].name`, `voters[2]` and `voters`.
    for (let end = field.length - 1; end > 0; end -= 1) {
      if (field[end] === '.' || field[end] === '[') faulty.add(field.slice(0, end));
    }
  }
  return (field) => faulty.has(field);
}

export function judgeShape(schema: z.ZodType, { value, faults }: Pick<JsonBody, 'value' | 'faults'>): Judged {
  const parsed = schema.safeParse(value, { reportInput: true });
  const isLost = faultyFields(faults);
  const misshapen = parsed.success ? [] : issuesOf(parsed.error).filter(({ field }) => !isLost(field));
  return { issues: [...faults, ...misshapen], value: parsed.data };
}
