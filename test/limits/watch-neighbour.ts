import { setTimeout as delay } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';

// What another customer’s server does meanwhile, in a thread of its own: reads, casts, confirms and changes, one after the other.

export interface NeighbourData {
  readonly base: string;
  readonly event: string;
  readonly keys: { readonly read: string; readonly write: string; readonly vote: string };
  readonly votes: readonly object[];
}

/** What the neighbour has met since it was asked last. */
export interface Met {
  readonly requests: number;
  /** Answers of 5xx and 429, and connections that ended. */
  readonly failed: string[];
  readonly p95Ms: number;
}

const EVERY_MS = 20;
const { base, event, keys, votes }: NeighbourData = workerData;
let took: number[] = [];
let failed: string[] = [];

async function ask(method: string, target: string, key: string, body?: object): Promise<unknown> {
  const begin = performance.now();
  try {
    const response = await fetch(`${base}${target}`, {
      method,
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) failed.push(`${method} ${target}: ${response.status} ${text.slice(0, 200)}`);
    return JSON.parse(text).data;
  } catch (fault) {
    failed.push(`${method} ${target}: ${fault instanceof Error ? fault.message : 'no answer'}`);
    return undefined;
  } finally {
    took.push(performance.now() - begin);
  }
}

parentPort?.on('message', () => {
  const sorted = took.toSorted((one, other) => one - other);
  const met: Met = { requests: sorted.length, failed, p95Ms: sorted[Math.floor(sorted.length * 0.95)] ?? 0 };
  [took, failed] = [[], []];
  parentPort?.postMessage(met);
});

for (let visitor = 0; ; visitor += 1) {
  const ballot = `/public/voting-events/${event}/ballot`;
  const cast = await ask('POST', `${ballot}/cast`, keys.vote, {
    visitorId: `vi_${visitor.toString(16).padStart(32, '0')}`,
    votes,
  });
  const { confirmationCode } = { confirmationCode: '', ...(cast ?? {}) };
  await ask('POST', `${ballot}/confirm`, keys.vote, { confirmationCode });
  await ask('GET', `/voting-events/${event}/results`, keys.read);
  await ask('GET', `/voting-events/${event}/candidates`, keys.read);
  // Its ballot is read again after each change.
  await ask('PATCH', `/voting-events/${event}`, keys.write, { description: `${visitor}` });
  await delay(EVERY_MS);
}
