import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { KEPT_REQUESTS, RequestTraces, readTraces } from '#src/http/trace-requests.ts';
import { runCommand } from '#test/harness/command-line.ts';
import { visitor } from '#test/harness/elections.ts';
import { sendRaw } from '#test/harness/raw-http.ts';
import { eventually, untilTrue, useAccount } from '#test/harness/test-service.ts';
import { keepLog } from '#test/harness/use.ts';

const { lines, log } = keepLog('info');
const { service, account } = await useAccount({ log });

/** The lines of one request. */
const linesOf = (requestId: string) => lines.filter((line) => line['requestId'] === requestId);

const ALLOWED = 'account address code key level method ms msg reason requestId route status time'.split(' ');

describe('the log', () => {
  test('has one line for every request, refused or not, with the fields that are listed and no others', async () => {
    const event = await account.event();
    const results = `/public/voting-events/${event.id}/results`;
    type Asked = [method: string, target: string, key: string, body?: unknown];
    const cases: [expected: object, asked: Asked][] = [
      [
        { status: 200, route: '/me', account: account.id, key: expect.stringMatching(/^vsk_….{4}$/) },
        ['GET', '/me', account.read],
      ],
      [{ status: 401, code: 'unauthorized', route: '/voting-events' }, ['GET', '/voting-events', 'vsk_wrong']],
      [
        { status: 403, code: 'insufficient_scope', route: '/voting-events', account: account.id },
        ['POST', '/voting-events', account.read, { title: 'A', type: 'poll' }],
      ],
      [{ status: 403, code: 'forbidden', reason: 'results_not_available' }, ['GET', results, account.vote]],
      [
        { status: 404, code: 'not_found', route: '/voting-events/:idOrCode' },
        ['GET', '/voting-events/NOWHERE1', account.read],
      ],
      [
        { status: 422, code: 'validation_error', route: '/voting-events' },
        ['POST', '/voting-events', account.write, { title: 7 }],
      ],
      [{ status: 404, code: 'not_found' }, ['GET', '/nowhere', account.read]],
    ];
    const expectLine = (requestId: string, expected: object): void => {
      const found = linesOf(requestId);
      const address = expect.stringMatching(/127\.0\.0\.1|::1/);
      expect(found).toEqual([expect.objectContaining({ ...expected, address })]);
      expect(Object.keys(found[0] ?? {}).filter((name) => !ALLOWED.includes(name))).toEqual([]);
    };
    for (const [expected, [method, target, key, body]] of cases) {
      const requestId = `log-${randomUUID()}`;
      await service.call(method, target, body, { key, headers: { 'X-Request-Id': requestId } });
      expectLine(requestId, expected);
    }
    await sendRaw(service.port, 'GET /me HTTP/1.1\r\nHost: a\r\nHost: b\r\nX-Request-Id: log-of-two-hosts\r\n\r\n');
    expectLine('log-of-two-hosts', { status: 400, code: 'bad_request' });
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
    const all = JSON.stringify(lines);
    const keys = [account.vote, account.write, account.read];
    for (const secret of [code, ...keys, 'secret.person', visitorId, 'Xanthippe', 'Zebedee', position?.candidates[0]])
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
    for (const path of ['voter/check', 'ballot/cast', 'ballot/confirm', 'voter-key/request']) {
      const { status } = await account.page(
        event,
        path,
        {},
        { 'X-Request-Id': path === 'voter-key/request' ? 'the-last' : 'a' },
      );
      expect(status).toBeGreaterThanOrEqual(400);
    }
    await untilTrue(async () => (await traces(1))[0]?.requestId === 'the-last');
    const kept = (await traces(KEPT_REQUESTS)).map(({ route }) => route);
    expect(kept.filter((route) => /check|cast|confirm/.test(route ?? ''))).toEqual([]);
  });

  test('makes room for newer ones, of which one process adds a few hundred a second', async () => {
    await service.query(
      `INSERT INTO request_traces (request_id, at, method, status, ms)
       SELECT 'older-' || i, i, 'GET', 401, 1 FROM generate_series(1, $1::int) AS i`,
      [KEPT_REQUESTS + 50],
    );
    const fresh = new RequestTraces(service.deps.db.$client);
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
