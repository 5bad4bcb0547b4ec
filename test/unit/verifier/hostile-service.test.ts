import type { RequestListener } from 'node:http';
import { describe, expect, test } from 'vitest';
import { startReceiver } from '#test/harness/receiver.ts';
import { createRandom } from '#test/second-count/random-elections.ts';
import { type Read, type Reply, readOverHttp } from '../../../verifier/read-service.ts';
import { verifyLog } from '../../../verifier/verify-log.ts';
import {
  EVENT,
  leafOf,
  lying,
  reply,
  type StoredLog,
  serve,
  someBallot,
  someBallots,
  storeLog,
  unclosed,
} from './stored-log.ts';

const SEED = 7;
const BALLOTS = 5;

const honestLog = (): StoredLog => storeLog(someBallots(createRandom(SEED), BALLOTS));

const outcomeOf = async (read: Read) => (await verifyLog({ read, event: EVENT })).verified;
const ADDRESSES = {
  key: /voting-log-key/,
  checkpoint: /checkpoint/,
  entries: /tile\/entries/,
  tile: /tile\/0/,
  openings: /openings/,
  results: /results/,
  configurations: /configurations/,
};
const text = (body: string): Reply => reply(200, body);

/** Bodies of any shape, none of which says what the honest one says. */
const BODIES = [
  ...['', ' ', 'null', '0', '[]', '{}', '"text"', '<html>', '{"data":null}', '{"data":[]}', '{"data":{}}', '\u0000'],
  ...['{"data":[null,1,"x",[],{}],"nextIndex":null}', '{"data":{"positions":[null,{"id":1}],"stats":[]}}', '1e999'],
  ...['{"data":{"positions":"x","log":{"close":{"salt":5}}}}', '{"configuration":{"positions":[{"id":null}]}}'],
  `${'['.repeat(50_000)}${']'.repeat(50_000)}`,
  `{"data":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}}`,
];

describe('whatever a service sends, the verifier ends in a report that does not call everything right', () => {
  test('honest answers are right, or this would show nothing', async () => {
    expect(await outcomeOf(serve(honestLog()))).toBe('yes');
  });

  test.each(Object.entries(ADDRESSES))('for every wrong shape of the %s', async (_what, address) => {
    const log = honestLog();
    for (const body of BODIES)
      expect([body.slice(0, 60), await outcomeOf(lying(log, address, () => text(body)))]).not.toEqual([
        body.slice(0, 60),
        'yes',
      ]);
  });

  test.each(Object.entries(ADDRESSES))('for every other status of the %s', async (_what, address) => {
    const log = honestLog();
    for (const status of [204, 301, 302, 400, 401, 403, 404, 410, 418, 500, 503]) {
      const outcome = await outcomeOf(lying(log, address, ({ bytes }) => ({ status, bytes })));
      // The head is signed: leaves that are not there were there when it was.
      const isSigned = address === ADDRESSES.entries || address === ADDRESSES.tile;
      expect([status, outcome]).toEqual([status, isSigned && status === 404 ? 'no' : 'partial']);
    }
  });

  test('for each value of an answer replaced by one of another kind', async () => {
    const log = honestLog();
    for (const [address, path] of [
      [ADDRESSES.openings, '/log/openings?fromIndex=0&limit=1000'],
      [ADDRESSES.results, `/public/voting-events/${EVENT}/results`],
    ] as const) {
      const body = JSON.parse(String((await serve(log)(path, 0)).bytes));
      for (const place of pathsOf(body)) {
        for (const value of [null, -1, 1e300, 0.5, 'x', [], {}, true]) {
          const changed = JSON.stringify(replaceAt(body, place, value));
          if (changed === JSON.stringify(body)) continue;
          await verifyLog({ read: lying(log, address, () => text(changed)), event: EVENT });
        }
      }
    }
  });

  test('for a log whose signed size is larger than any memory', async () => {
    const log = honestLog();
    const { checkpoint } = log;
    for (const size of ['999999999999999', '50000001', '40000000']) {
      const read = lying(log, ADDRESSES.checkpoint, () => text(checkpoint.replace(/\n\d+\n/, `\n${size}\n`)));
      expect(await outcomeOf(read)).not.toBe('yes');
    }
  });

  test('for pages of openings without an end', async () => {
    const log = { ...honestLog() };
    let asked = 0;
    const endless = (nextOf: (from: number) => unknown, data: (from: number) => unknown) =>
      lying(log, ADDRESSES.openings, ({ bytes }, path) => {
        asked += 1;
        if (asked > 100) throw new Error('asked without an end');
        const from = Number(/fromIndex=(\d+)/.exec(path)?.[1]);
        const page = JSON.parse(String(bytes));
        return text(JSON.stringify({ ...page, data: data(from) ?? page.data, nextIndex: nextOf(from) }));
      });
    const nothing = (): unknown => [];
    const honest = (): unknown => undefined;
    for (const next of [(from: number) => from, (from: number) => from + 1, () => 0, () => -1, () => '1', () => 1.5]) {
      asked = 0;
      expect(await outcomeOf(endless(next, nothing))).toBe('no');
      expect(await outcomeOf(endless(next, honest))).toBe('no');
      expect(asked).toBeLessThan(20);
    }
  });

  test('for content that is kept from every key', async () => {
    const log = honestLog();
    const withheld = lying(log, /openings|results/, () => reply(403, '{}'));
    const { verified, checks } = await verifyLog({ read: withheld, event: EVENT });
    expect(verified).toBe('partial');
    const left = checks.filter(({ status }) => status === 'left_out').map(({ name }) => name);
    expect(left).toEqual(['not disputed', 'close', 'openings', 'recount']);
  });

  test('for a log that is not closed yet', async () => {
    const log = honestLog();
    const entries = [...log.entries.slice(0, -1), leafOf(someBallot(createRandom(1)))];
    const read = lying(unclosed(log, entries), ADDRESSES.openings, () => reply(403, '{}'));
    expect(await outcomeOf(read)).toBe('partial');
  });
});

