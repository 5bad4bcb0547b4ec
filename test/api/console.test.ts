import { describe, expect, onTestFinished, test } from 'vitest';
import { createLog } from '#src/platform/log.ts';
import { signMessage } from '#src/webhooks/signature.ts';
import { demand } from '#test/harness/answers.ts';
import { type Asked, askRaw, readToken, WITH_CONSOLE, watchConsole } from '#test/harness/console.ts';
import { visitor, votesFor } from '#test/harness/elections.ts';
import { createPaidEvent, usePaidService } from '#test/harness/payments.ts';
import { startReceiver } from '#test/harness/receiver.ts';
import { eventually, startTestService, type TestAccount } from '#test/harness/test-service.ts';

const logged: string[] = [];

const log = createLog('info', { write: (line) => void logged.push(line) });
const { service } = await usePaidService({ ...WITH_CONSOLE, log });
const { port } = service;
const token = await readToken(port);

async function watch() {
  const watching = await watchConsole(port);
  onTestFinished(() => watching.stop());
  return watching;
}

const act = (path: string, body: unknown, own = token) =>
  askRaw(port, path, { method: 'POST', body, headers: { 'X-Console-Token': own } });

/** The tables of the database in which a text stands, of all schemas. */
async function tablesWith(words: string): Promise<string[]> {
  const rows = await service.query<{ schema: string; name: string }>(
    `SELECT schemaname AS schema, tablename AS name FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
  );
  const found: string[] = [];
  for (const { schema, name } of rows) {
    const holding = `SELECT 1 FROM "${schema}"."${name}" AS t WHERE t::text LIKE $1 LIMIT 1`;
    if ((await service.query(holding, [`%${words}%`])).length > 0) found.push(name);
  }
  return found;
}

const ROUTES: readonly [string, string, unknown?][] = [
  ['GET', '/console'],
  ['GET', '/console/live'],
  ['GET', '/console/mails/a'],
  ['POST', '/console/inbox/mine', {}],
  ['POST', '/console/replays', { endpointId: 'whe_a', messageId: 'msg_a' }],
  ['POST', '/console/payments', { pageId: 'a', outcome: 'pay' }],
  ['POST', '/console/clock', { advanceMs: 1 }],
];

/** Asks every address of the console, with its token. */
const askAll = (headers: Asked['headers'], at = port) =>
  Promise.all(
    ROUTES.map(([method, path, body]) =>
      askRaw(at, path, { method, body, headers: { 'X-Console-Token': token, ...headers } }),
    ),
  );

/** What an address answers that is not there. */
async function unknownAddress(at = port): Promise<unknown> {
  const { status, body } = await askRaw(at, '/no-such-address');
  return { status, error: { ...JSON.parse(body).error, requestId: '' } };
}

async function expectAbsent(headers: Asked['headers'], at = port): Promise<void> {
  const absent = await unknownAddress(at);
  for (const { status, body } of await askAll(headers, at))
    expect([headers, { status, error: { ...JSON.parse(body).error, requestId: '' } }]).toEqual([headers, absent]);
}

describe('the console answers as if it were not there', () => {
  test('under a name that is not of this machine, which somebody may have pointed to it', async () => {
    const named = ['evil.example', 'localhost.evil.example', '127.0.0.1.nip.io', '192.168.1.7'];
    for (const Host of [...named, `evil.example:${port}`]) await expectAbsent({ Host });
    for (const Host of [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`, 'LOCALHOST'])
      expect([Host, (await askRaw(port, '/console', { headers: { Host } })).status]).toEqual([Host, 200]);
  });

  test('to other pages of the browser', async () => {
    const Host = `localhost:${port}`;
    for (const Origin of ['http://evil.example', 'null', `https://${Host}`, 'http://localhost:3002'])
      await expectAbsent({ Host, Origin });
    for (const site of ['cross-site', 'same-site', 'anything']) await expectAbsent({ Host, 'Sec-Fetch-Site': site });
    for (const site of ['none', 'same-origin']) {
      const headers = { Host, Origin: `http://${Host}`, 'Sec-Fetch-Site': site };
      expect((await askRaw(port, '/console', { headers })).status).toBe(200);
    }
  });

  test('through a proxy, whose callers are elsewhere', async () => {
    for (const name of ['Forwarded', 'Via', 'X-Forwarded-For', 'X-Forwarded-Host', 'X-Real-IP'])
      await expectAbsent({ [name]: '127.0.0.1' });
  });

  test.each([
    ['in production', { DATABASE_URL: '', NODE_ENV: 'production' }],
    ['with a database of its own', {}],
    ['where it listens to other machines', { DATABASE_URL: '', HOST: '0.0.0.0' }],
    ['under a public address', { DATABASE_URL: '', BASE_URL: 'https://vote.example' }],
    ['behind a proxy', { DATABASE_URL: '', TRUST_PROXY: '1' }],
  ])('%s', async (_where, environment) => {
    const { databaseUrl, secretKey } = service;
    const other = await startTestService({ databaseUrl, secretKey, environment, worker: false });
    onTestFinished(() => other.stop());
    expect(other.deps.consoleFeed).toBe(undefined);
    await expectAbsent({}, other.port);
    const url = `http://localhost:${other.port}/console/inbox/mine`;
    expect(other.deps.ownInbox.nameOf(url)).toBe(undefined);
  });
});

