import { once } from 'node:events';
import { get } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { dropOldLetters } from '#src/letters/letter-run.ts';
import { demand, expectFields, refusalOf, valuesOf } from '#test/harness/answers.ts';
import { createObserverKey, LogReader } from '#test/harness/ballot-log.ts';
import { finishEvent, PLURALITY, sealBallots, type TestEvent, votesFor } from '#test/harness/elections.ts';
import { holdStatement, interceptStatements } from '#test/harness/intercept-statements.ts';
import { loseCommitAfter } from '#test/harness/lose-commit.ts';
import { voterKeyIn } from '#test/harness/mails.ts';
import { readMails } from '#test/harness/read-mail.ts';
import { readPdf } from '#test/harness/read-pdf.ts';
import { eventually, type TestAnswer, untilTrue, useAccount } from '#test/harness/test-service.ts';
import { readOverHttp } from '../../verifier/read-service.ts';
import { verifyLog } from '../../verifier/verify-log.ts';

const HOUR_MS = 3_600_000;
const KEY = /\b[0-9A-Z]{4}(?:-[0-9A-Z]{4}){3}\b/;

const { service, account } = await useAccount();
const { of } = account;

const create = (settings: object = {}, open = true): Promise<TestEvent> =>
  account.event({ type: 'election', ...settings }, PLURALITY, open);
const patch = (event: TestEvent, changes: object) => of(event).change('', changes);
const order = (event: TestEvent, body: object = { audience: 'without_email' }): Promise<TestAnswer> =>
  of(event).post('/voters/letters', body);

async function addVoters(event: TestEvent, ...voters: readonly object[]): Promise<string[]> {
  const rows = voters.map((voter, index) => ({ name: `Voter ${index}`, ...voter }));
  return valuesOf(await of(event).make('/voters/batch', { voters: rows }), 'id');
}

/** Has letters printed, and waits until they are. */
async function print(event: TestEvent, body?: object) {
  const { id } = demand(await order(event, body), 202);
  return eventually(async () => {
    const shown = await of(event).show(`/letters/${id}`);
    return shown.finishedAt === null ? undefined : shown;
  }, 120_000);
}

/** The address of a file of letters, and the file: who may write alone is given it. */
async function linkTo(event: TestEvent, id: string, file = 1): Promise<string> {
  const answer = await of(event).send('GET', `/letters/${id}/pdf?file=${file}`);
  expect(answer.status, answer.body).toBe(302);
  return new URL(answer.headers.get('location') ?? '').pathname;
}

async function download(event: TestEvent, id: string, file = 1): Promise<Buffer> {
  const { status, headers, bytes } = await service.call('GET', await linkTo(event, id, file));
  expect([status, headers.get('content-type')]).toEqual([200, 'application/pdf']);
  return bytes;
}

/** A download that hangs up while it reads. */
async function breakOff(event: TestEvent, id: string): Promise<void> {
  const [response] = await once(get(`${service.url}${await linkTo(event, id)}`), 'response');
  await once(response, 'data');
  response.destroy();
}

const refusedPdf = async (event: TestEvent, id: string, file = 1) =>
  refusalOf(await of(event).send('GET', `/letters/${id}/pdf?file=${file}`));

/** The keys of letters, in their order. */
async function keysOf(event: TestEvent, body?: object): Promise<string[]> {
  const { id } = await print(event, body);
  return readPdf(await download(event, id)).pages.map((page) => KEY.exec(page)?.[0] ?? page);
}

const vote = (event: TestEvent, voterKey: string, identity: object): Promise<TestAnswer['body']> =>
  account.ballot(event, { voterKey, ...identity, votes: votesFor(event) });
const check = async (event: TestEvent, voterKey: string, identity: object) =>
  (await account.page(event, 'voter/check', { voterKey, ...identity })).body.data;
const statsOf = async (event: TestEvent) => await of(event).show('/stats');
const voter = async (event: TestEvent, id: string | undefined) => await of(event).show(`/voters/${id}`);
const INVALID = { eligible: false, reason: 'voter_key_invalid' };
const lettersLeaves = async (event: TestEvent) =>
  (await new LogReader(service, event.id, account.vote).leaves())
    .filter(({ t }) => t === 'open' || t === 'letters')
    .map(({ t, letters, n }) => [t, letters ?? n]);

