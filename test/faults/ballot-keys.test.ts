import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { inTransaction } from '#src/database/client.ts';
import { createLog } from '#src/platform/log.ts';

import { publishTimedEvents } from '#src/voting-events/publish-status.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import { demand, finishEvent, sealBallots } from '#test/harness/elections.ts';
import { cast, confirm, createKeyedElection, keyFiles, setStatus, voteWith } from '#test/harness/keyed-elections.ts';
import { patchEvent } from '#test/harness/rehearsals.ts';
import {
  startTestService,
  type TestAnswer,
  type TestService,
  untilTrue,
  useService,
} from '#test/harness/test-service.ts';
import { useFolder } from '#test/harness/use.ts';

const HOUR_MS = 3_600_000;
const UNIT_WEIGHTS = [1, 1, 1];

const lines: Record<string, unknown>[] = [];

const root = useFolder('voting-keys-test-');
const [main, copy] = [path.join(root, 'main'), path.join(root, 'copy')];
mkdirSync(copy);
const service = await useService({
  ...{ ballotKeysDir: main, ballotKeysCopies: copy },
  log: createLog('error', { write: (line) => void lines.push(JSON.parse(line)) }),
});
const account = await service.account();

const shown = ({ status, headers, body }: TestAnswer) => ({
  ...{ status, reason: body.error?.details?.reason, retryAfter: headers.get('retry-after') },
});
const UNAVAILABLE = { status: 500, reason: 'ballot_key_unavailable', retryAfter: '5' };
const alarmsOf = (eventId: string) => lines.filter(({ event, alarm }) => event === eventId && alarm !== undefined);

async function rowsOf(eventId: string): Promise<{ id: string; wrapped: string | null; retired: boolean }[]> {
  const text = 'SELECT id, wrapped, retired_at IS NOT NULL AS retired FROM ballot_keys WHERE voting_event_id = $1';
  return service.query(text, [eventId]);
}

/** Every value of a database that holds some bytes, in hex or base64. */
async function placesOf(running: TestService, bytes: Buffer): Promise<string[]> {
  const { $client } = running.deps.db;
  const { rows: tables } = await $client.query<{ name: string }>(
    "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'",
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const { rows } = await $client.query<{ row: string }>(`SELECT to_jsonb(t)::text AS row FROM ${name} t`);
    const forms = [bytes.toString('hex'), bytes.toString('base64'), bytes.toString('base64url')];
    if (rows.some(({ row }) => forms.some((form) => row.includes(form)))) found.push(name);
  }
  return found;
}

/** The job may be at the same log as the test: then it is the job that destroys. */
async function isDestroyed(eventId: string): Promise<void> {
  await untilTrue(async () => {
    const left = [...keyFiles(main, eventId), ...keyFiles(copy, eventId), ...(await rowsOf(eventId))];
    return left.length === 0;
  });
}
const awayFrom = (folder: string, name: string): string => path.join(root, `${path.basename(folder)}-${name}`);
const keyOf = (eventId: string, folder = main): Buffer =>
  readFileSync(path.join(folder, keyFiles(folder, eventId)[0] ?? ''));

