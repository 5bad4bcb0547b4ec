import { connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import fc from 'fast-check';
import { Hono } from 'hono';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { MAX_BODY_BYTES, parseJsonBody } from '#src/http/json/strict-json.ts';
import { readRequestBody } from '#src/http/read-body.ts';
import { answerHeaders, checkContentType, parseIdempotencyKey } from '#src/http/request-headers.ts';
import { ApiError } from '#src/platform/errors.ts';
import { type Listener, type ListenOptions, listen, MAX_HEADERS } from '#src/server/listen.ts';
import { readBadInputs, runBadInputs } from '#test/harness/bad-inputs.ts';
import { type RawAnswer, sendRaw } from '#test/harness/raw-http.ts';

type Fetch = ListenOptions['fetch'];

const GET = 'GET /x HTTP/1.1\r\nHost: localhost\r\n';
const POST = 'POST /body HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';
const SLOW_MS = 150;

/** An app just large enough to read bodies, to take its time, and to break. */
function tinyApp(): Fetch {
  const app = new Hono<{ Bindings: Parameters<Fetch>[1] }>();
  app.get('/x', (c) => c.json({ data: 'x' }));
  app.get('/slow', async (c) => c.json(await wait(SLOW_MS, { data: 'slow' })));
  app.get('/never', () => new Promise<Response>(() => undefined));
  app.get('/public/*', (c) => c.json({ data: 'ballot' }));
  app.post('*', async (c) => {
    const { incoming } = c.env;
    parseIdempotencyKey(incoming.rawHeaders);
    checkContentType(incoming.rawHeaders);
    const bytes = await readRequestBody(incoming);
    parseJsonBody(bytes);
    return c.json({ data: bytes.length });
  });
  app.onError((error, c) => {
    if (!(error instanceof ApiError)) throw error;
    c.header('X-Request-Id', 'tiny');
    c.header('Cache-Control', 'no-store');
    c.header('X-Content-Type-Options', 'nosniff');
    return c.json({ error: { code: error.code, message: error.message, requestId: 'tiny' } }, error.status);
  });
  return (request, env) => app.fetch(request, env);
}

// What was refused before the app lacked HSTS.
test.each([true, false])('carries one list of headers on early refusals, too (secure: %s)', async (secure) => {
  const { port } = await serve({ secure });
  for (const text of ['GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', 'nonsense\r\n\r\n']) {
    const raw = await readToEnd(port, text.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
    for (const name of Object.keys(answerHeaders('x', secure)))
      expect(raw.toLowerCase()).toContain(`${name.toLowerCase()}: `);
    expect(raw.toLowerCase().includes('strict-transport-security')).toBe(secure);
  }
});

const opened: Listener[] = [];

async function serve(options: Partial<ListenOptions> = {}): Promise<Listener> {
  const listener = await listen({ fetch: tinyApp(), port: 0, host: '127.0.0.1', ...options });
  opened.push(listener);
  return listener;
}

/** Everything that comes back until the server ends the connection. */
function readToEnd(toPort: number, ...pieces: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port: toPort, host: '127.0.0.1' });
    let raw = '';
    socket.setTimeout(5_000, () => socket.destroy(new Error(`silence after ${raw}`)));
    socket.on('data', (chunk) => {
      raw += chunk.toString('latin1');
    });
    socket.on('end', () => resolve(raw));
    socket.on('error', reject);
    for (const piece of pieces) socket.write(piece);
  });
}

/** Goes on writing for a while, whatever comes back, and only then looks at what came and how it ended. */
async function writeOn(toPort: number, first: string): Promise<string> {
  const socket = connect({ port: toPort, host: '127.0.0.1', allowHalfOpen: true });
  let raw = '';
  let end = 'open';
  socket.on('error', (error) => {
    end = error.message;
  });
  socket.on('data', (chunk) => {
    raw += chunk.toString('latin1');
  });
  socket.write(first);
  for (let round = 0; round < 5; round += 1) {
    await wait(20);
    socket.write('more'.repeat(1_000));
  }
  socket.end();
  await wait(20);
  socket.destroy();
  return `${statuses(raw)} ${end}`;
}

