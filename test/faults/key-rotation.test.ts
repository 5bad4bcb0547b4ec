import { randomBytes } from 'node:crypto';
import { renameSync } from 'node:fs';
import path from 'node:path';
import { sql } from 'drizzle-orm';
import { describe, expect, test } from 'vitest';
import { checkLogs } from '#src/ballot-log/check-log.ts';
import { openCheckpoint, openHead } from '#src/ballot-log/checkpoint.ts';
import { findHead } from '#src/ballot-log/repository.ts';
import { adoptLogKey, storeIdentity } from '#src/ballot-log/service-identity.ts';
import { parseVerifierKey } from '#src/ballot-log/signed-note.ts';
import { countSealed, resealSecrets } from '#src/commands/reseal-secrets.ts';
import { withConnection } from '#src/database/check-server.ts';
import { inTransaction } from '#src/database/client.ts';
import { createSecrets } from '#src/platform/secrets.ts';
import { sequenceServiceLog } from '#src/service-log/sequence-service-log.ts';
import { copyRollJob } from '#src/voters/copy-event.ts';
import { sealedTokenPlace } from '#src/voting-events/change-invites.ts';
import { MARKER } from '#src/voting-events/key-places.ts';
import { openSecret } from '#src/webhooks/signature.ts';
import { sealDeps } from '#src/work.ts';
import { runCommand } from '#test/harness/command-line.ts';
import {
  createTestEvent,
  demand,
  finishEvent,
  PLURALITY,
  sealBallots,
  type TestEvent,
  tendLog,
  visitor,
  votesFor,
} from '#test/harness/elections.ts';
import { setEvent } from '#test/harness/genuine-rows.ts';
import { interceptStatements } from '#test/harness/intercept-statements.ts';
import { createKeyedElection, keyFiles } from '#test/harness/keyed-elections.ts';
import { mailedVoterKey } from '#test/harness/mails.ts';
import { readSources } from '#test/harness/read-sources.ts';
import {
  eventually,
  startTestService,
  type TestAnswer,
  type TestService,
  useService,
} from '#test/harness/test-service.ts';
import { use, useDatabase, useFolder } from '#test/harness/use.ts';

const OLD = randomBytes(32).toString('base64');
const NEW = randomBytes(32).toString('base64');

const before = await useService({ secretKey: OLD });
// The same database and mail folder under the new key followed by the old one.
const after = await use(before.under(`${NEW},${OLD}`));
const account = await before.account();

const post = (on: TestService, path: string, body: unknown, key: string, headers = {}) =>
  on.call('POST', path, body, { key, headers });

/** The second page of the voters at `there`, by the cursor that `here` gave. */
async function secondPage(here: TestService, there: TestService, { id }: TestEvent, key: string): Promise<TestAnswer> {
  const list = `/voting-events/${id}/voters?limit=1`;
  const { nextCursor } = (await here.call('GET', list, undefined, { key })).body;
  return there.call('GET', `${list}&cursor=${encodeURIComponent(nextCursor)}`, undefined, { key });
}

/** A download at `there`, by the link that `here` gave. */
async function download(here: TestService, there: TestService, { id }: TestEvent, key: string): Promise<TestAnswer> {
  const link = await here.call('GET', `/voting-events/${id}/results/csv`, undefined, { key });
  const { pathname, search } = new URL(link.headers.get('location') ?? '', `http://127.0.0.1:${here.port}`);
  return there.call('GET', pathname + search);
}