describe('the key of an election', () => {
  test('stands in every folder before the election opens, for its owner alone, and nowhere in the database', async () => {
    const election = await createKeyedElection(service, account, UNIT_WEIGHTS);
    const key = keyOf(election.id);
    expect(key).toHaveLength(32);
    expect(keyOf(election.id, copy)).toEqual(key);
    const file = path.join(main, keyFiles(main, election.id)[0] ?? '');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    await voteWith(service, election, [0]);
    expect(await placesOf(service, key)).toEqual([]);
    const rows = await service.query('SELECT entries FROM ballot_queue WHERE voting_event_id = $1', [election.id]);
    expect(rows.map(({ entries }) => entries[0])).toEqual([3]);
  });

  test('is made when an election gets a start, and none for a poll', async () => {
    const startsAt = Date.now() + HOUR_MS;
    const scheduled = await createKeyedElection(service, account, [], false, { startsAt });
    expect(keyFiles(main, scheduled.id)).toHaveLength(1);
    const draft = await createKeyedElection(service, account, [], false);
    expect(keyFiles(main, draft.id)).toEqual([]);
    await patchEvent(service, account, draft, { startsAt });
    expect(keyFiles(main, draft.id)).toHaveLength(1);
    await patchEvent(service, account, draft, { startsAt: startsAt + 1, title: 'Another' });
    expect(keyFiles(main, draft.id)).toHaveLength(1);
    const poll = await account.event({ startsAt });
    expect(keyFiles(main, poll.id)).toEqual([]);
    expect(await rowsOf(poll.id)).toEqual([]);
  });

  test('lets nothing open, and changes nothing, where a folder cannot take it', async () => {
    const election = await createKeyedElection(service, account, UNIT_WEIGHTS, false);
    renameSync(copy, `${copy}-away`);
    try {
      expect(shown(await setStatus(service, election, 'open'))).toEqual(UNAVAILABLE);
      expect(shown(await setStatus(service, election, 'rehearsal'))).toEqual(UNAVAILABLE);
    } finally {
      renameSync(`${copy}-away`, copy);
    }
    expect(await findEventById(service.deps.db, election.id)).toMatchObject({ openedAt: null, ballotKey: null });
    expect([...keyFiles(main, election.id), ...(await rowsOf(election.id))]).toEqual([]);
    demand(await setStatus(service, election, 'open'), 200);
    expect(keyFiles(copy, election.id)).toEqual(keyFiles(main, election.id));
  });

  test('is not needed for what was undone: one that a cut-off opening left behind keeps no other from being made', async () => {
    const election = await createKeyedElection(service, account, UNIT_WEIGHTS, false);
    const { db, ballotKeys } = service.deps;
    await inTransaction(db, async (tx) => {
      const event = await findEventById(tx, election.id);
      if (event !== undefined) await ballotKeys.prepare(tx, event, { ...event, openedAt: 1 });
      throw new Error('killed');
    }).catch(() => undefined);
    expect(keyFiles(main, election.id)).toHaveLength(1);
    expect(await rowsOf(election.id)).toEqual([]);
    demand(await setStatus(service, election, 'open'), 200);
    expect(keyFiles(main, election.id)).toHaveLength(2);
    await voteWith(service, election, [0, 1, 2]);
    await finishEvent(service, election.id);
    const results = await account.show(`/voting-events/${election.id}/results`);
    expect(results).toMatchObject({ final: true, disputed: false, stats: { ballots: 3 } });
  });
});

describe('processes', () => {
  test('find the key of an election that another one opened, and read its file once', async () => {
    const other = await service.another();
    try {
      const election = await createKeyedElection(service, account, UNIT_WEIGHTS);
      const { confirmationCode } = demand(await cast(other, election, 0), 201);
      demand(await confirm(service, election, confirmationCode), 200);
      for (const folder of [main, copy])
        for (const name of keyFiles(folder, election.id)) renameSync(path.join(folder, name), awayFrom(folder, name));
      await voteWith(other, election, [1]);
      await voteWith(service, election, [2]);
    } finally {
      await other.stop();
    }
  });

  test('without a key answer 500 with Retry-After, store nothing, say so once, and go on when it is back', async () => {
    const election = await createKeyedElection(service, account, UNIT_WEIGHTS);
    const { confirmationCode } = demand(await cast(service, election, 0), 201);
    const [name = ''] = keyFiles(main, election.id);
    const folders = [main, copy];
    for (const folder of folders) renameSync(path.join(folder, name), awayFrom(folder, name));
    const without = await service.another();
    try {
      for (const answer of [
        await cast(without, election, 1),
        await cast(without, election, 1, 'with-a-key'),
        await confirm(without, election, confirmationCode),
        await confirm(without, election, confirmationCode, 'with-another-key'),
      ])
        expect(shown(answer)).toEqual(UNAVAILABLE);
      const rows = await service.query(
        `SELECT (SELECT count(*)::int FROM pending_ballots WHERE voting_event_id = $1) AS pending,
           (SELECT count(*)::int FROM ballot_queue WHERE voting_event_id = $1) AS queued`,
        [election.id],
      );
      expect(rows).toEqual([{ pending: 1, queued: 0 }]);
      expect(alarmsOf(election.id)).toMatchObject([{ alarm: 'ballot_key_missing' }]);
      for (const folder of folders) renameSync(awayFrom(folder, name), path.join(folder, name));
      rmSync(path.join(main, name));
      await new Promise((resolve) => setTimeout(resolve, 1_100));
      demand(await confirm(without, election, confirmationCode, 'with-another-key'), 200);
      demand(await cast(without, election, 1, 'with-a-key'), 201);
    } finally {
      await without.stop();
    }
  });
});

