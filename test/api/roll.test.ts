import { sql } from 'drizzle-orm';
import { describe, expect, test, vi } from 'vitest';
import type { Caller } from '#src/http/caller.ts';
import type { Claim } from '#src/http/idempotent-request.ts';
import { textHolds } from '#src/platform/text.ts';
import { importPart } from '#src/voters/import-roll.ts';
import { ownerOf } from '#src/voting-events/access.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import { demand, expectFields, refusalOf, valuesOf } from '#test/harness/answers.ts';
import { countWaiting } from '#test/harness/count-waiting.ts';
import { PLURALITY, type TestEvent } from '#test/harness/elections.ts';
import { parseCsv } from '#test/harness/parse-csv.ts';
import { measured } from '#test/harness/processor-time.ts';
import { shareEvent } from '#test/harness/sharing.ts';
import { runStatements } from '#test/harness/test-database.ts';
import { patiently, SERVICE_LIMITS, type TestAnswer, untilTrue, useAccount } from '#test/harness/test-service.ts';

const TAKEN = 'is already used by another voter of this event';

const { service, account } = await useAccount();

const create = (settings: object = {}, owner = account): Promise<TestEvent> =>
  owner.event({ type: 'election', ...settings }, PLURALITY, false);
const send = (event: TestEvent, body: unknown, key?: string, owner = account): Promise<TestAnswer> =>
  service.call('POST', `/voting-events/${event.id}/voters/import`, body, {
    key: owner.write,
    ...(key === undefined ? {} : { headers: { 'Idempotency-Key': key } }),
  });
const count = async (event: TestEvent): Promise<number> => {
  const rows = await service.query(
    'SELECT count(*)::int AS voters, (SELECT total::int FROM voter_places($1)) AS counted FROM voters WHERE voting_event_id = $1',
    [event.id],
  );
  expect(rows[0].voters).toBe(rows[0].counted);
  return rows[0].voters;
};
const testCaller = { plan: 'pro', keyId: 'key_test' } as Caller;
const people = (length: number, from = 0) =>
  Array.from({ length }, (_, index) => ({ name: `Voter ${index + from}`, email: `v${index + from}@roll.example` }));

const MIXED = [
  { name: 'A', email: 'a@roll.example' },
  { name: 'B', email: 'not an address' },
  'no row',
  { name: 'C', email: 'A@ROLL.example' },
  { name: 'D', voterId: 'M-1', weight: 2.5, colour: 'red' },
  { name: 'E' },
  { name: 'F', email: 'f@roll.example', groupId: 'grp_unknown' },
  { name: '', voterId: 'M-2' },
  { name: 'G', voterId: 'M-3' },
  null,
];
const REJECTED = [
  { index: 1, field: 'email', message: expect.any(String) },
  { index: 2, field: '', message: 'must be an object' },
  { index: 3, field: 'email', message: TAKEN },
  { index: 4, field: 'colour', message: 'is not a known field' },
  { index: 5, field: 'email', message: expect.any(String) },
  { index: 6, field: 'groupId', message: 'is not a group of this event' },
  { index: 7, field: 'name', message: expect.any(String) },
  { index: 9, field: '', message: 'must be an object' },
];

