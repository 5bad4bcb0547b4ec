import { describe, expect, test } from 'vitest';
import { readTraces } from '#src/http/read-traces.ts';
import { KEPT_REQUESTS, RequestTraces } from '#src/http/trace-requests.ts';
import { runCommand } from '#test/harness/command-line.ts';
import { eventually, useService } from '#test/harness/test-service.ts';

const service = await useService();

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
    await eventually(async () => ((await traces(1))[0]?.requestId === 'the-last' ? true : undefined));
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