describe('the console', () => {
  test('does nothing for who does not have the token of its page', async () => {
    for (const own of ['', 'wrong', `${token}a`, token.slice(1)])
      for (const [method, path, body] of ROUTES.slice(4)) {
        const answer = await askRaw(port, path, { method, body, headers: { 'X-Console-Token': own } });
        expect([own, path, answer.status]).toEqual([own, path, 401]);
      }
    expect((await act('/console/clock', { advanceMs: 1 })).status).toBe(204);
    expect((await act('/console/clock', { advanceMs: -1 })).status).toBe(422);
    expect((await act('/console/payments', { pageId: '../_sandbox/clock', outcome: 'pay' })).status).toBe(422);
  });

  test('has a page that loads nothing, runs its own script alone and is framed by none', async () => {
    const { headers, body } = await askRaw(port, '/console');
    const policy = String(headers['content-security-policy']);
    expect(policy).toMatch(
      /^default-src 'none'; script-src 'sha256-[\w+/=]+'; style-src 'sha256-[\w+/=]+'; connect-src 'self'/,
    );
    expect(policy).toContain("frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'");
    expect(body).not.toMatch(/\b(?:src|href)="(?:https?:)?\/\//);
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
    expect(headers['access-control-allow-origin']).toBe(undefined);
  });

  test('stands in no API document', async () => {
    const { body } = await service.call('GET', '/openapi.json');
    expect(Object.keys(body.paths).filter((path) => path.includes('console'))).toEqual([]);
    expect(Object.keys(body.paths)).toContain('/webhook-endpoints');
  });

  test('shows each request with account, key, code and reason, casts among them, and none of its own', async () => {
    const { state, until } = await watch();
    const account = await service.account();
    const event = await account.event();
    await account.patch(`/voting-events/${event.id}`, { status: 'closed' });
    const at = `/public/voting-events/${event.code}/ballot/cast`;
    const headers = { 'X-Request-Id': 'a-cast-too-late' };
    const votes = votesFor(event);
    await service.call('POST', at, { visitorId: visitor(), votes }, { key: account.vote, headers });
    const shown = await until(({ requests }) => requests.find(({ requestId }) => requestId === 'a-cast-too-late'));
    expect(shown).toMatchObject({
      ...{ accountId: account.id, keyHint: expect.stringMatching(/^vvk_…/), method: 'POST', status: 403 },
      ...{ route: '/public/voting-events/:idOrCode/ballot/cast', code: 'forbidden', reason: 'event_closed' },
    });
    expect(state.requests.filter(({ route }) => route?.startsWith('/console'))).toEqual([]);
  });

  test('shows a mail with its key, HTML and text, and neither database nor log has it', async () => {
    const account = await service.account();
    const words = { title: 'The <b>board</b>', votingPageUrl: 'https://club.example/vote#key={voterKey}' };
    const election = await account.event({ type: 'election', ...words });
    const email = 'vera@club.example';
    await account.of(election).make('/voters', { name: 'Vera', email });
    const { until } = await watch();
    await account.page({ id: election.code }, 'voter-key/request', { email });
    const mail = await until(({ mails }) => mails.find(({ to, subject }) => to === email && subject.includes('board')));
    const key = /^ {4}([0-9A-Z]{4}(?:-[0-9A-Z]{4}){3})$/m.exec(mail.text)?.[1] ?? 'no key';
    expect(mail.html).toContain(key);
    const page = await askRaw(port, `/console/mails/${mail.id}`);
    expect(page.body).toContain(`<base target="_blank">`);
    expect(page.body).toContain('&lt;b&gt;board&lt;/b&gt;');
    expect(page.headers['content-security-policy']).toMatch(/^default-src 'none'.*sandbox allow-popups/);
    expect(logged.join('')).toContain('voter-key/request');
    expect(logged.join('')).not.toContain(key);
    expect(await tablesWith(key)).toEqual([]);
    expect(await tablesWith(election.id)).toContain('voter_keys');
    expect((await askRaw(port, '/console/mails/another')).status).toBe(404);
  });

  test('pays, declines and cancels on pages of the sandbox, and lets them expire', async () => {
    const { state, until } = await watch();
    const event = await createPaidEvent(service, 'provider_a');
    const open = async (): Promise<string> => (await event.begin()).url;
    const urls = [await open(), await open(), await open()];
    const pageOf = (index: number) => until(({ payments }) => payments?.find(({ url }) => url === urls[index]));
    const became = (index: number, status: string) =>
      until(({ payments }) => payments?.find((one) => one.url === urls[index] && one.status === status));
    expect(await pageOf(0)).toMatchObject({ amount: 'USD 5.00', status: 'open', open: true });
    const decide = async (index: number, outcome: string) =>
      (await act('/console/payments', { pageId: (await pageOf(index)).pageId, outcome })).status;
    expect([await decide(0, 'pay'), await decide(1, 'fail'), await decide(2, 'cancel')]).toEqual([204, 204, 204]);
    expect((await became(0, 'paid')).open).toBe(false);
    await became(1, 'failed');
    await became(2, 'open');
    await act('/console/clock', { advanceMs: 26 * 3_600_000 });
    await became(2, 'expired');
    expect(JSON.stringify(state.payments)).not.toContain(event.secretKey);
    expect((await act('/console/payments', { pageId: 'no-such-page', outcome: 'pay' })).status).toBe(404);
  });

  test('counts while ballots are confirmed', async () => {
    const { until } = await watch();
    const account = await service.account();
    const event = await account.event({ title: 'Counted here' });
    await until(({ results }) => results.find(({ id, ballots }) => id === event.id && ballots === 0));
    await account.votePoll(event, votesFor(event, 1));
    const after = await until(({ results }) => results.find(({ id, ballots }) => id === event.id && ballots === 1));
    expect(after).toMatchObject({ code: event.code, status: 'open', missing: null, turnout: null });
    expect(after.positions[0]?.candidates).toMatchObject([
      { name: 'Ada', votesWon: 0, winner: false },
      { name: 'Bea', votesWon: 1, winner: true },
    ]);
  });

  test('says what cannot be read, has a bound on those who look, and ends their streams when the service stops', async () => {
    const { databaseUrl, secretKey } = service;
    const options = { ...WITH_CONSOLE, databaseUrl, secretKey, worker: false };
    const other = await startTestService({ ...options, sandboxUrl: 'http://127.0.0.1:1' });
    const watches = await Promise.all(Array.from({ length: 20 }, () => watchConsole(other.port)));
    for (const { until } of watches)
      await until(({ payments }) => (JSON.stringify(payments) === '{"failed":true}' ? true : undefined));
    const refused = await askRaw(other.port, '/console/live');
    expect([refused.status, JSON.parse(refused.body).error.code]).toEqual([429, 'rate_limited']);
    watches.shift()?.stop();
    const again = await eventually(async () => {
      const answer = await askRaw(other.port, '/console/live');
      return answer.status === 200 ? answer : undefined;
    });
    // Otherwise the stop would wait for it.
    expect(again.headers['connection']).toBe('close');
    await other.stop();
    await Promise.all(watches.map(({ ended }) => ended));
  });

  test('shows no payments where no sandbox runs', async () => {
    const { databaseUrl, secretKey } = service;
    const other = await startTestService({ ...WITH_CONSOLE, databaseUrl, secretKey, worker: false });
    onTestFinished(() => other.stop());
    const { until, stop } = await watchConsole(other.port);
    await until(({ payments }) => (payments === null ? true : undefined));
    stop();
    const headers = { 'X-Console-Token': await readToken(other.port) };
    const body = { pageId: 'a', outcome: 'pay' };
    expect((await askRaw(other.port, '/console/payments', { method: 'POST', body, headers })).status).toBe(404);
  });
});

describe('the inbox', () => {
  const subscribe = (account: TestAccount, url: string) =>
    account.post('/webhook-endpoints', { url, eventTypes: ['voting_event.updated'] });

  test('receives what the service sends, verifies it, and has it sent again', async () => {
    const { until } = await watch();
    const account = await service.account();
    const endpoint = demand(await subscribe(account, `http://localhost:${port}/console/inbox/first`), 201);
    await account.post(`/webhook-endpoints/${endpoint.id}/test`);
    const first = await until(({ messages }) => messages.find(({ inbox }) => inbox === 'first'));
    expect(first).toMatchObject({ verdict: 'verified', endpointId: endpoint.id });
    expect(JSON.parse(first.body)).toMatchObject({ type: 'webhook_endpoint.test' });
    const messageId = first.headers['webhook-id'];
    const delivered = await until(({ deliveries }) =>
      deliveries.find((one) => one.messageId === messageId && one.status === 'delivered'),
    );
    expect(delivered).toMatchObject({ eventType: 'webhook_endpoint.test', url: endpoint.url, attemptCount: 1 });
    expect(delivered.attempts).toMatchObject([{ number: 1, responseStatus: 204, error: null }]);

    expect((await act('/console/replays', { endpointId: endpoint.id, messageId })).status).toBe(204);
    const again = await until(({ messages }) => messages.filter(({ inbox }) => inbox === 'first')[1]);
    expect(again).toMatchObject({ verdict: 'verified', body: first.body });
    expect(again.headers['webhook-id']).toBe(messageId);
    await until(({ deliveries }) => deliveries.find((one) => one.messageId === messageId && one.attemptCount === 2));
    expect((await act('/console/replays', { endpointId: endpoint.id, messageId: 'msg_none' })).status).toBe(404);
  });

  test('says of messages that are not signed, not by an endpoint of it, or too long ago', async () => {
    const account = await service.account();
    const { until } = await watch();
    const { secret } = demand(await subscribe(account, `http://127.0.0.1:${port}/console/inbox/judged`), 201);
    const other = demand(await subscribe(account, `http://127.0.0.1:${port}/console/inbox/other`), 201);
    const seconds = Math.floor(Date.now() / 1_000);
    const body = '{"type":"a.test"}';
    const signed = (by: string, at: number) => ({ ...signMessage([by], 'msg_own', at, body) });
    const send = async (headers: Record<string, string>) =>
      (await askRaw(port, '/console/inbox/judged', { method: 'POST', headers, body: JSON.parse(body) })).status;
    const sent = [{}, signed(other.secret, seconds), signed(secret, seconds - 301), signed(secret, seconds)];
    for (const headers of sent) expect(await send(headers)).toBe(204);
    const all = await until(({ messages }) => {
      const own = messages.filter(({ inbox }) => inbox === 'judged');
      return own.length === 4 ? own : undefined;
    });
    expect(all.map(({ verdict }) => verdict)).toEqual(['not_signed', 'wrong_signature', 'too_old', 'verified']);
  });

  test('takes names and messages within bounds', async () => {
    const post = async (name: string, body: unknown) =>
      (await askRaw(port, `/console/inbox/${name}`, { method: 'POST', body })).status;
    expect(await post('UPPER', {})).toBe(404);
    expect(await post('a'.repeat(41), {})).toBe(404);
    expect(await post('a/b', {})).toBe(404);
    expect(await post('large', 'a'.repeat(256 * 1024))).toBe(422);
  });

  test('is the one address of the service that a receiver may have; others lie on this machine, in no private network', async () => {
    const account = await service.account();
    const own = [`localhost:${port}/console/replays`, `localhost:${port}/console/inbox/mine?next=1`];
    const others =
      '192.168.1.7:8080/hook 10.0.0.1:8080/hook printer.local:8080/hook 127.0.0.2:8080/hook example.com/hook';
    for (const rest of [...own, `127.0.0.1:${port}/me`, `[::1]:${port}/me`, ...others.split(' ')]) {
      const url = `http://${rest}`;
      expect([url, (await subscribe(account, url)).status]).toEqual([url, 422]);
    }
    const receiver = await startReceiver();
    onTestFinished(() => receiver.stop());
    const { hostname, port: its, pathname } = new URL(receiver.url);
    expect(hostname).toBe('127.0.0.1');
    for (const host of ['127.0.0.1', 'localhost']) {
      const url = `http://${host}:${its}${pathname}`;
      const { id } = demand(await subscribe(account, url), 201);
      await account.post(`/webhook-endpoints/${id}/test`);
    }
    await eventually(() => receiver.received[1]);
  });
});