describe('an import of rows', () => {
  test('takes all that can be taken where it is partial, and says of each other row why not', async () => {
    const event = await create();
    const answer = await send(event, { mode: 'partial', voters: MIXED });
    expect(demand(answer, 200)).toEqual({ accepted: 2, rejected: REJECTED, rejectedCount: 8 });
    expect(await count(event)).toBe(2);
    const again = demand(await send(event, { mode: 'partial', voters: MIXED }), 200);
    expect([again.accepted, again.rejectedCount]).toEqual([0, 10]);
  });

  // It answered as if the event were closed, or the key in use.
  test.each([undefined, 'a-key'])(
    'answers 404 where the event was deleted while it was imported (key: %s)',
    async (key) => {
      const event = await create();
      const found = await findEventById(service.deps.db, event.id);
      if (found === undefined) throw new Error('the event is there');
      expect((await account.of(event).delete('')).status).toBe(204);
      const caller = { ...testCaller, accountId: account.id };
      const claim = key === undefined ? undefined : ({ requestKeys: [Buffer.from(key)] } as unknown as Claim);
      const body = { mode: 'partial', voters: people(3) } as const;
      const work = importPart(service.deps, ownerOf(caller, found), { ...body, voters: [...body.voters] }, claim);
      await expect(work).rejects.toMatchObject({ status: 404 });
    },
  );

  test('says how many it took before the close of its event', async () => {
    const event = await account.event({ type: 'election' });
    const importing = send(event, { mode: 'partial', voters: people(5_000) });
    await untilTrue(async () => (await count(event)) > 0);
    await account.of(event).change('', { status: 'closed' });
    const answer = await importing;
    expect(refusalOf(answer)).toEqual([409, 'event_closed']);
    expect(answer.body.error.details.accepted).toBe(await count(event));
  });

  // It was a 500: the group was gone between the look at it and the rows that name it.
  test.each(['all', 'partial'])(
    'holds a group that is deleted at that moment until its rows are stored: %s',
    async (mode) => {
      const event = await create();
      const group = await account.of(event).make('/groups', { name: 'South' });
      const isGone = async (): Promise<boolean> =>
        (await service.query('SELECT id FROM groups WHERE id = $1', [group.id])).length === 0;
      let deletion: Promise<TestAnswer> | undefined;
      using beforeRows = vi.spyOn(service.deps.ballotKeys, 'requirePlaces');
      beforeRows.mockImplementationOnce(async () => {
        deletion = account.of(event).delete(`/groups/${group.id}`);
        await untilTrue(async () => (await countWaiting(service)) > 0 || (await isGone()));
      });
      const rows = people(3).map((row) => ({ ...row, groupId: group.id }));
      expect(demand(await send(event, { mode, voters: rows }), 200)).toMatchObject({ accepted: 3, rejectedCount: 0 });
      expect((await deletion)?.status).toBe(202);
      await untilTrue(isGone);
      const { data } = (await account.of(event).get('/voters')).body;
      expect(data.map((voter: { groupId: string | null }) => voter.groupId)).toEqual([null, null, null]);
    },
  );

  test('takes none where one is bad and all are asked for, with the same report', async () => {
    const event = await create();
    const answer = await send(event, { mode: 'all', voters: MIXED });
    const report = { accepted: 0, rejected: REJECTED, rejectedCount: 8 };
    const names = REJECTED.map(({ index, field }) => (field === '' ? `voters[${index}]` : `voters[${index}].${field}`));
    expect([answer.status, answer.body.error.code]).toEqual([422, 'validation_error']);
    expect(answer.body.error.details).toMatchObject({ ...report, field: names[0] });
    expect(valuesOf(answer.body.error.details.issues, 'field')).toEqual(names);
    expect(demand(await send(event, { mode: 'all', dryRun: true, voters: MIXED }), 200)).toEqual(report);
    expect(await count(event)).toBe(0);
    const good = [MIXED[0], MIXED[8]];
    expect(demand(await send(event, { mode: 'all', voters: good }), 200)).toEqual({
      ...{ accepted: 2, rejected: [], rejectedCount: 0 },
    });
    expect(await count(event)).toBe(2);
    const audit = await account.get(`/voting-events/${event.id}/audit?action=voters.created`);
    expect(audit.body.data).toMatchObject([{ after: { count: 2 } }]);
  });

  test('only says what would become of the rows where it is a dry run', async () => {
    const event = await create();
    const partial = demand(await send(event, { mode: 'partial', dryRun: true, voters: MIXED }), 200);
    expect(partial).toEqual({ accepted: 2, rejected: REJECTED, rejectedCount: 8 });
    expect(demand(await send(event, { mode: 'all', dryRun: true, voters: MIXED }), 200).accepted).toBe(0);
    expect(demand(await send(event, { mode: 'all', dryRun: true, voters: people(3) }), 200).accepted).toBe(3);
    expect(await count(event)).toBe(0);
  });

  test.each(['all', 'partial'])('takes 5,000 rows and lists 1,000 bad ones: %s', async (mode) => {
    const event = await create();
    expect(demand(await send(event, { mode, voters: people(5_000) }), 200).accepted).toBe(5_000);
    const refused = await send(event, { mode, voters: people(5_000) });
    const again = mode === 'all' ? refused.body.error.details : demand(refused, 200);
    expect([refused.status, again.issues?.length]).toEqual(mode === 'all' ? [422, 50] : [200, undefined]);
    expect([again.accepted, again.rejected.length, again.rejectedCount]).toEqual([0, 1_000, 5_000]);
    expect(again.rejected.at(-1)).toEqual({ index: 999, field: 'email', message: TAKEN });
    expect(await count(event)).toBe(5_000);
  });

  test('takes bodies of 4 MiB and 60,000 values, and no larger ones', async () => {
    const event = await create();
    const long = people(5_000).map((row) => ({ ...row, voterId: row.email.padEnd(200, 'x'), name: 'é'.repeat(200) }));
    const text = JSON.stringify({ mode: 'all', dryRun: true, voters: long });
    expect(text.length).toBeGreaterThan(2 * 1024 * 1024);
    expect(demand(await send(event, JSON.parse(text)), 200).accepted).toBe(5_000);
    const padded = people(1).map((row) => ({ ...row, padding: 'x'.repeat(4 * 1024 * 1024) }));
    const large = await send(event, { mode: 'all', voters: padded });
    expect([large.status, large.body.error.message]).toEqual([422, 'The body: must have at most 4194304 bytes']);
    const many = await send(event, { mode: 'all', voters: [Array.from({ length: 60_000 }, () => 1)] });
    expect([many.status, many.body.error.message]).toEqual([422, expect.stringContaining('at most 60000 values')]);
    // Every other route keeps its own bounds.
    const batch = await account.post(`/voting-events/${event.id}/voters/batch`, { voters: padded });
    expect(batch.body.error.message).toBe('The body: must have at most 1048576 bytes');
  });

  test('keeps to the plan: nothing is taken where there is no room for all good rows', async () => {
    const free = await service.account('free');
    const event = await create({}, free);
    for (const body of [
      { mode: 'all', voters: people(101) },
      { mode: 'partial', voters: people(101) },
      { mode: 'partial', dryRun: true, voters: people(101) },
    ]) {
      const answer = await send(event, body, undefined, free);
      expect([answer.status, answer.body.error.details]).toEqual([422, { limit: 'voters_per_event', max: 100 }]);
      expect(await count(event)).toBe(0);
    }
    // Rows that are there already need no room.
    for (const accepted of [100, 0]) {
      const answer = await send(event, { mode: 'partial', voters: people(100) }, undefined, free);
      expect(demand(answer, 200).accepted).toBe(accepted);
    }
  });

  test('gives a repeat under one Idempotency-Key the first answer, and another body 422', async () => {
    const event = await create();
    for (const mode of ['partial', 'all']) {
      const body = { mode, voters: [...people(3, mode === 'all' ? 10 : 0), ...(mode === 'all' ? [] : ['no row'])] };
      const first = await send(event, body, `${event.id}-${mode}`);
      const second = await send(event, body, `${event.id}-${mode}`);
      expect(demand(first, 200).accepted).toBe(3);
      expect([second.body, second.headers.get('idempotent-replayed')]).toEqual([first.body, 'true']);
      const refused = await send(event, { ...body, voters: people(1, 99) }, `${event.id}-${mode}`);
      expect(refusalOf(refused)).toEqual([422, 'idempotency_mismatch']);
    }
    expect(await count(event)).toBe(6);
    expect(await service.query('SELECT 1 FROM roll_imports')).toEqual([]);
  });

  test('keeps a long report for its repeat in a twentieth of its length', async () => {
    const event = await create();
    const body = { mode: 'partial', voters: people(5_000).map((row) => ({ ...row, email: 'bad' })) };
    const [first, second] = [await send(event, body, event.id), await send(event, body, event.id)];
    expect(demand(first, 200).rejected).toHaveLength(1_000);
    expect([second.body, second.headers.get('idempotent-replayed')]).toEqual([first.body, 'true']);
    const [kept] = await service.query('SELECT max(length(body)) AS length FROM idempotency_keys');
    expect(kept.length).toBeLessThan(JSON.stringify(first.body).length / 20 + 1_000);
  });

  test('goes on behind what was committed when it was cut off, with the whole report', async () => {
    const event = await create();
    const voters = people(1_700).map((row, index) => (index % 600 === 5 ? { ...row, email: 'bad' } : row));
    const body = { mode: 'partial', voters };
    // The database refuses a row of the third chunk, as if the process had died there.
    await runStatements(service.databaseUrl, [
      `CREATE FUNCTION stop_import() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN IF NEW.name = 'Voter 1300' THEN RAISE EXCEPTION 'cut off'; END IF; RETURN NEW; END $$`,
      'CREATE TRIGGER stop_import BEFORE INSERT ON voters FOR EACH ROW EXECUTE FUNCTION stop_import()',
    ]);
    expect((await send(event, body, event.id)).status).toBe(500);
    expect(await count(event)).toBe(998);
    await runStatements(service.databaseUrl, ['DROP TRIGGER stop_import ON voters', 'DROP FUNCTION stop_import()']);
    const answer = demand(await send(event, body, event.id), 200);
    expect(answer).toMatchObject({ accepted: 1_697, rejectedCount: 3 });
    expect(valuesOf(answer.rejected, 'index')).toEqual([5, 605, 1_205]);
    expect(await count(event)).toBe(1_697);
  });

  test('sent at the same time under one key, or under two, takes each row once', async () => {
    const event = await create();
    const body = { mode: 'partial', voters: people(1_200) };
    const path = `/voting-events/${event.id}/voters/import`;
    const keys = ['one', 'one', 'two', 'three'];
    const answers = await service.onTwo(4, (on, index) =>
      on.call('POST', path, body, { key: account.write, headers: { 'Idempotency-Key': keys[index] ?? '' } }),
    );
    for (const { status } of answers) expect([200, 409]).toContain(status);
    const done = answers.filter(({ status }) => status === 200);
    // A repeat has the first answer.
    const different = new Set(done.map((answer) => JSON.stringify(answer.body.data)));
    expect([...different].reduce((sum, text) => sum + JSON.parse(text).accepted, 0)).toBe(1_200);
    expect(await count(event)).toBe(1_200);
  });
});

