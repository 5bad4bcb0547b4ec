import { expect, onTestFinished, test } from 'vitest';
import { dropAllExpiredBallots } from '#src/ballots/drop-expired-ballots.ts';
import { sealConfirmation } from '#src/voters/confirm-address.ts';
import { cellsOf, cutAt, Killed } from '#test/harness/cells.ts';
import { countWaiting } from '#test/harness/count-waiting.ts';
import { demand, PLURALITY, people, type TestEvent, visitor, votesFor } from '#test/harness/elections.ts';
import { holdStatement } from '#test/harness/intercept-statements.ts';
import { acceptInvite, invite, inviteToken, shareEvent } from '#test/harness/sharing.ts';
import {
  eventually,
  startTestService,
  type TestAccount,
  type TestAnswer,
  untilTrue,
} from '#test/harness/test-service.ts';
import { use, useDatabase } from '#test/harness/use.ts';

// What requests get that run into a move (docs/scaling.md, "A move"): their answer, or a 500 with Retry-After; never what only looks final.

const databaseB = await useDatabase();
const service = await use(startTestService({ environment: { DATABASE_CELLS: `b=${databaseB.url}` } }));
const { cellOf, leaveBetween, move, read } = cellsOf(service);

const isToBeRepeated = ({ status, headers }: TestAnswer): boolean =>
  status === 500 && headers.get('Retry-After') !== null;

test('a confirm that the switch overtakes is not acknowledged, and counts when it is repeated', async () => {
  const owner = await service.account('enterprise', 'main');
  const event = await owner.event();
  const cast = { visitorId: visitor(), votes: votesFor(event) };
  const { confirmationCode } = demand(await owner.page(event, 'ballot/cast', cast), 201);
  const { reached, free, restore } = holdStatement(/confirm_ballot/);
  onTestFinished(restore);
  const confirming = owner.page(event, 'ballot/confirm', { confirmationCode });
  await reached;
  await move(owner, 'main', 'b', async (stage) => {
    if (stage === 'copied') free();
  });
  const answer = await confirming;
  expect([isToBeRepeated(answer), answer.status]).toEqual([true, 500]);
  expect((await owner.page(event, 'ballot/confirm', { confirmationCode })).status).toBe(200);
  expect((await owner.of(event).show('/stats')).ballots.confirmed).toBe(1);
});

type Read = (owner: TestAccount, event: TestEvent) => Promise<TestAnswer>;
/** Each read with the statement that the move comes before. */
const READS: Record<string, [settings: Readonly<Record<string, unknown>>, statement: RegExp, read: Read]> = {
  results: [
    { results: { visibility: 'live' } },
    /read_moment|'box' AS kind/,
    (owner, event) => owner.page(event, 'results'),
  ],
  'a page of voters': [{ type: 'election' }, /from "voters"/, (owner, event) => owner.of(event).get('/voters')],
  'voters as CSV': [{ type: 'election' }, /from "voters"/, (owner, event) => owner.of(event).get('/voters/csv')],
  'a file behind a signed address': [
    {},
    /sum\(b\.ballots\) OVER/,
    async (owner, event) => service.call('GET', await owner.of(event).link('/results/cvr')),
  ],
};
for (const [name, [settings, statement, read]] of Object.entries(READS))
  test(`${name}: a read that the switch overtakes never shows a part as the whole`, async () => {
    const owner = await service.account('enterprise', 'main');
    const event = await owner.event(settings);
    if ('type' in settings) await owner.of(event).make('/voters/batch', { voters: people(3) });
    else await owner.votePoll(event, votesFor(event));
    const { reached, free, restore } = holdStatement(statement);
    onTestFinished(restore);
    const asking = read(owner, event).then(isToBeRepeated, (fault: unknown) => fault instanceof Error);
    await reached;
    await move(owner, 'main', 'b');
    free();
    // Where the headers are sent, the connection breaks.
    expect(await asking).toBe(true);
    expect((await read(owner, event)).status).toBe(200);
  });

/** Has a request reach a statement before the move begins, and go on between the copy and the switch. */
async function goOnBeforeSwitch<T>(owner: TestAccount, statement: RegExp, ask: () => Promise<T>): Promise<T> {
  const { reached, free, restore } = holdStatement(statement);
  onTestFinished(restore);
  const asking = ask();
  let isAnswered = false;
  const noted = asking.finally(() => {
    isAnswered = true;
  });
  await reached;
  await move(owner, 'main', 'b', async (stage) => {
    if (stage !== 'copied') return;
    free();
    await untilTrue(async () => isAnswered || (await countWaiting(service, '%for key share%')) > 0);
  });
  return noted;
}

