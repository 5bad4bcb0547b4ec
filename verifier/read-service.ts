import { setTimeout as pause } from 'node:timers/promises';

export interface Reply {
  readonly status: number;
  readonly bytes: Buffer;
}

/** Reads one address of the service, such as `/public/voting-events/…/log/checkpoint`. The only way out of the verifier. */
export type Read = (path: string) => Promise<Reply>;

/** The service could not be reached, or does not let this key read. */
export class Unreadable extends Error {}

const ATTEMPTS = 6;
const TIMEOUT_MS = 30_000;

/** Reads over HTTP; waits where the service asks to, and tries again where it was away for a moment. */
export function readOverHttp(baseUrl: string, key: string): Read {
  const base = baseUrl.replace(/\/+$/, '');
  return async (path) => {
    for (let attempt = 1; ; attempt += 1) {
      const last = attempt === ATTEMPTS;
      let response: Response;
      try {
        response = await fetch(`${base}${path}`, {
          headers: { Authorization: `Bearer ${key}` },
          redirect: 'error',
          signal: AbortSignal.timeout(TIMEOUT_MS),
        });
      } catch (fault) {
        if (last) throw new Unreadable(`${base} cannot be reached`, { cause: fault });
        await pause(250 * 2 ** attempt);
        continue;
      }
      if (!last && (response.status === 429 || response.status >= 500)) {
        await pause(1_000 * Math.min(60, Number(response.headers.get('retry-after') ?? attempt) || attempt));
        continue;
      }
      return { status: response.status, bytes: Buffer.from(await response.arrayBuffer()) };
    }
  };
}

/** @throws Unreadable unless the answer is 200 */
export async function requireBytes(read: Read, path: string): Promise<Buffer> {
  const { status, bytes } = await read(path);
  if (status === 200) return bytes;
  const why =
    status === 401 ? 'the key is not valid' : status === 404 ? 'there is no such log' : `it answered ${status}`;
  throw new Unreadable(`${path} cannot be read: ${why}`);
}
