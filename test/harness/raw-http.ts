import { connect, type Socket } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  /** By name in lower case; a header that came twice is joined with a comma. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Everything that came, interim answers included, one character a byte. */
  readonly raw: string;
}

export interface SendOptions {
  /** Close our side once everything is sent, as a caller that breaks off does. */
  readonly halfClose?: boolean;
  readonly timeoutMs?: number;
  readonly host?: string;
}

const END_OF_HEADERS = '\r\n\r\n';

function readHeaders(head: string): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const line of head.split('\r\n').slice(1)) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
  }
  return headers;
}

/** The body of a chunked answer, or undefined while some of it is missing. */
function readChunks(text: string): string | undefined {
  let body = '';
  for (let at = 0; ; ) {
    const end = text.indexOf('\r\n', at);
    const size = Number.parseInt(text.slice(at, end), 16);
    if (end === -1 || text.length < end + 2 + size + 2) return undefined;
    if (size === 0) return body;
    body += text.slice(end + 2, end + 2 + size);
    at = end + 2 + size + 2;
  }
}

function readBody(headers: Record<string, string>, rest: string, ended: boolean): string | undefined {
  if (headers['transfer-encoding'] === 'chunked') return readChunks(rest);
  const length = headers['content-length'];
  if (length === undefined) return ended ? rest : undefined;
  return rest.length < Number(length) ? undefined : rest.slice(0, Number(length));
}

/**
 * The first final answer in what came so far, or undefined while it is incomplete. An answer without a length ends with
 * the connection; an answer to HEAD ends with its headers.
 */
export function parseAnswer(raw: string, ended: boolean, toHead: boolean): RawAnswer | undefined {
  let start = 0;
  for (;;) {
    const end = raw.indexOf(END_OF_HEADERS, start);
    if (end === -1) return undefined;
    const head = raw.slice(start, end);
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1]);
    start = end + END_OF_HEADERS.length;
    if (status < 200) continue;
    const headers = readHeaders(head);
    const bare = toHead || status === 204 || status === 304;
    const body = bare ? '' : readBody(headers, raw.slice(start), ended);
    if (body === undefined) return undefined;
    return { status, headers, body: Buffer.from(body, 'latin1').toString('utf8'), raw };
  }
}

function open(port: number, options: SendOptions): Socket {
  const socket = connect({ port, host: options.host ?? '127.0.0.1', allowHalfOpen: true });
  socket.setTimeout(options.timeoutMs ?? 5_000);
  socket.setEncoding('latin1');
  return socket;
}

/**
 * Sends bytes as they are over a connection of their own and gives the first final answer. A string is sent as UTF-8.
 * Rejects when the connection ends, breaks or stays silent before the answer is complete.
 */
export function sendRaw(port: number, data: Uint8Array | string, options: SendOptions = {}): Promise<RawAnswer> {
  const toHead = Buffer.from(data.slice(0, 5)).toString('latin1') === 'HEAD ';
  return new Promise((resolve, reject) => {
    const socket = open(port, options);
    let raw = '';
    const answered = (ended: boolean): boolean => {
      const answer = parseAnswer(raw, ended, toHead);
      if (answer === undefined) return false;
      resolve(answer);
      socket.destroy();
      return true;
    };
    const fail = (reason: string): void => {
      reject(new Error(`${reason} before a complete answer; came: ${JSON.stringify(raw.slice(0, 200))}`));
      socket.destroy();
    };
    socket.on('data', (chunk: string) => {
      raw += chunk;
      answered(false);
    });
    socket.on('end', () => answered(true) || fail('the connection ended'));
    socket.on('error', (error) => fail(error.message));
    socket.on('timeout', () => fail('silence'));
    if (options.halfClose === true) socket.end(data);
    else socket.write(data);
  });
}

/** What comes no further within this time is not waited for: the answer is shorter, or has no end. */
const NOTHING_COMES_MS = 300;

/** Sends bytes and hangs up once so many bytes of the answer have come; at once for 0. */
export function hangUp(port: number, bytes: string, after: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const socket: Socket = connect({ port, host: '127.0.0.1' });
  let came = 0;
  // A peer that reads no further lets the answer wait within the service.
  const leave = (): void => void socket.pause().resetAndDestroy();
  socket.on('connect', () => socket.write(bytes, () => void (after === 0 && leave())));
  socket.on('data', (chunk: Buffer) => {
    came += chunk.length;
    if (came >= after) leave();
  });
  socket.setTimeout(NOTHING_COMES_MS, leave);
  socket
    .on('end', leave)
    .on('error', leave)
    .on('close', () => resolve());
  return promise;
}