describe('letters', () => {
  test('bring a key to each approved voter without an address, who votes by it and the voter ID alone', async () => {
    for (const requireVoterId of [false, true]) {
      const event = await create({
        voter: { requireVoterId },
        votingPageUrl: 'https://vote.club.example/board#key={voterKey}&id={voterId}',
        contactEmail: 'board@club.example',
        endsAt: Date.now() + HOUR_MS,
      });
      const [vera, rejected] = await addVoters(
        event,
        { name: 'Vera Okafor', voterId: 'M-1' },
        { voterId: 'M-2' },
        { voterId: 'M-3', email: `a@${event.code}.example` },
      );
      await of(event).change(`/voters/${rejected}`, { status: 'rejected' });
      const shown = await print(event);
      expect(shown).toEqual({
        ...{ id: expect.stringMatching(/^ltr_/), total: 1, done: 1, finishedAt: expect.any(Number) },
        files: [{ number: 1, downloadedAt: null }],
      });
      expect(await voter(event, vera)).toMatchObject({ keyStatus: 'printed' });
      const { pages } = readPdf(await download(event, shown.id));
      expect(pages).toHaveLength(1);
      for (const text of ['Vera Okafor', 'Voter ID: M-1', 'https://vote.club.example/board', 'board@club.example'])
        expect(pages[0]).toContain(text);
      const key = KEY.exec(pages[0] ?? '')?.[0] ?? '';
      expect(await check(event, key, { voterId: 'M-1' })).toEqual({ eligible: true });
      expect(await check(event, key, { voterId: 'M-3' })).toEqual(INVALID);
      await vote(event, key, { voterId: 'M-1' });
      expect((await statsOf(event)).ballots.confirmed).toBe(1);
      // In a secret election a letter whose key was used looks like any other one.
      expect(await voter(event, vera)).toMatchObject({ keyStatus: 'printed' });
    }
  });

  test('to all leave mailed keys as they are, and name the address of who has no voter ID', async () => {
    const event = await create();
    const email = `mail@${event.code.toLowerCase()}.example`;
    await addVoters(event, { email }, { voterId: 'M-1' });
    await account.page(event, 'voter-key/request', { email });
    const mailed = await eventually(async () => readMails(service).find(({ to }) => to === email)?.text);
    const { id } = await print(event, { audience: 'all', paper: 'letter' });
    const pdf = readPdf(await download(event, id));
    expect(pdf.size).toEqual([612, 792]);
    expect(pdf.pages[0]).toContain(`E-mail: ${email}`);
    expect(await check(event, KEY.exec(pdf.pages[0] ?? '')?.[0] ?? '', { email })).toEqual({ eligible: true });
    expect(await check(event, voterKeyIn(mailed ?? '') ?? '', { email })).toEqual({ eligible: true });
  });

  test('of a later run end the printed keys of the one before, wherever their rows are put, and no others', async () => {
    const event = await create();
    await addVoters(event, { voterId: 'M-1' }, { voterId: 'M-2', email: `b@${event.code}.example` });
    const [one = '', two = ''] = await keysOf(event, { audience: 'all' });
    const rows = await service.query('SELECT to_jsonb(k) AS row FROM voter_keys k WHERE voting_event_id = $1', [
      event.id,
    ]);
    const [again = ''] = await keysOf(event);
    expect(again).not.toBe(one);
    for (const { row } of rows)
      await service.query(
        'INSERT INTO voter_keys SELECT * FROM jsonb_populate_record(NULL::voter_keys, $1) ON CONFLICT DO NOTHING',
        [row],
      );
    expect(await check(event, one, { voterId: 'M-1' })).toEqual(INVALID);
    expect(await check(event, again, { voterId: 'M-1' })).toEqual({ eligible: true });
    expect(await check(event, two, { voterId: 'M-2' })).toEqual({ eligible: true });
  });

  test('end with another voter ID, and with a rejection', async () => {
    const event = await create();
    const [moved, rejected] = await addVoters(event, { voterId: 'M-1' }, { voterId: 'M-2' });
    const [one = '', two = ''] = await keysOf(event);
    await of(event).change(`/voters/${moved}`, { voterId: 'M-9' });
    await of(event).change(`/voters/${rejected}`, { status: 'rejected' });
    await of(event).change(`/voters/${rejected}`, { status: 'approved' });
    expect(await check(event, one, { voterId: 'M-9' })).toEqual(INVALID);
    expect(await check(event, two, { voterId: 'M-2' })).toEqual(INVALID);
    expect(await voter(event, moved)).toMatchObject({ keyStatus: 'none' });
    expect((await statsOf(event)).voters.unreachable).toBe(2);
  });

  test('are refused in a poll, in a draft, before the opening without a word, and after the close', async () => {
    const poll = await account.event({}, PLURALITY);
    expect(refusalOf(await order(poll))).toEqual([409, 'not_an_election']);
    const draft = await create({}, false);
    await addVoters(draft, { voterId: 'M-1' });
    for (const beforeOpening of [false, true])
      expect(refusalOf(await order(draft, { audience: 'all', beforeOpening }))).toEqual([409, 'event_not_open']);
    await patch(draft, { startsAt: Date.now() + HOUR_MS });
    expect(refusalOf(await order(draft))).toEqual([409, 'event_not_open']);
    const { id } = await print(draft, { audience: 'all', beforeOpening: true });
    expect(readPdf(await download(draft, id)).pages[0]).toContain('Voting begins on');
    await patch(draft, { status: 'open' });
    await finishEvent(service, draft.id);
    expect(refusalOf(await order(draft))).toEqual([409, 'event_closed']);
  });

  test('take the fields that the contract names, and no others', async () => {
    const event = await create();
    await expectFields(account, `/voting-events/${event.id}/voters/letters`, [
      [{}, 'audience'],
      [{ audience: 'some' }, 'audience'],
      [{ audience: 'all', paper: 'a5' }, 'paper'],
      [{ audience: 'all', paper: null }, 'paper'],
      [{ audience: 'all', beforeOpening: 'yes' }, 'beforeOpening'],
      [{ audience: 'all', voterIds: [] }, 'voterIds'],
    ]);
    for (const path of ['/letters/ltr_x', '/letters/ltr_x/pdf'])
      expect(refusalOf(await of(event).send('GET', path))).toEqual([404, 'not_found']);
  });
});

