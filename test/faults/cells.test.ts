import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { ACTING, listTables, SHARED, STAYING, tablesOfEvents } from '#src/cells/account-rows.ts';
import { finishMoves, MoveRefused, takeBack } from '#src/cells/finish-move.ts';
import { moveAccount, type Stage } from '#src/cells/move-account.ts';
import { readConfig } from '#src/config.ts';
import type { Deps } from '#src/deps.ts';
import { joinCell } from '#src/prepare-start.ts';
import { sequenceServiceLog } from '#src/service-log/sequence-service-log.ts';
import { refusalOf } from '#test/harness/answers.ts';
import { startDatabaseProxy } from '#test/harness/database-proxy.ts';
import { finishEvent, type TestEvent, visitor, votesFor } from '#test/harness/elections.ts';
import { acceptInvite, invite, inviteToken, shareEvent } from '#test/harness/sharing.ts';
import { createTestDatabase } from '#test/harness/test-database.ts';
import {
  eventually,
  startTestService,
  type TestAccount,
  type TestAnswer,
  type TestService,
  untilTrue,
} from '#test/harness/test-service.ts';
import { keepLog, use, useDatabase } from '#test/harness/use.ts';

const [databaseB, databaseC] = [await useDatabase(), await useDatabase()];
const proxy = await startDatabaseProxy(databaseC.url);
const { log, lines } = keepLog('warn');
const service = await use(
  startTestService({ log, environment: { DATABASE_CELLS: `b=${databaseB.url},c=${proxy.url}` } }),
);
afterAll(() => proxy.stop());

const cellOf = (name: string, on: TestService = service): Deps => {
  const found = on.deps.cells.get(name);
  if (found === undefined) throw new Error(`no cell ${name}`);
  return found;
};

/** The cells that hold an account, one of its events, or rows of either. */
async function holdersOf(account: TestAccount): Promise<string[]> {
  const found = await Promise.all(
    [...service.deps.cells.values()].map(async ({ cell, db }) => {
      const { rows } = await db.$client.query(
        `SELECT 1 FROM accounts WHERE id = $1 UNION ALL SELECT 1 FROM voting_events WHERE account_id = $1
         UNION ALL SELECT 1 FROM api_keys WHERE account_id = $1 UNION ALL SELECT 1 FROM audit_entries WHERE account_id = $1
         UNION ALL SELECT 1 FROM payment_attempts WHERE account_id = $1 UNION ALL SELECT 1 FROM webhook_endpoints WHERE account_id = $1`,
        [account.id],
      );
      return rows.length > 0 ? [cell] : [];
    }),
  );
  return found.flat();
}

const move = (account: TestAccount, from: string, to: string, onStage?: (stage: Stage) => Promise<void>) =>
  moveAccount(cellOf(from), cellOf(to), account.id, {
    say: () => undefined,
    ...(onStage === undefined ? {} : { onStage }),
  });

describe('a request goes to the cell of its account', () => {
  test('by its key, whichever cell has it; a key that none has is refused as with one database', async () => {
    for (const cell of ['main', 'b', 'c']) {
      const account = await service.account('pro', cell);
      const event = await account.event();
      expect(await holdersOf(account)).toEqual([cell]);
      expect((await account.show('/voting-events')).map(({ id }: { id: string }) => id)).toEqual([event.id]);
      expect((await account.votePoll(event, votesFor(event))).confirmationCode).toEqual(expect.any(String));
    }
    const unknown = await service.call('GET', '/me', undefined, { key: `vsk_${'0'.repeat(38)}` });
    expect(refusalOf(unknown)).toEqual([401, 'unauthorized']);
  });

  test('without a key by what it is about: an open log, a download, a page of a rehearsal', async () => {
    const account = await service.account('enterprise', 'b');
    const event = await account.event({ log: { open: true } });
    expect((await service.call('GET', `/public/voting-events/${event.code}/log/checkpoint`)).status).toBe(200);
    const file = await account.of(event).download('/results/json');
    expect(file.body.data.votingEventId).toBe(event.id);
    expect((await service.call('GET', '/public/voting-events/evt_0/log/checkpoint')).status).toBe(401);
    expect((await service.call('GET', '/health')).body.data.checks).toEqual({
      database: 'ok',
      worker: 'ok',
      migrations: 'ok',
    });
  });
});

