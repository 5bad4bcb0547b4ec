import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { existsSync, readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createPlainServer, type Socket } from 'node:net';
import path from 'node:path';
import { createServer, getCACertificates, setDefaultCACertificates } from 'node:tls';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { isRefusedAddress } from '#src/platform/network-address.ts';
import { EndpointQueue, Places, RoundRobin } from '#src/webhooks/endpoint-queue.ts';
import { MAX_TRIES, pauseAfter } from '#src/webhooks/failing-endpoint.ts';
import { createPoster } from '#src/webhooks/guarded-post.ts';
import { endpointUrlFault } from '#src/webhooks/receiver-url.ts';
import type { DueDelivery } from '#src/webhooks/sending-repository.ts';
import { generateWebhookSecret, signMessage } from '#src/webhooks/signature.ts';
import { selfSignedCertificate } from '#test/harness/certificates.ts';
import { startReceiver, startSecureReceiver } from '#test/harness/receiver.ts';

const CASES = path.resolve(import.meta.dirname, '../../../../shared/cases/payments');
const present = existsSync(CASES);
if (!present) console.info('webhooks: the shared cases are absent, passed over');
const read = (name: string) => JSON.parse(readFileSync(path.join(CASES, name), 'utf8'));

/** A port on which nobody listens. */
async function closedPort(): Promise<string> {
  const receiver = await startReceiver();
  await receiver.stop();
  return new URL(receiver.url).port;
}

describe.runIf(present)('the shared cases', () => {
  test('of addresses: every one that must be refused is, and no other', () => {
    const { blocked, allowed } = read('ssrf-addresses.json');
    expect(blocked.filter((address: string) => !isRefusedAddress(address))).toEqual([]);
    expect(allowed.filter((address: string) => isRefusedAddress(address))).toEqual([]);
  });

  test('of spellings: no address may be saved, nor sent to, not even over https', async () => {
    const poster = createPoster('public');
    for (const url of read('ssrf-addresses.json').urls_that_must_be_refused as string[]) {
      for (const spelling of [url, url.replace(/^http:/, 'https:')]) {
        expect([spelling, endpointUrlFault(spelling, 'public')]).toEqual([spelling, expect.any(String)]);
        expect([spelling, (await poster.post(spelling, {}, '{}')).error]).toEqual([spelling, 'url_not_allowed']);
      }
    }
    await poster.close();
  });

  test('of signatures: ours is the one that the standard gives', () => {
    const { standard_webhooks: vector } = read('signature-vectors.json');
    const headers = signMessage([vector.secret], vector.id, vector.timestamp, vector.payload);
    expect(headers['webhook-signature']).toBe(vector.expected);
  });
});

test('refuses every way in which an address of IPv6 can lead to one of IPv4 that is refused', () => {
  const inner = ['127.0.0.1', '10.1.2.3', '169.254.169.254', '168.63.129.16', '100.100.100.200'];
  const ways = [
    '',
    '::ffff:',
    '::ffff:0:',
    '::',
    '64:ff9b::',
    '64:ff9b:1::',
    '2001:4860::5efe:',
    '2001:4860::200:5efe:',
  ];
  for (const way of ways)
    for (const address of inner)
      expect([way + address, isRefusedAddress(way + address)]).toEqual([way + address, true]);
  for (const address of ['2001:4860:4860::8888', '::ffff:8.8.8.8', '8.8.8.8', '168.63.129.17'])
    expect([address, isRefusedAddress(address)]).toEqual([address, false]);
});

test('the scheme and the host of an address may be written in capitals', () => {
  for (const url of ['HTTPS://hooks.example.com/a', 'hTTps://HOOKS.example.COM:8443/A'])
    expect([url, endpointUrlFault(url, 'public')]).toEqual([url, undefined]);
  for (const url of ['HTTP://hooks.example.com/a', 'HTTPS://LOCALHOST/', 'HTTPS://User:Pw@hooks.example.com/'])
    expect([url, endpointUrlFault(url, 'public')]).toEqual([url, expect.any(String)]);
});