describe('after SECRET_KEY became new,old', () => {
  const repeats: readonly [string, (event: TestEvent) => readonly [path: string, body: unknown, key: () => string]][] =
    [
      [
        'a cast',
        (event) => [
          `/public/voting-events/${event.id}/ballot/cast`,
          { visitorId: visitor(), votes: votesFor(event) },
          () => account.vote,
        ],
      ],
      [
        'a new voter',
        (event) => [`/voting-events/${event.id}/voters`, { name: 'V', voterId: visitor() }, () => account.write],
      ],
      ['a new event', () => ['/voting-events', { title: 'Another', type: 'poll' }, () => account.write]],
      [
        'a refusal that a handler decided',
        (event) => [
          `/public/voting-events/${event.id}/register/voter`,
          { name: 'V', email: 'v@a.example' },
          () => account.vote,
        ],
      ],
    ];

  test.each(repeats)(
    '%s that is repeated gets the stored answer, and another request under its key is a mismatch',
    async (_what, make) => {
      const event = await createTestEvent(before, account);
      const [path, body, key] = make(event);
      const headers = { 'Idempotency-Key': `key-${visitor()}` };
      const first = await post(before, path, body, key(), headers);
      const { requestId: _first, ...told } = first.body.error ?? first.body;
      for (const on of [after, before, after]) {
        const repeat = await post(on, path, body, key(), headers);
        const { requestId: _repeat, ...again } = repeat.body.error ?? repeat.body;
        expect([repeat.status, repeat.headers.get('idempotent-replayed'), again]).toEqual([first.status, 'true', told]);
        const other = await post(on, path, { ...(body as object), name: 'Somebody else' }, key(), headers);
        expect([other.status, other.body.error.code]).toEqual([422, 'idempotency_mismatch']);
      }
    },
  );

  test('a confirmation code that was given before is confirmed, once', async () => {
    const event = await createTestEvent(before, account);
    const path = `/public/voting-events/${event.id}/ballot`;
    const cast = { visitorId: visitor(), votes: votesFor(event) };
    const { confirmationCode } = demand(await post(before, `${path}/cast`, cast, account.vote), 201);
    const confirmed = demand(await post(after, `${path}/confirm`, { confirmationCode }, account.vote), 200);
    const again = demand(await post(after, `${path}/confirm`, { confirmationCode }, account.vote), 200);
    expect(again.confirmationCode).toBe(confirmed.confirmationCode);
  });

  test('a voter key that was mailed before votes, and so does one that is mailed afterwards', async () => {
    const event = await createTestEvent(before, account, { type: 'election' });
    const base = `/public/voting-events/${event.id}`;
    const voters = ['vera', 'otto'].map((name) => ({ name, email: `${name}@club.example` }));
    demand(await post(before, `/voting-events/${event.id}/voters/batch`, { voters }, account.write), 201);
    for (const [index, asked] of [before, after].entries()) {
      const email = voters[index]?.email ?? '';
      const voterKey = await mailedVoterKey(before, () =>
        post(asked, `${base}/voter-key/request`, { email }, account.vote),
      );
      const ballot = { voterKey, email, votes: votesFor(event) };
      const { confirmationCode } = demand(await post(after, `${base}/ballot/cast`, ballot, account.vote), 201);
      demand(await post(after, `${base}/ballot/confirm`, { confirmationCode }, account.vote), 200);
    }
  });

  test('a cursor and a download link that were given before still lead on', async () => {
    const event = await createTestEvent(before, account, { type: 'election' });
    const voters = ['a', 'b', 'c'].map((name) => ({ name, voterId: name }));
    demand(await post(before, `/voting-events/${event.id}/voters/batch`, { voters }, account.write), 201);
    expect((await secondPage(before, after, event, account.read)).body.data).toMatchObject([{ name: 'b' }]);
    expect((await download(before, after, event, account.read)).status).toBe(200);
  });
});

test('an event is one resource for an Idempotency-Key, by its ID and by its code in any case', async () => {
  const event = await createTestEvent(before, account);
  const body = { visitorId: visitor(), votes: votesFor(event) };
  const headers = { 'Idempotency-Key': `key-${visitor()}` };
  const answers = [];
  for (const name of [event.id, event.code, event.code.toLowerCase(), event.code.toUpperCase()])
    answers.push(await post(before, `/public/voting-events/${name}/ballot/cast`, body, account.vote, headers));
  expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
  expect(new Set(answers.map(({ body: { data } }) => data.confirmationCode)).size).toBe(1);
});

test('a stored answer comes before the judgement of a body that is refused by now', async () => {
  const event = await createTestEvent(before, account);
  const headers = { 'Idempotency-Key': `key-${visitor()}` };
  const body = { visitorId: visitor(), votes: votesFor(event) };
  const path = `/public/voting-events/${event.id}/ballot/cast`;
  const first = await post(before, path, body, account.vote, headers);
  const price = sql`pay_to_vote = '{"amountMinor": 500, "currency": "eur"}'`;
  await setEvent(before, event.id, sql`${price}, payment_provider = 'provider_a', paper_version = paper_version + 1`);
  before.deps.events.forget(event.id);
  expect((await post(before, path, { ...body, visitorId: visitor() }, account.vote)).status).toBe(422);
  const repeat = await post(before, path, body, account.vote, headers);
  expect([repeat.status, repeat.headers.get('idempotent-replayed'), repeat.body]).toEqual([201, 'true', first.body]);
});

