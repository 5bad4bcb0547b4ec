import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { KEPT_REQUESTS, RequestTraces, readTraces } from '#src/http/trace-requests.ts';
import { createLog } from '#src/platform/log.ts';
import { runCommand } from '#test/harness/command-line.ts';
import { visitor } from '#test/harness/elections.ts';
import { sendRaw } from '#test/harness/raw-http.ts';
import { eventually, untilTrue, useService } from '#test/harness/test-service.ts';

const lines: string[] = [];

const service = await useService({ log: createLog('info', { write: (line) => lines.push(line) }) });
const account = await service.account();

interface Line {
  readonly [field: string]: unknown;
}

/** The lines of one request. */
const linesOf = (requestId: string): Line[] =>
  lines.map((line): Line => JSON.parse(line)).filter((line) => line['requestId'] === requestId);

const ALLOWED = 'account address code key level method ms msg reason requestId route status time'.split(' ');

describe('the log', () => {
  test('has one line for every request, refused or not, with the fields that are listed and no others', async () => {
    const event = await account.event({}, [{ votingMethod: 'plurality', candidates: ['Ada', 'Bea'] }]);
    const id = () => `log-${randomUUID()}`;
    const cases: [expected: Line, ask: (headers: Record<string, string>) => Promise<unknown>][] = [
      [
        { status: 200, route: '/me', account: account.id, key: expect.stringMatching(/^vsk_….{4}$/) },
        (headers) => service.call('GET', '/me', undefined, { key: account.read, headers }),
      ],
      [
        { status: 401, code: 'unauthorized', route: '/voting-events' },
        (headers) => service.call('GET', '/voting-events', undefined, { key: 'vsk_wrong', headers }),
      ],
      [
        { status: 403, code: 'insufficient_scope', route: '/voting-events', account: account.id },
        (headers) =>
          service.call('POST', '/voting-events', { title: 'A', type: 'poll' }, { key: account.read, headers }),
      ],
      [
        { status: 403, code: 'forbidden', reason: 'results_not_available' },
        (headers) =>
          service.call('GET', `/public/voting-events/${event.id}/results`, undefined, { key: account.vote, headers }),
      ],
      [
        { status: 404, code: 'not_found', route: '/voting-events/:idOrCode' },
        (headers) => service.call('GET', '/voting-events/NOWHERE1', undefined, { key: account.read, headers }),
      ],
      [
        { status: 422, code: 'validation_error', route: '/voting-events' },
        (headers) => account.post('/voting-events', { title: 7 }, headers),
      ],
      [
        { status: 404, code: 'not_found' },
        (headers) => service.call('GET', '/nowhere', undefined, { key: account.read, headers }),
      ],
      [
        { status: 400, code: 'bad_request' },
        (headers) =>
          sendRaw(
            service.port,
            `GET /me HTTP/1.1\r\nHost: a\r\nHost: b\r\nX-Request-Id: ${headers['X-Request-Id']}\r\n\r\n`,
          ),
      ],
    ];
    for (const [expected, ask] of cases) {
      const requestId = id();
      await ask({ 'X-Request-Id': requestId });
      const found = linesOf(requestId);
      expect(found).toEqual([
        expect.objectContaining({ ...expected, address: expect.stringMatching(/127\.0\.0\.1|::1/) }),
      ]);
      expect(Object.keys(found[0] ?? {}).filter((name) => !ALLOWED.includes(name))).toEqual([]);
    }
  });

  test('holds no key, code, address of a voter, name or choice', async () => {
    const event = await account.event({ voter: { saveVoterInfo: true } }, [
      { votingMethod: 'plurality', candidates: ['Zebedee', 'Bea'] },
    ]);
    const [position, visitorId] = [event.positions[0], visitor()];
    const cast = await account.page(event, 'ballot/cast', {
      ...{ visitorId, email: 'secret.person@mail.example' },
      votes: [{ positionId: position?.id, candidateId: position?.candidates[0] }],
    });
    const code = cast.body.data.confirmationCode;
    await account.page(event, 'ballot/confirm', { confirmationCode: code });
    const all = lines.join('');
    for (const secret of [
      code,
      account.vote,
      account.write,
      account.read,
      'secret.person',
      visitorId,
      'Xanthippe',
      'Zebedee',
      position?.candidates[0],
    ])
      expect(all).not.toContain(secret);
  });
});

