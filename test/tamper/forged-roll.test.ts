import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { enqueue } from '#src/jobs/queue.ts';
import { expireRegistrations } from '#src/voters/expire-registrations.ts';
import { MAIL_REGISTRATION } from '#src/voters/mail-registration.ts';
import { foldRolls } from '#src/voters/roll-sum.ts';
import { demand, sealBallots } from '#test/harness/elections.ts';
import { recipientOf } from '#test/harness/mails.ts';
import { eventually, untilTrue } from '#test/harness/test-service.ts';
import { useForgedElections } from './forged-election.ts';

// What decides of a voter is what the service wrote: name, identity, weight, group, status and source (completions 6.7).

const forged = await useForgedElections();
const { service, account, openElection, member, keyOf, cast, confirm, codeOf, vote, register, pathOf } = forged;
const { bySql, change, keepRows, statusOf, check, disputedOf, expectDisputed, REFUSED, refusalOf } = forged;

const REGISTERED = { voter: { selfRegistration: true, approval: 'automatic' } };

describe('the status of a voter', () => {
  test('is approved by no word of SQL, where a first key would approve', async () => {
    const election = await openElection(REGISTERED);
    await sealBallots(service, election.event.id, 1);
    const one = await register(election);
    await change(`status = 'approved', approved_by_key = true`, election, one);
    expect(await check(election)).toContain(one.id);
    expect(await disputedOf(election)).toEqual([one.id]);
    expect(refusalOf(await cast(election, one, await keyOf(election, one)))).toEqual(REFUSED);
    await expectDisputed(election);
  });

  test('is not taken back by SQL where the organizer approved', async () => {
    const election = await openElection(REGISTERED);
    await sealBallots(service, election.event.id, 1);
    const one = member(election, 0);
    await change(`status = 'pending'`, election, one);
    expect(await check(election)).toContain(one.id);
    expect(refusalOf(await cast(election, one, await keyOf(election, one)))).toEqual(REFUSED);
  });

  test('is written by the program where a first key approves, and by no function of the database', async () => {
    const election = await openElection(REGISTERED);
    const [first, second] = [await register(election), await register(election)];
    await keyOf(election, second);
    await bySql(election, 'SELECT use_key($1, $2)', second.id);
    expect(await statusOf(election, second)).toBe('pending');
    const code = await codeOf(election, first, await keyOf(election, first));
    expect(await statusOf(election, first)).toBe('approved');
    demand(await confirm(election, code), 200);
    await sealBallots(service, election.event.id);
    expect(await check(election)).toBeUndefined();
  });

  test('follows a cast whose process ended before it was written', async () => {
    const election = await openElection(REGISTERED);
    const one = await register(election);
    const key = await keyOf(election, one);
    const before = await bySql(election, 'SELECT tag FROM voters WHERE voting_event_id = $1 AND id = $2', one.id);
    const code = await codeOf(election, one, key);
    // As the cast's own statement left it.
    await bySql(
      election,
      `UPDATE voters SET status = 'pending', approved_by_key = false, tag = $3 WHERE voting_event_id = $1 AND id = $2`,
      one.id,
      before.rows[0].tag,
    );
    demand(await confirm(election, code), 200);
    expect(await statusOf(election, one)).toBe('approved');
  });
});