test('an address in a private network is lifted of the rules about host, range and https, and of no other', () => {
  const lifted = ['http://localhost:3000/', 'http://receiver/hooks', 'https://10.0.0.5/a', 'https://[::1]:8443/'];
  const refused = [
    'https://hooks.example.com:22/',
    'https://user:pw@10.0.0.5/',
    'https://10.0.0.5/#part',
    'ftp://10.0.0.5/',
    `https://10.0.0.5/${'a'.repeat(2_048)}`,
  ];
  for (const url of lifted) {
    expect([url, endpointUrlFault(url, 'private')]).toEqual([url, undefined]);
    expect([url, endpointUrlFault(url, 'public')]).toEqual([url, expect.any(String)]);
  }
  for (const url of refused) expect([url, endpointUrlFault(url, 'private')]).toEqual([url, expect.any(String)]);
});

describe('the guarded sender', () => {
  test('never reaches a name that begins to resolve into this machine after it was saved: 500 rebindings, no hit', async () => {
    const canary = await startReceiver();
    const url = `https://rebinding.example.com:${new URL(canary.url).port}/`;
    const inner = ['127.0.0.1', '::1', '::ffff:127.0.0.1', '169.254.169.254', '10.0.0.1', '64:ff9b::7f00:1'];
    let asked = 0;
    const poster = createPoster('public', (_name, _options, callback) => {
      asked += 1;
      const address = inner[asked % inner.length] ?? '127.0.0.1';
      const answer = { address, family: address.includes(':') ? 6 : 4 };
      // Alone, or hidden behind a public one.
      callback(null, asked % 2 === 0 ? [answer] : [{ address: '8.8.8.8', family: 4 }, answer]);
    });
    for (let round = 0; round < 500; round += 1)
      expect((await poster.post(url, {}, '{}')).error).toBe('address_not_allowed');
    expect([asked, canary.received]).toEqual([500, []]);
    await poster.close();
    await canary.stop();
  });

  // A name that never resolves holds one of the few threads of the system's own resolver, and names of everybody wait behind it.
  test('asks the system for names of this machine alone, in a private network, too', async () => {
    const receiver = await startReceiver();
    const { port } = new URL(receiver.url);
    const asked: string[] = [];
    const poster = createPoster('private', (name, _options, callback) => {
      asked.push(name);
      callback(null, [{ address: '127.0.0.1', family: 4 }]);
    });
    for (const host of ['hooks.inside.example', 'localhost', '127.0.0.1'])
      expect((await poster.post(`http://${host}:${port}/`, {}, '{}')).status).toBe(200);
    expect(asked).toEqual(['hooks.inside.example']);
    await poster.close();
    await receiver.stop();
  });

  test('says in one word why nobody was reached', async () => {
    const poster = createPoster('private');
    expect((await poster.post(`http://127.0.0.1:${await closedPort()}/`, {}, '{}')).error).toBe('refused');
    expect((await poster.post('http://no-such-name.invalid/', {}, '{}')).error).toBe('name_not_found');
    await poster.close();
  });

  test('takes a name server that cannot be asked for a name that is not found, not for a receiver that refuses', async () => {
    const poster = createPoster('public', (_name, _options, callback) => {
      callback(Object.assign(new Error('no answer'), { code: 'ECONNREFUSED', syscall: 'queryA' }), []);
    });
    expect((await poster.post('https://hooks.example.com/', {}, '{}')).error).toBe('name_not_found');
    await poster.close();
  });

  const slow: readonly (readonly [string, (response: ServerResponse) => void])[] = [
    ['never answers', () => undefined],
    [
      'drips its answer without end',
      (response) => {
        response.writeHead(200);
        const drops = setInterval(() => response.write('.'), 10);
        response.on('close', () => clearInterval(drops));
      },
    ],
  ];
  test.each(slow)('gives up a receiver that %s when the time of an exchange is over', async (_what, answer) => {
    const receiver = await startReceiver(answer);
    const poster = createPoster('private', undefined, 200);
    expect(await poster.post(receiver.url, {}, '{}')).toMatchObject({ status: null, error: 'timeout' });
    await poster.close();
    await receiver.stop();
  });

  test.each([
    ['2xx with half of a body', 200, 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc'],
    ['2xx with broken chunks', 201, 'HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc'],
    ['410 with half of a body', 410, 'HTTP/1.1 410 Gone\r\nContent-Length: 10\r\n\r\nabc'],
  ])('takes the status of an answer whose body breaks off: %s', async (_what, status, answer) => {
    const server = createPlainServer((socket) => {
      socket.on('error', () => undefined).once('data', () => socket.end(answer));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const poster = createPoster('private');
    const { port } = server.address() as AddressInfo;
    expect(await poster.post(`http://127.0.0.1:${port}/`, {}, '{}')).toMatchObject({ status, error: null });
    await poster.close();
    server.close();
  });

  test("speaks to nobody whose certificate is unknown, or is another name's", async () => {
    const own = await startSecureReceiver('localhost');
    const foreign = await startSecureReceiver('hooks.example.com');
    const poster = createPoster('private');
    expect((await poster.post(own.url, {}, '{}')).error).toBe('certificate');
    const before = getCACertificates('default');
    setDefaultCACertificates([...before, own.cert, foreign.cert]);
    expect((await poster.post(foreign.url, {}, '{}')).error).toBe('certificate');
    expect(await poster.post(own.url, {}, '{}')).toMatchObject({ status: 200, error: null });
    setDefaultCACertificates(before);
    expect([own.received, foreign.received]).toEqual([['{}'], []]);
    await poster.close();
    await own.stop();
    await foreign.stop();
  });
});

// A prime of 10,000 bits held the event loop for a second, before any certificate was looked at.
test('no receiver may choose how much the key exchange costs', async () => {
  const old = { maxVersion: 'TLSv1.2', dhparam: 'auto' } as const;
  const own = await startSecureReceiver('localhost', { ...old, ciphers: 'DHE-RSA-AES128-GCM-SHA256' }, 'rsa');
  const usual = await startSecureReceiver('localhost', { ...old, ciphers: 'ECDHE-RSA-AES128-GCM-SHA256' }, 'rsa');
  const before = getCACertificates('default');
  const statusOf = async ({ cert, url }: typeof own) => {
    setDefaultCACertificates([...before, cert]);
    const poster = createPoster('private');
    const { status } = await poster.post(url, {}, '{}');
    await poster.close();
    return status;
  };
  expect([await statusOf(own), await statusOf(usual)]).toEqual([null, 200]);
  setDefaultCACertificates(before);
  expect(own.received).toEqual([]);
  await own.stop();
  await usual.stop();
});

test.each([
  ['https://localhost/hooks', 443],
  ['http://localhost/hooks', 80],
  ['https://localhost:8443/hooks', 8_443],
])('a message to %s goes to port %d', async (url, port) => {
  const tried = new Set<number>();
  const watch = (message: unknown): void => {
    const { socket } = message as { socket: Socket };
    socket.on('connectionAttempt', (_address, attempted) => tried.add(attempted));
  };
  subscribe('net.client.socket', watch);
  const poster = createPoster('private', (_name, _options, callback) =>
    callback(null, [{ address: '127.0.0.9', family: 4 }]),
  );
  await poster.post(url, {}, '{}');
  unsubscribe('net.client.socket', watch);
  await poster.close();
  expect([...tried]).toEqual([port]);
});

test('certificates of a receiver are not verified where they are longer than 16 KiB', async () => {
  const { cert, key } = selfSignedCertificate('localhost');
  const before = getCACertificates('default');
  setDefaultCACertificates([...before, cert]);
  const bytes = cert.length * 0.75;
  const post = async (certificates: number) => {
    const server = createServer({ cert: cert.repeat(certificates), key }, (socket) => {
      socket.on('error', () => undefined);
      socket.end(`HTTP/1.1 200 OK\r\nContent-Length: 30000\r\n\r\n${'.'.repeat(30_000)}`);
    });
    server.on('tlsClientError', () => undefined);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const poster = createPoster('private', undefined, 5_000);
    const { port } = server.address() as AddressInfo;
    const { status, error } = await poster.post(`https://localhost:${port}/`, {}, '{}');
    await poster.close();
    server.close();
    return { status, error };
  };
  expect(await post(Math.floor(12_000 / bytes))).toEqual({ status: 200, error: null });
  expect(await post(Math.ceil(20_000 / bytes))).toEqual({ status: null, error: 'certificate' });
  setDefaultCACertificates(before);
});

test('no receiver may ask for one key exchange after the other', async () => {
  let exchanges = 0;
  const { cert, key } = selfSignedCertificate('localhost');
  const server = createServer({ cert, key, maxVersion: 'TLSv1.2' }, (socket) => {
    socket.on('error', () => undefined);
    const again = (fault: Error | null): void => {
      if (fault !== null || exchanges === 100) return void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
      exchanges += 1;
      socket.renegotiate({}, again);
    };
    again(null);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const before = getCACertificates('default');
  setDefaultCACertificates([...before, cert]);
  const poster = createPoster('private', undefined, 2_000);
  const { port } = server.address() as AddressInfo;
  expect((await poster.post(`https://localhost:${port}/`, {}, '{}')).status).toBeNull();
  setDefaultCACertificates(before);
  // The first one is asked for, and refused.
  expect(exchanges).toBe(1);
  await poster.close();
  server.close();
});

describe('the schedule', () => {
  test('has ten attempts over 75 hours, each pause spread by a fifth', () => {
    expect(MAX_TRIES).toBe(10);
    const middle = Array.from({ length: 9 }, (_, index) =>
      pauseAfter({ tries: index + 1, slow: false, retryAfterMs: undefined }, 0.5),
    );
    const minutes = [5 / 60, 5, 30, 120, 300, 600, 840, 1_200, 1_440];
    expect(middle).toEqual(minutes.map((pause) => Math.round(pause * 60_000)));
    expect(pauseAfter({ tries: 10, slow: false, retryAfterMs: undefined }, 0.5)).toBeUndefined();
    expect(pauseAfter({ tries: 2, slow: false, retryAfterMs: undefined }, 0)).toBe(240_000);
    expect(pauseAfter({ tries: 2, slow: false, retryAfterMs: undefined }, 1)).toBe(360_000);
  });

  test('honours Retry-After between once and twice the plan, and leaves a slow receiver alone for a minute', () => {
    const pause = (retryAfterMs: number) => pauseAfter({ tries: 2, slow: false, retryAfterMs }, 0.5);
    expect([pause(1_000), pause(400_000), pause(9_000_000)]).toEqual([300_000, 400_000, 600_000]);
    expect(pauseAfter({ tries: 1, slow: true, retryAfterMs: undefined }, 0.5)).toBe(60_000);
  });
});

test('a secret is 32 random bytes, and signs what an independent receiver accepts', () => {
  const secret = generateWebhookSecret();
  expect(Buffer.from(secret.slice(6), 'base64')).toHaveLength(32);
  const body = '{"a":"Ọlá 山田"}';
  const headers = signMessage([secret], 'msg_1', Math.floor(Date.now() / 1_000), body);
  expect(new Webhook(secret).verify(body, { ...headers })).toEqual({ a: 'Ọlá 山田' });
});

const due = (endpointId: string, count: number, endpointVersion = 1): DueDelivery[] =>
  Array.from({ length: count }, (_, number) => ({
    id: `whd_${number}`,
    endpointId,
    messageId: `msg_${number}`,
    body: '{}',
    tries: 0,
    url: 'https://hooks.example.com/',
    secret: '',
    earlierSecrets: [],
    endpointVersion,
  }));

function filled(endpointId: string, accountId = endpointId, failures = 0): EndpointQueue {
  const queue = new EndpointQueue(endpointId, accountId, failures);
  queue.fill(due(endpointId, 200), 200);
  return queue;
}

/** Begins as many as the queue has places for. */
function beginAll(queue: EndpointQueue): string[] {
  const begun: string[] = [];
  while (queue.isReady) begun.push(queue.begin()?.id ?? '');
  return begun;
}

function finish(queue: EndpointQueue, ids: readonly string[], durationMs: number, arrived = true): void {
  for (const id of ids) {
    queue.answer(id, durationMs, arrived, 0);
    queue.end(id);
  }
}

test('an endpoint of which nothing is known gets three places, one more with every quick answer, and never more than ten', () => {
  const queue = filled('whe_1');
  const places: number[] = [];
  for (let round = 0; round < 4; round += 1) {
    const begun = beginAll(queue);
    places.push(begun.length);
    finish(queue, begun, 20);
  }
  expect(places).toEqual([3, 6, 10, 10]);
});

test('an endpoint that was slow gets one place, until it is quick again', () => {
  const queue = filled('whe_1');
  finish(queue, beginAll(queue), 15_000);
  expect(queue.isUnproven).toBe(true);
  const [one = '', ...more] = beginAll(queue);
  expect(more).toEqual([]);
  finish(queue, [one], 20);
  expect(beginAll(queue)).toHaveLength(2);
});

test('an endpoint that fails three times in a row gets one message at a time, and none between two looks, until one arrives', () => {
  const queue = filled('whe_1');
  const fail = (): number => {
    const begun = beginAll(queue);
    finish(queue, begun, 20, false);
    return begun.length;
  };
  expect(fail()).toBe(3);
  expect(beginAll(queue)).toEqual([]);
  for (let look = 0; look < 5; look += 1) {
    queue.wake(0);
    expect(fail()).toBe(1);
    expect(beginAll(queue)).toEqual([]);
  }
  queue.wake(0);
  finish(queue, beginAll(queue), 20);
  expect(beginAll(queue)).toHaveLength(2);
});

test('an endpoint that goes on failing rests a second between two messages after ten failures, and thirty after thirty', () => {
  const queue = filled('whe_1');
  const rests: number[] = [];
  let nowMs = 0;
  for (let failures = 3; failures < 40; failures += 1) {
    for (const id of beginAll(queue)) {
      queue.answer(id, 20, false, nowMs);
      queue.end(id);
    }
    const from = nowMs;
    for (queue.wake(nowMs); !queue.isReady; queue.wake(nowMs)) nowMs += 100;
    rests.push(nowMs - from);
  }
  expect([...new Set(rests)]).toEqual([0, 1_000, 30_000]);
  expect([rests.indexOf(1_000), rests.indexOf(30_000)]).toEqual([7, 27]);
});

test('an endpoint whose answers are not written down stops at twenty of them', () => {
  const queue = filled('whe_1');
  for (let round = 0; round < 20; round += 1) for (const id of beginAll(queue)) queue.answer(id, 20, true, 0);
  expect(queue.unnoted.size).toBeGreaterThanOrEqual(20);
  expect(queue.unnoted.size).toBeLessThan(30);
  expect(queue.isReady).toBe(false);
});

test('what is under way, not written down, or ended since the question is not begun again', () => {
  const queue = filled('whe_1');
  const [underWay, unnoted, ended] = beginAll(queue);
  queue.answer(unnoted ?? '', 20, true, 0);
  queue.answer(ended ?? '', 20, true, 0);
  queue.end(ended ?? '');
  queue.fill(due('whe_1', 5), 5);
  expect(beginAll(queue)).not.toContain(underWay);
  expect([underWay, unnoted, ended]).toEqual(['whd_0', 'whd_1', 'whd_2']);
  expect(queue.waiting.map(({ id }) => id)).toEqual([]);
});

test('what was read under another version of its endpoint is forgotten, and asked for again', () => {
  const queue = filled('whe_1');
  queue.mayHaveMore = false;
  queue.check(1);
  expect(queue.isReady).toBe(true);
  queue.check(2);
  expect([queue.isReady, queue.needsRefill]).toEqual([false, true]);
});

const idle = (): EndpointQueue => {
  const queue = filled('whe_1');
  queue.fill([], 3);
  return queue;
};
const resting = (): EndpointQueue => {
  const queue = filled('whe_1', 'acc_1', 29);
  finish(queue, beginAll(queue), 20, false);
  return queue;
};

test('an endpoint that failed before its sender took it gets one message at a time, and rests as long as before', () => {
  const queue = filled('whe_1', 'acc_1', 29);
  const begun = beginAll(queue);
  expect(begun).toHaveLength(1);
  finish(queue, begun, 20, false);
  expect(queue.restMs(0)).toBe(30_000);
});

test('an endpoint can leave its place while nothing is due or it rests, and not while a message is under way or can begin', () => {
  const atWork = filled('whe_1');
  beginAll(atWork);
  expect([idle(), resting()].map(({ canLeave }) => canLeave)).toEqual([true, true]);
  expect([filled('whe_1'), atWork].map(({ canLeave }) => canLeave)).toEqual([false, false]);
});

/** The accounts whose queues begin a delivery, in their order, until a place is missing. @param most deliveries in all */
function beginInTurn(queues: readonly EndpointQueue[], places: Places, trials: Places, most: number): string[] {
  const roundRobin = new RoundRobin();
  const begun: string[] = [];
  while (begun.length < most) {
    for (const queue of queues) roundRobin.add(queue);
    const queue = roundRobin.next([places], trials);
    if (queue === undefined) break;
    queue.begin();
    for (const some of queue.isUnproven ? [places, trials] : [places]) some.take(queue.accountId);
    begun.push(queue.accountId);
  }
  return begun;
}

test.each([
  ['have not shown that they answer', 150, (queue: EndpointQueue) => queue],
  [
    'answered quickly before',
    200,
    (queue: EndpointQueue) => {
      for (let round = 0; round < 3; round += 1) finish(queue, beginAll(queue), 20);
      return queue;
    },
  ],
])('an account whose receivers hang and %s leaves as many places to others as it takes', (_which, count, prepare) => {
  const [places, trials] = [new Places(200), new Places(150)];
  const hanging = Array.from({ length: 200 }, (_, index) => prepare(filled(`whe_${index}`, 'hanging')));
  expect(beginInTurn(hanging, places, trials, 1_000)).toHaveLength(count / 2);
  const others = ['one', 'two', 'three'].map((account) => filled(account));
  expect(beginInTurn([...hanging, ...others], places, trials, 9)).toEqual([
    ...['one', 'two', 'three', 'one', 'two', 'three', 'one', 'two', 'three'],
  ]);
});

test('accounts take turns, however many endpoints one of them has', () => {
  const many = Array.from({ length: 50 }, (_, index) => filled(`whe_${index}`, 'many'));
  const begun = beginInTurn([...many, filled('one'), filled('two')], new Places(200), new Places(150), 9);
  expect(begun).toEqual(['many', 'one', 'two', 'many', 'one', 'two', 'many', 'one', 'two']);
});

test('queues take turns, and those that are known to be quick alternate with those that are not', () => {
  const roundRobin = new RoundRobin();
  const [quick, quicker, first, second] = ['q1', 'q2', 'd1', 'd2'].map((id) => filled(id)) as [
    EndpointQueue,
    EndpointQueue,
    EndpointQueue,
    EndpointQueue,
  ];
  for (const queue of [quick, quicker]) finish(queue, beginAll(queue), 20);
  for (const queue of [quick, quicker, first, second]) roundRobin.add(queue);
  const order = Array.from({ length: 8 }, () => {
    const queue = roundRobin.next([], new Places(1));
    if (queue !== undefined) roundRobin.add(queue);
    return queue?.endpointId;
  });
  expect(order).toEqual(['q1', 'd1', 'q2', 'd2', 'q1', 'd1', 'q2', 'd2']);
  expect(Array.from({ length: 4 }, () => roundRobin.next([], new Places(0))?.endpointId)).toEqual([
    'q1',
    'q2',
    undefined,
    undefined,
  ]);
});
