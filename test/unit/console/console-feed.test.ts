import { expect, test } from 'vitest';
import { ConsoleFeed, KEPT } from '#src/console/console-feed.ts';
import { isFromThisMachine, offersConsole } from '#src/console/guard-console.ts';
import { OwnInbox } from '#src/webhooks/own-inbox.ts';

const mail = (number: number) => ({ to: 'a@b.example', subject: String(number), text: '', id: 'x' });
const REQUEST = {
  ...{ requestId: 'a', accountId: undefined, keyHint: undefined, method: 'GET', route: '/me', status: 401, ms: 1 },
  ...{ untraced: false, code: 'unauthorized' },
};
const subjects = (feed: ConsoleFeed, version = 0) => feed.since(version).mails.map(({ subject }) => subject);

test('keeps the last 200 mails, and gives what is new since a version', () => {
  const feed = new ConsoleFeed(0);
  for (let number = 0; number < KEPT.mails; number += 1) feed.addMail(mail(number), number);
  const { version } = feed.since(0);
  feed.addMail(mail(KEPT.mails), 0);
  expect(subjects(feed)).toHaveLength(200);
  expect(subjects(feed)[0]).toBe('1');
  expect(subjects(feed, version)).toEqual(['200']);
});

test('shows each entry once in all processes of a start, the one that is new among them', () => {
  const [one, other] = [new ConsoleFeed(0), new ConsoleFeed(0)];
  other.join(one.start, () => undefined);
  one.join(one.start, (entry) => other.take(JSON.parse(JSON.stringify(entry))));
  one.addMail(mail(1), 1);
  one.addRequest(REQUEST, 2);
  for (const entry of one.entries()) other.take(entry);
  expect(other.since(0)).toEqual(one.since(0));
  expect(subjects(other)).toEqual(['1']);
  expect(other.start).toEqual(one.start);
});

test('recalls refusals of earlier starts, and none of its own twice', () => {
  const feed = new ConsoleFeed(1_000);
  const { untraced: _untraced, ...request } = REQUEST;
  const trace = { ...request, accountId: null, keyHint: null, reason: null };
  feed.recall([
    { ...trace, requestId: 'own', at: 1_000 },
    { ...trace, requestId: 'later', at: 999 },
    { ...trace, requestId: 'earlier', at: 998 },
  ]);
  expect(feed.since(0).requests.map(({ requestId }) => requestId)).toEqual(['earlier', 'later']);
});

test('wakes who waits when something is added, and when it is closed', async () => {
  const feed = new ConsoleFeed(0);
  const { signal } = new AbortController();
  const added = feed.changed(0, 60_000, signal);
  feed.addMail(mail(1), 1);
  await added;
  const closed = feed.changed(1, 60_000, signal);
  feed.close();
  await closed;
  await feed.changed(1, 60_000, signal);
});

test('is offered with the embedded database on loopback alone, and never in production or behind a proxy', () => {
  const alone = {
    ...{ databaseUrl: undefined, production: false, host: '127.0.0.1', baseUrl: 'http://localhost:3000' },
    trustProxy: 0,
  };
  const offered = (change: Partial<Parameters<typeof offersConsole>[0]>) => offersConsole({ ...alone, ...change });
  for (const host of ['127.0.0.1', 'localhost', '::1']) expect([host, offered({ host })]).toEqual([host, true]);
  for (const host of ['0.0.0.0', '::', '192.168.1.7', '127.0.0.2', 'example.org', ''])
    expect([host, offered({ host })]).toEqual([host, false]);
  expect(offered({ production: true })).toBe(false);
  expect(offered({ databaseUrl: 'postgres://localhost/voting' })).toBe(false);
  expect(offered({ baseUrl: 'https://vote.example.org' })).toBe(false);
  expect(offered({ trustProxy: 1 })).toBe(false);
});

test('answers peers of this machine alone', () => {
  const from = (remoteAddress: string | undefined) => {
    const message = { headers: { host: 'localhost:3000' }, socket: { remoteAddress } };
    return isFromThisMachine(message as Parameters<typeof isFromThisMachine>[0]);
  };
  for (const peer of ['127.0.0.1', '::1', '::ffff:127.0.0.1']) expect([peer, from(peer)]).toEqual([peer, true]);
  for (const peer of ['192.168.1.7', '::ffff:10.0.0.1', 'fe80::1', '2001:db8::1', '', undefined])
    expect([peer, from(peer)]).toEqual([peer, false]);
});

test('the inbox has addresses of its own host, port and path alone, and none before it is served', () => {
  const inbox = new OwnInbox();
  expect(inbox.nameOf('http://localhost:3000/console/inbox/mine')).toBe(undefined);
  inbox.open(3000);
  for (const host of ['localhost', '127.0.0.1', '[::1]'])
    expect(inbox.nameOf(`http://${host}:3000/console/inbox/my-own-2`)).toBe('my-own-2');
  for (const url of [
    ...['http://localhost:3001/console/inbox/mine', 'http://localhost/console/inbox/mine'],
    ...['https://localhost:3000/console/inbox/mine', 'http://localhost:3000/console/inbox/'],
    ...['http://localhost:3000/console/inbox/-a', 'http://localhost:3000/console/inbox/mine/../../payments'],
    ...['http://localhost:3000/console/inbox/mine?a=b', 'http://localhost:3000/console/inbox/mine#a'],
    ...['http://localhost:3000/console/replays', 'http://localhost:3000@evil.example/console/inbox/mine'],
    ...['http://user@localhost:3000/console/inbox/mine', 'http://localhost.evil.example:3000/console/inbox/mine'],
    ...['http://127.0.0.2:3000/console/inbox/mine', 'http://localhost:3000/console/inbox/mine\n'],
  ])
    expect([url, inbox.nameOf(url)]).toEqual([url, undefined]);
  for (const [url, is] of [
    ['http://localhost:3000/console/inbox/mine', false],
    ['http://localhost:3000/console/inbox/mine/../../payments', true],
    ['https://LOCALHOST:3000/', true],
    ['http://localhost:3001/console/replays', false],
    ['https://shop.example:3000/console/replays', false],
  ] as const)
    expect([url, inbox.isBeside(url)]).toEqual([url, is]);
});
