import { pause } from './primitives.ts';

export interface Reply {
  readonly status: number;
  readonly bytes: Buffer;
}

/**
 * Reads one path of the service, such as `/public/voting-events/…/log/checkpoint`. The verifier's only access to the network.
 * @param maxBytes a longer answer is cut off and refused
 * @throws Unreadable if no answer comes that can be judged
 */
export type Read = (path: string, maxBytes: number) => Promise<Reply>;

/** The service cannot be reached, does not let this key read, or sends something else. This proves nothing against it. */
export class Unreadable extends Error {}

/** Most bytes of each kind of answer. */
export const MOST_BYTES = {
  /** A checkpoint with cosignatures of many witnesses. */
  note: 65_536,
  /** 256 entries of at most 65,535 bytes, each after its length. */
  entries: 256 * 65_537,
  /** 256 hashes. */
  tile: 256 * 32,
  /** A page of openings, or results. */
  json: 67_108_864,
} as const;

const ATTEMPTS = 6;
/** Time limit of one answer, up to its last byte. */
const TIMEOUT_MS = 30_000;
/** The sum of all pauses that the service asks for. */
const MOST_PAUSES_MS = 600_000;

export interface ReadLimits {
  readonly timeoutMs?: number;
  readonly attempts?: number;
}

/**
 * Reads over HTTP. Waits if the service asks for it, and tries again after short failures. Follows no redirect, because the key must go
 * only to this service.
 * @param key undefined for an open log
 */
export function readOverHttp(baseUrl: string, key: string | undefined, limits: ReadLimits = {}): Read {
  const [base = ''] = /^.*[^/]/s.exec(baseUrl) ?? [];
  const { timeoutMs = TIMEOUT_MS, attempts = ATTEMPTS } = limits;
  let pauseLeft = MOST_PAUSES_MS;
  const rest = async (ms: number): Promise<void> => {
    pauseLeft -= ms;
    if (pauseLeft < 0) throw new Unreadable(`${base} asks to wait again and again`);
    await pause(ms);
  };
  return async (path, maxBytes) => {
    for (let attempt = 1; ; attempt += 1) {
      const last = attempt === attempts;
      const signal = AbortSignal.timeout(timeoutMs);
      try {
        const headers: Record<string, string> = key === undefined ? {} : { Authorization: `Bearer ${key}` };
        const response = await fetch(`${base}${path}`, { headers, redirect: 'manual', signal });
        if (!last && (response.status === 429 || response.status >= 500)) {
          await response.body?.cancel();
          const asked = Number(response.headers.get('retry-after') ?? attempt) || attempt;
          await rest(1_000 * Math.min(60, Math.max(0, asked)));
          continue;
        }
        return { status: response.status, bytes: await readBody(response, path, maxBytes) };
      } catch (fault) {
        if (fault instanceof Unreadable) throw fault;
        if (signal.aborted)
          throw new Unreadable(`${path} did not come within ${timeoutMs / 1_000} s`, { cause: fault });
        if (last) throw new Unreadable(`${base} cannot be reached`, { cause: fault });
        await rest(250 * 2 ** attempt);
      }
    }
  };
}

async function readBody(response: Response, path: string, maxBytes: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  const reader = response.body?.getReader();
  // In some browsers, a stream cannot be iterated over.
  for (let piece = await reader?.read(); piece?.value !== undefined; piece = await reader?.read()) {
    bytes += piece.value.length;
    if (bytes > maxBytes) {
      await reader?.cancel();
      throw new Unreadable(`${path} has more than ${maxBytes} bytes`);
    }
    pieces.push(piece.value);
  }
  return Buffer.concat(pieces);
}

/** @throws Unreadable unless the answer is 200 and has at most `maxBytes` */
export async function requireBytes(read: Read, path: string, maxBytes: number): Promise<Buffer> {
  const { status, bytes } = await read(path, maxBytes);
  if (status === 200 && bytes.length <= maxBytes) return bytes;
  throw new Unreadable(`${path} cannot be read: ${status === 200 ? 'it is too long' : reasonOf(status)}`);
}

function reasonOf(status: number): string {
  if (status === 401) return 'it asks for a valid key';
  return status === 404 ? 'there is no such log' : `it answered ${status}`;
}

/** The value of a JSON answer; undefined if this key may not read it, or if a key is required. @throws Unreadable in all other cases */
export async function readJson(read: Read, path: string): Promise<unknown> {
  const { status, bytes } = await read(path, MOST_BYTES.json);
  if (status === 401 || status === 403) return undefined;
  if (status !== 200 || bytes.length > MOST_BYTES.json)
    throw new Unreadable(`${path} cannot be read: ${status === 200 ? 'it is too long' : reasonOf(status)}`);
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (fault) {
    throw new Unreadable(`${path} is no JSON`, { cause: fault });
  }
}
