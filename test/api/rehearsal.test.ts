import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { dropSetBack } from '#src/ballot-log/set-back.ts';
import { enqueue, PutOff } from '#src/jobs/queue.ts';
import { reportWords } from '#src/results/report/report-words.ts';
import { expireRegistrations } from '#src/voters/expire-registrations.ts';
import { publishTimedEvents, renewReadinessJob } from '#src/voting-events/publish-status.ts';
import { allJobs, sealDeps } from '#src/work.ts';
import { demand, fieldOf, refusalOf } from '#test/harness/answers.ts';
import { LogReader } from '#test/harness/ballot-log.ts';
import {
  finishEvent,
  PLURALITY,
  sealBallots,
  type TestEvent,
  tendLog,
  visitor,
  votesFor,
} from '#test/harness/elections.ts';
import { ageRegistrations } from '#test/harness/genuine-rows.ts';
import { voterKeyIn } from '#test/harness/mails.ts';
import {
  checkoutUrlOf,
  decide,
  type PaidEvent,
  PRICE,
  PROVIDERS,
  RETURN_URL,
  usePaidService,
} from '#test/harness/payments.ts';
import { readMails } from '#test/harness/read-mail.ts';
import { readPdf } from '#test/harness/read-pdf.ts';
import { startReceiver } from '#test/harness/receiver.ts';
import { dumpEvent } from '#test/harness/rehearsals.ts';
import { runVerifier } from '#test/harness/started-service.ts';
import { eventually, type TestAnswer, untilTrue, useService } from '#test/harness/test-service.ts';

const DAY_MS = 86_400_000;
const REHEARSAL_WORDS = 'This is a rehearsal';

const { service, sandbox, poll } = await usePaidService();
const account = await service.account();
const { of } = account;

const create = (settings: object): Promise<TestEvent> =>
  account.event({ type: 'election', ...settings }, PLURALITY, false);
const context = ({ id }: TestEvent): Promise<TestAnswer> =>
  service.call('GET', `/public/voting-events/${id}`, undefined, { key: account.vote });
/** Under a key that a customer derives from the event, in its rehearsal and afterwards. */
const invite = (event: TestEvent): Promise<TestAnswer> =>
  of(event).post('/voters/notify', { audience: 'all', kind: 'key' }, { 'Idempotency-Key': `invite-${event.id}` });
const mailsTo = (email: string) => readMails(service).filter(({ to }) => to === email);

/** A file of the organizer's, by the signed address that leads to it. */
async function download(event: TestEvent, kind: string): Promise<Buffer> {
  const { status, headers, bytes } = await of(event).download(`/results/${kind}`);
  expect([status, headers.get('content-disposition')]).toEqual([200, expect.stringContaining('-rehearsal-')]);
  return bytes;
}

/** What the job does that a change of the roll queues. */
const renewReadiness = ({ id: eventId }: TestEvent) =>
  renewReadinessJob(service.deps).work({ eventId }, { id: '1', attempt: 1, last: false });

const addVoter = async (event: TestEvent, email: string): Promise<string> =>
  (await of(event).make('/voters', { name: 'A voter', email })).id;

async function requestKey(event: TestEvent, email: string, from = mailsTo(email).length): Promise<string> {
  demand(await account.page(event, 'voter-key/request', { email }), 200);
  return eventually(() => voterKeyIn(mailsTo(email)[from]?.text ?? ''));
}

const vote = (event: TestEvent, email: string, voterKey: string): Promise<TestAnswer['body']> =>
  account.ballot(event, { email, voterKey, votes: votesFor(event) });

const address = (name: string): string => `${name}-${randomUUID()}@voters.example`;

const verify = (event: TestEvent) => runVerifier(service.port, event.id, account.vote);