describe('a file of letters', () => {
  test('is gone once it was read to its end', async () => {
    const event = await create();
    await addVoters(event, { voterId: 'M-1' });
    const { id } = await print(event);
    const link = await linkTo(event, id);
    expect(await service.query('SELECT 1 FROM letter_parts WHERE run_id = $1', [id])).not.toEqual([]);
    await service.call('GET', link);
    expect(await refusedPdf(event, id)).toEqual([409, 'already_downloaded']);
    expect((await service.call('GET', link)).status).toBe(409);
    const parts = 'SELECT 1 FROM letter_parts WHERE run_id = $1';
    await untilTrue(async () => (await service.query(parts, [id])).length === 0);
    const shown = await of(event).show(`/letters/${id}`);
    expect(shown.files).toEqual([{ number: 1, downloadedAt: expect.any(Number) }]);
    const trail = (await of(event).show('/audit')).map(({ action }: { action: string }) => action);
    expect(trail).toEqual(expect.arrayContaining(['letters.ordered', 'letters.printed', 'letters.downloaded']));
    expect(await refusedPdf(event, id, 2)).toEqual([404, 'not_found']);
  });

  test('may be asked for again after a download that was cut off', async () => {
    const event = await create();
    await addVoters(event, { voterId: 'M-1' }, { voterId: 'M-2' });
    const { id } = await print(event);
    for (let tries = 0; tries < 3; tries += 1) await breakOff(event, id);
    const [one, two] = readPdf(await download(event, id)).pages;
    expect(KEY.test(one ?? '') && KEY.test(two ?? '')).toBe(true);
    expect(await refusedPdf(event, id)).toEqual([409, 'already_downloaded']);
  });

  test('may be asked for again where the database fails over as its download is marked: that download was cut off', async () => {
    const event = await create();
    await addVoters(event, { voterId: 'M-1' });
    const { id } = await print(event);
    const link = await linkTo(event, id);
    const isLost = loseCommitAfter(/^update "letter_runs"/);
    let failures = 0;
    const restore = interceptStatements((text, send) => {
      if (!isLost() || failures === 2 || !/from "letter_runs".* for no key update/.test(text)) return send();
      failures += 1;
      return Promise.reject(new Error('Connection terminated unexpectedly'));
    });
    onTestFinished(restore);
    await expect(service.fetch(link).then((answer) => answer.arrayBuffer())).rejects.toThrow();
    await untilTrue(async () => (await of(event).send('GET', `/letters/${id}/pdf`)).status === 302);
    expect(failures).toBe(2);
    expect(readPdf(await download(event, id)).pages).toHaveLength(1);
    expect(await refusedPdf(event, id)).toEqual([409, 'already_downloaded']);
  });

  test('may be asked for again once the process that marked its download has died, also after one that was cut off, and not while it lives', async () => {
    const event = await create();
    await addVoters(event, { voterId: 'M-1' });
    const { id } = await print(event);
    const { reached, free, restore } = holdStatement(/^delete from "letter_parts"/);
    onTestFinished(restore);
    await download(event, id);
    await reached;
    expect(await refusedPdf(event, id)).toEqual([409, 'already_downloaded']);
    // As a process leaves it that is killed here: no other one has this ID.
    await service.query("UPDATE letter_parts SET reader = repeat('0', 32) || '/1' WHERE run_id = $1", [id]);
    await breakOff(event, id);
    await untilTrue(async () => (await of(event).send('GET', `/letters/${id}/pdf`)).status === 302);
    const [link, beside] = [await linkTo(event, id), await linkTo(event, id)];
    expect(readPdf((await service.call('GET', link)).bytes).pages).toHaveLength(1);
    expect([(await service.call('GET', beside)).status, await refusedPdf(event, id)]).toEqual([
      409,
      [409, 'already_downloaded'],
    ]);
    free();
  });

  test('is stored without the event, for which casts would wait, and is gone where a later run ended its own meanwhile', async () => {
    const event = await create();
    await addVoters(event, { voterId: 'M-1' });
    const holder = await service.deps.db.$client.connect();
    try {
      await holder.query(`SELECT pg_advisory_lock(4711);
        CREATE FUNCTION wait_for_test() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN NEW; END';
        CREATE TRIGGER wait BEFORE INSERT ON letter_parts FOR EACH ROW EXECUTE FUNCTION wait_for_test()`);
      const { id } = demand(await order(event), 202);
      const waiting = `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711 AND NOT granted`;
      await untilTrue(async () => (await holder.query(waiting)).rows.length > 0);
      const held = holder.query('SELECT id FROM voting_events WHERE id = $1 FOR KEY SHARE NOWAIT', [event.id]);
      expect((await held).rows).toEqual([{ id: event.id }]);
      // What a later run takes, with the event locked.
      const taken = holder.query('SELECT id FROM letter_runs WHERE id = $1 FOR NO KEY UPDATE NOWAIT', [id]);
      expect((await taken).rows).toEqual([{ id }]);
      const { id: later } = demand(await order(event), 202);
      expect(await of(event).show(`/letters/${id}`)).toMatchObject({ finishedAt: expect.any(Number) });
      await holder.query('SELECT pg_advisory_unlock(4711)');
      await eventually(async () => (await of(event).show(`/letters/${later}`)).finishedAt ?? undefined, 60_000);
      const runs = () => service.query('SELECT run_id FROM letter_parts WHERE voting_event_id = $1', [event.id]);
      await untilTrue(async () => (await runs()).every(({ run_id }) => run_id === later));
    } finally {
      await holder.query('DROP TRIGGER wait ON letter_parts; DROP FUNCTION wait_for_test()');
      holder.release(true);
    }
  });

  test('is dropped after 24 hours', async () => {
    const event = await create();
    await addVoters(event, { voterId: 'M-1' });
    const { id } = await print(event);
    await service.query('UPDATE letter_runs SET finished_at = finished_at - 86400000 WHERE id = $1', [id]);
    await dropOldLetters(service.deps.db);
    expect(await service.query('SELECT 1 FROM letter_parts WHERE run_id = $1', [id])).toEqual([]);
  });

  test('holds a key that stands nowhere in the database', async () => {
    const event = await create();
    await addVoters(event, { voterId: 'M-1' });
    const { id } = await print(event);
    const tables = await service.query<{ name: string }>(
      "SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname = 'public'",
    );
    const dump = async () => {
      let text = '';
      for (const { name } of tables)
        text += JSON.stringify(await service.query(`SELECT to_jsonb(t) AS row FROM ${name} t`));
      return text;
    };
    const before = await dump();
    // The text of a page is packed: what shows a file in clear is its head.
    for (const { content } of await service.query<{ content: string }>(
      'SELECT content FROM letter_parts WHERE run_id = $1',
      [id],
    ))
      for (const bytes of [
        Buffer.from(content),
        Buffer.from(content, 'base64'),
        Buffer.from(content.split('.')[1] ?? '', 'base64'),
      ])
        expect(bytes.includes('%PDF')).toBe(false);
    const [key = ''] = readPdf(await download(event, id)).pages.map((page) => KEY.exec(page)?.[0] ?? '');
    expect(key).toMatch(KEY);
    const text = before + (await dump());
    expect(text).toContain(id);
    for (const form of [key, key.replaceAll('-', ''), key.toLowerCase()])
      for (const encoded of [form, Buffer.from(form).toString('hex'), Buffer.from(form).toString('base64')])
        expect(text).not.toContain(encoded);
  });
});