describe('an event that is shared with an account of another cell', async () => {
  const owner = await service.account('enterprise', 'main');
  const guest = await service.account('enterprise', 'b');
  const event = await owner.event({ title: 'Of the owner' });
  const own = await guest.event({ title: 'Of the guest' });
  await shareEvent(service, owner, event, guest, 'editor');

  test('is read, changed and listed by the guest beside their own', async () => {
    expect((await guest.of(event).show('')).title).toBe('Of the owner');
    expect((await guest.of(event).patch('', { title: 'Of both' })).status).toBe(200);
    const listed = await guest.pages('/voting-events?limit=1');
    expect(listed.flat().map(({ id }: { id: string }) => id)).toEqual([event.id, own.id].toSorted());
    expect((await guest.get(`/voting-events/${'X'.repeat(8)}`)).status).toBe(404);
  });

  test('shows who the guest is: in the invite, and in the trail by the name of the key', async () => {
    const [invited] = await owner.of(event).show('/invites');
    expect(invited.acceptedBy).toEqual({ accountId: guest.id, name: 'Test account' });
    const changes = await owner.of(event).show('/audit?search=read,write');
    const byGuest = changes.filter(({ key }: { key: { accountId: string } }) => key.accountId === guest.id);
    expect(byGuest[0].key).toMatchObject({ accountName: 'Test account', name: 'read,write', hint: expect.any(String) });
  });

  test('is copied into the account of the guest, in their own cell', async () => {
    const copy = await guest.of(event).make('/copy', { title: 'A copy', withVoters: false });
    const { rows } = await cellOf('b').db.$client.query('SELECT account_id FROM voting_events WHERE id = $1', [
      copy.id,
    ]);
    expect(rows).toEqual([{ account_id: guest.id }]);
    const [position] = await guest.of(copy).show('/positions');
    expect((await guest.of(copy).show('/candidates')).map(({ name }: { name: string }) => name)).toEqual([
      'Ada',
      'Bea',
    ]);
    expect(position.title).toBe('By plurality');
  });

  test('shares the Idempotency-Keys of the guest: one that was used in the other cell is refused', async () => {
    const headers = { 'Idempotency-Key': 'once' };
    const group = { name: 'A group' };
    expect((await guest.of(event).post('/groups', group, headers)).status).toBe(201);
    expect(refusalOf(await guest.of(own).post('/groups', group, headers))[0]).toBe(422);
    expect((await guest.of(event).post('/groups', group, headers)).status).toBe(201);
  });

  test('is not found any more once the invite is taken back, and its token belongs to the cell of the event', async () => {
    const [invited] = await owner.of(event).show('/invites');
    expect((await owner.of(event).delete(`/invites/${invited.id}`)).status).toBe(204);
    expect((await guest.of(event).get('')).status).toBe(404);
    await invite(service, owner, event, 'again@club.example', 'viewer');
    const token = await inviteToken(service, 'again@club.example');
    expect((await acceptInvite(service, guest.read, token)).status).toBe(200);
    expect((await guest.of(event).get('')).status).toBe(200);
  });
});

describe('a code names one event of all cells', () => {
  test('whoever chooses it at the same moment in whichever cell', async () => {
    const accounts = await Promise.all(
      Array.from({ length: 9 }, (_, index) => service.account('enterprise', ['main', 'b', 'c'][index % 3])),
    );
    for (let round = 0; round < 5; round += 1) {
      const code = `RACE${round}${Date.now() % 10_000}`;
      const answers = await Promise.all(
        accounts.map((account) => account.post('/voting-events', { title: 'Raced', type: 'poll', code })),
      );
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
      expect(answers.filter(({ status }) => status !== 201).map((answer) => refusalOf(answer))).toEqual(
        Array.from({ length: 8 }, () => [409, 'code_in_use']),
      );
      const winner = answers.findIndex(({ status }) => status === 201);
      // It is free at once for any cell when its event gives it up.
      expect(
        (await accounts[winner]?.patch(`/voting-events/${code}`, { code: `FREE${round}${Date.now() % 10_000}` }))
          ?.status,
      ).toBe(200);
      const next = accounts[(winner + 1) % 9];
      expect((await next?.post('/voting-events', { title: 'Next', type: 'poll', code }))?.status).toBe(201);
    }
  });
});