/** By the file that seals or tags something, what `secrets status` calls it; null where it does not have to. */
const COUNTED_AS: Readonly<Record<string, string | null>> = {
  'accounts/create-api-key.ts': 'API keys',
  // Looked for within minutes of a confirm.
  'ballot-log/dropped-ballots.ts': null,
  'ballot-log/lot.ts': 'seeds of lots',
  'ballots/waiting-ballot.ts': 'ballots on their way to the log',
  // They are what seals and tags again.
  'commands/reseal-secrets.ts': null,
  'database/tagged-rows.ts': null,
  'http/idempotent-request.ts': 'stored answers of repeated requests',
  'letters/letter-run.ts': 'printed letters',
  // Under the key of the event, as snapshots are.
  'letters/print-letters.ts': null,
  'payments/business-repository.ts': 'payment credentials',
  'payments/give-paid.ts': 'answers to paid calls',
  'results/disclosure.ts': null,
  // In a mail; it confirms an address until the close, as a voter key votes.
  'voters/confirm-address.ts': 'voter keys of events that go on',
  'voters/copy-event.ts': 'orders to copy a roll',
  'voters/delete-voter.ts': 'addresses in jobs',
  'voters/roll-sum.ts': 'keys of rolls',
  'voters/update-voter.ts': 'addresses in jobs',
  'voters/voter-tag.ts': 'rows of voters',
  'voting-events/ballot-key-repository.ts': 'keys of elections to be destroyed',
  'voting-events/ballot-keys.ts': 'keys of events',
  'voting-events/change-invites.ts': 'tokens of invites to be mailed',
  'voting-events/event-tag.ts': 'rows of events',
  'webhooks/signature.ts': 'webhook secrets',
};

async function showStatus(service: TestService) {
  const { stdout } = await runCommand(service, ['secrets', 'status', '--json']);
  return JSON.parse(stdout) as { what: string; underEarlierKeys: number }[];
}

/** What of the service still needs an earlier secret key. */
const listLeft = async (service: TestService): Promise<string[]> =>
  (await showStatus(service)).flatMap(({ what, underEarlierKeys }) => (underEarlierKeys > 0 ? [what] : []));

