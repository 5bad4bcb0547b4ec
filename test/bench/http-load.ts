import { connect, type Socket } from 'node:net';
import { quantile } from './line.ts';

export interface Load {
  readonly port: number;
  readonly connections: number;
  readonly durationMs: number;
  /** The bytes of a whole request; called once for each. */
  readonly request: () => Buffer;
  readonly status: number;
}

export type LoadResult = Awaited<ReturnType<typeof applyLoad>>;

const END_OF_HEAD = Buffer.from('\r\n\r\n');
const LAST_CHUNK = Buffer.from('0\r\n\r\n');

/**
 * Keeps so many connections busy, each with one request at a time. Reads of an answer no more than its status and length:
 * the load shares the machine with the server, and must cost little beside it.
 * @throws Error when an answer has another status than the one that is expected
 */
export async function applyLoad(load: Load) {
  const latencies: number[] = [];
  const begin = performance.now();
  const end = begin + load.durationMs;
  await Promise.all(Array.from({ length: load.connections }, () => keepBusy(load, end, latencies)));
  const seconds = (performance.now() - begin) / 1_000;
  const sorted = Float64Array.from(latencies).sort();
  return {
    answered: sorted.length,
    perSecond: sorted.length / seconds,
    p50Ms: quantile(sorted, 0.5),
    p99Ms: quantile(sorted, 0.99),
  };
}

function keepBusy(load: Load, end: number, latencies: number[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port: load.port, host: '127.0.0.1', noDelay: true });
    let sentAt = 0;
    const send = (): void => {
      sentAt = performance.now();
      socket.write(load.request());
    };
    const answered = (status: number, bytes: Buffer): void => {
      if (status !== load.status) {
        socket.destroy();
        reject(new Error(`expected ${load.status}, got ${bytes.toString('utf8').slice(0, 600)}`));
        return;
      }
      const now = performance.now();
      latencies.push(now - sentAt);
      if (now < end) send();
      else socket.end(() => resolve());
    };
    readAnswers(socket, answered);
    socket.once('error', reject);
    socket.once('connect', send);
  });
}

/** Cuts what arrives into answers with a Content-Length, in chunks, or without any body; one is under way at a time. */
export function readAnswers(socket: Socket, answered: (status: number, bytes: Buffer) => void): void {
  let kept: Buffer | undefined;
  let expected = 0;
  let isChunked = false;
  let status = 0;
  socket.on('data', (chunk: Buffer) => {
    const bytes: Buffer = kept === undefined ? chunk : Buffer.concat([kept, chunk]);
    if (expected === 0) {
      const head = bytes.indexOf(END_OF_HEAD);
      if (head === -1) {
        kept = bytes;
        return;
      }
      const text = bytes.toString('latin1', 0, head);
      status = Number(text.slice(9, 12));
      isChunked = /transfer-encoding: *chunked/i.test(text);
      expected = head + 4 + Number(/content-length: *(\d+)/i.exec(text)?.[1] ?? 0);
    }
    if (bytes.length < expected || (isChunked && !bytes.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK))) {
      kept = bytes;
      return;
    }
    kept = undefined;
    expected = 0;
    answered(status, bytes);
  });
}

/** A request with places that are written anew each time, so that making one costs a copy. */
interface RequestPattern {
  readonly method: string;
  readonly path: string;
  readonly key: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Each `#` of a run is a digit of the number that belongs to the run. */
  readonly body?: string;
}

/**
 * Makes requests of a pattern: `numbers` gives, for each request, a number for every run of eight `#`.
 */
export function requestsOf(pattern: RequestPattern, numbers: () => readonly number[]): () => Buffer {
  const { method, path, key, headers = {}, body = '' } = pattern;
  const lines = [
    `${method} ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    `Authorization: Bearer ${key}`,
    ...(body === '' ? [] : ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`]),
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  const template = Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`);
  const places: number[] = [];
  for (let at = template.indexOf('########'); at !== -1; at = template.indexOf('########', at + 8)) places.push(at);
  return () => {
    const request = Buffer.from(template);
    numbers().forEach((number, index) => {
      let rest = number;
      const place = places[index] ?? 0;
      for (let digit = place + 7; digit >= place; digit -= 1) {
        request[digit] = 48 + (rest % 10);
        rest = Math.floor(rest / 10);
      }
    });
    return request;
  };
}