describe('the count of letters', () => {
  test('stands in the first leaf, grows with each run while the event is open, and is held against the results', async () => {
    const event = await create({}, false);
    await addVoters(event, { voterId: 'M-1' }, { voterId: 'M-2' });
    await patch(event, { startsAt: Date.now() + HOUR_MS });
    expect((await statsOf(event)).voters.unreachable).toBe(2);
    const [key = ''] = await keysOf(event, { audience: 'all', beforeOpening: true });
    expect(await statsOf(event)).toMatchObject({ lettersPrinted: 2, voters: { unreachable: 0 } });
    await patch(event, { status: 'open' });
    await vote(event, key, { voterId: 'M-1' });
    await sealBallots(service, event.id);
    expect(await lettersLeaves(event)).toEqual([['open', 2]]);
    const { id } = await print(event);
    expect(await lettersLeaves(event)).toEqual([
      ['open', 2],
      ['letters', 4],
    ]);
    await download(event, id);
    await patch(event, { results: { visibility: 'published' } });
    await finishEvent(service, event.id);
    const results = await of(event).show('/results');
    expect(results.stats.lettersPrinted).toBe(4);
    expect((await statsOf(event)).lettersPrinted).toBe(4);
    const observer = await createObserverKey(service, account, event.id);
    const read = readOverHttp(service.url, observer);
    const report = await verifyLog({ read, event: event.id });
    expect(report).toMatchObject({ verified: 'yes', lettersPrinted: 4 });
  });

  test('of a rehearsal is its own, and its letters open nothing afterwards', async () => {
    const event = await create({}, false);
    await addVoters(event, { voterId: 'M-1' });
    await patch(event, { startsAt: Date.now() + HOUR_MS });
    const [real = ''] = await keysOf(event, { audience: 'all', beforeOpening: true });
    await patch(event, { status: 'rehearsal' });
    expect((await statsOf(event)).lettersPrinted).toBe(0);
    const { id } = await print(event);
    const [page = ''] = readPdf(await download(event, id)).pages;
    expect(page).toContain('rehearsal');
    const rehearsed = KEY.exec(page)?.[0] ?? '';
    expect((await statsOf(event)).lettersPrinted).toBe(1);
    expect(await check(event, rehearsed, { voterId: 'M-1' })).toEqual({ eligible: true, rehearsal: true });
    const kept = await service.query('SELECT to_jsonb(k) AS row FROM voter_keys k WHERE voting_event_id = $1', [
      event.id,
    ]);
    await sealBallots(service, event.id);
    expect((await lettersLeaves(event)).at(-1)?.[1]).toBe(1);
    await patch(event, { status: 'open' });
    for (const { row } of kept)
      await service.query(
        'INSERT INTO voter_keys SELECT * FROM jsonb_populate_record(NULL::voter_keys, $1) ON CONFLICT DO NOTHING',
        [{ ...(row as object), rehearsal: false }],
      );
    expect((await statsOf(event)).lettersPrinted).toBe(1);
    expect(await of(event).show('/voters')).toMatchObject([{ keyStatus: 'printed' }]);
    expect(await check(event, rehearsed, { voterId: 'M-1' })).toEqual(INVALID);
    expect(await check(event, real, { voterId: 'M-1' })).toEqual({ eligible: true });
    expect((await of(event).get(`/letters/${id}`)).status).toBe(404);
    await sealBallots(service, event.id);
    expect(await lettersLeaves(event)).toEqual([['open', 1]]);
  });
});