test('a scheduled election says that its key is gone, does not open, and is ready again when the key is back', async () => {
  const election = await createKeyedElection(service, account, UNIT_WEIGHTS, false);
  await patchEvent(service, account, election, { startsAt: Date.now() + HOUR_MS });
  const read = async () => (await account.show(`/voting-events/${election.id}`)).missing;
  expect(await read()).toEqual([]);
  const [name = ''] = keyFiles(main, election.id);
  for (const folder of [main, copy]) renameSync(path.join(folder, name), awayFrom(folder, name));
  const missing = [{ reason: 'keys_unavailable', positionId: null, title: null, message: expect.any(String) }];
  for (const status of ['open', 'rehearsal']) {
    const refused = await setStatus(service, election, status);
    expect([refused.status, refused.body.error?.details]).toEqual([409, { reason: 'not_ready', missing }]);
  }
  await publishTimedEvents(service.deps);
  expect(await read()).toEqual(missing);
  // Another change of the event keeps what was found.
  const candidate = { name: 'Late', positionIds: [election.positions[0]?.id] };
  await account.make(`/voting-events/${election.id}/candidates`, candidate);
  expect(await read()).toEqual(missing);
  for (const folder of [main, copy]) renameSync(awayFrom(folder, name), path.join(folder, name));
  await publishTimedEvents(service.deps);
  expect(await read()).toEqual([]);
  demand(await setStatus(service, election, 'open'), 200);
});

test.each([
  ['rehearsal', ['rehearsal']],
  ['rehearsal’s closed round', ['rehearsal', 'closed']],
])('an election whose key is gone during its %s is a draft again at its start', async (_, statuses) => {
  const election = await createKeyedElection(service, account, UNIT_WEIGHTS, false);
  const startsAt = Date.now() + 3_000;
  await patchEvent(service, account, election, { startsAt });
  const [name = ''] = keyFiles(main, election.id);
  for (const status of statuses) demand(await setStatus(service, election, status), 200);
  for (const folder of [main, copy]) renameSync(path.join(folder, name), awayFrom(folder, name));
  await publishTimedEvents(service.deps);
  await untilTrue(() => Date.now() > startsAt);
  await publishTimedEvents(service.deps);
  expect(await account.show(`/voting-events/${election.id}`)).toMatchObject({
    ...{ status: 'draft', startsAt: null, missedStartAt: startsAt, missing: [{ reason: 'keys_unavailable' }] },
  });
  for (const folder of [main, copy]) renameSync(awayFrom(folder, name), path.join(folder, name));
  demand(await setStatus(service, election, 'open'), 200);
  await voteWith(service, election, [0]);
});

