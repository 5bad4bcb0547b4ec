import { describe, expect, onTestFinished, test } from 'vitest';
import { demand, fieldOf, refusalOf, valuesOf } from '#test/harness/answers.ts';
import { finishEvent, type TestEvent, tendLog, visitor, votesFor } from '#test/harness/elections.ts';
import { interceptStatements } from '#test/harness/intercept-statements.ts';
import { mailedVoterKey } from '#test/harness/mails.ts';
import { CLOSED, moveEnd } from '#test/harness/move-end.ts';
import { decide, PRICE, RETURN_URL, soldCredits, usePaidService } from '#test/harness/payments.ts';
import { runVerifier } from '#test/harness/started-service.ts';
import { untilTrue } from '#test/harness/test-service.ts';
import { giveVoterKey } from '#test/harness/voter-keys.ts';

const { service, poll } = await usePaidService();
const account = await service.account();

const PLURALITY = { votingMethod: 'plurality', candidates: ['Ada', 'Bea'] };

const vote = (event: TestEvent, path: string, body: unknown) => account.page(event, path, body);

const check = async (event: TestEvent, identity: object) => (await vote(event, 'voter/check', identity)).body.data;
const ineligible = (reason: string) => ({ eligible: false, reason });

const bulkDelete = ({ id }: { readonly id: string }, voterIds: readonly string[]) =>
  account.post(`/voting-events/${id}/voters/bulk`, { action: 'delete', voterIds });

type Identity = Readonly<Record<string, string>>;

async function castAndConfirm(event: TestEvent, identity: Identity): Promise<string> {
  const cast = await vote(event, 'ballot/cast', { ...identity, votes: votesFor(event) });
  if (cast.status !== 201) return `${cast.status} ${cast.body.error.details.reason ?? cast.body.error.details.field}`;
  const { confirmationCode } = cast.body.data;
  const confirmed = await vote(event, 'ballot/confirm', { confirmationCode });
  return confirmed.status === 200 ? 'voted' : `${confirmed.status} ${confirmed.body.error.details.reason}`;
}

/** The tables in which a text stands, but for counts of requests, which are forgotten within an hour. */
async function tablesWith(text: string): Promise<string[]> {
  const all =
    "SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND relname <> 'rate_limits'";
  const names = valuesOf(await service.query(all), 'name').map(String);
  const holds = (name: string) =>
    service.query(`SELECT 1 FROM "${name}" t WHERE position($1 IN t::text) > 0 LIMIT 1`, [text]);
  const found = await Promise.all(names.map(async (name) => ((await holds(name)).length > 0 ? [name] : [])));
  return found.flat().toSorted();
}

