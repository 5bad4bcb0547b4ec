import { createHash } from 'node:crypto';
import { readSync } from 'node:fs';
import type { z } from 'zod';
import { canonicalJson } from '#src/platform/canonical-json.ts';
import { SECOND_MS } from '#src/platform/clock.ts';
import { ApiError, type ErrorDetails } from '#src/platform/errors.ts';
import { Pauses } from '#src/platform/loop-turns.ts';
import type { ThreadPool } from '#src/platform/thread-pool.ts';
import { judgeShape } from '../sound-parts.ts';
import { type BodyBounds, type JsonBody, type JsonObject, type Judged, parseJsonBody } from './strict-json.ts';

/** Time limit of a body, including the modules that a new thread loads for it on a busy machine. */
const MAX_MS = 30 * SECOND_MS;

/** A body in an open file, which takes no memory until the body is read. */
export interface StoredBody {
  readonly file: number;
  readonly length: number;
}

interface LargeBody extends StoredBody {
  readonly bounds: Omit<BodyBounds, 'schema'>;
  readonly schema: { readonly module: string; readonly name: string };
}

/** A refusal as a plain object, because an error loses its class on the way to another thread. */
interface Refused {
  readonly message: string;
  readonly details: ErrorDetails | undefined;
}

/** The first line of a thread's result: the validated value with its lists emptied. */
interface Head extends Pick<JsonBody, 'digest'> {
  readonly judged: Judged;
}

/** Parses and validates in a thread: 30 MB take a second. Assembles with pauses. @throws ApiError as `parseJsonBody` */
export async function readLargeBody(
  threads: ThreadPool,
  account: string,
  { file, length }: StoredBody,
  { bytes, values, schema }: BodyBounds & { readonly schema: NonNullable<BodyBounds['schema']> },
): Promise<JsonBody> {
  const input = { file, length, bounds: { bytes, values }, schema: { ...schema, module: schema.module.href } };
  const order = { module: new URL(import.meta.url), input, account, maxMs: MAX_MS };
  const answer = (await threads.run(order)) as Uint8Array | Refused;
  if (!(answer instanceof Uint8Array)) throw new ApiError('validation_error', answer.message, answer.details);
  return {
    value: {},
    faults: [],
    ...(await putTogether(Buffer.from(answer.buffer, answer.byteOffset, answer.length))),
  };
}

/** Hashes a value, whatever the order of its field names. A body with faults has no hash, because it is always refused. */
export const digestOf = ({ value, faults }: JsonBody): { readonly digest?: string } =>
  faults.length > 0 ? {} : { digest: createHash('sha256').update(canonicalJson(value)).digest('hex') };

/** Runs in the thread. */
export async function work({ file, length, bounds, schema }: LargeBody): Promise<Uint8Array | Refused> {
  try {
    const json = parseJsonBody(readFile(file, length), bounds);
    const loaded = (await import(schema.module)) as Readonly<Record<string, z.ZodType>>;
    const judged = judgeShape(loaded[schema.name] as z.ZodType, json);
    return takeApart({ ...digestOf(json), judged });
  } catch (fault) {
    if (!(fault instanceof ApiError)) throw fault;
    return { message: fault.message, details: fault.details };
  }
}

function readFile(file: number, length: number): Uint8Array {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length; ) {
    const read = readSync(file, bytes, at, length - at, at);
    if (read === 0) throw new Error('a stored body is shorter than it was');
    at += read;
  }
  return bytes;
}

const NEW_LINE = 0x0a;

/** Writes a line for the head, then a line for each entry of each list of the value: `[list, entry]`. */
function takeApart(head: Head): Uint8Array {
  const { value } = head.judged;
  const lists: [string, unknown[]][] = [];
  const rest: JsonObject = {};
  for (const [name, part] of Object.entries(value ?? {}))
    if (Array.isArray(part)) lists.push([name, part]);
    else rest[name] = part;
  for (const [name] of lists) rest[name] = [];
  const lines = [JSON.stringify({ ...head, judged: { ...head.judged, value: rest } })];
  for (const [name, entries] of lists) for (const entry of entries) lines.push(JSON.stringify([name, entry]));
  // Not a `Buffer`: a short `Buffer` lies in Node's pool and cannot be transferred to another thread.
  return new TextEncoder().encode(lines.join('\n'));
}

/** Assembles the lines of a thread, with pauses in which other requests run. */
export async function putTogether(bytes: Buffer): Promise<Head> {
  const pauses = new Pauses();
  let head: Head | undefined;
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf(NEW_LINE, at);
    const line = JSON.parse(bytes.toString('utf8', at, end === -1 ? bytes.length : end));
    if (head === undefined) head = line as Head;
    else {
      const [name, entry] = line as [string, unknown];
      (head.judged.value as Record<string, unknown[]>)[name]?.push(entry);
    }
    at = end === -1 ? bytes.length : end + 1;
    await pauses.take();
  }
  if (head === undefined) throw new Error('a thread gave nothing for a body');
  return head;
}