describe('the route of imports', () => {
  test('refuses what is not its own, and takes nothing then', async () => {
    const event = await create();
    const good = { mode: 'partial', voters: people(1) };
    const path = `/voting-events/${event.id}/voters/import`;
    await expectFields(account, path, [
      [{ voters: people(1) }, 'mode'],
      [{ mode: 'some', voters: people(1) }, 'mode'],
      [{ mode: 'all' }, 'voters'],
      [{ mode: 'all', voters: [] }, 'voters'],
      [{ mode: 'all', voters: {} }, 'voters'],
      [{ mode: 'all', voters: people(5_001) }, 'voters'],
      [{ ...good, dryRun: 'yes' }, 'dryRun'],
      [{ ...good, file: 'x' }, 'file'],
    ]);
    expect(await count(event)).toBe(0);
    const editor = await service.account();
    await shareEvent(service, account, event, editor, 'editor');
    expect((await editor.post(path, good)).status).toBe(200);
    await account.change(`/voting-events/${event.id}`, { status: 'open' });
    await account.change(`/voting-events/${event.id}`, { status: 'closed' });
    for (const more of [{}, { dryRun: true }, { mode: 'all' }])
      expect(refusalOf(await send(event, { ...good, ...more }))).toEqual([409, 'event_closed']);
  });
});