test('a mail with a key that is asked for beside a move is sent, or asked for again', async () => {
  const owner = await service.account('enterprise', 'main');
  const election = await owner.event({ type: 'election' });
  const { id } = await owner.of(election).make('/voters', { name: 'Vera', email: 'vera@key.example' });
  const ask = () => owner.of(election).post(`/voters/${id}/voter-key`, {});
  const answer = await goOnBeforeSwitch(owner, /for key share|from "voters"/i, ask);
  // 409 `busy`, where it waits too long for the lock.
  expect([[409, 500].includes(answer.status), answer.headers.get('Retry-After')]).toEqual([true, expect.any(String)]);
  demand(await ask(), 202);
  await untilTrue(async () => service.mails().some((mail) => mail.includes('@key.example')));
});

test('letters that are read to their end beside a move are handed out once', async () => {
  const owner = await service.account('enterprise', 'main');
  const of = owner.of(await owner.event({ type: 'election' }, PLURALITY, true));
  await of.make('/voters/batch', { voters: [{ name: 'Vera Okafor', voterId: 'M-1' }] });
  const { id } = demand(await of.post('/voters/letters', { audience: 'without_email' }), 202);
  await eventually(async () => ((await of.show(`/letters/${id}`)).finishedAt === null ? undefined : true), 60_000);
  const link = () => of.send('GET', `/letters/${id}/pdf?file=1`);
  const path = new URL((await link()).headers.get('location') ?? '').pathname;
  const isWhole = () =>
    service.call('GET', path).then(
      ({ bytes }) => bytes.toString('latin1').includes('%%EOF'),
      () => false,
    );
  const first = await goOnBeforeSwitch(owner, /for key share|from "letter_runs".* for no key update/i, isWhole);
  expect([first, await isWhole()]).toEqual([false, true]);
  expect((await link()).status).toBe(409);
});

test('requests of a guest wait for the move of the owner, in the cell of both', async () => {
  const [owner, guest] = [await service.account('enterprise', 'main'), await service.account('enterprise', 'main')];
  const event = await owner.event();
  await shareEvent(service, owner, event, guest, 'editor');
  const asked: Promise<TestAnswer>[] = [];
  await move(owner, 'main', 'b', async (stage) => {
    if (stage === 'copied')
      asked.push(
        guest.of(event).patch('', { description: 'Meanwhile' }),
        guest.page(event, 'ballot/cast', { visitorId: visitor(), votes: votesFor(event) }),
      );
    if (stage === 'switched') asked.push(guest.of(event).get(''));
  });
  for (const answer of await Promise.all(asked)) expect(answer.status < 300 || isToBeRepeated(answer)).toBe(true);
});

test('addresses without a key are to be asked again while their event is between two cells', async () => {
  const owner = await service.account('enterprise', 'main');
  const event = await owner.event({ type: 'election' }, PLURALITY, true);
  const of = owner.of(event);
  const email = 'vera@address.example';
  const { id: voterId } = await of.make('/voters', { name: 'Vera', email, voterId: 'M-1' });
  await of.make('/voters', { name: 'Bea', voterId: 'M-2' });
  const { id } = demand(await of.post('/voters/letters', { audience: 'without_email' }), 202);
  await eventually(async () => ((await of.show(`/letters/${id}`)).finishedAt === null ? undefined : true), 60_000);
  const letters = await of.send('GET', `/letters/${id}/pdf?file=1`);
  const addresses: [method: string, path: string][] = [
    ['GET', new URL(letters.headers.get('location') ?? '').pathname],
    ['GET', await of.link('/results/json')],
    ['POST', `/confirm-address/${sealConfirmation(service.deps.secrets, event.id, voterId, email)}`],
  ];
  const ask = () =>
    Promise.all(
      addresses.map(async ([method, path]) => service.call(method, path, method === 'POST' ? '' : undefined)),
    );
  const free = await leaveBetween(owner, 'main', 'b');
  expect((await ask()).map(isToBeRepeated)).toEqual(addresses.map(() => true));
  await free();
  await untilTrue(async () => (await of.get('')).status === 200);
  expect((await ask()).map(({ status }) => status)).toEqual(addresses.map(() => 200));
});

test('the address of a file is to be asked again while the key that it was issued to is between two cells', async () => {
  const [owner, guest] = [await service.account('enterprise', 'main'), await service.account('enterprise', 'main')];
  const event = await owner.event();
  await shareEvent(service, owner, event, guest, 'editor');
  const link = await guest.of(event).link('/results/json');
  const free = await leaveBetween(guest, 'main', 'b');
  expect(isToBeRepeated(await service.call('GET', link))).toBe(true);
  await free();
  await untilTrue(async () => (await service.call('GET', link)).status === 200);
});