describe('what was sealed under the old key', () => {
  test('is sealed again by one command, and then opens under the new key alone', async () => {
    const one = await startTestService({ secretKey: OLD, worker: false });
    const both = await one.under(`${NEW},${OLD}`);
    try {
      const owner = await one.account();
      const hook = { url: 'https://hooks.example.com/a', eventTypes: ['voting_event.closed'] };
      const endpoint = demand(await post(one, '/webhook-endpoints', hook, owner.write), 201);
      const rotated = demand(await post(one, `/webhook-endpoints/${endpoint.id}/rotate-secret`, {}, owner.write), 200);
      const event = await createTestEvent(one, owner);
      await sealBallots(one, event.id);
      const status = async () => {
        const { stdout } = await runCommand(both, ['secrets', 'status', '--json']);
        const rows: { what: string; underEarlierKeys: number; resealable: boolean }[] = JSON.parse(stdout);
        return rows.filter(({ resealable, underEarlierKeys }) => resealable && underEarlierKeys > 0);
      };
      expect((await status()).map(({ what }) => what)).toEqual([
        ...['webhook secrets', 'seeds of lots', 'earlier webhook secrets', 'rows of events', 'API keys'],
      ]);
      const resealed = await runCommand(both, ['secrets', 'reseal', '--json']);
      expect([resealed.code, JSON.parse(resealed.stdout)]).toEqual([0, { resealed: 6, unreadable: 0 }]);
      expect(await status()).toEqual([]);
      const { $client } = one.deps.db;
      const { rows } = await $client.query('SELECT secret, earlier_secrets AS earlier FROM webhook_endpoints');
      const present = createSecrets([Buffer.from(NEW, 'base64')]);
      expect(openSecret(present, endpoint.id, rows[0].secret)).toBe(rotated.secret);
      expect(openSecret(present, endpoint.id, rows[0].earlier[0].secret)).toBe(endpoint.secret);
      const log = await $client.query('SELECT lot_seed AS seed FROM ballot_logs WHERE voting_event_id = $1', [
        event.id,
      ]);
      expect(log.rows[0].seed.startsWith(`${present.id}.`)).toBe(true);
      await $client.query("UPDATE webhook_endpoints SET secret = '00000000.' || split_part(secret, '.', 2)");
      const lost = await runCommand(both, ['secrets', 'reseal', '--json']);
      expect([lost.code, JSON.parse(lost.stdout)]).toEqual([1, { resealed: 0, unreadable: 1 }]);
    } finally {
      await both.stop();
      await one.stop();
    }
  });

  test('are the voters of an election, too, whose rehearsal has a result', async () => {
    await using one = await startTestService({ secretKey: OLD, worker: false });
    await using both = await one.under(`${NEW},${OLD}`);
    const owner = await one.account();
    const event = await owner.event({ type: 'election' }, PLURALITY, false);
    const own = owner.of(event);
    await own.make('/voters', { name: 'Vera', voterId: 'M-1' });
    for (const status of ['rehearsal', 'closed']) await own.change('', { status });
    await tendLog(sealDeps(one.deps), event.id, 1);
    expect(await own.show('/results')).toMatchObject({ final: true });
    expect((await runCommand(both, ['secrets', 'reseal', '--json'])).code).toBe(0);
    await using present = await one.under(NEW);
    demand(await present.call('PATCH', `/voting-events/${event.id}`, { status: 'draft' }, { key: owner.write }), 200);
    const list = await present.call('GET', `/voting-events/${event.id}/voters`, undefined, { key: owner.read });
    expect(list.body.data).toMatchObject([{ voterId: 'M-1', disputed: false }]);
  });

  test('are the voters of an election whose result is final, so that its roll can be copied and its names changed', async () => {
    await using one = await startTestService({ secretKey: OLD, worker: false });
    await using both = await one.under(`${NEW},${OLD}`);
    const owner = await one.account();
    const event = await owner.event({ type: 'election' }, PLURALITY, false);
    const own = owner.of(event);
    const { id } = await own.make('/voters', { name: 'Vera', voterId: 'M-1' });
    await own.change('', { status: 'open' });
    await finishEvent(one, event.id);
    expect((await runCommand(both, ['secrets', 'reseal', '--json'])).code).toBe(0);
    await using present = await one.under(NEW);
    const at = `/voting-events/${event.id}`;
    demand(await present.call('PATCH', `${at}/voters/${id}`, { name: 'Vera Lind' }, { key: owner.write }), 200);
    const order = { title: 'Next', withVoters: true };
    const copy = demand(await present.call('POST', `${at}/copy`, order, { key: owner.write }), 201);
    await copyRollJob(present.deps).work({ eventId: copy.id }, { id: '1', attempt: 1, last: false });
    const roll = await present.call('GET', `/voting-events/${copy.id}/voters`, undefined, { key: owner.read });
    expect(roll.body.data).toMatchObject([{ name: 'Vera Lind', voterId: 'M-1' }]);
  });

  test('is renewed where it waits for a mail, and counted where it waits in a job', async () => {
    await using one = await startTestService({ secretKey: OLD, worker: false });
    await using both = await one.under(`${NEW},${OLD}`);
    const owner = await one.account();
    const event = await owner.event({ type: 'election' });
    const own = owner.of(event);
    const { id } = await own.make('/invites', { email: 'guest@club.example', role: 'viewer' });
    const voter = await own.make('/voters', { name: 'Vera', email: 'vera@club.example' });
    await own.change(`/voters/${voter.id}`, { email: 'vera@other.example' });
    expect(await listLeft(both)).toEqual(
      expect.arrayContaining(['tokens of invites to be mailed', 'addresses in jobs']),
    );
    expect((await runCommand(both, ['secrets', 'reseal', '--json'])).code).toBe(0);
    expect(await listLeft(both)).toEqual(['addresses in jobs']);
    // An operator may let a failed job run again.
    await one.query('UPDATE jobs SET attempts = max_attempts');
    expect(await listLeft(both)).toEqual(['addresses in jobs']);
    const [invite] = await one.query('SELECT sealed_token AS token FROM event_invites WHERE id = $1', [id]);
    const present = createSecrets([Buffer.from(NEW, 'base64')]);
    expect(present.open(invite.token, sealedTokenPlace(event.id, id)).toString('utf8')).toMatch(/^vit_/);
  });

  test('is the order to destroy the key of an election, so that a folder that comes back loses it', async () => {
    const ballotKeysCopies = useFolder('voting-rotation-keys-');
    await using one = await startTestService({ secretKey: OLD, worker: false, ballotKeysCopies });
    await using both = await one.under(`${NEW},${OLD}`);
    await using present = await one.under(NEW);
    const election = await createKeyedElection(one, await one.account(), []);
    const marker = path.join(ballotKeysCopies, MARKER);
    renameSync(marker, `${marker}.away`);
    await inTransaction(one.deps.db, (tx) => one.deps.ballotKeys.retire(tx, election.id));
    await one.deps.ballotKeys.destroyRetired();
    expect(await listLeft(both)).toContain('keys of elections to be destroyed');
    expect((await runCommand(both, ['secrets', 'reseal', '--json'])).code).toBe(0);
    renameSync(`${marker}.away`, marker);
    expect(keyFiles(ballotKeysCopies, election.id)).toHaveLength(1);
    await present.deps.ballotKeys.destroyRetired();
    expect(keyFiles(ballotKeysCopies, election.id)).toEqual([]);
  });

  test('is counted by `secrets status`, whatever writes it', async () => {
    const counted = (await showStatus(before)).map(({ what }) => what);
    const writers = readSources('src', /\.ts$/)
      .filter(({ name, text }) => !name.startsWith('platform/') && /\.seal(?:Bytes)?\((?!\))|\btagOfRow\(/.test(text))
      .map(({ name }) => name);
    expect(writers).toEqual(Object.keys(COUNTED_AS).toSorted());
    expect(Object.values(COUNTED_AS).filter((what) => what !== null && !counted.includes(what))).toEqual([]);
  });
});

describe('a rotation in two steps, while votes go on', () => {
  test.each([
    ['the old key alone', 'the new one listed behind it', OLD, `${OLD},${NEW}`],
    ['the new one listed behind the old', 'the new one in front', `${OLD},${NEW}`, `${NEW},${OLD}`],
    ['the new one in front', 'the new key alone', `${NEW},${OLD}`, NEW],
  ])('works on each of two processes, one with %s, one with %s', async (_one, _other, left, right) => {
    const one = await startTestService({ secretKey: left });
    const other = await one.under(right);
    try {
      const owner = await one.account();
      const guest = await one.account();
      const event = await createTestEvent(one, owner);
      const election = await createTestEvent(one, owner, { type: 'election' });
      const base = `/public/voting-events/${event.id}/ballot`;
      for (const [here, there] of [[one, other] as const, [other, one] as const]) {
        const headers = { 'Idempotency-Key': visitor() };
        const body = { visitorId: visitor(), votes: votesFor(event) };
        const cast = await post(here, `${base}/cast`, body, owner.vote, headers);
        const again = await post(there, `${base}/cast`, body, owner.vote, headers);
        expect([again.status, again.body]).toEqual([201, cast.body]);
        const confirm = { confirmationCode: cast.body.data.confirmationCode };
        demand(await post(there, `${base}/confirm`, confirm, owner.vote, { 'Idempotency-Key': visitor() }), 200);
        demand(await post(here, `${base}/confirm`, confirm, owner.vote), 200);
        const email = `${visitor()}@club.example`;
        demand(await post(here, `/voting-events/${election.id}/voters`, { name: 'Vera', email }, owner.write), 201);
        const voting = `/public/voting-events/${election.id}`;
        const voterKey = await mailedVoterKey(one, () =>
          post(here, `${voting}/voter-key/request`, { email }, owner.vote),
        );
        const ballot = { voterKey, email, votes: votesFor(election) };
        const { confirmationCode } = demand(await post(there, `${voting}/ballot/cast`, ballot, owner.vote), 201);
        demand(await post(here, `${voting}/ballot/confirm`, { confirmationCode }, owner.vote), 200);
        const otto = { name: 'Otto', voterId: visitor() };
        demand(await post(here, `/voting-events/${election.id}/voters`, otto, owner.write), 201);
        expect((await secondPage(here, there, election, owner.read)).status).toBe(200);
        expect((await download(here, there, event, owner.read)).status).toBe(200);
        const shared = await createTestEvent(here, owner, {}, [], false);
        const before = one.mails().length;
        const invite = { email: 'guest@club.example', role: 'viewer' };
        demand(await post(here, `/voting-events/${shared.id}/invites`, invite, owner.write), 201);
        const token = await eventually(() => /vit_[0-9a-z]+/.exec(one.mails(before).join('\n'))?.[0]);
        demand(await post(there, '/invites/accept', { token }, guest.write), 200);
      }
      for (let round = 0; round < 40; round += 1) {
        const headers = { 'Idempotency-Key': visitor() };
        const title = `Once ${round}`;
        const both = await Promise.all(
          [one, other].map((on) => post(on, '/voting-events', { title, type: 'poll' }, owner.write, headers)),
        );
        expect(both.map(({ status }) => status).filter((status) => status !== 201 && status !== 409)).toEqual([]);
        const rows = await one.query('SELECT 1 FROM voting_events WHERE title = $1 AND account_id = $2', [
          title,
          owner.id,
        ]);
        expect(rows.length).toBe(1);
      }
    } finally {
      await other.stop();
      await one.stop();
    }
  });
});

describe('a log key that is adopted', () => {
  const next = randomBytes(32);

  /** A service under the key that its logs were begun with, or under the one that is adopted. */
  const serve = (databaseUrl: string, key?: Buffer, settings = {}) => {
    const environment = key === undefined ? settings : { ...settings, LOG_SIGNING_KEY: key.toString('base64') };
    return startTestService({ worker: false, secretKey: OLD, databaseUrl, environment });
  };

  test('is refused while a process of the service runs, which would sign on with the earlier key', async () => {
    await using own = await startTestService({ worker: false, secretKey: OLD });
    const config = { ...own.deps.config, logSigningKey: next };
    await expect(adoptLogKey(config, own.databaseUrl)).rejects.toMatchObject({
      details: { reason: 'service_running' },
    });
    const organizer = await own.account();
    const event = await organizer.event();
    await organizer.votePoll(event, votesFor(event));
    await sealBallots(own, event.id);
    expect(await organizer.of(event).show('')).toMatchObject({ disputed: false });
  });

  test('signs the heads of earlier keys again, also of a log that began under one since, and logs go on from them', async () => {
    const database = await useDatabase();
    const begin = async (on: TestService) => {
      const organizer = await on.account();
      const event = await organizer.event();
      await organizer.votePoll(event, votesFor(event));
      await sealBallots(on, event.id);
      await sequenceServiceLog(on.deps);
      return { id: event.id, read: organizer.read, vote: organizer.vote };
    };
    const own = await serve(database.url);
    await withConnection(database.url, (client) => storeIdentity(own.deps.config, client));
    const events = [await begin(own)];
    await own.stop();
    const adopt = () => adoptLogKey({ ...own.deps.config, logSigningKey: next }, database.url);
    await adopt();
    // As a process that read its keys before and begins afterwards.
    const late = await serve(database.url);
    events.push(await begin(late));
    await late.stop();
    const verifierKey = parseVerifierKey(await adopt());
    await using adopted = await serve(database.url, next);
    for (const { id, read, vote } of events) {
      // Nothing is appended before: each note must open under the keys that the service gives now.
      const { call, deps } = adopted;
      const proof = await call('GET', `/public/voting-events/${id}/log/inclusion`, undefined, { key: vote });
      const { checkpoint, serviceCheckpoint } = demand(proof, 200);
      expect(openCheckpoint(checkpoint, verifierKey).confirmed).toBe(1);
      const { bytes } = await call('GET', '/log/checkpoint');
      expect(openHead(serviceCheckpoint, deps.serviceLog.signer)).toEqual(
        openHead(bytes.toString(), deps.serviceLog.signer),
      );
      expect(openCheckpoint((await findHead(adopted.deps.db, id))?.note ?? '', verifierKey).confirmed).toBe(1);
      await finishEvent(adopted, id);
      const results = await adopted.call('GET', `/voting-events/${id}/results`, undefined, { key: read });
      expect(demand(results, 200)).toMatchObject({ final: true, disputed: false });
    }
  });

  test('keeps the memory of what was signed, by which an older database is noticed', async () => {
    const [database, folder] = [await useDatabase(), useFolder('voting-adopted-')];
    const serveFrom = (key?: Buffer) => serve(database.url, key, { DATA_DIR: folder });
    const own = await serveFrom();
    await withConnection(database.url, (client) => storeIdentity(own.deps.config, client));
    const organizer = await own.account();
    const event = await organizer.event();
    await organizer.votePoll(event, votesFor(event));
    await sealBallots(own, event.id);
    await sequenceServiceLog(own.deps);
    const recalled = ({ deps }: TestService) =>
      Promise.all([deps.checkpoints.recall(event.id), deps.serviceLog.memory.recall('service-log')]);
    const before = await recalled(own);
    expect(before).toMatchObject([{ confirmed: 1 }, { size: expect.any(Number) }]);
    await own.stop();
    await adoptLogKey({ ...own.deps.config, logSigningKey: next }, database.url);
    await using adopted = await serveFrom(next);
    const after = await recalled(adopted);
    expect(after.map((one) => one?.size)).toEqual(before.map((one) => one?.size));
  });

  test.each(['lot', 'joint'])('leaves final results as they were, ties included (%s)', async (tieBreak) => {
    const database = await useDatabase();
    const own = await serve(database.url);
    await withConnection(database.url, (client) => storeIdentity(own.deps.config, client));
    const organizer = await own.account();
    const tied = { votingMethod: 'plurality', candidates: ['Ada', 'Bea'], settings: { tieBreak } };
    const event = await organizer.event({}, [tied]);
    for (const choice of [0, 1]) await organizer.votePoll(event, votesFor(event, choice));
    await sealBallots(own, event.id);
    await finishEvent(own, event.id);
    const results = async (on: TestService) => {
      const path = `/voting-events/${event.id}/results`;
      const { asOf: _, ...shown } = demand(await on.call('GET', path, undefined, { key: organizer.read }), 200);
      return shown;
    };
    const before = await results(own);
    expect(before).toMatchObject({ final: true, disputed: false });
    await own.stop();
    await adoptLogKey({ ...own.deps.config, logSigningKey: next }, database.url);
    await using adopted = await serve(database.url, next);
    expect(await results(adopted)).toEqual(before);
    await checkLogs(adopted.deps, 0);
    expect(await results(adopted)).toEqual(before);
  });
});

describe('a command that seals again', async () => {
  const first = await useService({ secretKey: OLD });
  const owner = await first.account();
  const both = await use(first.under(`${NEW},${OLD}`));

  test('leaves no secret of a webhook behind that was replaced meanwhile', async () => {
    const hook = { url: 'https://club.example/hook', eventTypes: ['voter.created'] };
    const { id } = demand(await post(first, '/webhook-endpoints', hook, owner.write), 201);
    const rotate = async (on: TestService) =>
      demand(await post(on, `/webhook-endpoints/${id}/rotate-secret`, undefined, owner.write), 200);
    await rotate(first);
    const replaced = async () => {
      const counts = await countSealed(both.deps.db, both.deps.secrets);
      return counts.find(({ what }) => what === 'earlier webhook secrets')?.underEarlierKeys;
    };
    expect(await replaced()).toBe(1);
    let isRotated = false;
    const restore = interceptStatements((text, send) => {
      if (isRotated || !text.startsWith('UPDATE webhook_endpoints SET earlier_secrets')) return send();
      isRotated = true;
      return rotate(both).then(send);
    });
    await resealSecrets(both.deps.db, both.deps.secrets, () => undefined);
    restore();
    expect([isRotated, await replaced()]).toEqual([true, 0]);
  });

  test('has no time limit of requests, which statements over whole tables exceed', async () => {
    const [free, limited] = [new Set<object>(), [] as string[]];
    const restore = interceptStatements((text, send, client) => {
      if (text === 'SET statement_timeout = 0') free.add(client);
      else if (/^\s*SELECT count\(\*\)|split_part|FROM voters v/.test(text) && !free.has(client)) limited.push(text);
      return send();
    });
    const counts = await countSealed(both.deps.db, both.deps.secrets);
    await resealSecrets(both.deps.db, both.deps.secrets, () => undefined);
    restore();
    expect([counts.length > 10, limited]).toEqual([true, []]);
  });
});