describe('over HTTP', () => {
  const LIMITS = { timeoutMs: 400, attempts: 2 };

  async function against(answer: RequestListener): Promise<string> {
    const server = await startReceiver((response, request) => answer(request, response));
    const read = readOverHttp(new URL(server.url).origin, 'vok_key', LIMITS);
    const report = await verifyLog({ read, event: EVENT });
    await server.stop();
    expect(report.checks.at(-1)?.name).toBe('reading');
    return report.verified;
  }

  test('an answer without an end is cut off by its size', async () => {
    let sent = 0;
    const endless: RequestListener = (_request, response) => {
      const chunk = Buffer.alloc(65_536, 0x61);
      const more = (): void => {
        while (!response.destroyed && sent < 3_000_000_000 && response.write(chunk)) sent += chunk.length;
      };
      response.on('drain', more).writeHead(200);
      more();
    };
    expect(await against(endless)).toBe('partial');
    expect(sent).toBeLessThan(50_000_000);
  });

  test('an answer that comes byte by byte is given up', async () => {
    const slow: RequestListener = (_request, response) => {
      response.writeHead(200);
      const drip = setInterval(() => response.write('x'), 50);
      response.on('close', () => clearInterval(drip));
    };
    expect(await against(slow)).toBe('partial');
  });

  test('an answer that never comes, a cut connection, and words that are no HTTP end in a report', async () => {
    expect(await against(() => undefined)).toBe('partial');
    expect(await against((request) => request.socket.destroy())).toBe('partial');
    expect(await against((request) => request.socket.end('nonsense\r\n\r\n'))).toBe('partial');
    const cut: RequestListener = (_request, response) => {
      response.writeHead(200, { 'content-length': '50' }).write('short');
      response.destroy();
    };
    expect(await against(cut)).toBe('partial');
  });

  test('a redirect is not followed: the key goes to nobody else', async () => {
    const other = await startReceiver();
    for (const status of [301, 302, 303, 307, 308]) {
      const redirect: RequestListener = (_, response) => response.writeHead(status, { location: other.url }).end();
      expect(await against(redirect)).toBe('partial');
    }
    await other.stop();
    expect(other.received).toEqual([]);
  });

  test('a service that asks to wait for ever is given up', async () => {
    const busy: RequestListener = (_request, response) => response.writeHead(429, { 'retry-after': '0.01' }).end();
    expect(await against(busy)).toBe('partial');
  });
});

type Path = readonly (string | number)[];

/** Where a value has values, down to the sixth level, of lists the first two members alone. */
function pathsOf(value: unknown, path: Path = []): Path[] {
  if (path.length > 5 || typeof value !== 'object' || value === null) return [path];
  const members = Object.entries(value).slice(0, Array.isArray(value) ? 2 : 100);
  return [
    path,
    ...members.flatMap(([name, member]) => pathsOf(member, [...path, Array.isArray(value) ? Number(name) : name])),
  ];
}

function replaceAt(value: unknown, [name, ...rest]: Path, other: unknown): unknown {
  if (name === undefined) return other;
  if (Array.isArray(value)) return value.with(Number(name), replaceAt(value[Number(name)], rest, other));
  const fields = value as Readonly<Record<string, unknown>>;
  return { ...fields, [name]: replaceAt(fields[name], rest, other) };
}