function statuses(raw: string): number[] {
  return [...raw.matchAll(/HTTP\/1\.1 (\d+) /g)].map((match) => Number(match[1]));
}

function expectRefusal(answer: RawAnswer): void {
  const requestId = answer.headers['x-request-id'];
  expect(answer.status).toBe(400);
  expect(answer.headers).toMatchObject({
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    connection: 'close',
  });
  expect(JSON.parse(answer.body)).toMatchObject({
    error: { code: 'bad_request', message: expect.any(String), requestId },
  });
  expect(requestId).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
}

const { port } = await serve();
afterAll(async () => {
  await Promise.all(opened.map((listener) => listener.close(0)));
});

describe('requests that Node refuses by itself', () => {
  test.each([
    ['bare line feeds', 'GET /x HTTP/1.1\nHost: localhost\n\n'],
    ['one bare line feed', `GET /x HTTP/1.1\r\nHost: localhost\nX: y\r\n\r\n`],
    ['a length and a transfer coding', `${POST}Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG`],
    ['an unknown transfer coding', `${POST}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`],
    ['a second transfer coding', `${POST}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
    ['chunks in HTTP/1.0', 'POST /body HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['two lengths', `${POST}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}`],
    ['a signed length', `${POST}Content-Length: +2\r\n\r\n{}`],
    ['a chunk of no size', `${POST}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}`],
    ['a control byte in a header', `${GET}X-A: a\u0001b\r\n\r\n`],
    ['a folded header', `${GET}X-A: a\r\n b\r\n\r\n`],
    ['a space before the colon', `${GET}X-A : a\r\n\r\n`],
    ['20 KB of headers', `${GET}X-A: ${'a'.repeat(20_000)}\r\n\r\n`],
    ['1 MB of headers', `${GET}X-A: ${'a'.repeat(1_000_000)}\r\n\r\n`],
    ['3,000 headers', `${GET}${'a: b\r\n'.repeat(3_000)}\r\n`],
    ['a few headers too many', `${GET}${'a: b\r\n'.repeat(MAX_HEADERS)}\r\n`],
    ['an unknown expectation', `${GET}Expect: 200-maybe\r\n\r\n`],
    ['an unknown method', 'FOO /x HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    ['CONNECT', 'CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n'],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['what is no HTTP', 'hello\r\n\r\n'],
  ])('get the envelope, and their connection is closed: %s', async (_name, request) => {
    expectRefusal(await sendRaw(port, request));
    expectRefusal(await sendRaw(port, request, { halfClose: true }));
  });

  test.each([
    ['a body shorter than its length', `${POST}Content-Length: 500\r\n\r\n{"a":`],
    ['chunks that stop', `${POST}Transfer-Encoding: chunked\r\n\r\n5\r\n{"a`],
    ['headers that stop', 'GET /x HTTP/1.1\r\nHost: local'],
  ])('get the envelope when the sender closes in the middle: %s', async (_name, request) => {
    expectRefusal(await sendRaw(port, request, { halfClose: true }));
  });

  test('are not reset while they still send, which would lose them the answer', async () => {
    expect(await writeOn(port, `${GET}X-A: ${'a'.repeat(20_000)}`)).toBe('400 open');
    expect(await writeOn(port, `${POST}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n`)).toBe('400 open');
  });

  test('are told under their own request ID where it could be read', async () => {
    const request = `${POST}X-Request-Id: mine-1\r\nContent-Length: 500\r\n\r\n{"a":`;
    const answer = await sendRaw(port, request, { halfClose: true });
    expectRefusal(answer);
    expect(answer.headers['x-request-id']).toBe('mine-1');
  });

  test('are answered in time when they are slow to arrive', async () => {
    const serverOptions = { headersTimeout: 200, requestTimeout: 400, connectionsCheckingInterval: 50 };
    const slow = await serve({ serverOptions });
    const answers = await Promise.all([
      sendRaw(slow.port, 'GET /x HTTP/1.1\r\nHost: loc'),
      sendRaw(slow.port, `${POST}Content-Length: 500\r\n\r\n{`),
    ]);
    for (const answer of answers) {
      expectRefusal(answer);
      expect(answer.body).toContain('too long');
    }
  });

  test('answer as the shared cases expect', async () => {
    const inputs = readBadInputs()?.filter((input) => input.rawRequest !== undefined) ?? [];
    expect(await runBadInputs(port, inputs, { event: 'evt_1', voteKey: 'vvk_1' })).toEqual([]);
  });

  test('leave requests that came before them on the connection their own answers, in order', async () => {
    const slow = 'GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n';
    expect(statuses(await readToEnd(port, `${slow}${slow}GARBAGE\r\n\r\n`))).toEqual([200, 200, 400]);
    expect(statuses(await readToEnd(port, `${slow}${POST}Transfer-Encoding: chunked\r\n\r\nzz\r\n`))).toEqual([
      200, 400,
    ]);
  });

  test('random bytes get a refusal or silence, and the server lives on', async () => {
    const line = fc.constantFrom(
      'GET /x HTTP/1.1\r\n',
      'POST /body HTTP/1.1\r\n',
      'Host: a\r\n',
      'Content-Length: 9\r\n',
    );
    const end = fc.constantFrom('\r\n', '\r\n\r\n', 'Transfer-Encoding: chunked\r\n\r\n', '0\r\n\r\n', '{}', '');
    const bytes = fc.string({ unit: 'binary', maxLength: 30 });
    const requests = fc.array(fc.oneof(line, end, bytes), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(requests, async (pieces) => {
        const data = Buffer.from(pieces.join(''));
        if (data.toString('latin1').trim() === '') return;
        const answer = await sendRaw(port, data, { halfClose: true });
        expect([200, 400, 404, 422]).toContain(answer.status);
      }),
      { numRuns: 150 },
    );
    expect((await sendRaw(port, `${GET}\r\n`)).status).toBe(200);
  });
});

describe('requests that Node would take', () => {
  test.each([
    ['a missing Host', 'GET /x HTTP/1.1\r\n\r\n', 400],
    ['a bad Host', 'GET /x HTTP/1.1\r\nHost: a b\r\n\r\n', 400],
    ['two Hosts', `${GET}Host: localhost\r\n\r\n`, 400],
    ['two Authorizations', `${GET}Authorization: a\r\nAuthorization: a\r\n\r\n`, 400],
    ['a coded body', `${POST}Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}`, 400],
    ['the absolute form', 'GET http://localhost/x HTTP/1.1\r\nHost: localhost\r\n\r\n', 400],
    ['the asterisk form', 'OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n', 400],
    ['a fragment', 'GET /x#y HTTP/1.1\r\nHost: localhost\r\n\r\n', 400],
    ['bad percent-encoding', 'GET /x%zz HTTP/1.1\r\nHost: localhost\r\n\r\n', 400],
    ['dot segments that lead to a route', 'GET /y/../x HTTP/1.1\r\nHost: localhost\r\n\r\n', 404],
    ['encoded dot segments', 'GET /y/%2e%2e/x HTTP/1.1\r\nHost: localhost\r\n\r\n', 404],
    ['backslashes for slashes', 'GET /y\\..\\x HTTP/1.1\r\nHost: localhost\r\n\r\n', 404],
  ])('are refused by the guard, and their connection lives on: %s', async (_name, request, status) => {
    const answer = await sendRaw(port, request);
    expect(answer).toMatchObject({ status, headers: { 'cache-control': 'no-store', connection: 'keep-alive' } });
    expect(JSON.parse(answer.body).error.requestId).toBe(answer.headers['x-request-id']);
  });

  test('may ask to go on before they send their body', async () => {
    const answer = await sendRaw(port, `${POST}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}`);
    expect(answer.raw).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /);
  });

  test('may offer another protocol, and are answered in this one', async () => {
    const answer = await sendRaw(port, `${GET}Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n`);
    expect(answer.status).toBe(200);
  });

  test('are answered after the sender closed its side', async () => {
    const answer = await sendRaw(port, 'GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n', { halfClose: true });
    expect(answer).toMatchObject({ status: 200, body: '{"data":"slow"}' });
  });

  test('are not told what software answers', async () => {
    const { headers } = await sendRaw(port, `${GET}\r\n`);
    expect(headers).not.toHaveProperty('server');
    expect(headers).not.toHaveProperty('x-powered-by');
  });

  test('get a bare internal error when the app throws, without a word of what it threw', async () => {
    const broken = await serve({
      fetch: () => {
        throw new Error('password=hunter2');
      },
    });
    const answer = await sendRaw(broken.port, `${GET}\r\n`);
    expect(answer.status).toBe(500);
    expect(JSON.parse(answer.body)).toMatchObject({ error: { code: 'internal' } });
    expect(answer.raw).not.toContain('hunter2');
  });
});

