import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { generateApiKey, hashApiKey } from '#src/accounts/api-key.ts';
import { loadBallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import { encodeConfiguration } from '#src/ballot-log/configuration.ts';
import { LogSetBack } from '#src/ballot-log/require-undisputed.ts';
import { sequenceLogs } from '#src/ballot-log/seal-ballots.ts';
import { enqueue } from '#src/jobs/queue.ts';
import { foldRolls } from '#src/voters/roll-sum.ts';
import { SEND_VOTER_KEY, voterKeyMail } from '#src/voters/send-voter-key.ts';
import { sealDeps } from '#src/work.ts';
import { createObserverKey, LogReader } from '#test/harness/ballot-log.ts';
import { runCommand } from '#test/harness/command-line.ts';
import { demand, PLURALITY, sealBallots, tendLog, votesFor } from '#test/harness/elections.ts';
import { holdLog } from '#test/harness/hold-log.ts';
import { recipientOf, voterKeyIn } from '#test/harness/mails.ts';
import { CLOSED, moveEnd } from '#test/harness/move-end.ts';
import { eventually, untilTrue } from '#test/harness/test-service.ts';
import { readOverHttp } from '../../verifier/read-service.ts';
import { verifyLog } from '../../verifier/verify-log.ts';
import { type Election, type Member, useForgedElections } from './forged-election.ts';

// Whoever writes to the database, and has no key of the service, makes nobody vote and changes no vote (completions 6.7).

const forged = await useForgedElections();
const { service, account, sql, lines } = forged;
const { openElection, member, keyOf, cast, confirm, codeOf, vote, register, pathOf, read, ballotsOf } = forged;
const { bySql, change, keepRows, check, disputedOf, hasAlarm, expectDisputed, REFUSED, refusalOf } = forged;

/** Three of its six members have voted: the second to the fourth. */
async function openVoted(settings: Parameters<typeof openElection>[0] = {}): Promise<Election> {
  const election = await openElection(settings);
  for (const at of [1, 2, 3]) await vote(election, member(election, at));
  return election;
}

async function setBack(verb: string, { event }: Election) {
  const { code, stdout } = await runCommand(service, ['ballots', 'set-back', verb, '--event', event.code, '--json']);
  const answer = JSON.parse(stdout);
  expect([code, answer.error]).toEqual([0, undefined]);
  return answer;
}

/** Tends the log, besides the service's own job, until the organizer is shown what is waited for. */
const tendUntil = (election: Election, isSo: (event: Awaited<ReturnType<typeof read>>) => boolean) =>
  untilTrue(async () => {
    await tendLog(sealDeps(service.deps), election.event.id, 1).catch(() => undefined);
    return isSo(await read(election));
  });

describe('a member’s row that SQL changed', () => {
  test('gets no key mailed at the address that SQL gave it, and no one votes for the member', async () => {
    const election = await openElection();
    const absent = member(election, 0);
    const thief = `thief-${randomUUID()}@mail.example`;
    await change(`email = '${thief}', email_key = '${thief}'`, election, absent);
    const asked = await account.page(election.event, 'voter-key/request', { email: thief });
    expect(asked.body.data.sent).toBe(true);
    await expectDisputed(election);
    expect(service.mails().filter((mail) => recipientOf(mail) === thief)).toEqual([]);
    // Put back, as if nothing had been: a key is mailed again.
    await change(`email = '${absent.email}', email_key = '${absent.email}'`, election, absent);
    await account.page(election.event, 'voter-key/request', { email: absent.email });
    const key = await eventually(() =>
      service
        .mails()
        .filter((mail) => recipientOf(mail) === absent.email)
        .map(voterKeyIn)
        .find((one) => one !== undefined),
    );
    expect((await cast(election, absent, key)).status).toBe(201);
  });

  test.each([
    ['weighs more', `weight_micro = 9000000`],
    ['stands in a group', `group_id = (SELECT id FROM groups g WHERE g.voting_event_id = voters.voting_event_id)`],
    ['has another voter ID', `voter_id = 'X-1', voter_id_key = 'X-1'`],
    [
      'bears the tag of another member',
      `tag = (SELECT tag FROM voters w WHERE w.voting_event_id = voters.voting_event_id AND w.id <> voters.id LIMIT 1)`,
    ],
    ['bears no tag', `tag = NULL`],
    ['bears an empty tag', `tag = ''`],
  ])(
    'casts nothing where it %s, is shown as disputed, and counts again once it was deleted and added',
    async (_, set) => {
      const election = await openElection();
      await account.make(`${pathOf(election)}/groups`, { name: 'North' });
      const one = member(election, 0);
      const key = await keyOf(election, one);
      const before = await codeOf(election, one, key);
      await change(set, election, one);
      expect(refusalOf(await cast(election, one, key))).toEqual(REFUSED);
      expect((await confirm(election, before)).status).toBe(404);
      const checked = await account.page(election.event, 'voter/check', { email: one.email, voterKey: key });
      expect(checked.body).toEqual({ data: { eligible: false, reason: 'voter_key_invalid' } });
      await expectDisputed(election);
      const path = `${pathOf(election)}/voters`;
      expect(await disputedOf(election)).toEqual([one.id]);
      // What SQL wrote never becomes the service's own word.
      expect(refusalOf(await account.patch(`${path}/${one.id}`, { name: 'Renamed' }))).toEqual(REFUSED);
      expect(refusalOf(await account.post(`${path}/bulk`, { action: 'reject', voterIds: [one.id] }))).toEqual(REFUSED);
      expect(await check(election)).toContain(one.id);
      demand(await account.delete(`${path}/${one.id}`), 202);
      const added = await account.make(path, { name: 'M0', email: one.email });
      await vote(election, added);
      expect(await ballotsOf(election)).toBe(1);
      // What SQL wrote over is not known: a person says that nobody else is missing.
      expect(await check(election)).toContain('missing on the roll');
      await setBack('drop', election);
      await untilTrue(async () => (await check(election)) === undefined);
    },
  );

  test('is not approved by SQL where the organizer approves', async () => {
    const election = await openElection({ voter: { selfRegistration: true, approval: 'manual' } });
    const registered = await register(election);
    await change(`status = 'approved'`, election, registered);
    expect(refusalOf(await cast(election, registered, await keyOf(election, registered)))).toEqual(REFUSED);
    await expectDisputed(election);
  });

  test('is none of the service’s when it was added by SQL, with the tag and the keys of a member', async () => {
    const election = await openElection();
    const one = member(election, 0);
    await keyOf(election, one);
    await bySql(
      election,
      `INSERT INTO voters SELECT (v).* FROM (SELECT jsonb_populate_record(v, '{"id": "vtr_ghost", "email": "g@x.example",
         "email_key": "g@x.example", "voter_id": null, "voter_id_key": null}') AS v
       FROM voters v WHERE voting_event_id = $1 AND id = $2) AS row`,
      one.id,
    );
    await account.page(election.event, 'voter-key/request', { email: 'g@x.example' });
    await expectDisputed(election);
    expect(service.mails().filter((mail) => recipientOf(mail) === 'g@x.example')).toEqual([]);
    const ghost = { id: 'vtr_ghost', email: 'g@x.example' };
    expect(refusalOf(await cast(election, ghost, await keyOf(election, ghost)))).toEqual(REFUSED);
  });

  test('stays behind when its event is copied', async () => {
    const election = await openElection();
    await change('weight_micro = 9000000', election, member(election, 0));
    const copy = await account.make(`${pathOf(election)}/copy`, { title: 'Copy', withVoters: true });
    const done = await eventually(async () => {
      const event = await account.show(`/voting-events/${copy.id}`);
      return event.copy?.done === event.copy?.total ? event : undefined;
    });
    expect(done.copy.total).toBe(6);
    expect(await account.show(`/voting-events/${copy.id}/voters`)).toHaveLength(5);
    await expectDisputed(election);
  });
});

test('no key is mailed to an address that SQL gave while it says that the event is a poll', async () => {
  const election = await openElection();
  const absent = member(election, 0);
  const thief = `thief-${randomUUID()}@mail.example`;
  await change(`email = '${thief}', email_key = '${thief}'`, election, absent);
  // Asked for in an election; the job finds a poll.
  const type = (to: string) => bySql(election, 'UPDATE voting_events SET type = $2 WHERE id = $1', to);
  await type('poll');
  await enqueue(
    service.deps.db,
    SEND_VOTER_KEY,
    voterKeyMail({ id: election.event.id, rehearsalSince: null }, absent.id),
  );
  await untilTrue(() => hasAlarm(election));
  await type('election');
  expect(service.mails().filter((mail) => recipientOf(mail) === thief)).toEqual([]);
  await expectDisputed(election);
});

test('a key that ended with the member’s address opens nothing when SQL puts its row back', async () => {
  const election = await openElection();
  const one = member(election, 0);
  const key = await keyOf(election, one);
  const { rows } = await bySql(election, 'SELECT * FROM voter_keys WHERE voting_event_id = $1');
  const email = `moved-${randomUUID()}@club.example`;
  await account.change(`${pathOf(election)}/voters/${one.id}`, { email });
  for (const row of rows)
    await sql.query('INSERT INTO voter_keys SELECT * FROM jsonb_populate_record(NULL::voter_keys, $1)', [
      { ...row, key_hash: `\\x${row.key_hash.toString('hex')}` },
    ]);
  expect(refusalOf(await cast(election, { ...one, email }, key))).toMatchObject({
    status: 403,
    reason: 'voter_key_invalid',
  });
});

describe('a ballot that waits for its confirmation', () => {
  test('is confirmed for no member but the one who cast it', async () => {
    const election = await openElection();
    const [attacker, absent] = [member(election, 0), member(election, 1)];
    const code = await codeOf(election, attacker, await keyOf(election, attacker));
    await bySql(
      election,
      'UPDATE pending_ballots SET participant = $2, participants = ARRAY[$2] WHERE voting_event_id = $1',
      absent.id,
    );
    expect(refusalOf(await confirm(election, code))).toEqual(REFUSED);
    await expectDisputed(election);
    expect(await ballotsOf(election)).toBe(0);
    demand(await cast(election, absent, await keyOf(election, absent)), 201);
  });

  test('votes for no other member when SQL puts back the earlier ones that it replaced', async () => {
    const election = await openElection();
    const attacker = member(election, 0);
    const key = await keyOf(election, attacker);
    const codes: string[] = [];
    for (const _ of [1, 2, 3]) {
      codes.push(await codeOf(election, attacker, key));
      await keepRows(election, 'pending_ballots');
    }
    for (const [at, code] of codes.slice(0, 2).entries()) {
      const absent = member(election, at + 1);
      await bySql(
        election,
        `INSERT INTO pending_ballots SELECT (jsonb_populate_record(k, jsonb_build_object('participant', $2::text, 'participants', ARRAY[$2::text]))).*
         FROM kept_pending_ballots k WHERE voting_event_id = $1 ORDER BY cast_at OFFSET ${at} LIMIT 1`,
        absent.id,
      );
      expect(refusalOf(await confirm(election, code))).toEqual(REFUSED);
    }
    demand(await confirm(election, codes[2] ?? ''), 200);
    expect(await ballotsOf(election)).toBe(1);
  });
});

test('a claim that SQL gave the token of another one answers nobody with the code of somebody else', async () => {
  const election = await openElection();
  const castAs = async (one: Member, voterKey: string) =>
    service.call(
      'POST',
      `/public/voting-events/${election.event.id}/ballot/cast`,
      { email: one.email, voterKey, votes: votesFor(election.event) },
      { key: account.vote, headers: { 'Idempotency-Key': `${election.event.id}-${one.id}` } },
    );
  const [attacker, other] = [member(election, 0), member(election, 1)];
  const [own, theirs] = [await keyOf(election, attacker), await keyOf(election, other)];
  demand(await castAs(attacker, own), 201);
  const code = demand(await castAs(other, theirs), 201).confirmationCode;
  await bySql(
    election,
    'UPDATE idempotency_keys SET claim = (SELECT max(claim) FROM idempotency_keys WHERE voting_event_id = $1) WHERE voting_event_id = $1',
  );
  const repeated = [await castAs(attacker, own), await castAs(other, theirs)];
  expect(repeated.map(({ status }) => status)).toEqual([201, 201]);
  expect(repeated[0]?.body.data.confirmationCode).not.toBe(code);
  expect(repeated[0]?.body.data.confirmationCode).not.toBe(repeated[1]?.body.data.confirmationCode);
});

describe('a participation that SQL wrote', () => {
  test('is found, and the result is never final, where somebody votes twice and another member is said to have voted', async () => {
    const election = await openVoted({ endsAt: Date.now() + 3_600_000 });
    const [attacker, absent] = [member(election, 0), member(election, 5)];
    await vote(election, attacker);
    expect(await check(election)).toBeUndefined();
    await bySql(
      election,
      'UPDATE participation SET participant = $3 WHERE voting_event_id = $1 AND participant = $2',
      attacker.id,
      absent.id,
    );
    await bySql(election, 'DELETE FROM undisclosed_voters WHERE voting_event_id = $1 AND voter_id = $2', attacker.id);
    await vote(election, attacker, 1);
    expect(await check(election)).toContain('took part');
    await moveEnd(service.deps, election.event.id, CLOSED);
    // By this turn or by that of the service's own job.
    await tendUntil(election, ({ disputed }) => disputed === true);
    expect(await read(election)).toMatchObject({ disputed: true, finalAt: null });
  });
});

/** So many ballots stand in the box, and no fault keeps others from it. */
async function sealed({ event }: Election, ballots: number): Promise<void> {
  await untilTrue(async () => {
    await tendLog(sealDeps(service.deps), event.id, 1);
    const { rows } = await bySql({ event }, 'SELECT ballots FROM ballot_logs WHERE voting_event_id = $1');
    return Number(rows[0].ballots) === ballots;
  });
}

describe('a ballot that SQL puts into the queue', () => {
  /** Of three ballots and one of SQL's, in the box or not. */
  async function expectThree({ event }: Election): Promise<void> {
    const results = await account.show(`/voting-events/${event.id}/results`);
    expect(results).toMatchObject({ disputed: true, stats: { ballots: 3 } });
  }

  const FORGED = [
    ['in the clear', "decode('01', 'hex') || substr(q.entries, 2)"],
    ['in the form of a poll', "decode('02', 'hex') || substr(q.entries, 2)"],
    ['as a copy of one that waits', 'q.entries'],
  ] as const;

  /** With a participation beside, so that the figures agree. */
  async function forge(election: Election, entries: string): Promise<void> {
    const { rowCount } = await bySql(
      election,
      `WITH ghost AS (INSERT INTO participation (voting_event_id, participant) VALUES ($1, $2))
       INSERT INTO ballot_queue SELECT q.voting_event_id, 'bal_' || md5(q.id), sha256(q.code_tag), ${entries}, q.weight_micro, q.salt,
         q.sealed_time, q.voter_id, q.country_code, q.submitted_at, q.due_at FROM ballot_queue q WHERE voting_event_id = $1 LIMIT 1`,
      member(election, 5).id,
    );
    expect(rowCount).toBe(1);
  }

  test.each(FORGED)(
    '%s is set back: the others are sealed, the event is disputed and never final, and its results answer',
    async (_, entries) => {
      const election = await openVoted({ endsAt: Date.now() + 3_600_000 });
      await forge(election, entries);
      await expectThree(election);
      await moveEnd(service.deps, election.event.id, CLOSED);
      await sealed(election, 3);
      await expectDisputed(election);
      expect((await read(election)).finalAt).toBeNull();
      await expectThree(election);
      expect(await check(election)).toBe('waiting ballots are set back');
    },
  );

  test('is dropped by the operator: the log says how many, and the result becomes final', async () => {
    const election = await openVoted({ endsAt: Date.now() + 3_600_000 });
    await forge(election, FORGED[0][1]);
    await moveEnd(service.deps, election.event.id, CLOSED);
    await sealed(election, 3);
    const { ballots } = await setBack('list', election);
    expect(ballots).toHaveLength(1);
    expect(await setBack('drop', election)).toEqual({
      votingEventId: election.event.id,
      ballots: 1,
      kept: 0,
      participations: 1,
    });
    await eventually(async () => {
      await tendLog(sealDeps(service.deps), election.event.id, 1);
      return (await read(election)).finalAt ?? undefined;
    });
    expect((await read(election)).disputed).toBe(false);
    const audit = await account.show(`${pathOf(election)}/audit`);
    expect(audit.filter(({ action }: { action: string }) => action === 'ballots.set_back_dropped')).toHaveLength(1);
    const key = await createObserverKey(service, account, election.event.id);
    const overHttp = readOverHttp(`http://127.0.0.1:${service.port}`, key);
    const { checks } = await verifyLog({ read: overHttp, event: election.event.id });
    expect(checks.filter(({ status }) => status === 'failed')).toEqual([]);
    expect(checks.find(({ name }) => name === 'confirmed')?.detail).toContain('the operator dropped 1 waiting');
  });

  test('counts for nobody where it was cast and never confirmed', async () => {
    const election = await openVoted({ endsAt: Date.now() + 3_600_000 });
    await codeOf(election, member(election, 4), await keyOf(election, member(election, 4)), 1);
    await sealBallots(service, election.event.id, 4);
    // One that counts makes room for it, so that the figures agree.
    await bySql(
      election,
      `WITH gone AS (DELETE FROM ballot_queue WHERE voting_event_id = $1 AND id = (
         SELECT min(id) FROM ballot_queue WHERE voting_event_id = $1) RETURNING *)
       INSERT INTO ballot_queue SELECT g.voting_event_id, g.id, p.code_tag, p.entries, p.weight_micro, g.salt, substr(g.sealed_time, 1, 12),
         NULL, NULL, NULL, g.due_at FROM gone g JOIN pending_ballots p ON p.voting_event_id = $1`,
    );
    expect(await check(election)).toContain('not as the service wrote it');
    await moveEnd(service.deps, election.event.id, CLOSED);
    await sealed(election, 2);
    await expectDisputed(election);
  });

  test('is set back where it stands in the box already', async () => {
    const election = await openVoted();
    const putBack = await keepRows(election, 'ballot_queue');
    await sealBallots(service, election.event.id, 1);
    await putBack();
    await vote(election, member(election, 4));
    await moveEnd(service.deps, election.event.id, CLOSED);
    await sealed(election, 4);
    await expectDisputed(election);
    expect(await setBack('drop', election)).toMatchObject({ ballots: 3 });
  });

  test('waits again where SQL only marked a ballot of the service', async () => {
    const election = await openVoted({ endsAt: Date.now() + 3_600_000 });
    // Otherwise the next turn of the log may unmark them before the check comes.
    const release = await holdLog(service.deps, election.event.id);
    await bySql(election, 'UPDATE ballot_queue SET set_back = true WHERE voting_event_id = $1');
    expect(await check(election)).toBe('waiting ballots are set back');
    const dropped = setBack('drop', election);
    // It waits in line for the log, where a turn of the service only tries.
    await untilTrue(async () => (await sql.query('SELECT 1 FROM pg_locks WHERE NOT granted')).rows.length > 0);
    await release();
    expect(await dropped).toMatchObject({ ballots: 0, kept: 3 });
    await moveEnd(service.deps, election.event.id, CLOSED);
    await sealed(election, 3);
  });
});

describe('what SQL says of the ballot', () => {
  const SWAPPED = `UPDATE candidates c SET name = o.name FROM candidates o
    WHERE c.voting_event_id = $1 AND o.voting_event_id = $1 AND o.id <> c.id`;

  test.each([
    ['the names of candidates', SWAPPED],
    ['the numbers of candidates', SWAPPED.replace('name = o.name', 'number = 7 - o.number')],
    ['the seats', 'UPDATE positions SET seats = 2 WHERE voting_event_id = $1'],
    ['the method', "UPDATE positions SET voting_method = 'approval', max_selections = 2 WHERE voting_event_id = $1"],
    [
      'a candidate, withdrawn and gone',
      'DELETE FROM candidates WHERE voting_event_id = $1 AND name = (SELECT min(name) FROM candidates WHERE voting_event_id = $1)',
    ],
  ])('%s: no ballot is cast or confirmed by it, and the service signs nothing', async (_, set) => {
    const election = await openVoted();
    await sealBallots(service, election.event.id, 1);
    const key = await keyOf(election, member(election, 0));
    const before = await codeOf(election, member(election, 0), key);
    const leaves = async () =>
      (await bySql(election, 'SELECT size FROM ballot_logs WHERE voting_event_id = $1')).rows[0].size;
    const size = await leaves();
    await bySql(election, set);
    await bySql(election, 'UPDATE voting_events SET paper_version = paper_version + 1 WHERE id = $1');
    service.deps.events.forgetAll();
    expect(refusalOf(await cast(election, member(election, 0), key))).toEqual(REFUSED);
    expect(refusalOf(await confirm(election, before))).toEqual(REFUSED);
    await expectDisputed(election);
    await expect(tendLog(sealDeps(service.deps), election.event.id, 1)).rejects.toThrow(LogSetBack);
    expect(await leaves()).toBe(size);
  });

  test('is refused also where the head of the log says so', async () => {
    const election = await openVoted();
    await sealBallots(service, election.event.id, 1);
    await bySql(election, SWAPPED);
    const forged = await loadBallotDefinition(service.deps.db, election.event.id);
    if (forged === undefined) throw new Error('the event is there');
    await bySql(
      election,
      `WITH e AS (UPDATE voting_events SET paper_version = paper_version + 1 WHERE id = $1)
       UPDATE ballot_logs SET config_hash = $2, paper_version = paper_version + 1, confirmed_at_change = NULL WHERE voting_event_id = $1`,
      (await encodeConfiguration(forged)).hash,
    );
    service.deps.events.forgetAll();
    const key = await keyOf(election, member(election, 0));
    expect(refusalOf(await cast(election, member(election, 0), key))).toEqual(REFUSED);
    await expectDisputed(election);
    expect(await check(election)).toBe('the log says another configuration than its head');
  });

  test('is refused also where it rewrites what the service keeps of the log’s configurations', async () => {
    const election = await openVoted();
    await sealBallots(service, election.event.id, 1);
    const client = await sql.connect();
    try {
      await client.query('SET session_replication_role = replica');
      await client.query(SWAPPED, [election.event.id]);
      const { rowCount } = await client.query(
        `UPDATE log_configurations l SET content = jsonb_set(l.content::jsonb, '{name}', to_jsonb(c.name))::text
         FROM candidates c WHERE l.voting_event_id = $1 AND c.voting_event_id = $1 AND c.id = l.part_id`,
        [election.event.id],
      );
      expect(rowCount).toBe(2);
      await client.query('SET session_replication_role = DEFAULT');
      await client.query('UPDATE voting_events SET paper_version = paper_version + 1 WHERE id = $1', [
        election.event.id,
      ]);
    } finally {
      client.release(true);
    }
    service.deps.events.forgetAll();
    const key = await keyOf(election, member(election, 0));
    expect(refusalOf(await cast(election, member(election, 0), key))).toEqual(REFUSED);
    await expectDisputed(election);
  });
});

describe('what SQL says of the event', () => {
  test('keeps nobody from casting: the end that the log says comes back', async () => {
    const election = await openElection({ endsAt: Date.now() + 3_600_000 });
    await vote(election, member(election, 0));
    await sealBallots(service, election.event.id, 2);
    await bySql(election, 'UPDATE voting_events SET closed_at = now_ms() - 1 WHERE id = $1');
    await sequenceLogs(sealDeps(service.deps)).catch(() => undefined);
    await untilTrue(async () => (await read(election)).status === 'open');
    expect(hasAlarm(election, 'ballot_log_changed', 'ends')).toBe(true);
    await vote(election, member(election, 1));
  });

  test('ends no election before the end that its log says', async () => {
    const election = await openElection({ endsAt: Date.now() + 3_600_000 });
    await vote(election, member(election, 0));
    // The one ballot waits for the close.
    await sealBallots(service, election.event.id, 2);
    await bySql(election, 'UPDATE voting_events SET closed_at = now_ms() - 960000 WHERE id = $1');
    await bySql(election, 'UPDATE ballot_logs SET ends_at = now_ms() - 960000 WHERE voting_event_id = $1');
    await bySql(
      election,
      `UPDATE ballot_logs l SET ends_at = e.closed_at FROM voting_events e WHERE e.id = l.voting_event_id AND e.id = $1`,
    );
    await tendUntil(election, ({ disputed }) => disputed === true);
    expect((await read(election)).finalAt).toBeNull();
  });

  test.each([
    ['the close', 'closed_at = NULL'],
    ['the close, with a new version', 'closed_at = NULL, paper_version = paper_version + 1'],
    ['the end', 'closed_at = NULL, ends_at = now_ms() + 3600000'],
    ['the moment of the close', 'closed_at = now_ms(), paper_version = paper_version + 1'],
    ['all that says it', 'closed_at = NULL, ends_at = NULL, opened_at = now_ms(), starts_at = NULL'],
  ])('takes no ballot after the end, where SQL moves %s for a moment', async (_, set) => {
    const election = await openElection();
    const [late, waiting] = [member(election, 0), member(election, 1)];
    const key = await keyOf(election, late);
    const code = await codeOf(election, waiting, await keyOf(election, waiting));
    await vote(election, member(election, 2));
    await sealBallots(service, election.event.id, 1);
    await moveEnd(service.deps, election.event.id, CLOSED);
    await sql.query('CREATE TABLE IF NOT EXISTS events_before AS SELECT * FROM voting_events LIMIT 0');
    await bySql(election, 'INSERT INTO events_before SELECT * FROM voting_events WHERE id = $1');
    await bySql(election, `UPDATE voting_events SET ${set} WHERE id = $1`);
    service.deps.events.forget(election.event.id);
    for (const answer of [await cast(election, late, key), await confirm(election, code)])
      expect([500, 403]).toContain(answer.status);
    await bySql(
      election,
      `UPDATE voting_events e SET closed_at = b.closed_at, ends_at = b.ends_at, opened_at = b.opened_at, starts_at = b.starts_at
       FROM events_before b WHERE b.id = e.id AND e.id = $1`,
    );
    await bySql(election, 'UPDATE voting_events SET paper_version = paper_version + 1 WHERE id = $1');
    await tendUntil(election, ({ finalAt }) => finalAt !== null);
    const path = `${pathOf(election)}/results`;
    expect((await account.show(path)).stats.ballots).toBe(1);
  });

  test('opens an election before its start for nobody who may not vote, and the first leaf says when it began', async () => {
    const election = await openElection({}, false);
    const startsAt = Date.now() + 3_600_000;
    await account.change(pathOf(election), { startsAt });
    const [one, two] = [member(election, 0), member(election, 1)];
    await bySql(election, 'UPDATE voting_events SET starts_at = now_ms() - 1000 WHERE id = $1');
    service.deps.events.forget(election.event.id);
    expect((await cast(election, two, 'ABCD-EFGH-JKMN-PQRT')).status).toBe(403);
    demand(await confirm(election, await codeOf(election, one, await keyOf(election, one))), 200);
    await sealBallots(service, election.event.id, 1);
    const [first] = await new LogReader(service, election.event.id, account.vote).leaves();
    expect(first).toMatchObject({ t: 'open' });
    expect(Math.abs(Number(first?.['at']) - Date.now())).toBeLessThan(600_000);
  });

  test('hides no participation behind an election without a key', async () => {
    const election = await openElection();
    await vote(election, member(election, 0));
    await sealBallots(service, election.event.id);
    await bySql(election, 'UPDATE voting_events SET ballot_key = NULL WHERE id = $1');
    expect(await check(election)).toBe('the event is not as the service wrote it');
  });
});

describe('a roll that SQL took something from, or put something back into', () => {
  const MISSING = 'voters are missing on the roll, or stand there as they were before';

  /** With a log, and everything that was noted folded. */
  async function openFolded(): Promise<Election> {
    const election = await openElection();
    await sealBallots(service, election.event.id, 1);
    await foldRolls(service.deps);
    expect(await check(election)).toBeUndefined();
    return election;
  }

  test.each([
    ['a member who did not vote', 'DELETE FROM voters WHERE voting_event_id = $1 AND id = $2'],
    ['a member, marked as deleted', 'UPDATE voters SET deleted_at = 1 WHERE voting_event_id = $1 AND id = $2'],
    [
      'the figures of the electorate',
      "UPDATE roll_figures SET heads = heads + 1 WHERE voting_event_id = $1 AND status = 'approved' AND $2 <> ''",
    ],
  ])('is found without %s: a referendum of its electorate is not final', async (_, change) => {
    const election = await openFolded();
    await bySql(election, change, member(election, 5).id);
    expect(await check(election)).toBe(
      change.includes('figures') ? 'the electorate is another one than the roll' : MISSING,
    );
  });

  test('is found with an earlier row of a voter, its tag and all', async () => {
    const election = await openFolded();
    const one = member(election, 0);
    const putBack = await keepRows(election, 'voters', one);
    await account.change(pathOf(election, one), { email: `new-${one.email}` });
    await bySql(election, 'DELETE FROM voters WHERE voting_event_id = $1 AND id = $2', one.id);
    await putBack();
    expect(await check(election)).toBe(MISSING);
  });

  test('is found with a deleted voter who came back, and with the note of the deletion taken away', async () => {
    const election = await openFolded();
    const one = member(election, 1);
    const putBack = await keepRows(election, 'voters', one);
    demand(await account.delete(pathOf(election, one)), 202);
    await foldRolls(service.deps);
    await untilTrue(async () => {
      const { rowCount } = await bySql(election, 'SELECT 1 FROM voters WHERE voting_event_id = $1 AND id = $2', one.id);
      return rowCount === 0;
    });
    expect(await check(election)).toBeUndefined();
    await putBack();
    expect(await check(election)).toBe(MISSING);
  });

  test('is found where SQL repeats a note of the service, or writes one', async () => {
    const election = await openFolded();
    const one = member(election, 2);
    await account.change(pathOf(election, one), { weight: 5 });
    await keepRows(election, 'roll_sums');
    await account.change(pathOf(election, one), { weight: 1 });
    await foldRolls(service.deps);
    expect(await check(election)).toBeUndefined();
    await change('weight_micro = 5000000', election, one);
    // But for the sum of all that is folded, which stands there already.
    await bySql(election, "INSERT INTO roll_sums SELECT * FROM kept_roll_sums WHERE voting_event_id = $1 AND id <> ''");
    await foldRolls(service.deps);
    await expectDisputed(election);
  });

  test('is taken as it stands by the operator, who looked at it', async () => {
    const election = await openFolded();
    await bySql(election, 'DELETE FROM voters WHERE voting_event_id = $1 AND id = $2', member(election, 5).id);
    expect(await check(election)).toBe(MISSING);
    await setBack('drop', election);
    expect(await check(election)).toBeUndefined();
  });

  test('adds up through all that organizers and voters do with it', async () => {
    const election = await openElection({ voter: { selfRegistration: true, approval: 'automatic' } });
    const base = pathOf(election);
    const right = async () => {
      expect(await check(election)).toBeUndefined();
      await foldRolls(service.deps);
      expect(await check(election)).toBeUndefined();
    };
    await sealBallots(service, election.event.id, 1);
    await right();
    const rows = Array.from({ length: 7 }, (_, at) => ({
      name: `I${at}`,
      email: `i${at}-${randomUUID()}@club.example`,
    }));
    demand(await account.post(`${base}/voters/import`, { mode: 'partial', voters: [...rows, rows[0]] }), 200);
    await right();
    const [a, b, c] = [member(election, 0), member(election, 1), member(election, 2)];
    await account.change(pathOf(election, a), { weight: 2, email: `w-${a.email}` });
    demand(await account.post(`${base}/voters/bulk`, { action: 'reject', voterIds: [b.id, c.id] }), 200);
    demand(await account.delete(pathOf(election, c)), 202);
    await right();
    const group = await account.make(`${base}/groups`, { name: 'East' });
    await account.change(pathOf(election, b), { groupId: group.id });
    demand(await account.delete(`${base}/groups/${group.id}`), 202);
    await right();
    const registered = await register(election);
    await right();
    await vote(election, registered);
    await right();
  });

  test('adds up through a rehearsal', async () => {
    const settings = { type: 'election', voter: { selfRegistration: true, approval: 'automatic' } };
    const event = await account.event(settings, PLURALITY, false);
    const election = { event, members: [] };
    const base = `/voting-events/${event.id}`;
    await account.change(base, { startsAt: Date.now() + 3_600_000 });
    const [kept, renamed] = [await register(election), await register(election)];
    await account.change(base, { status: 'rehearsal' });
    await vote(election, renamed);
    await account.change(pathOf(election, renamed), { name: 'Renamed' });
    const [come, rejected, deleted] = [await register(election), await register(election), await register(election)];
    await vote(election, come);
    demand(await account.post(`${base}/voters/bulk`, { action: 'reject', voterIds: [rejected.id, kept.id] }), 200);
    demand(await account.delete(pathOf(election, deleted)), 202);
    await account.make(`${base}/voters`, { name: 'Stays', email: `s-${randomUUID()}@club.example` });
    await foldRolls(service.deps);
    await account.change(base, { status: 'draft' });
    await account.change(base, { status: 'open' });
    await sealBallots(service, event.id, 1);
    expect(await check(election)).toBeUndefined();
    await vote(election, renamed);
    expect(await check(election)).toBeUndefined();
  });
});

describe('an honest voter whom a first key approved', () => {
  const REGISTERED = { voter: { selfRegistration: true, approval: 'automatic' } };

  test('votes on when the organizer approves by hand from then on', async () => {
    const election = await openElection(REGISTERED);
    const [checked, cast1] = [await register(election), await register(election)];
    const key = await keyOf(election, checked);
    const answer = await account.page(election.event, 'voter/check', { email: checked.email, voterKey: key });
    expect(answer.body.data.eligible).toBe(true);
    const code = await codeOf(election, cast1, await keyOf(election, cast1));
    await account.change(pathOf(election), { voter: { approval: 'manual' } });
    demand(await confirm(election, code), 200);
    demand(await confirm(election, await codeOf(election, checked, key)), 200);
    expect(await check(election)).toBeUndefined();
  });

  test('is renamed in a rehearsal, waits again after it, and is approved by hand', async () => {
    const event = await account.event({ type: 'election', ...REGISTERED }, PLURALITY, false);
    const path = `/voting-events/${event.id}`;
    const election = { event, members: [] };
    await account.change(path, { startsAt: Date.now() + 3_600_000 });
    const one = await register(election);
    await account.change(path, { status: 'rehearsal' });
    await vote(election, one);
    await account.change(`${path}/voters/${one.id}`, { name: 'Renamed' });
    await account.change(path, { status: 'draft' });
    await account.change(path, { voter: { approval: 'manual' } });
    await account.change(`${path}/voters/${one.id}`, { status: 'approved' });
    await account.change(path, { status: 'open' });
    await vote(election, one);
    expect((await read(election)).disputed).toBe(false);
  });
});

describe('who may change an election', () => {
  const addMember = (key: string, election: Election) =>
    service.call('POST', `${pathOf(election)}/voters`, { name: 'Ghost', email: 'ghost@mail.example' }, { key });

  test('is not an API key that SQL inserted, or whose account or scopes it changed', async () => {
    const election = await openElection();
    const key = 'INSERT INTO api_keys SELECT (jsonb_populate_record(k, jsonb_build_object';
    const other = await service.account();
    const made = generateApiKey(['read', 'write']);
    await sql.query(
      `${key}('id', 'key_x' || k.id, 'hash', $2::text))).* FROM api_keys k WHERE account_id = $1 AND 'write' = ANY (scopes)`,
      [account.id, `\\x${hashApiKey(made).toString('hex')}`],
    );
    expect(refusalOf(await addMember(made, election))).toEqual(REFUSED);
    await sql.query('UPDATE api_keys SET account_id = $1 WHERE account_id = $2', [account.id, other.id]);
    expect(refusalOf(await addMember(other.write, election))).toEqual(REFUSED);
    expect(lines.some(({ alarm, key: id }) => alarm === 'rows_disagree' && String(id).startsWith('key_x'))).toBe(true);
  });

  test('is no account that SQL gave the event to, or shared it with', async () => {
    const election = await openElection();
    const other = await service.account();
    const move = (to: string) => bySql(election, 'UPDATE voting_events SET account_id = $2 WHERE id = $1', to);
    await move(other.id);
    expect(refusalOf(await addMember(other.write, election))).toEqual(REFUSED);
    await move(account.id);
    await expectDisputed(election);
    await bySql(
      election,
      `INSERT INTO event_invites (voting_event_id, id, email, email_key, role, token_hash, account_id, accepted_at, tag, expires_at, created_at)
       VALUES ($1, 'inv_x', 'x@mail.example', 'x@mail.example', 'editor', sha256('x'), $2, 1, sha256('x'), 9e15, 1)`,
      other.id,
    );
    expect((await addMember(other.write, election)).status).toBe(404);
    await bySql(election, `UPDATE event_invites SET account_id = NULL, accepted_at = NULL WHERE voting_event_id = $1`);
    const accepted = await service.call('POST', '/invites/accept', { token: 'x' }, { key: other.write });
    expect(accepted.status).toBe(500);
    expect((await addMember(account.write, election)).status).toBe(201);
  });

  test('are no strangers who register because SQL allowed it', async () => {
    const election = await openElection();
    // Its first leaf is not written under what SQL says.
    await sealBallots(service, election.event.id, 1);
    await bySql(election, 'UPDATE voting_events SET voter_self_registration = true WHERE id = $1');
    service.deps.events.forgetAll();
    const registered = await account.page(election.event, 'register/voter', { name: 'Ghost', email: 'g@mail.example' });
    expect(refusalOf(registered)).toEqual(REFUSED);
    await expectDisputed(election);
    await sealBallots(service, election.event.id, 1);
    expect(await check(election)).toContain('the event is not as');
    const { rows } = await bySql(
      election,
      'SELECT 1 FROM voters WHERE voting_event_id = $1 AND email_key = $2',
      'g@mail.example',
    );
    expect(rows).toEqual([]);
  });

  test('brings no voters along by a copy that SQL ordered', async () => {
    const election = await openElection();
    const source = await openElection();
    await bySql(
      election,
      `INSERT INTO roll_copies (voting_event_id, source_id, groups, copied_to, key_id, tag)
       VALUES ($1, $2, '[]', '', 'key_x', sha256('x'))`,
      source.event.id,
    );
    await enqueue(service.deps.db, { name: 'copy_roll' }, { eventId: election.event.id }, {});
    await expectDisputed(election);
    const { rows } = await bySql(election, 'SELECT count(*)::int AS voters FROM voters WHERE voting_event_id = $1');
    expect(rows).toEqual([{ voters: 6 }]);
  });

  test('sends no voter key to a page that SQL put in', async () => {
    const election = await openElection({ votingPageUrl: 'https://vote.club.example/#{voterKey}' });
    await bySql(
      election,
      `UPDATE voting_events SET voting_page_url = 'https://thief.example/#{voterKey}' WHERE id = $1`,
    );
    service.deps.events.forgetAll();
    const { email } = member(election, 0);
    const asked = await account.page(election.event, 'voter-key/request', { email });
    expect(asked.body.data.sent).toBe(true);
    const checked = await account.page(election.event, 'voter/check', { email, voterKey: 'AAAA-AAAA-AAAA-AAAA' });
    expect(checked.body).toEqual({ data: { eligible: false, reason: 'voter_key_invalid' } });
    await expectDisputed(election);
    expect(service.mails().filter((mail) => recipientOf(mail) === email)).toEqual([]);
  });
});