const show = (requestId: string, ...more: string[]) => runCommand(service, ['requests', 'show', requestId, ...more]);
const traces = (limit: number) => readTraces(service.deps.db, { limit });
const REFUSED = {
  ...{ requestId: 'a', accountId: undefined, keyHint: undefined, method: 'GET', route: '/me', status: 401, ms: 1 },
  untraced: false,
};

describe('a refused request', () => {
  test('is shown to the operator with account, key, route, code and reason, and none of its values', async () => {
    const account = await service.account();
    const headers = { 'X-Request-Id': 'what-went-wrong' };
    const body = { title: 'A secret title', type: 'election', startsAt: 'tomorrow' };
    const answer = await account.post('/voting-events', body, headers);
    expect(answer.status).toBe(422);
    const command = await eventually(async () => {
      const end = await show('what-went-wrong', '--json');
      return end.code === 0 ? end : undefined;
    });
    const { code, docUrl } = answer.body.error;
    const page = expect.stringMatching(new RegExp(`${new URL(docUrl).pathname}#${code}$`));
    expect(JSON.parse(command.stdout)).toEqual([
      {
        ...{ requestId: 'what-went-wrong', accountId: account.id, keyHint: expect.stringMatching(/^vsk_…/) },
        ...{ method: 'POST', route: '/voting-events', status: 422, code, reason: null, docUrl: page },
        ...{ at: expect.any(Number), ms: expect.any(Number) },
      },
    ]);
    expect(command.stdout).not.toContain('secret title');
  });

  test('that is not kept is said to be so, with where else it stands', async () => {
    const { code, stderr } = await show('nothing-of-this-name');
    expect(code).toBe(1);
    expect(stderr).toContain('The log has a line for every request.');
    expect((await show('no such ID')).code).toBe(2);
  });

  test('is not kept where somebody checked, cast or confirmed: it would show when', async () => {
    const account = await service.account();
    const event = await account.event();
    const at = `/public/voting-events/${event.id}`;
    const ask = (path: string, id: string) =>
      service.call('POST', `${at}${path}`, {}, { key: account.vote, headers: { 'X-Request-Id': id } });
    for (const [path, id] of [
      ['/voter/check', 'a-check'],
      ['/ballot/cast', 'a-cast'],
      ['/ballot/confirm', 'a-confirm'],
    ] as const)
      expect((await ask(path, id)).status).toBeGreaterThanOrEqual(400);
    expect((await ask('/voter-key/request', 'the-last')).status).toBeGreaterThanOrEqual(400);
    await untilTrue(async () => (await traces(1))[0]?.requestId === 'the-last');
    const kept = (await traces(KEPT_REQUESTS)).map(({ route }) => route);
    expect(kept.filter((route) => /check|cast|confirm/.test(route ?? ''))).toEqual([]);
  });

  test('makes room for newer ones, of which one process adds a few hundred a second', async () => {
    const pool = service.deps.db.$client;
    await pool.query(
      `INSERT INTO request_traces (request_id, at, method, status, ms)
       SELECT 'older-' || i, i, 'GET', 401, 1 FROM generate_series(1, $1::int) AS i`,
      [KEPT_REQUESTS + 50],
    );
    const fresh = new RequestTraces(pool);
    for (let index = 0; index < 1_000; index += 1) fresh.note({ ...REFUSED, requestId: `new-${index}` });
    await fresh.flush();
    const kept = await traces(2 * KEPT_REQUESTS);
    expect(kept).toHaveLength(KEPT_REQUESTS);
    const added = kept.filter(({ requestId }) => requestId.startsWith('new-'));
    expect([added.length > 0, added.length <= 300]).toEqual([true, true]);
  });

  test('is kept, too, where it was answered late though well, and left out where it was neither', async () => {
    const fresh = new RequestTraces(service.deps.db.$client);
    fresh.note({ ...REFUSED, requestId: 'late', status: 200, ms: 1_500 });
    fresh.note({ ...REFUSED, requestId: 'in-time', status: 200, ms: 900 });
    await fresh.flush();
    const found = async (requestId: string) => (await readTraces(service.deps.db, { requestId, limit: 9 })).length;
    expect([await found('late'), await found('in-time')]).toEqual([1, 0]);
  });
});