describe('who writes to the database, and has no key of ours', () => {
  const row = async (table: string, where: string, ...values: unknown[]) =>
    (await service.query(`SELECT to_jsonb(t) AS row FROM ${table} t WHERE ${where}`, values))[0]?.row;
  const insert = (table: string, values: object) =>
    service.query(`INSERT INTO ${table} SELECT * FROM jsonb_populate_record(NULL::${table}, $1)`, [values]);
  const runJob = (event: TestEvent, runId: string) =>
    service.query("SELECT add_job('print_letters', $1::json)", [JSON.stringify({ eventId: event.id, runId })]);
  const alarmed = (event: TestEvent) => untilTrue(async () => (await of(event).show('')).disputed);

  test('has no letters printed, and none handed out before they are counted or a second time', async () => {
    const event = await create();
    await addVoters(event, { voterId: 'M-1' });
    const { id } = await print(event);
    const real = await row('letter_runs', 'id = $1', id);
    const part = await row('letter_parts', 'run_id = $1', id);
    await download(event, id);
    // An order of its own, and the first one again.
    await insert('letter_runs', { ...real, id: 'ltr_forged', finished_at: null, done: 0, printed: 0, listed_to: '' });
    await runJob(event, 'ltr_forged');
    await alarmed(event);
    expect(await row('letter_parts', 'run_id = $1', 'ltr_forged')).toBeUndefined();
    await service.query("UPDATE letter_runs SET downloads = '{}' WHERE id = $1", [id]);
    await insert('letter_parts', part);
    expect(refusalOf(await of(event).send('GET', `/letters/${id}/pdf`))).toEqual([500, 'rows_disagree']);
    await service.query('UPDATE letter_runs SET finished_at = $2, printed = 1 WHERE id = $1', [
      'ltr_forged',
      Date.now(),
    ]);
    expect(refusalOf(await of(event).send('GET', '/letters/ltr_forged/pdf'))).toEqual([500, 'rows_disagree']);
    expect((await statsOf(event)).lettersPrinted).toBe(1);
  });

  test('makes no printed key good again, and none good for another voter', async () => {
    const event = await create();
    const [first, second] = await addVoters(event, { voterId: 'M-1' }, { voterId: 'M-2' });
    const [old = ''] = await keysOf(event);
    const before = await row('voters', 'voting_event_id = $1 AND id = $2', event.id, first);
    const key = await row('voter_keys', 'voting_event_id = $1 AND voter_id = $2', event.id, first);
    const [present = ''] = await keysOf(event);
    await insert('voter_keys', key);
    await insert('voter_keys', { ...key, voter_id: second });
    expect(await check(event, old, { voterId: 'M-1' })).toEqual(INVALID);
    expect(await check(event, old, { voterId: 'M-2' })).toEqual(INVALID);
    expect(await check(event, present, { voterId: 'M-1' })).toEqual({ eligible: true });
    // The name of the earlier run alone: the row is not the one that the service wrote.
    await service.query('UPDATE voters SET letters = $2 WHERE id = $1', [first, before.letters]);
    expect(await check(event, old, { voterId: 'M-1' })).toEqual(INVALID);
    const cast = await account.page(event, 'ballot/cast', { voterKey: old, voterId: 'M-1', votes: votesFor(event) });
    expect(refusalOf(cast)).toEqual([500, 'rows_disagree']);
  });
});