describe('a body', () => {
  const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
  const filled = (bytes: number): string => `{"a":"${'x'.repeat(bytes - 8)}"}`;

  test('of 1 MiB is read, whether its length is announced or not', async () => {
    const body = filled(MAX_BODY_BYTES);
    const announced = await sendRaw(port, `${POST}Content-Length: ${body.length}\r\n\r\n${body}`);
    expect(announced.body).toBe(`{"data":${MAX_BODY_BYTES}}`);
    const chunked = await sendRaw(port, `${POST}Transfer-Encoding: chunked\r\n\r\n${chunk(body)}0\r\n\r\n`);
    expect(chunked.body).toBe(`{"data":${MAX_BODY_BYTES}}`);
  });

  test('of one byte more is refused as a whole, whether its length is announced or not', async () => {
    const body = filled(MAX_BODY_BYTES + 1);
    const announced = await sendRaw(port, `${POST}Content-Length: ${body.length}\r\n\r\n${body}`);
    expect(announced).toMatchObject({ status: 422, body: expect.stringContaining('validation_error') });
    const chunked = await sendRaw(port, `${POST}Transfer-Encoding: chunked\r\n\r\n${chunk(body)}0\r\n\r\n`);
    expect(chunked).toMatchObject({ status: 422, body: expect.stringContaining('validation_error') });
  });

  test('without an end is refused while it still comes', async () => {
    const piece = chunk('x'.repeat(64 * 1024));
    const endless = await sendRaw(port, `${POST}Transfer-Encoding: chunked\r\n\r\n${piece.repeat(20)}`);
    expect(endless.status).toBe(422);
    const huge = await sendRaw(port, `${POST}Content-Length: 30000000\r\n\r\n${'x'.repeat(100_000)}`);
    expect(huge.status).toBe(422);
  });

  test('that was refused does not become the next request on the connection', async () => {
    const body = `${'x'.repeat(MAX_BODY_BYTES)}${GET}\r\n`;
    const refused = `${POST}Content-Length: ${body.length}\r\n\r\n${body}`;
    const last = `${GET}Connection: close\r\n\r\n`;
    expect(statuses(await readToEnd(port, `${refused}${last}`))).toEqual([422, 200]);
  });
});

