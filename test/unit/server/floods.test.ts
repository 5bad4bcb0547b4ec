import { createHook } from 'node:async_hooks';
import { once } from 'node:events';
import { connect, Server, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setImmediate as immediately, setTimeout as wait } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { readRequestBody } from '#src/http/read-body.ts';
import { type Listener, type ListenOptions, listen } from '#src/server/listen.ts';
import { sendRaw } from '#test/harness/raw-http.ts';

type Fetch = ListenOptions['fetch'];

const get = (path: string): string => `GET /${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
const POST = 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';
const post = (body: string): string => `${POST}Content-Length: ${body.length}\r\n\r\n${body}`;

const opened: Listener[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  for (const socket of sockets.splice(0)) socket.destroy();
  await Promise.all(opened.splice(0).map((listener) => listener.close(0)));
});

async function serve(fetch: Fetch, options: Partial<ListenOptions> = {}): Promise<number> {
  const listener = await listen({ fetch, port: 0, host: '127.0.0.1', ...options });
  opened.push(listener);
  return listener.port;
}

/** Sends on a connection of its own. @returns the bodies of the answers that have come so far */
async function send(port: number, text: string, localAddress = '127.0.0.1'): Promise<() => string[]> {
  const socket = connect({ port, host: '127.0.0.1', localAddress, allowHalfOpen: true });
  // A peer that floods may be cut off.
  socket.on('error', () => undefined);
  sockets.push(socket);
  let raw = '';
  socket.on('data', (bytes) => {
    raw += bytes.toString('latin1');
  });
  await once(socket, 'connect');
  socket.write(text);
  return () => [...raw.matchAll(/^-(.+)-/gm)].map(([, body]) => body ?? '');
}

/** The most that was counted in one turn of the event loop. */
function countInTurns() {
  let [now, most] = [0, 0];
  const turn = (): void => {
    most = Math.max(most, now);
    now = 0;
    immediate = setImmediate(turn);
  };
  let immediate = setImmediate(turn);
  return {
    add: () => {
      now += 1;
    },
    end: () => {
      clearImmediate(immediate);
      return Math.max(most, now);
    },
  };
}

test.each([
  ['one address', 1],
  ['forty addresses', 40],
])('of the requests of %s, so many begin in one turn of the loop, and all are answered', async (_whose, addresses) => {
  const turns = countInTurns();
  const port = await serve(() => {
    turns.add();
    return new Response('-x-');
  });
  const connections = await Promise.all(
    Array.from({ length: 200 }, (_, at) => send(port, get('first'), `127.0.0.${1 + (at % addresses)}`)),
  );
  const answered = (each: number) =>
    vi.waitFor(
      () => expect(connections.map((answers) => answers().length)).toEqual(connections.map(() => each)),
      20_000,
    );
  // Node takes one new connection in a turn: all are taken now.
  await answered(1);
  for (const socket of sockets) socket.write(get('second'));
  // The loop stands still until all requests have arrived.
  for (const until = performance.now() + 300; performance.now() < until; );
  await answered(2);
  expect(turns.end()).toBeLessThanOrEqual(20);
});

describe('requests that are sent ahead', () => {
  test('are begun one after the other, and few of them are parsed before', async () => {
    const begun: string[] = [];
    const first = Promise.withResolvers<void>();
    const port = await serve(async (request) => {
      begun.push(request.url);
      if (request.url.endsWith('/0')) await first.promise;
      return new Response('-x-');
    });
    const parsed = vi.spyOn(Server.prototype, 'emit');
    const answers = await send(port, Array.from({ length: 1_000 }, (_, at) => get(String(at))).join(''));
    await sendRaw(port, get('other'));
    await wait(100);
    expect(begun.map((url) => new URL(url).pathname)).toEqual(['/0', '/other']);
    // The request that is being answered, the one sent right behind it, and that of the other connection.
    expect(parsed.mock.calls.filter(([name]) => name === 'request')).toHaveLength(3);
    first.resolve();
    await vi.waitFor(() => expect(answers()).toHaveLength(1_000), 60_000);
    expect(begun.filter((url) => !url.endsWith('/other'))).toHaveLength(1_000);
  });

  test('are answered in their order, with their bodies, whatever they take', async () => {
    const port = await serve(async (request, { incoming }) => {
      const bytes = request.method === 'POST' ? await readRequestBody(incoming) : new Uint8Array();
      const name = bytes.length === 0 ? new URL(request.url).pathname : `${bytes.length}`;
      await wait(name === '/slow' ? 50 : 0);
      return new Response(`-${name}-\n`);
    });
    const lengths = [3, 5_000, 300_000, 1];
    const text = lengths.map((length) => `${post('x'.repeat(length))}${get('slow')}${get('quick')}`).join('');
    const answers = await send(port, text);
    await vi.waitFor(() => expect(answers()).toHaveLength(12), 10_000);
    expect(answers()).toEqual(lengths.flatMap((length) => [`${length}`, '/slow', '/quick']));
  });

  test('are not begun any more once the sender has gone', async () => {
    const begun: string[] = [];
    const port = await serve(async (request) => {
      begun.push(request.url);
      return new Response(await wait(50, '-x-'));
    });
    await send(port, get('x').repeat(20));
    await vi.waitFor(() => expect(begun).toHaveLength(1));
    for (const socket of sockets.splice(0)) socket.destroy();
    await wait(300);
    expect(begun.length).toBeLessThan(3);
  });

  test('of many connections are begun in turns of the event loop, not all in one', async () => {
    const turns = countInTurns();
    const port = await serve(() => {
      turns.add();
      return new Response('-x-\n');
    });
    const all = await Promise.all(Array.from({ length: 8 }, () => send(port, get('x').repeat(200))));
    await vi.waitFor(() => expect(all.flatMap((answers) => answers())).toHaveLength(1_600), 20_000);
    // The first of each connection, and one more.
    expect(turns.end()).toBeLessThanOrEqual(9);
  });
});

describe('a body in chunks of one byte', () => {
  const CHUNKS = `${POST}Transfer-Encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(100_000)}0\r\n\r\n`;

  test('is parsed in turns of the event loop', async () => {
    const parsed = countInTurns();
    const { push } = Readable.prototype;
    vi.spyOn(Readable.prototype, 'push').mockImplementation(function (this: Readable, ...given) {
      if (given[0]?.length === 1) parsed.add();
      return Reflect.apply(push, this, given);
    });
    const port = await serve(async (_request, { incoming }) => {
      const bytes = await readRequestBody(incoming);
      return new Response(`-${bytes.length}-`);
    });
    const answers = await send(port, CHUNKS);
    await vi.waitFor(() => expect(answers()).toEqual(['100000']), 30_000);
    // A read brings some eleven thousand.
    expect(parsed.end()).toBeLessThan(6_000);
  });

  test('takes little more memory than its bytes', async () => {
    setFlagsFromString('--expose-gc');
    const collect: () => void = runInNewContext('gc');
    const incoming = Object.assign(new Readable({ read: () => undefined }), { headers: {} });
    const read = readRequestBody(incoming as Parameters<typeof readRequestBody>[0]);
    collect();
    const before = process.memoryUsage();
    for (let piece = 0; piece < 300; piece += 1) {
      for (let byte = 0; byte < 1_000; byte += 1) incoming.push(Buffer.alloc(1, 'x'));
      await wait(0);
    }
    collect();
    const after = process.memoryUsage();
    incoming.push(null);
    expect(Buffer.from(await read).toString()).toBe('x'.repeat(300_000));
    const took = after.heapUsed + after.external - before.heapUsed - before.external;
    expect(took).toBeLessThan(5_000_000);
  });
});

test('what refused peers go on sending is read in turns of the event loop', async () => {
  const taken: Socket[] = [];
  const { emit } = Server.prototype;
  vi.spyOn(Server.prototype, 'emit').mockImplementation(function (this: Server, ...given) {
    if (given[0] === 'connection') taken.push(given[1]);
    return Reflect.apply(emit, this, given);
  });
  const port = await serve(() => new Response('x'));
  const peers = 20;
  await Promise.all(Array.from({ length: peers }, () => send(port, 'nonsense\r\n\r\n')));
  await wait(100);
  for (const socket of sockets) socket.write('after'.repeat(2_000_000));
  let [turns, before] = [0, 0];
  const bytes = () => taken.reduce((sum, socket) => sum + socket.bytesRead, 0);
  const until = performance.now() + 300;
  for (before = bytes(); performance.now() < until; turns += 1) await immediately();
  expect(bytes() - before).toBeGreaterThan(1_000_000);
  expect((bytes() - before) / turns).toBeLessThan((peers / 4) * 65_536);
});

test('an address that holds a thousand connections gets no more until one ends; another address does', async () => {
  const port = await serve(() => new Response('x'));
  const open = async (on: number, localAddress = '127.0.0.1') => {
    const socket = connect({ port: on, host: '127.0.0.1', localAddress });
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.write(get('one'));
    return new Promise((resolve) => {
      socket.once('close', () => resolve('refused')).once('data', () => resolve('answered'));
    });
  };
  for (let n = 0; n < 10; n += 1) await Promise.all(Array.from({ length: 100 }, () => open(port)));
  expect([await open(port), await open(port, '127.0.0.2')]).toEqual(['refused', 'answered']);
  const [first] = sockets;
  first?.destroy();
  await vi.waitFor(async () => expect(await open(port)).toBe('answered'));
});

test('of a second with thousands of new connections, an address gets a hundred; in a calmer one, as many as it may hold', async () => {
  const port = await serve(() => new Response('-x-'));
  const clock = vi.spyOn(performance, 'now').mockReturnValue(5_000);
  const ask = async (localAddress: string) => {
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    socket.on('error', () => undefined);
    socket.write(get('one'));
    const answer = new Promise((resolve) => {
      socket.once('close', () => resolve('refused')).once('data', () => resolve('answered'));
    });
    return answer.finally(() => socket.destroy());
  };
  for (let n = 0; n < 20; n += 1) await Promise.all(Array.from({ length: 100 }, () => ask(`127.0.0.${2 + (n % 4)}`)));
  expect([await ask('127.0.0.2'), await ask('127.0.0.9')]).toEqual(['refused', 'answered']);
  // A refused one costs no parser, which is most of what a connection costs.
  let parsers = 0;
  const hook = createHook({ init: (_id, type) => (parsers += type === 'HTTPINCOMINGMESSAGE' ? 1 : 0) }).enable();
  await Promise.all(Array.from({ length: 100 }, () => ask('127.0.0.2')));
  const answered = await ask('127.0.0.10');
  hook.disable();
  expect([answered, parsers]).toEqual(['answered', 1]);
  clock.mockReturnValue(6_000);
  expect(await ask('127.0.0.2')).toBe('answered');
});

test('of many connections that send ahead, so much is parsed in one turn of the loop', async () => {
  const port = await serve(() => new Response('-x-'));
  const connections = await Promise.all(Array.from({ length: 300 }, () => send(port, get('first'))));
  await vi.waitFor(() => expect(connections.every((answers) => answers().length === 1)).toBe(true), 20_000);
  const parsed = countInTurns();
  const emit = Server.prototype.emit;
  vi.spyOn(Server.prototype, 'emit').mockImplementation(function (this: Server, ...words: unknown[]) {
    if (words[0] === 'request') parsed.add();
    return Reflect.apply(emit, this, words);
  } as typeof emit);
  for (const socket of sockets) socket.write(get('ahead').repeat(40));
  for (const until = performance.now() + 500; performance.now() < until; );
  await vi.waitFor(() => expect(connections.every((answers) => answers().length === 41)).toBe(true), 60_000);
  // A turn parses two requests of each of the 300 connections at most, and one more for each answer that it sends. Without a bound it parses 12,000.
  expect(parsed.end()).toBeLessThan(1_200);
});

test('answers that the peers of an address do not read take so much memory, and the last ones are cut off', async () => {
  const taken: Socket[] = [];
  const emit = Server.prototype.emit;
  vi.spyOn(Server.prototype, 'emit').mockImplementation(function (this: Server, ...words: unknown[]) {
    if (words[0] === 'connection') taken.push(words[1] as Socket);
    return Reflect.apply(emit, this, words);
  } as typeof emit);
  const port = await serve(() => new Response('x'.repeat(4 * 1024 * 1024)));
  for (let n = 0; n < 40; n += 1) {
    await send(port, '');
    sockets.at(-1)?.pause().write(get('large'));
  }
  const unread = () => taken.reduce((sum, socket) => sum + (socket.destroyed ? 0 : socket.writableLength), 0);
  await vi.waitFor(() => expect(taken.filter(({ destroyed }) => destroyed).length).toBeGreaterThan(10), 10_000);
  await vi.waitFor(() => expect(unread()).toBeLessThanOrEqual(64 * 1024 * 1024), 10_000);
  expect(taken.filter(({ destroyed }) => !destroyed).length).toBeGreaterThan(10);
});

test('the system keeps thousands of connections until they are taken', async () => {
  const listened = vi.spyOn(Server.prototype, 'listen');
  await serve(() => new Response('x'));
  expect(listened.mock.calls[0]).toEqual([expect.objectContaining({ backlog: 4_096 })]);
  await serve(() => new Response('x'), { reusePort: true });
  const shared = listened.mock.calls.slice(1).map(([options]) => Object(options).backlog);
  expect(shared).toEqual(Array.from({ length: 64 }, () => 256));
});