describe('a row of the roll', () => {
  test('is shown as disputed where SQL swapped names', async () => {
    const election = await openElection();
    const [a, b] = [member(election, 0), member(election, 1)];
    await change(`name = 'M1'`, election, a);
    await change(`name = 'M0'`, election, b);
    expect((await disputedOf(election)).sort()).toEqual([a.id, b.id].sort());
    expect(refusalOf(await cast(election, a, await keyOf(election, a)))).toEqual(REFUSED);
  });

  test.each([
    ['another source', `source = 'registration'`],
    ['the source of a poll, without a tag', `source = 'poll', tag = NULL`],
    ['another spelling of its address', `email = upper(email)`],
    ['another spelling of its voter ID', `voter_id = 'x-1'`],
  ])('is none of the service’s with %s', async (_, set) => {
    const election = await openElection();
    await sealBallots(service, election.event.id, 1);
    const one = member(election, 0);
    await change(set, election, one);
    expect(await disputedOf(election)).toEqual([one.id]);
    expect(await check(election)).toContain(one.id);
    expect(refusalOf(await account.patch(pathOf(election, one), { name: 'Other' }))).toEqual(REFUSED);
    expect(refusalOf(await cast(election, one, await keyOf(election, one)))).toEqual(REFUSED);
  });

  test('casts nothing once SQL took it out of its group, and is found with a former group', async () => {
    const election = await openElection();
    await sealBallots(service, election.event.id, 1);
    const group = await account.make(`${pathOf(election)}/groups`, { name: 'North' });
    const [out, back] = [member(election, 0), member(election, 1)];
    for (const one of [out, back]) await account.change(pathOf(election, one), { groupId: group.id });
    const putBack = await keepRows(election, 'voters', back);
    await account.change(pathOf(election, back), { groupId: null });
    await foldRolls(service.deps);
    expect(await check(election)).toBeUndefined();
    await change('group_id = NULL', election, out);
    expect(refusalOf(await cast(election, out, await keyOf(election, out)))).toEqual(REFUSED);
    await change(`group_id = '${group.id}'`, election, out);
    expect(await check(election)).toBeUndefined();
    await bySql(election, 'DELETE FROM voters WHERE voting_event_id = $1 AND id = $2', back.id);
    await putBack();
    expect(await check(election)).toBe('voters are missing on the roll, or stand there as they were before');
  });

  test('leaves a group that is deleted, by the program, and votes on', async () => {
    const election = await openElection();
    await sealBallots(service, election.event.id, 1);
    const path = `${pathOf(election)}/groups`;
    const group = await account.make(path, { name: 'South' });
    const one = member(election, 0);
    await account.change(pathOf(election, one), { groupId: group.id });
    demand(await account.delete(`${path}/${group.id}`), 202);
    await untilTrue(async () => (await account.show(pathOf(election, one))).groupId === null);
    expect(await check(election)).toBeUndefined();
    await vote(election, one);
    expect(await disputedOf(election)).toEqual([]);
  });
});

describe('a registration', () => {
  test('whose address SQL put in gets no mail, nor its time', async () => {
    const election = await openElection(REGISTERED);
    const one = await register(election);
    const thief = `t-${randomUUID()}@mail.example`;
    await eventually(async () => service.mails().find((mail) => recipientOf(mail) === one.email));
    await change(`email = '${thief}', email_key = '${thief}', confirm_by = NULL`, election, one);
    await enqueue(service.deps.db, MAIL_REGISTRATION, { eventId: election.event.id, voterId: one.id });
    await expectDisputed(election);
    expect(service.mails().filter((mail) => recipientOf(mail) === thief)).toEqual([]);
    const { rows } = await bySql(
      election,
      'SELECT confirm_by FROM voters WHERE voting_event_id = $1 AND id = $2',
      one.id,
    );
    expect(rows).toEqual([{ confirm_by: null }]);
  });

  test('does not expire because SQL set its time back', async () => {
    const election = await openElection(REGISTERED);
    const one = await register(election);
    await change('confirm_by = 1', election, one);
    await expireRegistrations(service.deps);
    expect((await account.show(pathOf(election, one))).id).toBe(one.id);
  });

  test('that SQL made is none that the service ends in its own name', async () => {
    const election = await openElection(REGISTERED);
    const one = await register(election);
    await bySql(
      election,
      `INSERT INTO voters SELECT (v).* FROM (SELECT jsonb_populate_record(v, '{"id": "vtr_0000000000000000", "email": "g@x.example",
         "email_key": "g@x.example", "confirm_by": 1}') AS v FROM voters v WHERE voting_event_id = $1 AND id = $2) AS row`,
      one.id,
    );
    await expireRegistrations(service.deps);
    const audit = await account.show(`${pathOf(election)}/audit`);
    expect(audit.filter(({ action }: { action: string }) => action === 'registrations.expired')).toEqual([]);
    await expectDisputed(election);
  });
});