describe('a large answer', () => {
  const BYTES = 64 * 1024 * 1024;
  const limits = { stallMs: 1_000, wholeMs: 60_000 };
  const app = (): Fetch => (request) =>
    new URL(request.url).pathname === '/stream'
      ? new Response(ReadableStream.from(pieces()))
      : new Response(Buffer.alloc(BYTES));
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (let sent = 0; sent < BYTES; sent += 65_536) yield new Uint8Array(65_536);
  }

  /** Pauses after each piece, for a while. Answers how much was read by the time that the connection ended. */
  function readSlowly(toPort: number, path: string, pauseMs: number, slowForMs = 60_000): Promise<number> {
    const begin = performance.now();
    return new Promise((resolve) => {
      const socket = connect({ port: toPort, host: '127.0.0.1' });
      let bytes = 0;
      socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
      socket.on('data', (chunk) => {
        bytes += chunk.length;
        socket.pause();
        // Afterwards it reads what the kernel has kept: megabytes of it, that no server can take back.
        setTimeout(() => socket.resume(), performance.now() - begin < slowForMs ? pauseMs : 0);
      });
      socket.on('error', () => undefined);
      socket.on('close', () => resolve(bytes));
    });
  }

  test.each(['/whole', '/stream'])('that nobody reads is not kept for longer than the limit (%s)', async (path) => {
    const listener = await serve({ fetch: app(), answerLimits: limits });
    const begin = performance.now();
    const sockets = new Promise<void>((resolve) => {
      const socket = connect({ port: listener.port, host: '127.0.0.1' });
      socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      socket.on('error', () => resolve());
      // Reads nothing, and still learns that the connection was cut.
      socket.pause();
      const timer = setInterval(() => {
        if (!socket.write(' ') && performance.now() - begin > 10_000) resolve();
      }, 100);
      socket.on('close', () => {
        clearInterval(timer);
        resolve();
      });
    });
    await sockets;
    expect(performance.now() - begin).toBeLessThan(8_000);
  });

  test('that is read slowly arrives as a whole', async () => {
    // Several times as long as a peer may take nothing: a busy machine may stop this program for a second by itself.
    const listener = await serve({ fetch: app(), answerLimits: { ...limits, stallMs: 3_000 } });
    expect(await readSlowly(listener.port, '/whole', 12)).toBeGreaterThan(BYTES);
  });

  test('that is read a little now and then ends with the limit for all of it', async () => {
    const listener = await serve({ fetch: app(), answerLimits: { stallMs: 1_000, wholeMs: 2_000 } });
    expect(await readSlowly(listener.port, '/whole', 400, 4_000)).toBeLessThan(BYTES);
  });
});