test('the roll as a table says how each voter was reached', async () => {
  const event = await create();
  const email = `b@${event.code.toLowerCase()}.example`;
  await addVoters(event, { voterId: 'M-1' }, { email });
  await print(event);
  await account.page(event, 'voter-key/request', { email });
  await eventually(async () => readMails(service).find(({ to }) => to === email));
  await addVoters(event, { voterId: 'M-3' });
  const csv = await eventually(async () => {
    const text = (await of(event).get('/voters/csv')).body;
    return text.includes('sent') ? text : undefined;
  });
  const [head = '', ...rows] = csv.trim().split('\r\n');
  const column = head.split(',').indexOf('reachedBy');
  expect(rows.map((row: string) => row.split(',')[column])).toEqual(['"letter"', '"email"', '']);
});

// Completions 10.2: `not_invited` means without a live key.
test('letters that a later order ends leave nobody with a key that nobody has: who gets none is invited', async () => {
  const event = await create();
  const [mailed] = await addVoters(event, { email: 'ada@ended.example' }, { voterId: 'M-2' });
  const drawn = holdStatement(/insert into "letter_parts"/);
  const mistake = demand(await order(event, { audience: 'all' }), 202);
  await drawn.reached;
  const { id } = demand(await order(event), 202);
  drawn.free();
  drawn.restore();
  await untilTrue(async () => (await of(event).show(`/letters/${id}`)).finishedAt !== null, 60_000);
  await untilTrue(async () => (await of(event).show(`/voters/${mailed}`)).keyStatus === 'none');
  expect(await of(event).show('/stats')).toMatchObject({ lettersPrinted: 1 });
  expect(refusalOf(await of(event).get(`/letters/${mistake.id}/pdf`))).toBeDefined();
  expect(demand(await of(event).post('/voters/notify', { audience: 'not_invited', kind: 'key' }), 202).queued).toBe(1);
});