describe('a poll', () => {
  const FLAGS = [false, true].flatMap((requireVoterId) =>
    [false, true].map((saveVoterInfo) => [requireVoterId, saveVoterInfo] as const),
  );

  test.each(FLAGS)(
    'with requireVoterId %s and saveVoterInfo %s asks for each identity that it compares, and takes none of them twice',
    async (requireVoterId, saveVoterInfo) => {
      const voter = { requireVoterId, saveVoterInfo };
      const event = await account.event({ voter });
      const identity = (): Identity => ({
        visitorId: visitor(),
        ...(saveVoterInfo ? { email: `${visitor()}@mail.example` } : {}),
        ...(requireVoterId ? { voterId: `M-${visitor()}` } : {}),
      });
      const first = identity();
      for (const missing of Object.keys(first)) {
        const { [missing]: _, ...rest } = first;
        const refused = await vote(event, 'ballot/cast', { ...rest, votes: votesFor(event) });
        expect([missing, refused.status, refused.body.error.details.field]).toEqual([missing, 422, missing]);
        if (missing === 'visitorId') continue;
        expect(await check(event, rest)).toEqual(ineligible('identity_required'));
      }
      expect(await castAndConfirm(event, first)).toBe('voted');
      for (const [name, value] of Object.entries(first)) {
        const again = {
          ...identity(),
          [name]: name === 'voterId' ? value : ` ${value.toUpperCase().replace('VI_', 'vi_')} `,
        };
        expect([name, await castAndConfirm(event, again)]).toEqual([name, '409 already_voted']);
        expect(await check(event, again)).toEqual(ineligible('already_voted'));
      }
      expect(await castAndConfirm(event, identity())).toBe('voted');
    },
  );

  test('shows a visitor ID as it was sent, without the spaces around it', async () => {
    const event = await account.event();
    const visitorId = 'vi_ABCDEFabcdef0123';
    expect(await castAndConfirm(event, { visitorId: ` ${visitorId} ` })).toBe('voted');
    const { data } = (await account.get(`/voting-events/${event.id}/voters`)).body;
    expect(data).toMatchObject([{ voterId: visitorId, source: 'poll', hasVoted: true }]);
    expect(await account.of(event).show('/votes')).toMatchObject([{ voterId: visitorId }]);
  });

  test.each([false, true])(
    'with saveVoterInfo %s keeps name and address of who votes, or nothing of them',
    async (saveVoterInfo) => {
      const event = await account.event({ voter: { saveVoterInfo } });
      const identity = { visitorId: visitor(), name: 'Real Name', email: 'person@mail.example' };
      expect(await castAndConfirm(event, identity)).toBe('voted');
      const [row] = await account.of(event).show('/voters');
      expect(row).toMatchObject(saveVoterInfo ? { name: identity.name, email: identity.email } : { email: null });
      const stored = await service.query(
        `SELECT v::text AS voter FROM voters v WHERE voting_event_id = $1 UNION ALL SELECT p::text FROM pending_ballots p WHERE voting_event_id = $1`,
        [event.id],
      );
      expect(/Real Name|person@/.test(JSON.stringify(stored))).toBe(saveVoterInfo);
    },
  );

  test('lists a participant whose ID and address a voter of the organizer has', async () => {
    const voter = { requireVoterId: true, saveVoterInfo: true };
    const event = await account.event({ voter });
    const own = { name: 'Vera', voterId: 'M-1', email: 'vera@mail.example' };
    await account.make(`/voting-events/${event.id}/voters`, own);
    expect(await castAndConfirm(event, { visitorId: visitor(), voterId: own.voterId, email: own.email })).toBe('voted');
    const { data } = (await account.get(`/voting-events/${event.id}/voters`)).body;
    expect(valuesOf(data, 'source')).toEqual(['organizer', 'poll']);
  });

  test('takes each address of a participant, once corrected, from nobody else and for no second vote', async () => {
    const event = await account.event({ voter: { saveVoterInfo: true } });
    const own = account.of(event);
    const address = (name: string): string => `${name}@club.example`;
    const ballot = (name: string) => castAndConfirm(event, { visitorId: visitor(), name, email: address(name) });
    const correct = async (from: string, to: string) => {
      const row = (await own.show('/voters')).find(({ email }: { email: string }) => email === address(from));
      return refusalOf(await own.patch(`/voters/${row.id}`, { email: address(to) }));
    };
    for (const name of ['aad', 'bea']) expect(await ballot(name)).toBe('voted');
    expect(await correct('aad', 'mistaken')).toEqual([200, undefined]);
    expect(await ballot('mistaken')).toBe('409 already_voted');
    expect(await correct('bea', 'mistaken')).toEqual([409, 'voter_exists']);
    // The organizer's own voter is another row, whatever its address.
    await own.make('/voters', { name: 'Ada', email: address('ada') });
    expect(await correct('mistaken', 'ada')).toEqual([200, undefined]);
    for (const name of ['aad', 'ada']) expect(await ballot(name)).toBe('409 already_voted');
    expect(await ballot('mistaken')).toBe('voted');
  });

  test.each(['that is paid for', 'cast before the close'])(
    'gives no participant the address that the confirm of a ballot %s needs',
    async (kind) => {
      const isPaid = kind === 'that is paid for';
      const payments = isPaid ? { payToVote: PRICE.provider_a } : {};
      const event = await poll('provider_a', { payments, voter: { saveVoterInfo: true } });
      const { ballot, of } = event.account;
      const bodyOf = (name: string) => ({ visitorId: visitor(), name, email: `${name}@own.example` });
      const votes = votesFor(event);
      await (isPaid ? event.vote(bodyOf('ada')) : ballot(event, { ...bodyOf('ada'), votes }));
      const confirmationCode = isPaid
        ? await event.castCode(await event.payKnown(bodyOf('otto')))
        : demand(await event.page('ballot/cast', { ...bodyOf('otto'), votes }), 201).confirmationCode;
      if (!isPaid) await event.change({ status: 'closed' });
      const [{ id }] = await event.show('/voters');
      const corrected = await of(event).patch(`/voters/${id}`, { email: 'OTTO@own.example' });
      expect([refusalOf(corrected), fieldOf(corrected)]).toEqual([
        [409, 'voter_exists'],
        [409, 'email'],
      ]);
      expect((await event.page('ballot/confirm', { confirmationCode })).status).toBe(200);
      demand(await of(event).patch(`/voters/${id}`, { email: 'ada@new.example' }), 200);
    },
  );

  test('keeps the voter ID under which a ballot was cast, and lets an organizer correct name and address of a participant', async () => {
    const event = await account.event({ voter: { requireVoterId: true, saveVoterInfo: true } });
    const named = (voterId: string) => ({ visitorId: visitor(), voterId, email: `${voterId}@mail.example` });
    for (const voterId of ['A-1', 'B-2']) expect(await castAndConfirm(event, named(voterId))).toBe('voted');
    const own = account.of(event);
    const { id } = (await own.show('/voters'))[0];
    for (const change of [{ voterId: 'B-2' }, { voterId: 'C-3' }])
      expect(refusalOf(await own.patch(`/voters/${id}`, change))).toEqual([409, 'event_has_ballots']);
    const corrected = { name: 'Ada', email: 'c@mail.example' };
    expect(demand(await own.patch(`/voters/${id}`, corrected), 200)).toMatchObject({ ...corrected, voterId: 'A-1' });
    const again = { visitorId: visitor(), voterId: 'D-4', email: 'A-1@mail.example' };
    expect(await castAndConfirm(event, again)).not.toBe('voted');
  });

  test.each(['visitor ID', 'voter ID'])(
    'erases a participant, known by a %s, from votes, payments and every table after the final result',
    async (known) => {
      const voter = { requireVoterId: known === 'voter ID', saveVoterInfo: true };
      const payments = { payToVote: PRICE.provider_a, repeatVotes: true };
      const event = await poll('provider_a', { payments, voter });
      const person = { name: 'Greta Erased', email: 'Greta@erased.example', voterId: `GRETA-${visitor()}` };
      const other = { visitorId: visitor(), name: 'Otto', email: 'otto@mail.example', voterId: 'OTTO-1' };
      const visitorId = visitor();
      const second = 'Greta@second.example';
      for (const cast of [person, other, { ...person, email: second }]) await event.vote({ visitorId, ...cast });
      const corrected = 'Greta@corrected.example';
      const byAddress = ({ email }: { email: string }) => email === person.email;
      const { id } = (await event.show('/voters')).find(byAddress);
      await event.account.of(event).change(`/voters/${id}`, { email: corrected });
      await event.change({ status: 'closed' });
      await finishEvent(service, event.id);
      const before = await runVerifier(service.port, event.id, event.account.vote);
      const participants = 'SELECT count(*) FROM participation WHERE voting_event_id = $1';
      const counted = await service.query(participants, [event.id]);
      demand(await event.account.of(event).delete(`/voters/${id}`), 202);
      const shown = known === 'voter ID' ? person.voterId : visitorId;
      const others = known === 'voter ID' ? other.voterId : other.visitorId;
      const named = async () => new Set(valuesOf(await event.show('/votes'), 'voterId'));
      await untilTrue(async () => !(await named()).has(shown));
      expect(await named()).toEqual(new Set([null, others]));
      await untilTrue(async () => (await event.show('/payments?search=greta')).length === 0);
      expect(await event.show('/payments?search=otto')).toHaveLength(1);
      await untilTrue(
        async () => (await service.query("SELECT 1 FROM jobs WHERE name = 'erase_participants'")).length === 0,
      );
      const addresses = [person.email, second, corrected].flatMap((address) => [address, address.toLowerCase()]);
      for (const word of [person.name, ...addresses, person.voterId])
        expect([word, await tablesWith(word)]).toEqual([word, []]);
      // A refund finds credits and ballots by the visitor ID.
      expect(await tablesWith(shown)).toEqual(known === 'voter ID' ? [] : ['payment_attempts']);
      expect(await service.query(participants, [event.id])).toEqual(counted);
      expect((await runVerifier(service.port, event.id, event.account.vote)).code).toBe(before.code);
    },
  );

  test('says of a voter that they voted by the participation of its own event alone', async () => {
    const voter = { requireVoterId: true };
    const [voted, other] = await Promise.all([0, 1].map(() => account.event({ voter })));
    if (voted === undefined || other === undefined) throw new Error('two events were created');
    expect(await castAndConfirm(voted, { visitorId: visitor(), voterId: 'SAME-1' })).toBe('voted');
    const path = `/voting-events/${other.id}/voters`;
    const { id } = await account.make(path, { name: 'Vera', voterId: 'SAME-1' });
    expect((await account.show(`${path}/${id}`)).hasVoted).toBe(false);
    expect(await account.show(path)).toMatchObject([{ hasVoted: false }]);
  });

  test('takes no registration, and mails no voter key', async () => {
    const voter = { selfRegistration: true };
    const made = await account.post('/voting-events', { title: 'P', type: 'poll', voter });
    expect(fieldOf(made)).toEqual([422, 'voter.selfRegistration']);
    const event = await account.event();
    expect(fieldOf(await account.of(event).patch('', { voter }))).toEqual([422, 'voter.selfRegistration']);
    const email = 'v@club.example';
    expect(refusalOf(await vote(event, 'register/voter', { name: 'V', email }))).toEqual([403, 'registration_closed']);
    expect(refusalOf(await vote(event, 'voter-key/request', { email }))).toEqual([409, 'not_an_election']);
  });
});