describe('the roll as a table', () => {
  test('holds every voter as the list shows them, guarded against formulas, in chunks', async () => {
    const event = await create();
    demand(await send(event, { mode: 'all', voters: people(1_201) }), 200);
    const risky = [
      { name: '=cmd()', voterId: 'M-1', weight: 2.5 },
      { name: 'Comma, "quote"', email: 'c@roll.example' },
    ];
    demand(await send(event, { mode: 'all', voters: risky }), 200);
    const answer = await account.get(`/voting-events/${event.id}/voters/csv`);
    expect(answer.headers.get('content-type')).toMatch(/^text\/csv/);
    const rows = parseCsv(answer.body);
    expect(rows[0]?.map((name) => name.replace('\ufeff', ''))).toEqual([
      ...['id', 'name', 'email', 'voterId', 'groupId', 'weight', 'status', 'hasVoted', 'source', 'keyStatus'],
      ...['createdAt', 'updatedAt', 'reachedBy'],
    ]);
    expect(rows).toHaveLength(1_204);
    expect(new Set(rows.map(([id]) => id)).size).toBe(1_204);
    expect(rows.at(-2)?.slice(1, 10)).toEqual([
      ...["'=cmd()", '', 'M-1', '', '2.5', 'approved', 'false', 'organizer', 'none'],
    ]);
    expect(rows.at(-1)?.[1]).toBe('Comma, "quote"');
    expect(new Date(rows.at(-1)?.[10] ?? '').toISOString()).toBe(rows.at(-1)?.[10]);
  });

  // Greek final sigma, and ß for ss, found nothing.
  test('is searched in one form, by the database and by the program', async () => {
    const event = await create();
    const names = ['Οδυσσέας Παπαδόπουλος', 'Jürgen Groß', 'GRÜSSE', 'Işık Yıldız'];
    const rows = names.map((name, index) => ({ name, voterId: `S-${index}` }));
    demand(await send(event, { mode: 'all', voters: rows }), 200);
    for (const [search, found] of [
      ['ΠΑΠΑΔΌΠΟΥΛΟΣ', ['Οδυσσέας Παπαδόπουλος']],
      ['παπαδόπουλοσ', ['Οδυσσέας Παπαδόπουλος']],
      ['groSS', ['Jürgen Groß']],
      ['grüße', ['GRÜSSE']],
      ['Gr', ['GRÜSSE', 'Jürgen Groß']],
      ['yıldız', ['Işık Yıldız']],
      ['yildiz', []],
    ] as const) {
      const path = `/voting-events/${event.id}/voters?search=${encodeURIComponent(search)}`;
      const shown = valuesOf(await account.show(path), 'name');
      expect([search, shown.toSorted()]).toEqual([search, [...found].toSorted()]);
      expect([search, names.filter((name) => textHolds(name, search)).toSorted()]).toEqual([search, shown.toSorted()]);
    }
  });

  test('needs a plan with exports', async () => {
    const free = await service.account('free');
    const own = await create({}, free);
    expect(refusalOf(await free.of(own).get('/voters/csv'))).toEqual([403, 'plan_feature']);
  });
});