describe('when the result is final', () => {
  test('no folder and no row holds the key any more, and results, proofs and repeated confirms do without', async () => {
    const election = await createKeyedElection(service, account, UNIT_WEIGHTS);
    const [code = ''] = await voteWith(service, election, [0, 1, 2]);
    await finishEvent(service, election.id);
    await isDestroyed(election.id);
    const results = await account.show(`/voting-events/${election.id}/results`);
    expect(results).toMatchObject({ final: true, disputed: false, stats: { ballots: 3 } });
    const again = demand(await confirm(service, election, code), 200);
    expect(again).toMatchObject({ confirmationCode: code, confirmedCount: 1, votes: [] });
    const proof = await service.call(
      ...(['POST', `/public/voting-events/${election.id}/log/proof`, { confirmationCode: code }] as const),
      { key: account.vote },
    );
    expect(demand(proof, 200)).toMatchObject({ status: 'logged' });
    expect((await cast(service, election, 0)).body.error.details.reason).toBe('event_closed');
  });

  test('a repeat is answered as a new request, where it was answered as before until then', async () => {
    const election = await createKeyedElection(service, account, UNIT_WEIGHTS);
    const names = ['cast', 'confirm'].map((step) => `${step}-${election.id}`);
    const first = demand(await cast(service, election, 0, names[0]), 201);
    const confirmed = demand(await confirm(service, election, first.confirmationCode, names[1]), 200);
    const repeated = await cast(service, election, 0, names[0]);
    expect([demand(repeated, 201), repeated.headers.get('idempotent-replayed')]).toEqual([first, 'true']);
    expect(demand(await confirm(service, election, first.confirmationCode, names[1]), 200)).toEqual(confirmed);
    expect((await cast(service, election, 1, names[0])).body.error.code).toBe('idempotency_mismatch');
    const stored = await service.deps.db.$client.query(
      'SELECT body FROM idempotency_keys WHERE api_key_id = (SELECT id FROM api_keys WHERE account_id = $1 AND scopes = $2)',
      [account.id, ['vote']],
    );
    // None of these answers stands under the secret key of the service.
    const underSecretKey = stored.rows.filter(({ body }) => body?.startsWith(`${service.deps.secrets.id}.`));
    expect([stored.rows.length >= 2, underSecretKey.length]).toEqual([true, 0]);

    await finishEvent(service, election.id);
    const late = await cast(service, election, 0, names[0]);
    expect([late.status, late.body.error.details.reason, late.headers.get('idempotent-replayed')]).toEqual([
      ...[403, 'event_closed', null],
    ]);
    const again = await confirm(service, election, first.confirmationCode, names[1]);
    expect([demand(again, 200).votes, again.headers.get('idempotent-replayed')]).toEqual([[], null]);
  });

  test('a key that a folder keeps is tried again until it is gone, with an alarm meanwhile', async () => {
    const election = await createKeyedElection(service, account, UNIT_WEIGHTS);
    await voteWith(service, election, [0]);
    renameSync(copy, `${copy}-away`);
    try {
      await finishEvent(service, election.id);
      await untilTrue(() => alarmsOf(election.id).length > 0);
    } finally {
      renameSync(`${copy}-away`, copy);
    }
    expect(keyFiles(main, election.id)).toEqual([]);
    expect(keyFiles(copy, election.id)).toHaveLength(1);
    expect(alarmsOf(election.id)[0]).toMatchObject({ alarm: 'ballot_key_kept', folder: copy });
    await service.deps.ballotKeys.destroyRetired();
    await isDestroyed(election.id);
  });

  test('other processes let go of it too', async () => {
    const other = await service.another();
    try {
      const election = await createKeyedElection(service, account, UNIT_WEIGHTS);
      await voteWith(other, election, [0]);
      const event = await findEventById(service.deps.db, election.id);
      if (event === undefined) throw new Error('the event is there');
      expect(await other.deps.ballotKeys.find(event)).toBeDefined();
      await finishEvent(service, election.id);
      await isDestroyed(election.id);
      await other.deps.ballotKeys.tidy();
      expect(await other.deps.ballotKeys.find(event)).toBeUndefined();
    } finally {
      await other.stop();
    }
  });

  test('a row that says so by hand destroys no key of an election that takes ballots', async () => {
    const election = await createKeyedElection(service, account, UNIT_WEIGHTS);
    await service.query('UPDATE ballot_keys SET retired_at = now_ms() WHERE voting_event_id = $1', [election.id]);
    await service.deps.ballotKeys.destroyRetired();
    expect(keyFiles(main, election.id)).toHaveLength(1);
    await voteWith(service, election, [0]);
  });
});

test('the key of an election that is deleted is destroyed', async () => {
  const election = await createKeyedElection(service, account, UNIT_WEIGHTS);
  await voteWith(service, election, [0]);
  await account.delete(`/voting-events/${election.id}?force=true`);
  await service.deps.ballotKeys.destroyRetired();
  expect([...keyFiles(main, election.id), ...keyFiles(copy, election.id), ...(await rowsOf(election.id))]).toEqual([]);
});

