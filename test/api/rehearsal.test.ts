import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { sequenceLog } from '#src/ballot-log/seal-ballots.ts';
import { publishTimedEvents } from '#src/voting-events/publish-status.ts';
import { sealDeps } from '#src/work.ts';
import { LogReader } from '#test/harness/ballot-log.ts';
import { demand, finishEvent, sealBallots, type TestEvent, visitor, votesFor } from '#test/harness/elections.ts';
import { voterKeyIn } from '#test/harness/mails.ts';
import { readMails } from '#test/harness/read-mail.ts';
import { dumpEvent, patchEvent } from '#test/harness/rehearsals.ts';
import { eventually, type TestAnswer, useService } from '#test/harness/test-service.ts';

const PLURALITY = [{ votingMethod: 'plurality', candidates: ['Ada', 'Bea'] }];
const REHEARSAL_WORDS = 'This is a rehearsal';

const service = await useService();
const account = await service.account();

const create = (settings: object): Promise<TestEvent> =>
  account.event({ type: 'election', ...settings }, PLURALITY, false);
const asVoter = (event: TestEvent, method: string, place: string, body?: object, headers = {}): Promise<TestAnswer> =>
  service.call(method, `/public/voting-events/${event.id}${place}`, body, { key: account.vote, headers });
const organize = (event: TestEvent, method: string, place: string, body?: object): Promise<TestAnswer> =>
  service.call(method, `/voting-events/${event.id}${place}`, body, { key: account.write });
/** Under a key that a customer derives from the event, in its rehearsal and afterwards. */
const invite = (event: TestEvent): Promise<TestAnswer> =>
  service.call(...(['POST', `/voting-events/${event.id}/voters/notify`, { audience: 'all', kind: 'key' }] as const), {
    key: account.write,
    headers: { 'Idempotency-Key': `invite-${event.id}` },
  });
const mailsTo = (email: string) => readMails(service).filter(({ to }) => to === email);

async function addVoter(event: TestEvent, email: string): Promise<string> {
  return demand(await organize(event, 'POST', '/voters', { name: 'A voter', email }), 201).id;
}

async function requestKey(event: TestEvent, email: string, from = mailsTo(email).length): Promise<string> {
  demand(await asVoter(event, 'POST', '/voter-key/request', { email }), 200);
  return eventually(() => voterKeyIn(mailsTo(email)[from]?.text ?? ''));
}

async function vote(event: TestEvent, email: string, voterKey: string): Promise<TestAnswer['body']> {
  const cast = await asVoter(event, 'POST', '/ballot/cast', { email, voterKey, votes: votesFor(event) });
  const { confirmationCode } = demand(cast, 201);
  return demand(await asVoter(event, 'POST', '/ballot/confirm', { confirmationCode }), 200);
}

const address = (name: string): string => `${name}-${randomUUID()}@voters.example`;