const createElection = () => account.event({ type: 'election' });

const electorateOf = async (eventId: string): Promise<number> =>
  (await account.show(`/voting-events/${eventId}/results`)).stats.electorate;

/** The sum over the roll itself. */
async function countedRoll(eventId: string): Promise<number> {
  const { rows } = await service.deps.db.execute<{ weight: string }>(sql`
    SELECT coalesce(sum(weight_micro), 0) / 1000000 AS weight FROM voters
    WHERE voting_event_id = ${eventId} AND status = 'approved' AND deleted_at IS NULL`);
  return Number(rows[0]?.weight);
}

const changesOf = async (eventId: string): Promise<number> =>
  (await service.deps.db.execute(sql`SELECT 1 FROM roll_figures WHERE voting_event_id = ${eventId}`)).rows.length;

describe('the electorate of an election', () => {
  test('is the weight of the approved voters after every kind of change of the roll', async () => {
    const { id } = await createElection();
    const path = `/voting-events/${id}/voters`;
    const batch = people(30).map((voter, index) => ({ ...voter, weight: index === 7 ? 2.5 : 1 + (index % 3) }));
    await account.make(`${path}/batch`, { voters: batch });
    expect(await electorateOf(id)).toBe(await countedRoll(id));
    expect(await electorateOf(id)).toBeGreaterThan(30);

    const voters = await account.show(`${path}?limit=100`);
    const [first, second, third, fourth] = valuesOf(voters, 'id');
    await account.change(`${path}/${first}`, { weight: 0.000001 });
    expect(await electorateOf(id)).toBe(await countedRoll(id));
    await account.change(`${path}/${second}`, { status: 'rejected' });
    await account.change(`${path}/${third}`, { name: 'Same weight' });
    expect(await electorateOf(id)).toBe(await countedRoll(id));
    const before = await electorateOf(id);
    demand(await account.delete(`${path}/${fourth}`), 202);
    await untilTrue(async () => (await electorateOf(id)) < before);
    expect(await electorateOf(id)).toBe(await countedRoll(id));
    await account.change(`${path}/${second}`, { status: 'approved' });
    expect(await electorateOf(id)).toBe(await countedRoll(id));
  });

  test('stays the same while its changes are put together, by several at once, and voters come', async () => {
    const { id } = await createElection();
    const add = (index: number) => account.of({ id }).post('/voters', { ...people(1, index)[0], weight: 1.5 });
    await Promise.all(
      Array.from({ length: 60 }, async (_, index) => {
        demand(await patiently(() => add(index)), 201);
        await service.query('SELECT fold_roll_figures($1)', [id]);
      }),
    );
    expect(await electorateOf(id)).toBe(90);
    await service.query('SELECT fold_roll_figures($1)', [id]);
    expect(await changesOf(id)).toBe(1);
    expect(await electorateOf(id)).toBe(90);
  });

  test('is put together by those who add voters, so that a long import reads few rows for each batch', async () => {
    const { id } = await createElection();
    await service.deps.db.execute(sql`
      INSERT INTO roll_figures (voting_event_id, group_id, status, source, heads, weight_micro, voted, voted_weight_micro)
      SELECT ${id}, '', 'approved', 'organizer', 0, 0, 0, 0 FROM generate_series(1, 150)`);
    await account.make(`/voting-events/${id}/voters`, { name: 'Vera', email: 'vera@club.example' });
    expect(await changesOf(id)).toBe(1);
    expect(await electorateOf(id)).toBe(1);
  });

  test('is rewritten in chunks, however long the roll is and whatever plan is kept', async () => {
    const [small, large] = [await createElection(), await createElection()];
    const client = await service.connect();
    const functions = ['scatter_participation', 'scatter_voters', 'scatter_voter_keys'];
    const rewrite = async (name: string, { id }: { readonly id: string }, chunk: number): Promise<unknown> => {
      const { rows, ms } = await measured(client, `SELECT ${name}($1, '', $2) AS last`, [id, chunk]);
      expect(ms).toBeLessThan(SERVICE_LIMITS.databaseStatementMs);
      return rows[0]?.last;
    };
    // From the sixth call on, PostgreSQL keeps the plans of a function: here those of a time when there were no rows.
    for (const name of functions)
      for (let call = 0; call < 7; call += 1) expect(await rewrite(name, small, 10)).toBeNull();
    const id = "'vtr_' || lpad(n::text, 8, '0')";
    const people = 'FROM generate_series(1, 25000) AS n';
    await service.behindTheGuards(
      [
        `INSERT INTO voters (voting_event_id, id, name, weight_micro, status, key_status, source, tag, created_at, updated_at)
         SELECT $1, ${id}, 'Voter', 1000000, 'approved', 'sent', 'organizer', '', 1, 1 ${people}`,
        [large.id],
      ],
      [`INSERT INTO participation (voting_event_id, participant) SELECT $1, ${id} ${people}`, [large.id]],
      [`INSERT INTO voter_keys (voting_event_id, voter_id, key_hash) SELECT $1, ${id}, '' ${people}`, [large.id]],
    );
    for (const name of functions) expect(await rewrite(name, large, 10_000)).toBe('vtr_00010000');
    for (const table of ['participation', 'voters', 'voter_keys'])
      expect(await service.query(`SELECT FROM ${table} WHERE voting_event_id = $1`, [large.id])).toHaveLength(25_000);
    client.release();
  });

  test('is rewritten and deleted together with its roll', async () => {
    const { id } = await createElection();
    const voters = [{ name: 'Vera', email: 'vera@club.example', weight: 3 }];
    await account.make(`/voting-events/${id}/voters/batch`, { voters });
    await service.deps.db.execute(sql`SELECT scatter_voters(${id}, '', 100)`);
    expect(await electorateOf(id)).toBe(3);
    expect((await account.delete(`/voting-events/${id}`)).status).toBe(204);
    await untilTrue(async () => (await changesOf(id)) === 0);
  });
});
