import { expect, test } from 'vitest';
import { reasonAnchor } from '#src/http/errors.ts';
import { hasReason, REFUSALS, type RefusalCase, reasonOf } from '#src/http/refusals.ts';
import { STATUS_BY_CODE } from '#src/platform/errors.ts';
import { sendRaw } from '#test/harness/raw-http.ts';
import { useAccount } from '#test/harness/test-service.ts';

const { service, account } = await useAccount();
const page = await service.call('GET', '/reference/errors');
const anchors = [...String(page.body).matchAll(/ id="([^"]+)"/g)].map(([, id]) => id ?? '');

const leadsThere = (docUrl: string): boolean => {
  const [page, anchor = ''] = docUrl.split('#');
  return page === `${service.deps.config.baseUrl}/reference/errors` && anchors.includes(anchor);
};

test('the reference has one paragraph for every code, and for every reason with its status', () => {
  expect(new Set(anchors).size).toBe(anchors.length);
  const names = Object.entries(REFUSALS).filter(([name]) => hasReason(name as RefusalCase));
  const wanted = names.map(([name, { code }]) => reasonAnchor(reasonOf(name as RefusalCase), STATUS_BY_CODE[code]));
  expect([...Object.keys(STATUS_BY_CODE), ...wanted].filter((anchor) => !anchors.includes(anchor))).toEqual([]);
});

test('every example of a refusal in the API document leads to its paragraph', async () => {
  const { body } = await service.call('GET', '/openapi.json');
  const addresses = [...JSON.stringify(body).matchAll(/"docUrl":"([^"]+)"/g)].map(([, address = '']) => address);
  expect(addresses.length).toBeGreaterThan(100);
  const broken = addresses.filter((address) => !anchors.includes(address.split('/reference/errors#')[1] ?? ''));
  expect([...new Set(broken)]).toEqual([]);
});

test('every error carries the address of that paragraph beside its request ID', async () => {
  const event = await account.event({}, []).catch(() => undefined);
  expect(event).toBeUndefined();
  const draft = await account.event({}, [], false);
  const answers = [
    await service.call('GET', '/me'),
    await service.call('GET', '/nowhere'),
    await account.put('/me', {}),
    await service.call('POST', '/voting-events', {}, { key: account.read }),
    await account.post('/voting-events', { colour: 'red' }),
    await account.get('/voting-events?colour=red'),
    await account.get('/voting-events/evt_unknown'),
    await account.patch(`/voting-events/${draft.id}`, { status: 'open' }),
    await account.patch(`/voting-events/${draft.id}`, { status: 'closed' }),
  ];
  for (const { status, body } of answers) {
    expect(status).toBeGreaterThanOrEqual(400);
    expect([body.error, leadsThere(body.error.docUrl)]).toEqual([expect.anything(), true]);
  }
  expect(answers.at(-2)?.body.error.docUrl).toMatch(/#not_ready-409$/);
  expect(answers[0]?.body.error.docUrl).toMatch(/#unauthorized$/);
});

test('so do refusals of what never reaches a route', async () => {
  for (const text of [
    'NONSENSE\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n',
  ]) {
    const { status, body } = await sendRaw(service.port, text);
    expect(status).toBe(400);
    expect(leadsThere(JSON.parse(body).error.docUrl)).toBe(true);
  }
});