async function verify(event: TestEvent) {
  const where = ['--base-url', `http://127.0.0.1:${service.port}`, '--event', event.id, '--json'];
  const child = spawn(process.execPath, ['verifier/main.ts', ...where], {
    env: { PATH: process.env['PATH'], VOTING_KEY: account.vote },
    cwd: path.resolve(import.meta.dirname, '../..'),
  });
  const [out, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  return { code, report: JSON.parse(out) };
}

describe('the rehearsal of an election', () => {
  test('looks like the open event to voters, and leaves nothing behind', async () => {
    const event = await create({
      voter: { selfRegistration: true },
      candidate: { selfRegistration: true },
      results: { visibility: 'live' },
    });
    const [one, two] = [address('one'), address('two')];
    await addVoter(event, one);
    await addVoter(event, two);
    const before = await dumpEvent(service, event.id);

    expect((await patchEvent(service, account, event, { status: 'rehearsal' })).status).toBe('rehearsal');
    expect(demand(await organize(event, 'GET', '/stats'), 200).status).toBe('rehearsal');
    const context = demand(await asVoter(event, 'GET', ''), 200);
    expect(context).toMatchObject({ status: 'open', rehearsal: true });
    expect(demand(await asVoter(event, 'GET', '/ballot'), 200)).toMatchObject({ rehearsal: true });

    const registered = demand(
      await asVoter(event, 'POST', '/register/voter', { name: 'New', email: address('new') }),
      201,
    );
    expect(registered.rehearsal).toBe(true);
    demand(
      await asVoter(event, 'POST', '/register/candidate', { name: 'Cy', positionIds: [event.positions[0]?.id] }),
      201,
    );
    const key = await requestKey(event, one);
    expect(mailsTo(one)[0]?.text).toContain(REHEARSAL_WORDS);
    const headers = { 'Idempotency-Key': `rehearsed-${event.id}` };
    const body = { email: one, voterKey: key, votes: votesFor(event) };
    const first = demand(await asVoter(event, 'POST', '/ballot/cast', body, headers), 201);
    const again = await asVoter(event, 'POST', '/ballot/cast', body, headers);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(demand(again, 201)).toEqual(first);
    expect(first.rehearsal).toBe(true);
    const confirmed = demand(
      await asVoter(event, 'POST', '/ballot/confirm', { confirmationCode: first.confirmationCode }),
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
    expect(existsSync(path.join(service.deps.config.dataDir, 'checkpoints', `${event.id}.txt`))).toBe(false);
    const queued = await service.deps.db.$client.query('SELECT 1 FROM checkpoint_queue WHERE voting_event_id = $1', [
      event.id,
    ]);
    expect(queued.rows).toEqual([]);
    expect((await organize(event, 'PATCH', '', { status: 'closed' })).body.error.details.reason).toBe('not_open');

    expect((await patchEvent(service, account, event, { status: 'draft' })).status).toBe('draft');
    expect(await dumpEvent(service, event.id)).toEqual(before);
    expect((await asVoter(event, 'GET', '')).status).toBe(404);

    expect((await patchEvent(service, account, event, { status: 'open' })).status).toBe('open');
    expect(demand(await asVoter(event, 'GET', ''), 200)).not.toHaveProperty('rehearsal');
    // The same request under the same key is a new one: its answer went with the rehearsal.
    const repeated = await asVoter(event, 'POST', '/ballot/cast', body, headers);
    expect(repeated.body.error?.details.reason).toBe('voter_key_invalid');
    const mails = mailsTo(two).length;
    const invited = await invite(event);
    expect([invited.status, invited.headers.get('idempotent-replayed')]).toEqual([202, null]);
    await eventually(() => mailsTo(two)[mails]);
    const fresh = await requestKey(event, one);
    expect(mailsTo(one).at(-1)?.text).not.toContain(REHEARSAL_WORDS);
    const real = await vote(event, one, fresh);
    expect(real.logPromise).not.toContain('rehearsal');
    await sequenceLog(sealDeps(service.deps), event.id, 1);
    const [opening] = await reader.leaves();
    expect(opening).toMatchObject({ t: 'open', rehearsalBallots: 1, roll: { heads: 2 } });
    expect((await reader.get('checkpoint')).body).toContain(`/${event.id}\n`);
  });

  test('leaves those who registered in it out of a copy, and takes the organizer’s along', async () => {
    const event = await create({ voter: { selfRegistration: true }, candidate: { selfRegistration: true } });
    const [own, played] = [address('own'), address('played')];
    await addVoter(event, own);
    await patchEvent(service, account, event, { status: 'rehearsal' });
    const { id } = demand(await asVoter(event, 'POST', '/register/voter', { name: 'Played', email: played }), 201);
    const cy = { name: 'Cy', positionIds: [event.positions[0]?.id] };
    const candidate = demand(await asVoter(event, 'POST', '/register/candidate', cy), 201);
    const approved = { status: 'approved' };
    demand(await organize(event, 'PATCH', `/voters/${id}`, approved), 200);
    demand(await organize(event, 'PATCH', `/candidates/${candidate.id}`, approved), 200);
    const copy = demand(await organize(event, 'POST', '/copy', { title: 'Next year', withVoters: true }), 201);
    const names = async (what: string): Promise<string[]> =>
      demand(await organize({ ...event, id: copy.id }, 'GET', what), 200).map(({ name }: { name: string }) => name);
    await eventually(async () => ((await names('/voters')).length > 0 ? true : undefined));
    expect((await names('/voters')).length).toBe(1);
    expect(await names('/candidates')).not.toContain('Cy');
  });

  test('makes voters wait again whom a key approved in it', async () => {
    const event = await create({ voter: { selfRegistration: true }, startsAt: Date.now() + 3_600_000 });
    const email = address('early');
    const { id } = demand(await asVoter(event, 'POST', '/register/voter', { name: 'Early', email }), 201);
    await eventually(() => mailsTo(email)[0]);
    const before = await eventually(async () => {
      const dump = await dumpEvent(service, event.id);
      return JSON.stringify(dump['voters']).includes('"confirm_by":null') ? undefined : dump;
    });
    await patchEvent(service, account, event, { status: 'rehearsal' });
    await vote(event, email, await requestKey(event, email));
    await patchEvent(service, account, event, { status: 'scheduled' });
    expect(await dumpEvent(service, event.id)).toEqual(before);
    const voter = demand(await organize(event, 'GET', `/voters/${id}`), 200);
    expect(voter).toMatchObject({ status: 'pending', keyStatus: 'none', hasVoted: false });
  });

  test('ends at its start, and the event opens', async () => {
    const event = await create({ startsAt: Date.now() + 3_600_000 });
    const email = address('voter');
    await addVoter(event, email);
    await patchEvent(service, account, event, { status: 'rehearsal' });
    await vote(event, email, await requestKey(event, email));
    await service.query('UPDATE voting_events SET starts_at = now_ms() WHERE id = $1', [event.id]);
    service.deps.events.forget(event.id);
    // From the start to the wipe it takes no ballot at all.
    const key = await requestKey(event, email);
    const early = await asVoter(event, 'POST', '/ballot/cast', { email, voterKey: key, votes: votesFor(event) });
    expect(early.body.error.details.reason).toBe('event_not_open');
    await publishTimedEvents(service.deps);
    expect(demand(await organize(event, 'GET', ''), 200).status).toBe('open');
    expect(demand(await organize(event, 'GET', '/stats'), 200).ballots).toEqual({ cast: 0, confirmed: 0 });
    await vote(event, email, await requestKey(event, email));
  });

  test('is named by the new log, which the verifier finds right; the log of the rehearsal is none to verify', async () => {
    const event = await account.event(
      { type: 'poll', ballot: { opening: 'public' }, results: { visibility: 'published' } },
      PLURALITY,
      false,
    );
    const votePoll = async (): Promise<void> => {
      const body = { visitorId: visitor(), votes: votesFor(event) };
      const { confirmationCode } = demand(await asVoter(event, 'POST', '/ballot/cast', body), 201);
      demand(await asVoter(event, 'POST', '/ballot/confirm', { confirmationCode }), 200);
    };
    for (let number = 1; number <= 2; number += 1) {
      await patchEvent(service, account, event, { status: 'rehearsal' });
      await votePoll();
      await sealBallots(service, event.id);
      const early = await verify(event);
      expect([early.code, JSON.stringify(early.report)]).toEqual([1, expect.stringContaining('is being rehearsed')]);
      await patchEvent(service, account, event, { status: number === 2 ? 'open' : 'draft' });
    }
    await votePoll();
    await finishEvent(service, event.id);
    const [opening] = await new LogReader(service, event.id, account.vote).leaves();
    expect(opening).toMatchObject({ t: 'open', rehearsalBallots: 2 });
    expect(await verify(event)).toMatchObject({ code: 0, report: { verified: 'yes' } });
  });

  test('is refused where the event was open, is not ready, or holds a ballot', async () => {
    const event = await create({});
    await patchEvent(service, account, event, { status: 'open' });
    const open = await organize(event, 'PATCH', '', { status: 'rehearsal' });
    expect([open.status, open.body.error.details.reason]).toEqual([409, 'was_open']);
    const empty = await account.event({}, [], false);
    const unready = await organize(empty, 'PATCH', '', { status: 'rehearsal' });
    expect([unready.status, unready.body.error.details.reason]).toEqual([409, 'not_ready']);
  });

  test('is wiped by no one but its end: a real log stays whatever is written to the event', async () => {
    const event = await account.event({ type: 'poll' });
    const { confirmationCode } = demand(
      await asVoter(event, 'POST', '/ballot/cast', { visitorId: visitor(), votes: votesFor(event) }),
      201,
    );
    demand(await asVoter(event, 'POST', '/ballot/confirm', { confirmationCode }), 200);
    await sealBallots(service, event.id);
    const { $client } = service.deps.db;
    await expect($client.query('SELECT end_rehearsal($1, 100)', [event.id])).rejects.toThrow('not rehearsed');
    await $client.query('UPDATE voting_events SET rehearsal_since = 1, rehearsal_number = 1 WHERE id = $1', [event.id]);
    await expect($client.query('SELECT end_rehearsal($1, 100)', [event.id])).rejects.toThrow('not that of a rehearsal');
  });
});