describe('the erasure of a participant of a poll', () => {
  type PaidPoll = Awaited<ReturnType<typeof poll>>;
  const settings = (voter: object) => ({ payments: { payToVote: PRICE.provider_a }, voter });
  const close = async (event: PaidPoll): Promise<void> => {
    await event.change({ status: 'closed' });
    await finishEvent(service, event.id);
  };
  const rowOf = async ({ account: { of }, ...event }: PaidPoll, named: string) =>
    (await of(event).show('/voters')).find(({ name }: { name: string }) => name === named);
  const isErased = () =>
    untilTrue(async () => (await service.query("SELECT 1 FROM jobs WHERE name = 'erase_participants'")).length === 0);
  async function erase(event: PaidPoll, ...names: string[]): Promise<void> {
    for (const name of names)
      demand(await event.account.of(event).delete(`/voters/${(await rowOf(event, name)).id}`), 202);
    await isErased();
  }
  const found = async (event: PaidPoll, name: string): Promise<number> =>
    (await event.show(`/payments?search=${name}`)).length;

  test('takes nothing from another one who has voted by an address that was once mistaken for theirs', async () => {
    const event = await poll('provider_a', settings({ saveVoterInfo: true }));
    await event.vote({ name: 'Greta', email: 'greta@own.example' });
    const { id } = await rowOf(event, 'Greta');
    for (const email of ['otto@own.example', 'greta@new.example'])
      await event.account.of(event).change(`/voters/${id}`, { email });
    await event.vote({ name: 'Otto', email: 'otto@own.example' });
    await close(event);
    await erase(event, 'Greta');
    expect([await found(event, 'greta'), await found(event, 'otto')]).toEqual([0, 1]);
    const addresses = "SELECT participant FROM participation WHERE voting_event_id = $1 AND participant LIKE 'e:%'";
    expect(valuesOf(await service.query(addresses, [event.id]), 'participant')).toEqual(['e:otto@own.example']);
  });

  test('takes nothing from another one of the same address, where it may vote again', async () => {
    const payments = { payToVote: PRICE.provider_a, repeatVotes: true };
    const event = await poll('provider_a', { payments, voter: { saveVoterInfo: true } });
    for (const name of ['Greta', 'Otto']) await event.vote({ name, email: 'home@own.example' });
    await close(event);
    await erase(event, 'Greta');
    expect([await found(event, 'greta'), await found(event, 'otto')]).toEqual([0, 1]);
  });

  test('and that of a voter with the same ID each leave the other, who is a row of its own', async () => {
    const event = await poll('provider_a', settings({ requireVoterId: true }));
    for (const voterId of ['M-1', 'N-2'])
      await event.account.of(event).make('/voters', { name: `own ${voterId}`, voterId });
    for (const voterId of ['M-1', 'N-2']) await event.vote({ name: `Payer ${voterId}`, voterId, email: undefined });
    await close(event);
    await erase(event, 'own M-1', 'N-2');
    const rows = (await event.show('/voters')).map((row: Record<string, unknown>) => [row['name'], row['hasVoted']]);
    expect(rows).toEqual([
      ['own N-2', true],
      ['M-1', true],
    ]);
    expect(new Set(valuesOf(await event.show('/votes'), 'voterId'))).toEqual(new Set(['M-1', null]));
    expect([await found(event, 'M-1'), await found(event, 'N-2')]).toEqual([1, 0]);
  });

  test('leaves a registration as a candidate, which is given back where it can be given no more', async () => {
    const payments = { payToRegisterCandidate: PRICE.provider_a };
    const event = await poll('provider_a', {
      ...{ payments, candidate: { selfRegistration: true }, voter: { saveVoterInfo: true } },
    });
    const person = { name: 'Cora', email: 'cora@own.example' };
    await event.account.ballot(event, { visitorId: visitor(), ...person, votes: votesFor(event) });
    const body = { ...person, positionIds: [event.positions[0]?.id], returnUrl: RETURN_URL };
    const { attempt, url } = await event.checkout('register/candidate', body);
    await close(event);
    await erase(event, 'Cora');
    await decide(url, 'pay');
    await event.succeeded(attempt);
    const second = await event.page('register/candidate', { paymentAttemptId: attempt });
    expect(refusalOf(second)).toEqual([409, 'payment_cancelled']);
    await event.refunded(attempt);
  });

  test('reaches credits that they bought from another device by the address of a later vote, also if it is interrupted', async () => {
    const payments = { payToVote: PRICE.provider_a, repeatVotes: true };
    const voter = { requireVoterId: true, saveVoterInfo: true };
    const event = await poll('provider_a', { payments, voter }, [PLURALITY, soldCredits('provider_a')]);
    const [first, second] = event.positions;
    const votes = [{ positionId: first?.id, candidateId: first?.candidates[0] }];
    const person = { visitorId: visitor(), voterId: 'G-1', name: 'Greta', votes };
    const email = 'later@own.example';
    for (const address of ['first@own.example', email]) await event.vote({ ...person, email: address });
    const order = { positionId: second?.id, credits: 1, visitorId: visitor(), name: 'Greta', email };
    const bought = await event.buy('quadratic-credits/checkout', order);
    demand(await event.page('quadratic-credits/checkout', { paymentAttemptId: bought }), 200);
    await close(event);
    expect(await found(event, email)).toBe(2);
    let steps = 0;
    const restore = interceptStatements((text, send) => {
      if (!text.includes('FROM erase_participants(')) return send();
      steps += 1;
      return steps === 2 ? Promise.reject(new Error('Connection terminated')) : send();
    });
    onTestFinished(restore);
    await erase(event, 'Greta');
    expect([steps, await found(event, email)]).toEqual([4, 0]);
  });

  test('reaches credits that they bought by their visitor ID, where they voted by their voter ID', async () => {
    const event = await poll('provider_a', settings({ requireVoterId: true }), [soldCredits('provider_a')]);
    const [position] = event.positions;
    const order = { positionId: position?.id, credits: 5, email: undefined };
    const votes = [{ positionId: position?.id, candidateId: position?.candidates[0], value: 2 }];
    for (const [name, voterId] of [
      ['Greta', 'G-1'],
      ['Otto', 'O-2'],
    ]) {
      const identity = { visitorId: visitor(), name };
      const bought = await event.buy('quadratic-credits/checkout', { ...order, ...identity });
      demand(await event.page('quadratic-credits/checkout', { paymentAttemptId: bought }), 200);
      await event.vote({ ...identity, voterId, votes, email: undefined });
    }
    await close(event);
    const [, { id }] = await event.show('/voters');
    demand(await event.account.of(event).delete(`/voters/${id}`), 202);
    await isErased();
    expect([await found(event, 'greta'), await found(event, 'otto')]).toEqual([2, 0]);
  });
});