describe('the log of the service is one', () => {
  test('it has the checkpoints of every cell once, also of a queue that was read twice', async () => {
    const account = await service.account('enterprise', 'b');
    const event = await account.event({ log: { open: true } });
    await account.votePoll(event, votesFor(event));
    const queue = 'SELECT voting_event_id, size FROM checkpoint_queue WHERE voting_event_id = $1';
    const queued = await eventually(async () => {
      const { rows } = await cellOf('b').db.$client.query(queue, [event.id]);
      return rows.length > 0 ? rows : undefined;
    });
    const leaves = async () => (await service.query('SELECT count(*)::int AS count FROM service_log_leaves'))[0].count;
    const before = await leaves();
    await sequenceServiceLog(service.deps);
    const after = await leaves();
    expect(after - before).toBeGreaterThanOrEqual(queued.length);
    for (const { voting_event_id, size } of queued)
      await cellOf('b').db.$client.query('INSERT INTO checkpoint_queue VALUES ($1, $2)', [voting_event_id, size]);
    await sequenceServiceLog(service.deps);
    expect(await leaves()).toBe(after);
    const proof = await service.call('GET', `/public/voting-events/${event.id}/log/inclusion`);
    expect(proof.body.data.status).toBe('logged');
    const { rows } = await cellOf('b').db.$client.query('SELECT 1 FROM service_log_leaves');
    expect(rows).toEqual([]);
  });
});