describe('the rehearsal of an election', () => {
  test('looks like the open event to voters, and leaves nothing behind', async () => {
    const itself = { selfRegistration: true };
    const event = await create({ voter: itself, candidate: itself, results: { visibility: 'live' } });
    const [one, two] = [address('one'), address('two')];
    await addVoter(event, one);
    await addVoter(event, two);
    const before = await dumpEvent(service, event.id);

    expect((await of(event).change('', { status: 'rehearsal' })).status).toBe('rehearsal');
    expect((await of(event).show('/stats')).status).toBe('rehearsal');
    expect(demand(await context(event), 200)).toMatchObject({ status: 'open', rehearsal: true });
    expect(demand(await account.page(event, 'ballot'), 200)).toMatchObject({ rehearsal: true });

    const registered = demand(await account.page(event, 'register/voter', { name: 'New', email: address('new') }), 201);
    expect(registered.rehearsal).toBe(true);
    demand(await account.page(event, 'register/candidate', { name: 'Cy', positionIds: [event.positions[0]?.id] }), 201);
    const key = await requestKey(event, one);
    expect(mailsTo(one)[0]?.text).toContain(REHEARSAL_WORDS);
    const headers = { 'Idempotency-Key': `rehearsed-${event.id}` };
    const body = { email: one, voterKey: key, votes: votesFor(event) };
    const first = demand(await account.page(event, 'ballot/cast', body, headers), 201);
    const again = await account.page(event, 'ballot/cast', body, headers);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(demand(again, 201)).toEqual(first);
    expect(first.rehearsal).toBe(true);
    const confirmed = demand(
      await account.page(event, 'ballot/confirm', { confirmationCode: first.confirmationCode }),
      200,
    );
    expect(confirmed.rehearsal).toBe(true);
    expect(confirmed.logPromise).toContain(`/${event.id}/rehearsal-1\n`);
    const notified = demand(await invite(event), 202);
    await eventually(() => mailsTo(two)[0]);
    expect(demand(await invite(event), 202)).toEqual(notified);
    await sealBallots(service, event.id);
    const reader = new LogReader(service, event.id, account.vote);
    expect((await reader.get('checkpoint')).body).toContain(`/${event.id}/rehearsal-1\n`);
    const tile = await reader.get('tile/entries/000.p/2');
    expect([tile.status, tile.headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(existsSync(path.join(service.deps.config.dataDir, 'checkpoints', event.id))).toBe(false);
    const queued = await service.query('SELECT 1 FROM checkpoint_queue WHERE voting_event_id = $1', [event.id]);
    expect(queued).toEqual([]);

    expect((await of(event).change('', { status: 'draft' })).status).toBe('draft');
    expect(await dumpEvent(service, event.id)).toEqual(before);
    expect((await context(event)).status).toBe(404);

    expect((await of(event).change('', { status: 'open' })).status).toBe('open');
    expect(demand(await context(event), 200)).not.toHaveProperty('rehearsal');
    // The same request under the same key is a new one: its answer went with the rehearsal.
    const repeated = await account.page(event, 'ballot/cast', body, headers);
    expect(repeated.body.error?.details.reason).toBe('voter_key_invalid');
    const mails = mailsTo(two).length;
    const invited = await invite(event);
    expect([invited.status, invited.headers.get('idempotent-replayed')]).toEqual([202, null]);
    await eventually(() => mailsTo(two)[mails]);
    const fresh = await requestKey(event, one);
    expect(mailsTo(one).at(-1)?.text).not.toContain(REHEARSAL_WORDS);
    const real = await vote(event, one, fresh);
    expect(real.logPromise).not.toContain('rehearsal');
    await sealBallots(service, event.id);
    const [opening] = await reader.leaves();
    expect(opening).toMatchObject({ t: 'open', rehearsalBallots: 1, roll: { heads: 2 } });
    expect((await reader.get('checkpoint')).body).toContain(`/${event.id}\n`);
  });

  test('leaves those who registered in it, and what its results show, out of a copy, and takes the organizer’s along', async () => {
    const event = await create({ voter: { selfRegistration: true }, candidate: { selfRegistration: true } });
    const [own, played] = [address('own'), address('played')];
    await addVoter(event, own);
    await of(event).change('', { status: 'rehearsal' });
    const { id } = demand(await account.page(event, 'register/voter', { name: 'Played', email: played }), 201);
    const cy = { name: 'Cy', positionIds: [event.positions[0]?.id] };
    const candidate = demand(await account.page(event, 'register/candidate', cy), 201);
    const approved = { status: 'approved' };
    await of(event).change(`/voters/${id}`, approved);
    await of(event).change(`/candidates/${candidate.id}`, approved);
    await of(event).change('', { results: { visibility: 'live' } });
    const copy = await of(event).make('/copy', { title: 'Next year', withVoters: true });
    expect(copy.results).toMatchObject({ visibility: 'hidden' });
    const names = async (what: string): Promise<string[]> =>
      (await of({ ...event, id: copy.id }).show(what)).map(({ name }: { name: string }) => name);
    await untilTrue(async () => (await names('/voters')).length > 0);
    expect((await names('/voters')).length).toBe(1);
    expect(await names('/candidates')).not.toContain('Cy');
    const file = await of(event).show('/definition');
    expect(file.event.results).toEqual({ visibility: 'hidden' });
    expect(file.candidates.map(({ name }: { name: string }) => name)).toEqual(await names('/candidates'));
  });

  test('makes voters wait again whom a key approved in it', async () => {
    const event = await create({ voter: { selfRegistration: true }, startsAt: Date.now() + 3_600_000 });
    const email = address('early');
    const { id } = demand(await account.page(event, 'register/voter', { name: 'Early', email }), 201);
    await eventually(() => mailsTo(email)[0]);
    const before = await eventually(async () => {
      const dump = await dumpEvent(service, event.id);
      return JSON.stringify(dump['voters']).includes('"confirm_by":null') ? undefined : dump;
    });
    await of(event).change('', { status: 'rehearsal' });
    await vote(event, email, await requestKey(event, email));
    await of(event).change('', { status: 'scheduled' });
    expect(await dumpEvent(service, event.id)).toEqual(before);
    const voter = await of(event).show(`/voters/${id}`);
    expect(voter).toMatchObject({ status: 'pending', keyStatus: 'none', hasVoted: false });
  });

  test('ends at its start, and the event opens', async () => {
    const event = await create({ startsAt: Date.now() + 3_600_000 });
    const email = address('voter');
    await addVoter(event, email);
    await of(event).change('', { status: 'rehearsal' });
    await vote(event, email, await requestKey(event, email));
    const key = await requestKey(event, email);
    await service.query('UPDATE voting_events SET starts_at = now_ms() WHERE id = $1', [event.id]);
    service.deps.events.forget(event.id);
    // From the start to the wipe it takes no ballot at all.
    const early = await account.page(event, 'ballot/cast', { email, voterKey: key, votes: votesFor(event) });
    expect(early.body.error.details.reason).toBe('event_not_open');
    await publishTimedEvents(service.deps);
    expect((await of(event).show('')).status).toBe('open');
    expect((await of(event).show('/stats')).ballots).toEqual({ cast: 0, confirmed: 0 });
    await vote(event, email, await requestKey(event, email));
  });

  test('ends at its start, and the event does not open where it was ready only by those who registered in it', async () => {
    const event = await create({ startsAt: Date.now() + 3_600_000, candidate: { selfRegistration: true } });
    await of(event).change('', { status: 'rehearsal' });
    const registration = { name: 'Dana', email: address('dana'), positionIds: [event.positions[0]?.id] };
    const { id } = demand(await account.page(event, 'register/candidate', registration), 201);
    await of(event).change(`/candidates/${id}`, { status: 'approved' });
    for (const own of event.positions[0]?.candidates ?? []) demand(await of(event).delete(`/candidates/${own}`), 202);
    const early = await of(event).patch('', { status: 'open' });
    expect(early.body.error.details).toMatchObject({ reason: 'not_ready', missing: [{ reason: 'no_candidate' }] });
    const [row] = await service.query(
      'UPDATE voting_events SET starts_at = now_ms() WHERE id = $1 RETURNING starts_at',
      [event.id],
    );
    service.deps.events.forget(event.id);
    await publishTimedEvents(service.deps);
    expect(await of(event).show('')).toMatchObject({
      ...{ status: 'draft', startsAt: null, missedStartAt: Number(row.starts_at) },
      missing: [{ reason: 'no_candidate' }],
    });
  });

  test.for([true, false])(
    'ends at its start, and what was stored then decides, not changes before the wipe: they are refused (ready then: %s)',
    async (isReady) => {
      const event = await create({ startsAt: Date.now() + 3_600_000 });
      const [position] = event.positions;
      await of(event).change('', { status: 'rehearsal' });
      const candidates = position?.candidates ?? [];
      if (!isReady) for (const own of candidates) demand(await of(event).delete(`/candidates/${own}`), 202);
      await service.query('UPDATE voting_events SET starts_at = now_ms() WHERE id = $1', [event.id]);
      service.deps.events.forget(event.id);
      const late = isReady
        ? await of(event).delete(`/candidates/${candidates[0]}`)
        : await of(event).post('/candidates', { name: 'Late', positionIds: [position?.id] });
      expect([late.status, late.headers.get('retry-after')]).toEqual([500, '1']);
      await publishTimedEvents(service.deps);
      const { status, missedStartAt } = await of(event).show('');
      expect([status, missedStartAt]).toEqual(isReady ? ['open', null] : ['draft', expect.any(Number)]);
    },
  );

  test.for(['draft', 'scheduled', 'rehearsal'])(
    'ends with no start that has come, where %s is asked for',
    async (status) => {
      const event = await create({});
      await of(event).change('', { status: 'rehearsal' });
      expect(fieldOf(await of(event).patch('', { status, startsAt: Date.now() - 1 }))).toEqual([422, 'startsAt']);
      expect((await of(event).show('')).status).toBe('rehearsal');
    },
  );

  test.for([null, 3_600_000])(
    'is over once its start has come, also where the first edit gives it the start %s',
    async (ahead) => {
      const event = await create({ startsAt: Date.now() + 3_600_000 });
      await of(event).change('', { status: 'rehearsal' });
      await service.query('UPDATE voting_events SET starts_at = now_ms() WHERE id = $1', [event.id]);
      service.deps.events.forget(event.id);
      const { rehearsal } = await of(event).change('', { startsAt: ahead === null ? null : Date.now() + ahead });
      expect(rehearsal).toBeNull();
    },
  );

  test('takes no registration that its wipe would drop, once its start has come', async () => {
    const event = await create({ startsAt: Date.now() + 3_600_000, voter: { selfRegistration: true } });
    await of(event).change('', { status: 'rehearsal' });
    await service.query('UPDATE voting_events SET starts_at = now_ms() WHERE id = $1', [event.id]);
    service.deps.events.forget(event.id);
    const late = await account.page(event, 'register/voter', { name: 'Late', email: address('late') });
    expect([late.status, late.headers.get('retry-after')]).toEqual([500, '1']);
  });

  test('ends at its start, and the event, which was not ready then, is opened by no edit or voter that comes before the wipe', async () => {
    const event = await create({ startsAt: Date.now() + 3_600_000 });
    const [position] = event.positions;
    const group = await of(event).make('/groups', { name: 'North' });
    await of(event).change(`/positions/${position?.id}`, { groupId: group.id });
    const inside = { name: 'In', email: address('in'), groupId: group.id };
    const { id: voter } = await of(event).make('/voters', inside);
    await of(event).make('/voters', { name: 'Out', email: address('out') });
    await of(event).change('', { status: 'rehearsal' });
    demand(await of(event).delete(`/voters/${voter}`), 202);
    await renewReadiness(event);
    await service.query('UPDATE voting_events SET starts_at = now_ms() WHERE id = $1', [event.id]);
    service.deps.events.forget(event.id);
    const late = { ...inside, email: address('late') };
    for (const answer of [
      await of(event).post('/voters', late),
      await of(event).post('/voters/batch', { voters: [late] }),
      await account.page(event, 'voter-key/request', { email: late.email }),
    ])
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([500, '1']);
    await of(event).change('', { voter: { selfRegistration: true } });
    await renewReadiness(event);
    await publishTimedEvents(service.deps);
    expect(await of(event).show('')).toMatchObject({ status: 'draft', startsAt: null });
    expect((await of(event).show('')).missedStartAt).toEqual(expect.any(Number));
  });

  // A rehearsal could not be closed, so that nobody rehearsed results, report and publishing.
  test('goes in rounds: each closes with a final result, report and proof, and the next begins with an empty box', async () => {
    const event = await create({ ballot: { opening: 'public' }, language: 'fr', voter: { selfRegistration: true } });
    const email = address('voter');
    await addVoter(event, email);
    const voterId = await addVoter(event, address('absent'));
    const before = await dumpEvent(service, event.id);
    await of(event).change('', { status: 'rehearsal' });
    const { confirmationCode } = await vote(event, email, await requestKey(event, email));
    expect((await of(event).show('')).rehearsal).toEqual({ round: 1, closed: false, ballots: 1 });
    const guest = address('guest');
    for (const registered of [guest, address('waiting')])
      demand(await account.page(event, 'register/voter', { name: 'Guest', email: registered }), 201);
    await eventually(() => mailsTo(guest)[0]);
    await vote(event, guest, await requestKey(event, guest));

    await of(event).change('', { status: 'closed', results: { visibility: 'published' } });
    const shown = await of(event).show('');
    expect(shown).toMatchObject({ status: 'rehearsal', rehearsal: { round: 1, closed: true, ballots: 2 } });
    expect(demand(await context(event), 200)).toMatchObject({ status: 'closed', rehearsal: true });
    const finalOf = () =>
      eventually(async () => {
        await tendLog(sealDeps(service.deps), event.id, 1);
        const shown = await of(event).show('/results');
        return shown.final === true ? shown : undefined;
      });
    expect(await finalOf()).toMatchObject({ rehearsal: true });
    const results = demand(await account.page(event, 'results'), 200);
    expect(results).toMatchObject({ final: true, rehearsal: true, stats: { ballots: 2, electorate: 3 } });
    const words = reportWords('fr').cover.rehearsal;
    const { pages, subject } = readPdf(await download(event, 'pdf'));
    expect(pages.filter((page) => !page.includes(words))).toEqual([]);
    expect(subject).toContain(words);
    expect((await download(event, 'csv')).toString('utf8')).toMatch(/^"event",+"rehearsal",+true/m);
    const table = (await download(event, 'csv?layout=table')).toString('utf8');
    expect(table).toMatch(/,"?rehearsal"?\r\n(.*,"?true"?\r\n)+$/);
    expect(JSON.parse((await download(event, 'json')).toString('utf8')).data.rehearsal).toBe(true);
    expect(JSON.parse((await download(event, 'cvr')).toString('utf8')).Notes).toMatch(/^A rehearsal: /);
    demand(await account.page(event, 'log/proof', { confirmationCode }), 200);
    const proof = await verify(event);
    const open = proof.report.checks.filter(({ status }: { status: string }) => !/^(verified|not_asked)$/.test(status));
    expect([proof.code, open]).toEqual([3, [expect.objectContaining({ name: 'rehearsal', status: 'left_out' })]]);
    const rounds = `/results/rounds?positionId=${event.positions[0]?.id}`;
    expect(await of(event).show(rounds)).toMatchObject({ rehearsal: true });
    expect(demand(await account.page(event, rounds.slice(1)), 200)).toMatchObject({ rehearsal: true });
    const [position] = event.positions;
    const change = () => of(event).patch(`/positions/${position?.id}`, { title: 'Between rounds' });
    // The result of a round stands: what it shows or depends on changes with the next round.
    const refused: [string, Promise<TestAnswer>][] = [
      ['results_final', change()],
      ['results_final', of(event).patch('', { title: 'After the round' })],
      ['results_final', of(event).post('/candidates', { name: 'Late', positionIds: [position?.id] })],
      ['event_closed', of(event).post('/voters', { name: 'Late', email: address('late') })],
      ['event_closed', of(event).delete(`/voters/${voterId}`)],
      ['event_closed', of(event).post('/voters/notify', { audience: 'all', kind: 'key' })],
    ];
    for (const [reason, answer] of refused) expect(refusalOf(await answer)).toEqual([409, reason]);
    await of(event).change('', { description: 'Words of the page' });
    expect(await finalOf()).toMatchObject({ disputed: false, stats: { electorate: 3 } });

    await of(event).change('', { status: 'rehearsal' });
    const second = await of(event).show('');
    expect(second).toMatchObject({
      status: 'rehearsal',
      finalAt: null,
      rehearsal: { round: 2, closed: false, ballots: 0 },
    });
    expect(second.results).toEqual({ visibility: 'hidden', publishedAt: null });
    demand(await change(), 200);
    await addVoter(event, address('late'));
    await vote(event, email, await requestKey(event, email));
    await of(event).change('', { status: 'closed' });
    expect(await finalOf()).toMatchObject({ stats: { ballots: 1 } });

    await of(event).change('', { status: 'draft' });
    const over = await of(event).show('');
    expect(over).toMatchObject({ status: 'draft', finalAt: null, rehearsal: null, results: { visibility: 'hidden' } });
    expect(Object.keys(await dumpEvent(service, event.id)).toSorted()).toEqual(Object.keys(before).toSorted());
    // The event itself runs as if there had been none.
    await of(event).change('', { status: 'open' });
    await vote(event, email, await requestKey(event, email));
    await finishEvent(service, event.id);
    // Right, as far as a vote key sees an election.
    expect((await verify(event)).code).toBe(3);
  });

  // After a rehearsal, the voters' own mails were used up.
  test('takes back no address that an organizer corrects in it: the registration does not expire', async () => {
    const event = await create({ voter: { selfRegistration: true } });
    await of(event).change('', { startsAt: Date.now() + 30 * DAY_MS });
    const email = `registered@${event.code.toLowerCase()}.example`;
    const { id } = demand(await account.page(event, 'register/voter', { name: 'Reg', email }), 201);
    await of(event).change('', { status: 'rehearsal' });
    demand(await account.page(event, 'voter-key/request', { email }), 200);
    const isNoted = 'SELECT 1 FROM voters WHERE id = $1 AND before_rehearsal IS NOT NULL';
    await untilTrue(async () => (await service.query(isNoted, [id])).length > 0);
    await of(event).change(`/voters/${id}`, { email: `right-${email}` });
    await of(event).change('', { status: 'draft' });
    await ageRegistrations(service, event.id, 8 * DAY_MS);
    await expireRegistrations(service.deps);
    expect((await of(event).get(`/voters/${id}`)).status).toBe(200);
  });

  test('takes back no outcome of a mail to an address that an organizer corrects in it', async () => {
    const event = await create({});
    await of(event).change('', { startsAt: Date.now() + 30 * DAY_MS });
    const email = `vera@${event.code.toLowerCase()}.example`;
    const { id } = await of(event).make('/voters', { name: 'Vera', email });
    await service.query("UPDATE voters SET key_status = 'failed' WHERE id = $1", [id]);
    await of(event).change('', { status: 'rehearsal' });
    demand(await account.page(event, 'voter-key/request', { email }), 200);
    await untilTrue(async () => (await of(event).show(`/voters/${id}`)).keyStatus === 'sent');
    await of(event).change(`/voters/${id}`, { email: `right-${email}` });
    await of(event).change('', { status: 'draft' });
    expect((await of(event).show(`/voters/${id}`)).keyStatus).toBe('none');
  });

  test('has a budget of mails of its own', async () => {
    const event = await create({});
    const email = address('voter');
    await addVoter(event, email);
    await of(event).change('', { status: 'rehearsal' });
    for (let mails = 0; mails < 5; mails += 1) await requestKey(event, email);
    await of(event).change('', { status: 'open' });
    for (let mails = 0; mails < 5; mails += 1) await requestKey(event, email);
    expect(mailsTo(email)).toHaveLength(10);
  });

  test('mails keys to a voter whose requests of before are used up', async () => {
    const event = await create({ startsAt: Date.now() + 86_400_000 });
    const email = address('voter');
    await addVoter(event, email);
    for (let mails = 0; mails < 5; mails += 1) await requestKey(event, email);
    await of(event).change('', { status: 'rehearsal' });
    await requestKey(event, email);
  });

  test('leaves the stored answers to requests of before', async () => {
    const event = await create({});
    const email = address('voter');
    await addVoter(event, email);
    await of(event).change('', { startsAt: Date.now() + 3_600_000 });
    const check = { email, voterKey: 'ABCD-EFGH-JKMN-PQRS' };
    const ask = () => account.page(event, 'voter/check', check, { 'Idempotency-Key': `check-${event.id}` });
    const cast = () =>
      account.page(
        event,
        'ballot/cast',
        { ...check, votes: votesFor(event) },
        { 'Idempotency-Key': `cast-${event.id}` },
      );
    const before = [await ask(), await cast()];
    await of(event).change('', { status: 'rehearsal' });
    await of(event).change('', { status: 'draft' });
    const after = [await ask(), await cast()];
    const shown = (answers: readonly TestAnswer[]) =>
      answers.map(({ status, body }) => [status, body.data ?? body.error.code]);
    expect(shown(after)).toEqual(shown(before));
    expect(after.map(({ headers }) => headers.get('idempotent-replayed'))).toEqual(['true', 'true']);
  });

  test('is named by the new log, which the verifier finds right; that of a rehearsal is verified as one', async () => {
    const settings = { type: 'poll', ballot: { opening: 'public' }, results: { visibility: 'published' } };
    const event = await account.event(settings, PLURALITY, false);
    const votePoll = () => account.votePoll(event, votesFor(event));
    for (let number = 1; number <= 2; number += 1) {
      await of(event).change('', { status: 'rehearsal' });
      await votePoll();
      await sealBallots(service, event.id);
      const early = await verify(event);
      expect(early).toMatchObject({ code: 3, report: { verified: 'partial', size: 2 } });
      const about = early.report.checks.find(({ name }: { name: string }) => name === 'rehearsal');
      const detail = expect.stringContaining(`round ${number} of a rehearsal`);
      expect(about).toMatchObject({ status: 'left_out', detail });
      await of(event).change('', { status: number === 2 ? 'open' : 'draft' });
    }
    await votePoll();
    await finishEvent(service, event.id);
    const [opening] = await new LogReader(service, event.id, account.vote).leaves();
    expect(opening).toMatchObject({ t: 'open', rehearsalBallots: 2 });
    expect(await verify(event)).toMatchObject({ code: 0, report: { verified: 'yes' } });
  });

  test('of a log from which the operator drops what SQL wrote does not stand in the way of the real log', async () => {
    const event = await create({ type: 'poll' });
    await of(event).change('', { status: 'rehearsal' });
    await account.votePoll(event, votesFor(event));
    await tendLog(sealDeps(service.deps), event.id, 1);
    await account.votePoll(event, votesFor(event));
    await service.query(
      `INSERT INTO ballot_queue SELECT q.voting_event_id, 'bal_' || md5(q.id), sha256(q.code_tag), q.entries, q.weight_micro, q.salt,
         q.sealed_time, q.voter_id, q.country_code, q.submitted_at, q.due_at, true FROM ballot_queue q WHERE voting_event_id = $1`,
      [event.id],
    );
    expect(await dropSetBack(service.deps, event.id)).toMatchObject({ ballots: 1 });
    await of(event).change('', { status: 'open' });
    await account.votePoll(event, votesFor(event));
    await tendLog(sealDeps(service.deps), event.id, 1);
    expect(await of(event).show('')).toMatchObject({ status: 'open', disputed: false });
  });

  test('is refused where the event was open, is not ready, or holds a ballot', async () => {
    const event = await create({});
    await of(event).change('', { status: 'open' });
    expect(refusalOf(await of(event).patch('', { status: 'rehearsal' }))).toEqual([409, 'was_open']);
    const empty = await account.event({}, [], false);
    expect(refusalOf(await of(empty).patch('', { status: 'rehearsal' }))).toEqual([409, 'not_ready']);
    // It opened the real event.
    const late = await of(await create({})).patch('', { status: 'rehearsal', startsAt: Date.now() - 1 });
    expect(fieldOf(late)).toEqual([422, 'startsAt']);
  });

  test('keeps its closed round where what is shown is sent back, and begins the next one where it is asked for', async () => {
    const event = await create({});
    await of(event).change('', { status: 'rehearsal' });
    await of(event).change('', { status: 'closed' });
    const { title, type, status, startsAt, results, rehearsal } = await of(event).show('');
    expect([status, rehearsal]).toEqual(['rehearsal', { round: 1, closed: true, ballots: 0 }]);
    const shown = {
      title,
      description: 'At last',
      type,
      status,
      startsAt,
      results: { visibility: results.visibility },
    };
    expect((await of(event).change('', shown)).rehearsal).toEqual(rehearsal);
    const next = await of(event).change('', { status: 'rehearsal', description: null });
    expect(next.rehearsal).toEqual({ round: 2, closed: false, ballots: 0 });
  });

  test('is wiped by no one but its end: a real log stays whatever is written to the event', async () => {
    const event = await account.event({ type: 'poll' });
    await account.votePoll(event, votesFor(event));
    await sealBallots(service, event.id);
    const { $client } = service.deps.db;
    await expect($client.query('SELECT end_rehearsal($1, 100)', [event.id])).rejects.toThrow('not rehearsed');
    await $client.query('UPDATE voting_events SET rehearsal_since = 1, rehearsal_number = 1 WHERE id = $1', [event.id]);
    await expect($client.query('SELECT end_rehearsal($1, 100)', [event.id])).rejects.toThrow('not that of a rehearsal');
  });
});

describe('work of the real vote that is under way when a rehearsal begins', async () => {
  const still = await useService({ worker: false });
  const owner = await still.account();
  const jobs = new Map(allJobs(still.deps).map((job) => [job.name, job]));
  const OF_VOTERS = "name IN ('list_notified_voters', 'mail_notified_voter', 'send_voter_key', 'print_letters')";
  /** Runs what is due, as often as it makes more of it. @returns how many jobs for voters wait for later */
  async function runDue(): Promise<number> {
    for (;;) {
      const due = await still.query('DELETE FROM jobs WHERE run_at <= now_ms() RETURNING id, name, payload');
      if (due.length === 0) return (await still.query(`SELECT 1 FROM jobs WHERE ${OF_VOTERS}`)).length;
      for (const { id, name, payload } of due)
        await jobs
          .get(name)
          ?.work(payload, { id, attempt: 1, last: false })
          .catch((fault: unknown) => {
            if (!(fault instanceof PutOff)) throw fault;
            return enqueue(still.deps.db, { name }, payload, { runAtMs: fault.untilMs });
          });
    }
  }
  const makeDue = () => still.query(`UPDATE jobs SET run_at = 0 WHERE ${OF_VOTERS}`);
  async function createScheduled(email: string | undefined) {
    const event = await owner.event({ type: 'election' }, PLURALITY, false);
    const voter = { name: 'A voter', ...(email === undefined ? { voterId: 'M-1' } : { email }) };
    const { id } = await owner.of(event).make('/voters', voter);
    await owner.of(event).change('', { startsAt: Date.now() + 3_600_000 });
    await still.query('DELETE FROM jobs');
    return { event, voterId: id };
  }
  const isGood = async (event: TestEvent, named: object, voterKey: string) =>
    (await owner.page(event, 'voter/check', { ...named, voterKey })).body.data;

  test.each([
    ['mails to many voters', () => '/voters/notify', { audience: 'all', kind: 'key', beforeOpening: true }],
    ['the mail of a key', (voterId: string) => `/voters/${voterId}/voter-key`, { beforeOpening: true }],
  ])('waits for its end, and brings a real key: %s', async (_, path, body) => {
    const email = address('waiting');
    const { event, voterId } = await createScheduled(email);
    const { id } = demand(await owner.of(event).post(path(voterId), body), 202);
    await owner.of(event).change('', { status: 'rehearsal' });
    expect(await runDue()).toBe(1);
    const mails = () => readMails(still).filter(({ to }) => to === email);
    await owner.of(event).change('', { status: 'closed' });
    await makeDue();
    expect(await runDue()).toBe(1);
    expect(mails()).toEqual([]);
    await owner.of(event).change('', { status: 'open' });
    await makeDue();
    await runDue();
    expect(mails().map(({ text }) => text.includes(REHEARSAL_WORDS))).toEqual([false]);
    expect(await isGood(event, { email }, voterKeyIn(mails()[0]?.text ?? '') ?? '')).toEqual({ eligible: true });
    if (path('') === '/voters/notify')
      expect(await owner.of(event).show(`/notifications/${id}`)).toMatchObject({ sent: 1, skipped: 0, failed: 0 });
  });

  test('letters wait for its end; printed ones can be read within it, and after it', async () => {
    const { event } = await createScheduled(undefined);
    const order = async (): Promise<string> =>
      demand(await owner.of(event).post('/voters/letters', { audience: 'all', beforeOpening: true }), 202).id;
    const read = async (run: string) => {
      const link = await owner.of(event).send('GET', `/letters/${run}/pdf?file=1`);
      const { pathname } = new URL(link.headers.get('location') ?? '', still.url);
      const { status, bytes } = await still.call('GET', pathname);
      expect(status).toBe(200);
      return readPdf(bytes).pages.join('');
    };
    const runs = [await order()];
    await runDue();
    runs.push(await order());
    await runDue();
    runs.push(await order());
    await owner.of(event).change('', { status: 'rehearsal' });
    expect(await runDue()).toBe(1);
    await order();
    expect(await runDue()).toBe(1);
    await owner.of(event).change('', { status: 'closed' });
    await makeDue();
    expect(await runDue()).toBe(1);
    await read(runs[0] ?? '');
    await owner.of(event).change('', { status: 'open' });
    await read(runs[1] ?? '');
    await makeDue();
    await runDue();
    const letter = await read(runs[2] ?? '');
    expect(letter).not.toContain('rehearsal');
    const [key = ''] = /\b[0-9A-Z]{4}(?:-[0-9A-Z]{4}){3}\b/.exec(letter) ?? [];
    expect(await isGood(event, { voterId: 'M-1' }, key)).toEqual({ eligible: true });
  });
});

const OFFER = { pricingModel: 'ratio', currency: 'usd', pricePerCreditMinor: 100, minCredits: 1, maxCredits: 50 };
const PLANS = [
  ...PLURALITY,
  {
    ...{ votingMethod: 'quadratic', candidates: ['Cy', 'Di'] },
    settings: { minSelections: 0, quadraticBaseCreditBudget: 4, quadraticTopUp: OFFER },
  },
];

/** The page of the service itself, at the port that it has here. */
function ownPageOf(answer: TestAnswer): string {
  const { pathname } = new URL(checkoutUrlOf(answer));
  expect(pathname).toMatch(/^\/rehearsal-payments\/pay_/);
  return `${service.url}${pathname}`;
}

const BACK = { returnUrl: RETURN_URL, cancelUrl: 'https://shop.example/cancelled', email: 'payer@shop.example' };

async function startPaid(event: PaidEvent, place: string, body: object): Promise<[string, string]> {
  const answer = await event.page(place, { ...body, ...BACK });
  const { paymentAttemptId, rehearsal } = demand(answer, 402);
  expect(rehearsal).toBe(true);
  return [paymentAttemptId, ownPageOf(answer)];
}

test('checkouts of a rehearsal do not use up those of the real event', async () => {
  const event = await poll('provider_a', {}, PLANS.slice(0, 1), false);
  await event.change({ status: 'rehearsal' });
  const ballot = { visitorId: visitor(), votes: votesFor(event), ...BACK };
  const ask = async (count: number) => {
    const statuses: number[] = [];
    for (let sent = 0; sent < count; sent += 1) statuses.push((await event.page('ballot/cast', ballot)).status);
    return statuses;
  };
  expect(await ask(11)).toEqual([...Array.from({ length: 10 }, () => 402), 429]);
  await event.change({ status: 'open' });
  expect(await ask(1)).toEqual([402]);
});

describe.each(PROVIDERS)('a registration that is paid through %s before a rehearsal', (provider) => {
  const path = 'register/candidate';
  async function prepare() {
    const payments = { payToRegisterCandidate: PRICE[provider] };
    const settings = { payments, candidate: { selfRegistration: true }, startsAt: Date.now() + 86_400_000 };
    const event = await poll(provider, settings, PLURALITY, false);
    return { event, body: { name: 'Cleo', positionIds: [event.positions[0]?.id], ...BACK } };
  }

  test('leads to its own page, and the same request in the rehearsal to one that takes no money', async () => {
    const { event, body } = await prepare();
    const first = () => event.account.page(event, path, body, { 'Idempotency-Key': `register-${event.id}` });
    const real = demand(await first(), 402).paymentAttemptId;
    await event.change({ status: 'rehearsal' });
    ownPageOf(await first());
    await event.change({ status: 'scheduled' });
    expect(demand(await first(), 402).paymentAttemptId).toBe(real);
  });

  test.each([
    ['approved', 'withdrawn'],
    ['pending', 'rejected'],
  ])(
    'and goes back while a round is closed leaves a candidate who is %s in that round alone',
    async (before, after) => {
      const { event, body } = await prepare();
      const attempt = await event.buy(path, body);
      const candidate = `/candidates/${demand(await event.page(path, { paymentAttemptId: attempt }), 201).id}`;
      if (before === 'approved') await event.account.of(event).change(candidate, { status: before });
      await event.change({ status: 'rehearsal' });
      await event.change({ status: 'closed' });
      demand(await event.account.of(event).post(`/payments/${attempt}/refund`), 202);
      await event.refunded(attempt);
      const runAgain = () => service.query("UPDATE jobs SET run_at = 0 WHERE name = 'withdraw_paid_candidate'");
      await runAgain();
      // The round is final: its result shows the candidate.
      expect((await event.show(candidate)).status).toBe(before);
      await event.change({ status: 'open' });
      await untilTrue(async () => {
        await runAgain();
        return (await event.show(candidate)).status === after;
      });
    },
  );
});

test.each(PROVIDERS)('a rehearsal of a paid poll of %s takes no money and is wiped', async (provider) => {
  const payments = { payToVote: PRICE[provider], payToRegisterCandidate: PRICE[provider] };
  const isA = provider === 'provider_a';
  const settings = { payments, candidate: { selfRegistration: true } };
  const event = await poll(provider, settings, isA ? PLANS : PLANS.slice(0, 1), false);
  const receiver = await startReceiver();
  const endpoint = { url: receiver.url, eventTypes: ['payment.fulfilled', 'voting_event.opened', 'candidate.created'] };
  await event.account.make('/webhook-endpoints', endpoint);
  const before = await dumpEvent(service, event.id);
  const asked = sandbox.requests.length;

  await event.change({ status: 'rehearsal' });
  const ballot = { visitorId: visitor(), votes: votesFor(event) };
  const [attempt, page] = await startPaid(event, 'ballot/cast', ballot);
  const html = await (await fetch(page)).text();
  expect(html).toContain('no money is taken');
  expect(demand(await event.page(`payments/${attempt}`), 200)).toMatchObject({
    status: 'pending',
    livemode: false,
    rehearsal: true,
  });
  demand(await event.cast(attempt), 402);
  expect(await decide(page, 'pay')).toContain(`paymentAttemptId=${attempt}`);
  const confirmationCode = await event.castCode(attempt);
  demand(await event.page('ballot/confirm', { confirmationCode }), 200);
  await sealBallots(service, event.id);

  const [refused, refusing] = await startPaid(event, 'ballot/cast', { ...ballot, visitorId: visitor() });
  await decide(refusing, 'fail');
  const failed = await event.cast(refused);
  expect(failed.body.error.details.reason).toBe('payment_failed');
  const [left, leaving] = await startPaid(event, 'ballot/cast', { ...ballot, visitorId: visitor() });
  expect(await decide(leaving, 'cancel')).toBe(BACK.cancelUrl);
  expect((await event.cast(left)).status).toBe(409);
  expect(await event.payment(left)).toMatchObject({ status: 'cancelled', endReason: 'payer_cancelled' });
  const registration = { name: 'Eve', positionIds: [event.positions[0]?.id] };
  const [standing, place] = await startPaid(event, 'register/candidate', registration);
  await decide(place, 'pay');
  demand(await event.page('register/candidate', { paymentAttemptId: standing }), 201);
  if (isA) {
    const order = { positionId: event.positions[1]?.id, visitorId: visitor(), credits: 5 };
    const [bought, shop] = await startPaid(event, 'quadratic-credits/checkout', order);
    await decide(shop, 'pay');
    demand(await event.page('quadratic-credits/checkout', { paymentAttemptId: bought }), 200);
  }
  const messages = await eventually(() => (receiver.received.length >= 3 ? receiver.received : undefined));
  for (const { body } of messages) expect(JSON.parse(String(body)).data.rehearsal).toBe(true);
  expect(messages.map(({ body }) => JSON.parse(String(body)).type)).not.toContain('voting_event.opened');
  // A ballot that was paid for and is not confirmed is wiped as well, and nothing is given back for it.
  const [open, paying] = await startPaid(event, 'ballot/cast', { ...ballot, visitorId: visitor() });
  await decide(paying, 'pay');
  demand(await event.cast(open), 201);
  expect(sandbox.requests.length).toBe(asked);
  // The event shows its rehearsal; the account's books hold no play money.
  expect((await event.account.show(`/voting-events/${event.id}/payments`)).length).toBeGreaterThan(0);
  const ofEvent = (await event.account.show('/payments')).filter(({ id }: { id: string }) => id === attempt);
  expect([ofEvent, String((await event.account.get('/payments/csv')).body).includes(attempt)]).toEqual([[], false]);

  await event.change({ status: 'draft' });
  const after = await dumpEvent(service, event.id);
  expect(after).toEqual(before);
  expect((await fetch(page)).status).toBe(404);
  expect((await fetch(page, { method: 'POST', body: new URLSearchParams({ outcome: 'pay' }) })).status).toBe(404);

  await event.change({ status: 'open' });
  const real = await event.page('ballot/cast', { ...ballot, ...BACK });
  expect(real.status).toBe(402);
  expect(checkoutUrlOf(real)).toContain(sandbox.url);
  expect(real.body.data).not.toHaveProperty('rehearsal');
  await receiver.stop();
});