describe('closing', () => {
  let listener: Listener;
  afterEach(() => listener.close(0));

  test('lets requests in flight finish, tells them so, and takes no new connection', async () => {
    listener = await serve();
    const inFlight = sendRaw(listener.port, 'GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await wait(SLOW_MS / 3);
    const closed = listener.close(5_000);
    await expect(sendRaw(listener.port, `${GET}\r\n`)).rejects.toThrow('ECONNREFUSED');
    expect(await inFlight).toMatchObject({ status: 200, headers: { connection: 'close' } });
    await closed;
  });

  test('does not wait for connections that are idle or silent', async () => {
    listener = await serve();
    const silent = connect({ port: listener.port, host: '127.0.0.1' });
    const idle = readToEnd(listener.port, `${GET}\r\n`);
    await wait(50);
    const startedAt = performance.now();
    await listener.close(5_000);
    expect(performance.now() - startedAt).toBeLessThan(2_500);
    expect(statuses(await idle)).toEqual([200]);
    silent.destroy();
  });

  test('cuts what is still open after the grace', async () => {
    listener = await serve();
    const stuck = sendRaw(listener.port, 'GET /never HTTP/1.1\r\nHost: localhost\r\n\r\n');
    const lost = expect(stuck).rejects.toThrow('before a complete answer');
    await wait(50);
    await listener.close(100);
    await lost;
  });

  test('may be asked for twice', async () => {
    listener = await serve();
    await Promise.all([listener.close(100), listener.close(100)]);
  });
});

describe('listening', () => {
  test('on a port that is taken fails with a code that says so', async () => {
    await expect(serve({ port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });

  test('takes more than one connection in a turn of its loop: long turns of one client starve no other', async () => {
    let turn = 0;
    const served: number[] = [];
    const { port } = await serve({
      reusePort: true,
      fetch: () => {
        served.push(turn);
        return new Response('here');
      },
    });
    const clients = Array.from({ length: 64 }, () => connect({ port, host: '127.0.0.1' }));
    for (const client of clients) client.on('error', () => undefined).write(`${GET}\r\n`);
    while (served.length < clients.length) {
      turn += 1;
      await new Promise((resolve) => setImmediate(resolve));
    }
    for (const client of clients) client.destroy();
    // One socket took 64 turns. The kernel deals connections out to sixteen by their addresses.
    expect(Math.max(...served) - Math.min(...served)).toBeLessThan(32);
  });

  test('may share a port with another process that asks for it too', async () => {
    const first = await serve({ reusePort: true });
    const second = await serve({ reusePort: true, port: first.port });
    expect(second.port).toBe(first.port);
  });
});
