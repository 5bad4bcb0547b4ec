import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { type RawAnswer, sendRaw } from './raw-http.ts';

const FILE = path.resolve(import.meta.dirname, '../../../shared/cases/bad-inputs.json');

interface Request {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | null>>;
  readonly body?: unknown;
  readonly rawBody?: string;
  readonly rawBodyEncoding?: 'base64';
  readonly rawRequest?: string;
}

export interface BadInput extends Request {
  readonly name: string;
  readonly before?: readonly Request[];
  readonly expectStatus: number;
  readonly expectCode?: string;
  readonly expectField?: string;
}

/** The shared cases, or undefined where they are not at hand. */
export function readBadInputs(): BadInput[] | undefined {
  return existsSync(FILE) ? JSON.parse(readFileSync(FILE, 'utf8')) : undefined;
}

type Values = Readonly<Record<string, string>>;

/** Puts values and repetitions into a text. Names without a value are left, so that they can be told. */
export function fill(text: string, values: Values): string {
  return text
    .replace(/\{\{repeat:([\s\S]*?):(\d+)\}\}/g, (_, part: string, times: string) => part.repeat(Number(times)))
    .replace(/\{\{(\w+)\}\}/g, (whole, name: string) => values[name] ?? whole);
}

function fillAll(value: unknown, values: Values): unknown {
  if (typeof value === 'string') return fill(value, values);
  if (Array.isArray(value)) return value.map((item) => fillAll(item, values));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, fillAll(item, values)]));
  }
  return value;
}

function bytesOf(request: Request, values: Values): Uint8Array {
  // One byte for each character: the raw requests hold bytes that are not UTF-8.
  if (request.rawRequest !== undefined) return Buffer.from(fill(request.rawRequest, values), 'latin1');
  const body = bodyOf(request, values);
  const headers = Object.entries({ Host: 'localhost', Connection: 'close', ...request.headers })
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}: ${fill(String(value), values)}\r\n`);
  const length = body === undefined ? '' : `Content-Length: ${body.length}\r\n`;
  const head = `${request.method} ${fill(request.path, values)} HTTP/1.1\r\n${headers.join('')}${length}\r\n`;
  return Buffer.concat([Buffer.from(head, 'latin1'), body ?? Buffer.alloc(0)]);
}

function bodyOf(request: Request, values: Values): Buffer | undefined {
  if (request.rawBody !== undefined) {
    return request.rawBodyEncoding === 'base64'
      ? Buffer.from(request.rawBody, 'base64')
      : Buffer.from(fill(request.rawBody, values));
  }
  return request.body === undefined ? undefined : Buffer.from(JSON.stringify(fillAll(request.body, values)));
}

/** Names in a case that the values do not have. */
export function unknownNames(input: BadInput, values: Values): string[] {
  const text = JSON.stringify(input);
  return [...text.matchAll(/\{\{(\w+)\}\}/g)].map((match) => match[1] ?? '').filter((name) => !(name in values));
}

/** Sends a case, with what comes before it, over a raw socket. */
export async function sendBadInput(port: number, input: BadInput, values: Values): Promise<RawAnswer> {
  for (const request of input.before ?? []) await sendRaw(port, bytesOf(request, values), false);
  return sendRaw(port, bytesOf(input, values), input.name === 'raw-short-body');
}