describe('an account that moves', () => {
  test('takes along every table but those that are listed to stay', async () => {
    const tables = await listTables(service.deps.db.$client);
    const moved = [
      ...Object.keys(ACTING),
      ...Object.keys(SHARED),
      'voting_events',
      ...tablesOfEvents(tables).map(({ name }) => name),
    ];
    expect(tables.map(({ name }) => name)).toEqual([...moved, ...Object.keys(STAYING)].toSorted());
  });

  test('has everything in its new cell and nothing in the old one', async () => {
    const account = await service.account('enterprise', 'main');
    const election = await account.event({ type: 'election', title: 'An election', voter: { approval: 'automatic' } });
    const poll = await account.event();
    await account.of(election).make('/voters', { name: 'Vera', email: 'vera@club.example' });
    const votes = await Promise.all(Array.from({ length: 5 }, () => account.votePoll(poll, votesFor(poll))));
    await account.make('/webhook-endpoints', { url: 'https://club.example/hook', eventTypes: ['voting_event.closed'] });
    const shown = async () => {
      const [events, voters, stats, changes, endpoints] = [
        await account.show('/voting-events'),
        await account.of(election).show('/voters'),
        { ...(await account.of(election).show('/stats')), updatedAt: 0 },
        await account.of(poll).show('/audit'),
        await account.show('/webhook-endpoints'),
      ];
      return { events, voters, stats, changes, endpoints };
    };
    const before = await shown();
    await move(account, 'main', 'b');
    expect(await holdersOf(account)).toEqual(['b']);
    expect(await shown()).toEqual(before);
    // It goes on: more votes, more voters, a close, and back again.
    await account.votePoll(poll, votesFor(poll));
    await account.of(election).make('/voters', { name: 'Vito', email: 'vito@club.example' });
    const again = await shown();
    await move(account, 'b', 'main');
    expect(await holdersOf(account)).toEqual(['main']);
    expect(await shown()).toEqual(again);
    await finishEvent(service, poll.id);
    const results = await account.of(poll).show('/results');
    expect([results.final, results.disputed, results.stats.totalVotes]).toEqual([true, false, votes.length + 1]);
  });

  test('keeps what is shared with it, and those that it shares with', async () => {
    const [account, host, guest] = [
      await service.account('enterprise', 'main'),
      await service.account('enterprise', 'main'),
      await service.account('enterprise', 'main'),
    ];
    const [ours, theirs] = [await account.event(), await host.event()];
    await shareEvent(service, account, ours, guest, 'editor');
    await shareEvent(service, host, theirs, account, 'editor');
    const headers = { 'Idempotency-Key': 'before-the-move' };
    const made = await guest.of(ours).post('/groups', { name: 'Once' }, headers);
    expect((await account.of(theirs).patch('', { title: 'By its guest' })).status).toBe(200);
    await move(account, 'main', 'b');
    expect((await guest.of(ours).show('')).id).toBe(ours.id);
    expect((await account.of(theirs).show('')).title).toBe('By its guest');
    const again = await guest.of(ours).post('/groups', { name: 'Once' }, headers);
    expect([again.status, again.body]).toEqual([201, made.body]);
    const [invited] = await account.of(ours).show('/invites');
    expect(invited.acceptedBy).toEqual({ accountId: guest.id, name: 'Test account' });
    const [accepted] = await host.of(theirs).show('/invites');
    expect(accepted.acceptedBy).toEqual({ accountId: account.id, name: 'Test account' });
    const changes = await host.of(theirs).show('/audit');
    expect(changes.map(({ key }: { key: { accountId: string } | null }) => key?.accountId)).toContain(account.id);
  });

  test('under the load of two processes loses and doubles nothing', async () => {
    await using other = await service.another();
    const account = await service.account('enterprise', 'main');
    const events = [await account.event(), await account.event()];
    const confirmed: string[] = [];
    const refused: (readonly [number, string])[] = [];
    let going = true;
    const vote = async (on: TestService, event: TestEvent): Promise<void> => {
      for (let round = 0; going; round += 1) {
        const page = (path: string, body: unknown, name: string): Promise<TestAnswer> =>
          on.call('POST', `/public/voting-events/${event.id}/ballot/${path}`, body, {
            key: account.vote,
            headers: { 'Idempotency-Key': name },
          });
        const patiently = async (path: string, body: unknown): Promise<TestAnswer> => {
          const name = `${path}-${Math.random()}`;
          for (;;) {
            const answer = await page(path, body, name);
            if (answer.status < 300) return answer;
            refused.push([answer.status, JSON.stringify(answer.body)]);
            if (answer.status !== 500 && answer.status !== 409)
              throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
            await delay(100);
          }
        };
        const cast = await patiently('cast', { visitorId: visitor(), votes: votesFor(event, round % 2) });
        const { confirmationCode } = cast.body.data;
        await patiently('confirm', { confirmationCode });
        confirmed.push(event.id);
      }
    };
    const voters = [service, other].flatMap((on) => events.flatMap((event) => [vote(on, event), vote(on, event)]));
    const pauses: number[] = [];
    for (const [from, to] of [
      ['main', 'b'],
      ['b', 'c'],
      ['c', 'main'],
    ] as const) {
      await delay(500);
      // A move that is refused has changed nothing. On a busy machine an operator gives the command again.
      pauses.push(
        await eventually(() =>
          move(account, from, to).catch((fault: unknown) => {
            if (!(fault instanceof MoveRefused)) throw fault;
            return undefined;
          }),
        ),
      );
    }
    await delay(500);
    going = false;
    await Promise.all(voters);
    expect(await holdersOf(account)).toEqual(['main']);
    for (const event of events) {
      const stats = await account.of(event).show('/stats');
      expect(stats.confirmed ?? stats.ballots?.confirmed ?? stats.votes).toBe(
        confirmed.filter((id) => id === event.id).length,
      );
    }
    console.info(
      `cells: ${confirmed.length} confirmed, ${refused.length} refused once, pauses ${pauses.map(Math.round).join(', ')} ms`,
    );
    expect(refused.filter(([status]) => status !== 500)).toEqual([]);
  });

  test.each(['held', 'copied', 'switched'] as const)('goes on after it was cut off when it was %s', async (cut) => {
    const account = await service.account('enterprise', 'main');
    const event = await account.event();
    await account.votePoll(event, votesFor(event));
    const shown = await account.show('/voting-events');
    class Killed extends Error {}
    const kill = async (stage: Stage): Promise<void> => {
      if (stage === cut) throw new Killed();
    };
    await expect(move(account, 'main', 'b', kill)).rejects.toThrow(Killed);
    if (cut === 'switched') {
      // The service ends it by itself.
      await expect(takeBack(cellOf('main'), cellOf('b'), account.id)).rejects.toThrow(MoveRefused);
      await finishMoves(cellOf('main'));
    } else {
      expect(await account.show('/voting-events')).toEqual(shown);
      await account.votePoll(event, votesFor(event));
      await takeBack(cellOf('main'), cellOf('b'), account.id);
      expect(await holdersOf(account)).toEqual(['main']);
      await expect(move(account, 'main', 'b', kill)).rejects.toThrow(Killed);
      await move(account, 'main', 'b');
    }
    expect(await holdersOf(account)).toEqual(['b']);
    expect((await account.show('/voting-events')).map(({ id }: { id: string }) => id)).toEqual([event.id]);
    await account.votePoll(event, votesFor(event));
    await expect(takeBack(cellOf('main'), cellOf('b'), account.id)).rejects.toThrow('not in cell main');
  });
});