test('an event between two cells is not said to be unknown to who may see it, nor known to who may not', async () => {
  const [owner, guest, stranger] = [
    await service.account('enterprise', 'main'),
    await service.account('enterprise', 'main'),
    await service.account('enterprise', 'main'),
  ];
  const event = await owner.event({ log: { open: true } });
  await shareEvent(service, owner, event, guest, 'editor');
  await invite(service, owner, event, 'late@club.example', 'viewer');
  const token = await inviteToken(service, 'late@club.example');
  const free = await leaveBetween(owner, 'main', 'b');
  const headers = { 'Idempotency-Key': 'once' };
  const ask = (): Promise<TestAnswer[]> =>
    Promise.all([
      owner.get('/voting-events'),
      guest.get('/voting-events'),
      guest.of(event).get(''),
      guest.get(`/voting-events/${event.code}`),
      guest.of(event).patch('', { description: 'Meanwhile' }, headers),
      service.call('GET', `/public/voting-events/${event.id}`, undefined, { key: guest.vote }),
      service.call('GET', `/public/voting-events/${event.code}/log/checkpoint`),
      acceptInvite(service, stranger.read, token),
    ]);
  const before = await ask();
  expect(before.map(isToBeRepeated)).toEqual(before.map(() => true));
  expect((await stranger.of(event).get('')).status).toBe(404);
  expect((await guest.get('/voting-events/evt_0')).status).toBe(404);
  await free();
  // The service may be at it by itself.
  await untilTrue(async () => (await guest.of(event).get('')).status === 200);
  expect((await ask()).map(({ status }) => status)).toEqual(before.map(() => 200));
});

test('the list of a guest is asked for again if a shared event moves between the reads of its cells', async () => {
  const [owner, other, guest] = [
    await service.account('enterprise', 'main'),
    await service.account('enterprise', 'b'),
    await service.account('enterprise', 'main'),
  ];
  const [event, there] = [await owner.event(), await other.event()];
  await shareEvent(service, owner, event, guest, 'editor');
  await shareEvent(service, other, there, guest, 'editor');
  const { reached, free, restore } = holdStatement(/from "voting_events".* union all /);
  onTestFinished(restore);
  const asking = guest.get('/voting-events');
  await reached;
  await move(owner, 'main', 'b');
  free();
  expect(isToBeRepeated(await asking)).toBe(true);
  const { body } = await guest.get('/voting-events');
  expect(body.data.map(({ id }: { id: string }) => id)).toEqual([event.id, there.id].toSorted());
});

test('a guest who copies an event while the own account moves is asked to repeat', async () => {
  const [owner, guest] = [await service.account('enterprise', 'b'), await service.account('enterprise', 'main')];
  const event = await owner.event();
  await shareEvent(service, owner, event, guest, 'editor');
  const { reached, free, restore } = holdStatement(/insert into "voting_events"/);
  onTestFinished(restore);
  const asking = guest.of(event).post('/copy', { title: 'A copy', withVoters: false });
  await reached;
  await move(guest, 'main', 'b', async (stage) => {
    if (stage === 'switched') free();
  });
  expect(isToBeRepeated(await asking)).toBe(true);
});

test('a guest whose cell lost the note of a shared event finds the event with the next request', async () => {
  const [owner, guest] = [await service.account('enterprise', 'b'), await service.account('enterprise', 'main')];
  const event = await owner.event();
  await shareEvent(service, owner, event, guest, 'editor');
  await read('main', 'DELETE FROM guest_cells WHERE account_id = $1', [guest.id]);
  await read('main', "SELECT pg_notify('guest_changed', $1)", [guest.id]);
  // The service learns of the loss with the notification.
  await untilTrue(async () => isToBeRepeated(await guest.of(event).get('')));
  await untilTrue(async () => (await guest.of(event).get('')).status === 200);
});

test('a ballot of a copy that was cut off is not dropped before its payment is there', async () => {
  const owner = await service.account('enterprise', 'main');
  const event = await owner.event();
  demand(await owner.page(event, 'ballot/cast', { visitorId: visitor(), votes: votesFor(event) }), 201);
  await expect(move(owner, 'main', 'b', cutAt('copied'))).rejects.toThrow(Killed);
  const pending = 'SELECT 1 FROM pending_ballots WHERE voting_event_id = $1';
  await read('b', 'UPDATE pending_ballots SET cast_at = 0 WHERE voting_event_id = $1', [event.id]);
  await dropAllExpiredBallots(cellOf('b'));
  expect(await read('b', pending, [event.id])).toHaveLength(1);
});
