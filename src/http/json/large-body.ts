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

/** With the modules that a new thread loads for it, on a busy machine. */
const MAX_MS = 30 * SECOND_MS;

/** A body that was sent, in an open file: it takes no memory until it is read. */
export interface StoredBody {
  readonly file: number;
  readonly length: number;
}

interface LargeBody extends StoredBody {
  readonly bounds: Omit<BodyBounds, 'schema'>;
  readonly schema: { readonly module: string; readonly name: string };
}

/** Why a body is refused: an error loses its class on the way to another thread. */
interface Refused {
  readonly message: string;
  readonly details: ErrorDetails | undefined;
}

/** What stands above the entries of the lists: the value without them. */
interface Head extends Pick<JsonBody, 'digest'> {
  readonly judged: Judged;
}

/**
 * Reads and judges a body in a thread, as `parseJsonBody` and its schema do: thirty megabytes take a second, and other requests go
 * on meanwhile. What comes back is put together entry by entry, with pauses.
 * @throws ApiError `validation_error`, as `parseJsonBody`
 */
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

/** The same value has the same hash, whatever the order of its names. None for a body with values that cannot be kept: it is never taken. */
export const digestOf = ({ value, faults }: JsonBody): { readonly digest?: string } =>
  faults.length > 0 ? {} : { digest: createHash('sha256').update(canonicalJson(value)).digest('hex') };

/** In the thread. */
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

/** A line for the head, and one for each entry of each list of the value: `[list, entry]`. */
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
  // A short `Buffer` lies in a pool, and cannot be handed over.
  return new TextEncoder().encode(lines.join('\n'));
}

/** Puts the lines of a thread together, with pauses: others have their turn between two of them. */
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