describe('a cell that falls silent', () => {
  test('stops its own accounts alone, and is told of by alarm and metric', async () => {
    const [here, there] = [await service.account('enterprise', 'b'), await service.account('enterprise', 'c')];
    const event = await here.event();
    await there.event();
    proxy.away = true;
    proxy.cut();
    try {
      const refused = await there.get('/voting-events');
      expect([refused.status, refused.headers.get('Retry-After')]).toEqual([500, '1']);
      expect((await here.votePoll(event, votesFor(event))).confirmationCode).toEqual(expect.any(String));
      expect((await here.get('/voting-events')).status).toBe(200);
      // A key of another cell that this process has not seen yet is found all the same.
      const fresh = await service.account('enterprise', 'main');
      expect((await fresh.get('/me')).status).toBe(200);
      const unknown = await service.call('GET', '/me', undefined, { key: there.vote });
      expect(unknown.status).toBe(500);
      const chosen = await here.post('/voting-events', {
        title: 'Chosen',
        type: 'poll',
        code: `QUIET${Date.now() % 1_000}`,
      });
      expect([chosen.status, chosen.headers.get('Retry-After')]).toEqual([500, '1']);
      expect((await here.post('/voting-events', { title: 'Random', type: 'poll' })).status).toBe(201);
      expect((await service.call('GET', '/health')).status).toBe(200);
      await untilTrue(() => lines.some(({ alarm, cell }) => alarm === 'cell_silent' && cell === 'c'));
    } finally {
      proxy.away = false;
    }
    await untilTrue(async () => (await there.get('/voting-events')).status === 200);
  });
});

test('a cell is begun beside a silent one, also where its server ends transactions that rest for 3 seconds', async () => {
  const silent = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  onTestFinished(() => void silent.close());
  const name = new URL(databaseC.url).pathname.slice(1);
  await cellOf('c').db.execute(`ALTER DATABASE "${name}" SET idle_in_transaction_session_timeout = '3s'`);
  const own = { name: 'c', url: databaseC.url };
  const { port } = silent.address() as AddressInfo;
  const databaseCells = [{ name: 'b', url: `postgres://voting@127.0.0.1:${port}/b` }, own];
  await joinCell({ ...service.deps.config, databaseCells }, service.databaseUrl, own);
});

test('a list of cells that is wrong is refused in one line that names the setting and no password', () => {
  const read = (DATABASE_CELLS: string) =>
    readConfig({
      DATABASE_URL: 'postgres://u:secret@a/main',
      SECRET_KEY: Buffer.alloc(32).toString('base64'),
      DATABASE_CELLS,
    });
  const url = 'postgres://u:secret@one:5432,two:5432/b';
  expect(read(`b=${url},c=postgres://u:secret@c/c`).databaseCells).toEqual([
    { name: 'b', url },
    { name: 'c', url: 'postgres://u:secret@c/c' },
  ]);
  for (const wrong of [
    'b',
    'main=postgres://x/y',
    `b=${url},b=postgres://x/y`,
    `b=${url},c=${url}`,
    'B=postgres://x/y',
    'b=postgres://u:secret@a/main',
  ])
    expect(() => read(wrong)).toThrow(/^DATABASE_CELLS (?!.*secret)[^\n]+$/);
});

test('a cell of another service is not served: no key of it is taken', async () => {
  const foreign = await createTestDatabase();
  const elsewhere = await startTestService({ databaseUrl: foreign.url });
  const stranger = await elsewhere.account('pro', 'main');
  await stranger.event();
  const { log: own, lines: said } = keepLog('warn');
  const joined = await startTestService({ log: own, environment: { DATABASE_CELLS: `b=${foreign.url}` } });
  expect((await joined.call('GET', '/me', undefined, { key: stranger.read })).status).toBe(500);
  await untilTrue(() => said.some(({ alarm }) => alarm === 'cell_silent'));
  await joined.stop();
  await elsewhere.stop();
  await foreign.drop();
});