describe('a voter of an election', () => {
  interface Voter {
    readonly event: TestEvent;
    readonly path: string;
    readonly id: string;
    readonly voterKey: string;
    readonly email: string;
  }

  async function voterOf(settings = {}): Promise<Voter> {
    const event = await account.event({ type: 'election', ...settings });
    // An address of its own: mails to one address are counted, whatever event they are about.
    const email = `vera-${visitor().slice(3, 15)}@club.example`;
    const body = { name: 'Vera', email, voterId: 'M-1' };
    const { id } = await account.make(`/voting-events/${event.id}/voters`, body);
    const voterKey = await mailedVoterKey(service, () => vote(event, 'voter-key/request', { email }));
    return { event, id, email, voterKey, path: `/voting-events/${event.id}/voters/${id}` };
  }

  const cast = async ({ event, voterKey, email }: Voter): Promise<string> =>
    demand(await vote(event, 'ballot/cast', { voterKey, email, votes: votesFor(event) }), 201).confirmationCode;

  test('is judged at the confirm as at the cast: one who was rejected meanwhile has no ballot', async () => {
    const voter = await voterOf();
    const confirmationCode = await cast(voter);
    await account.change(voter.path, { status: 'rejected' });
    expect(refusalOf(await vote(voter.event, 'ballot/confirm', { confirmationCode }))).toEqual([403, 'voter_rejected']);
    const { stats } = await account.show(`/voting-events/${voter.event.id}/results`);
    expect(stats.ballots).toBe(0);
    await account.change(voter.path, { status: 'approved' });
    expect((await vote(voter.event, 'ballot/confirm', { confirmationCode })).status).toBe(200);
  });

  test('keeps weight and group while a ballot waits that was judged by them', async () => {
    const voter = await voterOf();
    await cast(voter);
    expect(refusalOf(await account.patch(voter.path, { weight: 3 }))).toEqual([409, 'event_has_ballots']);
    expect((await account.delete(voter.path)).body.error.details.reason).toBe('event_has_ballots');
  });

  test.each([
    ['another address', { email: 'new@club.example' }, true],
    ['another voter ID', { voterId: 'M-2' }, true],
    ['a rejection', { status: 'rejected' }, true],
    ['another name', { name: 'Vera Lind' }, false],
    ['the same address in other letters', { email: 'upper' }, false],
  ])('loses the keys that were mailed before by %s: %j', async (_what, change, ends) => {
    const voter = await voterOf();
    const sent = 'email' in change && change.email === 'upper' ? { email: voter.email.toUpperCase() } : change;
    const answer = await account.change(voter.path, sent);
    expect(answer.keyStatus).toBe(ends ? 'none' : 'sent');
    if ('status' in change) await account.change(voter.path, { status: 'approved' });
    const { email = voter.email } = sent as { email?: string };
    const shown = ends ? ineligible('voter_key_invalid') : { eligible: true };
    expect(await check(voter.event, { voterKey: voter.voterKey, email })).toEqual(shown);
  });

  test('loses no ballot that waits at the close to a correction of their address or ID', async () => {
    const voter = await voterOf();
    const correct = (change: object) => account.patch(voter.path, change);
    // While the event is open, they cast again with a new key.
    const dropped = await cast(voter);
    demand(await correct({ voterId: 'M-2' }), 200);
    const confirm = (confirmationCode: string) => vote(voter.event, 'ballot/confirm', { confirmationCode });
    expect((await confirm(dropped)).status).toBe(404);
    const voterKey = await giveVoterKey(service, voter.event.id, voter.id);
    const confirmationCode = await cast({ ...voter, voterKey });
    await account.change(`/voting-events/${voter.event.id}`, { status: 'closed' });
    for (const change of [{ email: 'corrected@club.example' }, { voterId: 'M-3' }])
      expect(refusalOf(await correct(change))).toEqual([409, 'event_has_ballots']);
    expect((await confirm(confirmationCode)).status).toBe(200);
    expect((await correct({ voterId: 'M-3' })).status).toBe(200);
  });

  test('keeps every key that was mailed until the event closes', async () => {
    const voter = await voterOf();
    for (let index = 0; index < 4; index += 1)
      await mailedVoterKey(service, () => vote(voter.event, 'voter-key/request', { email: voter.email }));
    expect(await castAndConfirm(voter.event, { voterKey: voter.voterKey, email: voter.email })).toBe('voted');
  });

  test('is nobody else: a stored key that is copied to another voter opens nothing', async () => {
    const voter = await voterOf();
    const body = { name: 'Otto', email: 'otto@club.example' };
    const { id } = await account.make(`/voting-events/${voter.event.id}/voters`, body);
    await service.query(
      'INSERT INTO voter_keys (voting_event_id, voter_id, key_hash, number) SELECT voting_event_id, $2, key_hash, number FROM voter_keys WHERE voting_event_id = $1',
      [voter.event.id, id],
    );
    const copied = { voterKey: voter.voterKey, email: body.email };
    expect(await check(voter.event, copied)).toEqual(ineligible('voter_key_invalid'));
  });

  test('is not locked out by wrong keys from anywhere: a fresh and an old right key pass', async () => {
    const voter = await voterOf();
    const wrong = { voterKey: '0000-0000-0000-0000', email: voter.email };
    const tries = await Promise.all(
      Array.from({ length: 15 }, () => vote(voter.event, 'ballot/cast', { ...wrong, votes: votesFor(voter.event) })),
    );
    expect(tries.map(({ status }) => status).filter((status) => status === 403)).toHaveLength(10);
    expect(tries.map(({ status }) => status).filter((status) => status === 429)).toHaveLength(5);
    const fresh = await giveVoterKey(service, voter.event.id, voter.id);
    for (const voterKey of [fresh, voter.voterKey]) {
      expect(await check(voter.event, { voterKey, email: voter.email })).toEqual({ eligible: true });
    }
    expect(await castAndConfirm(voter.event, { voterKey: voter.voterKey, email: voter.email })).toBe('voted');
  });

  test('hears the choices of a secret ballot again while the event is open alone, from stored answers too', async () => {
    const voter = await voterOf();
    const confirmationCode = await cast(voter);
    const headers = { 'Idempotency-Key': `confirm-${voter.id}` };
    const confirm = () => account.page(voter.event, 'ballot/confirm', { confirmationCode }, headers);
    const [first, open] = [await confirm(), await confirm()];
    expect([first.body.data.votes.length, open.body]).toEqual([1, first.body]);
    await account.change(`/voting-events/${voter.event.id}`, { status: 'closed' });
    const closed = await confirm();
    expect([closed.status, closed.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
    expect(closed.body.data).toEqual({ ...first.body.data, votes: [] });
  });

  test('is erased after the final result, and every figure stays', async () => {
    const voter = await voterOf();
    expect(await castAndConfirm(voter.event, { voterKey: voter.voterKey, email: voter.email })).toBe('voted');
    await moveEnd(service.deps, voter.event.id, CLOSED);
    // The log has not closed yet: its last entry commits to the roll.
    for (const sent of [account.delete(voter.path), bulkDelete(voter.event, [voter.id])])
      expect(refusalOf(await sent)).toEqual([409, 'event_closed']);
    await finishEvent(service, voter.event.id);
    expect(await account.show(`/voting-events/${voter.event.id}`)).toMatchObject({ disputed: false });
    const figures = async () => {
      const stats = await account.show(`/voting-events/${voter.event.id}/stats`);
      return [stats.voters, stats.turnout, stats.ballots];
    };
    const before = await figures();
    demand(await account.delete(voter.path), 202);
    expect((await account.get(voter.path)).status).toBe(404);
    expect(await figures()).toEqual(before);
    const rows = await service.query('SELECT name, email, voter_id FROM voters WHERE id = $1', [voter.id]);
    expect(rows).toEqual([{ name: '', email: null, voter_id: null }]);
  });

  test('is erased from the audit trail too, which still tells that there were changes', async () => {
    const event = await account.event({ type: 'election', voter: { requireVoterId: true, selfRegistration: true } });
    const base = `/voting-events/${event.id}`;
    const person = (name: string) => ({
      ...{ name: `${name} Erased`, email: `${name}@erased.example`, voterId: `ID-${name}` },
    });
    const ids = [
      (await account.make(`${base}/voters`, person('one'))).id,
      demand(await vote(event, 'register/voter', person('two')), 201).id,
      (await account.make(`${base}/voters`, person('three'))).id,
    ];
    await account.make(`${base}/voters`, person('stays'));
    for (const [index, name] of ['one', 'two', 'three'].entries()) {
      const changes = { name: `${name} Renamed`, email: `${name}@renamed.example`, voterId: `NEW-${name}` };
      await account.change(`${base}/voters/${ids[index]}`, changes);
    }
    await finishEvent(service, event.id);
    const read = async () => {
      const trail = (await account.get(`${base}/audit`)).body.data;
      return { trail, text: JSON.stringify(trail) + (await account.get(`${base}/audit/csv`)).body };
    };
    const before = await read();
    demand(await account.delete(`${base}/voters/${ids[0]}`), 202);
    demand(await bulkDelete(event, ids.slice(1)), 200);
    const after = await read();
    for (const name of ['one', 'two', 'three']) {
      const told = [`${name} Erased`, `${name}@`, `ID-${name}`, `${name} Renamed`, `NEW-${name}`];
      for (const word of told)
        expect([word, before.text.includes(word), after.text.includes(word)]).toEqual([word, true, false]);
    }
    expect(after.text).toContain('stays@erased.example');
    const facts = ({ trail }: typeof before) =>
      trail.map(({ id, action, resource, key }: Record<string, unknown>) => ({ id, action, resource, key }));
    expect(facts(after).slice(0, before.trail.length)).toEqual(facts(before));
  });

  test('who is taken off the roll before the result is final stays in the audit trail', async () => {
    const voter = await voterOf();
    demand(await account.delete(voter.path), 202);
    const { data } = (await account.get(`/voting-events/${voter.event.id}/audit?action=voter.deleted`)).body;
    expect(valuesOf(data, 'before')).toEqual([expect.objectContaining({ email: voter.email })]);
  });
});

test.each(['\u2800', '\u3164', '\u00ad', '\u200b', '\u0301', ' \u2800 '])(
  'a title of nothing visible is no title: %j',
  async (title) => {
    expect(fieldOf(await account.post('/voting-events', { title, type: 'poll' }))).toEqual([422, 'title']);
  },
);

test('votes beyond every budget are told as credits that are missing, however many they are', async () => {
  const event = await account.event({}, [{ votingMethod: 'quadratic', candidates: ['Ada', 'Bea'] }]);
  for (const values of [[10, 1], [11], [1_000_001], [1e9], [Number.MAX_SAFE_INTEGER]]) {
    const votes = values.map((value, candidate) => ({ ...votesFor(event, candidate)[0], value }));
    const refused = await vote(event, 'ballot/cast', { visitorId: visitor(), votes });
    const { field, reason, required, available } = refused.body.error.details;
    expect([refused.status, field, reason, available]).toEqual([422, 'votes', 'insufficient_credits', 100]);
    if (values.length > 1) expect(required).toBe(101);
  }
});

test('a ballot that is wrong for every group is told before the key is judged', async () => {
  const event = await account.event({ type: 'election' }, [PLURALITY, PLURALITY], false);
  const base = `/voting-events/${event.id}`;
  const { id: groupId } = await account.make(`${base}/groups`, { name: 'South' });
  await account.change(`${base}/positions/${event.positions[0]?.id}`, { groupId });
  await account.change(base, { status: 'open' });
  const identity = { voterKey: '0000-0000-0000-0000', email: 'nobody@club.example' };
  const cast = (votes: unknown) => vote(event, 'ballot/cast', { ...identity, votes });
  expect((await cast([{ positionId: 'pos_unknown', candidateId: 'cnd_unknown' }])).status).toBe(422);
  expect((await cast(votesFor(event))).body.error.details.reason).toBe('voter_key_invalid');
});

describe.each([
  ['without groups', false],
  ['with a position of a group', true],
] as const)('a cast %s', (_, grouped) => {
  test('before the opening and after the close is told so, whatever its key, and counts neither a guess nor a use', async () => {
    const event = await account.event({ type: 'election' }, [PLURALITY], false);
    const base = `/voting-events/${event.id}`;
    const { id: groupId } = await account.make(`${base}/groups`, { name: 'South' });
    if (grouped) await account.change(`${base}/positions/${event.positions[0]?.id}`, { groupId });
    const email = 'vera@club.example';
    const voter = await account.make(`${base}/voters`, { name: 'Vera', email, groupId });
    const keys = [await giveVoterKey(service, event.id, voter.id), '0000-0000-0000-0000'];
    const told = async () => {
      const reasons = new Set<string>();
      for (const voterKey of [...keys, ...keys, ...keys, ...keys, ...keys, ...keys]) {
        const { status, body } = await vote(event, 'ballot/cast', { voterKey, email, votes: votesFor(event) });
        reasons.add(`${status} ${body.error?.details?.reason}`);
      }
      return [...reasons];
    };
    await account.change(base, { startsAt: Date.now() + 3_600_000 });
    expect(await told()).toEqual(['403 event_not_open']);
    for (const status of ['open', 'closed']) await account.change(base, { status });
    expect(await told()).toEqual(['403 event_closed']);
    const used = await service.query('SELECT key_used FROM voters WHERE id = $1', [voter.id]);
    expect(used).toEqual([{ key_used: false }]);
    await finishEvent(service, event.id);
    expect(await told()).toEqual(['403 event_closed']);
  });
});

test('a blank confirmation code is no code', async () => {
  const event = await account.event();
  expect(fieldOf(await vote(event, 'ballot/confirm', { confirmationCode: '  ' }))).toEqual([422, 'confirmationCode']);
});

test('an address of the longest length is an address: 320 characters of plain name and domain', async () => {
  const event = await account.event({ type: 'election' });
  const email = (length: number): string => `${'a'.repeat(length - '@club.example'.length)}@club.example`;
  const add = (address: string) => account.post(`/voting-events/${event.id}/voters`, { name: 'V', email: address });
  expect((await add(email(320))).status).toBe(201);
  expect((await add(email(321))).status).toBe(422);
});

test('a choice without a role is no choice of a referendum, even where one was opened before it became one', async () => {
  const event = await account.event();
  const path = `/voting-events/${event.id}/positions/${event.positions[0]?.id}`;
  await account.change(path, { votingMethod: 'referendum' });
  expect(fieldOf(await vote(event, 'ballot/cast', { visitorId: visitor(), votes: votesFor(event) }))).toEqual([
    422,
    'votes[0].candidateId',
  ]);
});

describe('the list of votes', () => {
  test.each(['election', 'poll'])(
    'of an open %s shows each vote that stood when it began once, whatever is confirmed and sealed meanwhile',
    async (type) => {
      const { sealDeps } = await import('#src/work.ts');
      const event = await account.event({ type });
      const seal = () => tendLog(sealDeps(service.deps), event.id, 1);
      const addBallot = async (index: number): Promise<void> => {
        if (type === 'poll') return void (await account.votePoll(event, votesFor(event)));
        const body = { name: 'V', email: `v${index}@club.example` };
        const { id } = await account.make(`/voting-events/${event.id}/voters`, body);
        const voterKey = await giveVoterKey(service, event.id, id);
        expect(await castAndConfirm(event, { voterKey, email: body.email })).toBe('voted');
      };
      for (let index = 0; index < 7; index += 1) await addBallot(index);
      await seal();
      for (let index = 7; index < 12; index += 1) await addBallot(index);
      const list = async (between: (page: number) => Promise<unknown>): Promise<string[]> => {
        const seen: string[] = [];
        let cursor = '';
        for (let page = 0; ; page += 1) {
          const answer = await account.get(`/voting-events/${event.id}/votes?limit=2${cursor}`);
          seen.push(...demand(answer, 200).map((row: { id: string }) => row.id));
          if (answer.body.nextCursor === null) return seen;
          cursor = `&cursor=${encodeURIComponent(answer.body.nextCursor)}`;
          await between(page);
        }
      };
      const standing = await list(async () => undefined);
      expect(standing).toHaveLength(type === 'poll' ? 12 : 7);
      for (const sealAt of [0, 2, 3, 4, 5]) {
        const seen = await list(async (page) => {
          if (page === 1) await addBallot(100 + sealAt);
          if (page === sealAt) await seal();
        });
        expect(new Set(seen).size).toBe(seen.length);
        expect(standing.filter((id) => !seen.includes(id))).toEqual([]);
      }
    },
  );

  test('and every other list take a search of one or two characters for the beginning of a word', async () => {
    const event = await account.event({ type: 'election' }, [PLURALITY], false);
    const base = `/voting-events/${event.id}`;
    const roll = ['Bob Oberg', 'Job Ende', 'O.b Müller', 'a_ob'];
    const rows = roll.map((name, index) => ({ name, voterId: `${index}-x` }));
    await account.make(`${base}/voters/batch`, { voters: rows });
    const names = async (path: string, search: string): Promise<string[]> =>
      (await account.show(`${base}/${path}?search=${encodeURIComponent(search)}`)).map(
        ({ name, title }: { name?: string; title?: string }) => name ?? title,
      );
    expect(await names('voters', 'ob')).toEqual(['Bob Oberg', 'a_ob']);
    expect(await names('voters', 'MÜ')).toEqual(['O.b Müller']);
    expect(await names('voters', 'obe')).toEqual(['Bob Oberg']);
    expect(await names('candidates', 'a')).toEqual(['Ada']);
    expect(await names('positions', 'lu')).toEqual([]);
    expect(await names('positions', 'lur')).toEqual(['By plurality']);
  });

  test('takes a search over titles, names and visible IDs', async () => {
    const event = await account.event();
    // Drawn ones would hold the name now and then: `ada` is three digits of theirs.
    const [visitorId, another] = ['vi_00000000000000000000000000000001', 'vi_00000000000000000000000000000002'];
    await account.votePoll(event, votesFor(event), visitorId);
    await account.votePoll(event, votesFor(event, 1), another);
    const count = async (search: string): Promise<number> =>
      (await account.show(`/voting-events/${event.id}/votes?search=${search}`)).length;
    expect([await count('ADA'), await count('plurality'), await count(visitorId), await count('nothing')]).toEqual([
      1, 2, 1, 0,
    ]);
    const types = valuesOf(await account.show('/webhook-event-types?search=PAYMENT.'), 'type');
    expect(types).toContain('payment.succeeded');
    expect(types.every((type) => type.startsWith('payment.'))).toBe(true);
  });
});