// A file of 5,000 letters takes minutes.
test('mails of others go out while four accounts have letters printed', async () => {
  const held = Promise.withResolvers<void>();
  const runs = new Set<string>();
  const isFile = /insert into "letter_parts"/;
  const restore = interceptStatements((text, send) => (isFile.test(text) ? held.promise.then(send) : send()));
  for (let other = 0; other < 4; other += 1) {
    const printing = await service.account();
    const event = await printing.event({ type: 'election' }, PLURALITY, true);
    await printing.of(event).make('/voters/batch', { voters: [{ name: 'Vera', voterId: 'V-1' }] });
    runs.add(demand(await printing.of(event).post('/voters/letters', { audience: 'without_email' }), 202).id);
  }
  const begun = "SELECT count(*)::int AS jobs FROM jobs WHERE name = 'print_letters' AND held_by IS NOT NULL";
  await untilTrue(async () => (await service.query(begun))[0].jobs > 0);
  const mailed = await create();
  await addVoters(mailed, { email: 'vera@letters.example' });
  const { id } = demand(await of(mailed).post('/voters/notify', { audience: 'all', kind: 'key' }), 202);
  const isSent = async () => (await of(mailed).show(`/notifications/${id}`)).finishedAt !== null;
  await untilTrue(isSent, 60_000);
  restore();
  held.resolve();
  const printed = 'SELECT id FROM letter_runs WHERE finished_at IS NOT NULL AND id = ANY ($1)';
  await untilTrue(async () => (await service.query(printed, [[...runs]])).length === runs.size, 120_000);
});