describe('a rehearsal', () => {
  test('has a key that goes with it; the real election gets another', async () => {
    const election = await createKeyedElection(service, account, UNIT_WEIGHTS, false);
    demand(await setStatus(service, election, 'rehearsal'), 200);
    const rehearsed = keyFiles(main, election.id);
    await voteWith(service, election, [0, 1]);
    demand(await setStatus(service, election, 'open'), 200);
    await service.deps.ballotKeys.destroyRetired();
    const real = keyFiles(main, election.id);
    expect([rehearsed.length, real.length]).toEqual([1, 1]);
    expect(real).not.toEqual(rehearsed);
    expect(keyFiles(copy, election.id)).toEqual(real);
    await voteWith(service, election, [0, 1, 2]);
    await finishEvent(service, election.id);
    await isDestroyed(election.id);
  });

  test('that the clock ends hands over to an election with a key of its own', async () => {
    const election = await createKeyedElection(service, account, UNIT_WEIGHTS, false);
    await patchEvent(service, account, election, { startsAt: Date.now() + HOUR_MS });
    demand(await setStatus(service, election, 'rehearsal'), 200);
    const rehearsed = keyFiles(main, election.id);
    await voteWith(service, election, [0]);
    await service.query('UPDATE voting_events SET starts_at = now_ms() - 1000 WHERE id = $1', [election.id]);
    await publishTimedEvents(service.deps);
    service.deps.events.forget(election.id);
    await service.deps.ballotKeys.destroyRetired();
    expect(keyFiles(main, election.id)).toHaveLength(1);
    expect(keyFiles(main, election.id)).not.toEqual(rehearsed);
    await voteWith(service, election, [0]);
  });
});

test('an open election whose key was taken away in the database acknowledges no ballot', async () => {
  const election = await createKeyedElection(service, account, UNIT_WEIGHTS);
  const { $client } = service.deps.db;
  const { confirmationCode } = demand(await cast(service, election, 0, `kept-${election.id}`), 201);
  await $client.query('UPDATE voting_events SET ballot_key = NULL, paper_version = paper_version + 1 WHERE id = $1', [
    election.id,
  ]);
  service.deps.events.forget(election.id);
  expect((await cast(service, election, 1, `lost-${election.id}`)).status).toBe(500);
  expect((await confirm(service, election, confirmationCode)).status).toBe(500);
  const { rows } = await $client.query('SELECT 1 FROM participation WHERE voting_event_id = $1', [election.id]);
  expect(rows).toEqual([]);
});

describe('where processes share no folder', () => {
  test('the key stands in the database, sealed, until the result is final', async () => {
    const databaseOnly = await startTestService({ ballotKeysDir: '' });
    try {
      const own = await databaseOnly.account();
      const election = await createKeyedElection(databaseOnly, own, UNIT_WEIGHTS);
      const { $client } = databaseOnly.deps.db;
      const wrappedOf = async () =>
        (await $client.query('SELECT wrapped FROM ballot_keys WHERE voting_event_id = $1', [election.id])).rows;
      expect(await wrappedOf()).toEqual([{ wrapped: expect.stringMatching(/^[0-9a-f]{8}\./) }]);
      const other = await databaseOnly.another();
      const codes = await voteWith(other, election, [0, 1]);
      // After a rotation of the secret key too: what the key of the event sealed is still read.
      const rotated = await databaseOnly.under(`${randomBytes(32).toString('base64')},${databaseOnly.secretKey}`);
      demand(await confirm(rotated, election, codes[0] ?? ''), 200);
      await rotated.stop();
      await other.stop();
      await sealBallots(databaseOnly, election.id);
      await finishEvent(databaseOnly, election.id);
      expect(await wrappedOf()).toEqual([]);
      // With the row gone, nothing is asked of the folder that there is none of.
      await databaseOnly.deps.ballotKeys.destroyRetired();
    } finally {
      await databaseOnly.stop();
    }
  });
});

test('a secret key that is replaced without the earlier one beside it confirms nothing, and loses nothing', async () => {
  const election = await createKeyedElection(service, account, UNIT_WEIGHTS);
  const { confirmationCode } = demand(await cast(service, election, 0), 201);
  const replaced = randomBytes(32).toString('base64');
  const other = await service.under(replaced);
  // The roll is bound to the earlier key: who may vote cannot be told from what SQL wrote.
  const refused = await confirm(other, election, confirmationCode);
  await other.stop();
  expect([refused.status, refused.body.error.details.reason]).toEqual([500, 'rows_disagree']);
  const both = await service.under(`${replaced},${service.secretKey}`);
  try {
    demand(await confirm(both, election, confirmationCode), 200);
  } finally {
    await both.stop();
  }
  expect(existsSync(path.join(main, keyFiles(main, election.id)[0] ?? ''))).toBe(true);
});
