import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { createObserverKey } from '#test/harness/ballot-log.ts';
import { demand, finishEvent } from '#test/harness/elections.ts';
import { readMail } from '#test/harness/read-mail.ts';
import { eventually, type TestAnswer, useService } from '#test/harness/test-service.ts';

const service = await useService();
const account = await service.account();

describe('the mask of an address', () => {
  const rows = Array.from({ length: 60 }, (_, index) => ({
    name: `Voter ${index}`,
    voterId: `M-${index}`,
    // Two domains and endings, and names that begin with one of three letters.
    email: `${'xyz'.charAt(index % 3)}${index}@${index % 2 === 0 ? 'quad.museum' : 'wide.aero'}`,
  }));

  async function createRoll(voters: readonly object[]) {
    const event = await account.event({ type: 'election', voter: { requireVoterId: true } });
    if (voters.length > 0) demand(await account.post(`/voting-events/${event.id}/voters/batch`, { voters }), 201);
    return event;
  }
  const maskOf = async (event: { id: string }, voterId: string): Promise<string> => {
    return demand(await account.page(event, 'voter-key/request', { voterId }), 200).maskedEmail;
  };

  test('of an unknown voter ID is made of parts that the roll has, and stays the same', async () => {
    const event = await createRoll(rows);
    const masks = new Set<string>();
    for (let index = 0; index < 40; index += 1) {
      const mask = await maskOf(event, `nobody-${index}`);
      expect(mask).toMatch(/^[xyz]\*\*\*@[qw]\*\*\*\.(museum|aero)$/);
      expect(await maskOf(event, `nobody-${index}`)).toBe(mask);
      masks.add(mask);
    }
    expect(masks.size).toBeGreaterThan(5);
    // No voter has this domain with that ending: each part is of a voter of its own.
    expect([...masks].some((mask) => /q\*\*\*\.aero|w\*\*\*\.museum/.test(mask))).toBe(true);
    expect(await maskOf(event, 'M-1')).toBe('y***@w***.aero');
  });

  test('of a voter without an address is invented as for an unknown one', async () => {
    const event = await createRoll([...rows, { name: 'Nemo', voterId: 'M-none' }]);
    expect(await maskOf(event, 'M-none')).toMatch(/^[xyz]\*\*\*@[qw]\*\*\*\.(museum|aero)$/);
  });

  test('of an empty roll says nothing', async () => {
    expect(await maskOf(await createRoll([]), 'nobody')).toBe('***@***');
  });
});

describe('mails to one address', () => {
  const to = (address: string) => service.mails().filter((mail) => mail.includes(`To: ${address}`));
  const settled = () =>
    eventually(async () => {
      const rows = await service.query('SELECT 1 FROM graphile_worker.jobs WHERE run_at <= now() LIMIT 1');
      return rows.length === 0 ? true : undefined;
    });
  const create = (settings = {}) => account.event({ type: 'election', title: 'Buy now', ...settings });

  test('are counted by address, however often its voter is deleted and made anew, or it is invited', async () => {
    const event = await create();
    const path = `/voting-events/${event.id}`;
    const email = 'victim@strangers.example';
    for (let times = 0; times < 8; times += 1) {
      const voter = demand(await account.post(`${path}/voters`, { name: 'V', email }), 201);
      await service.call('POST', `/public${path}/voter-key/request`, { email }, { key: account.vote });
      await settled();
      await account.delete(`${path}/voters/${voter.id}`);
      const invite = await account.post(`${path}/invites`, { email, role: 'viewer' });
      await settled();
      await account.delete(`${path}/invites/${invite.body.data.id}`);
    }
    expect(to(email)).toHaveLength(5);
    expect(to(email).every((mail) => mail.includes('"Buy now"'))).toBe(true);
  });

  test('hold nothing of a registrant but a plain name, until the address is confirmed', async () => {
    const event = await create({ voter: { selfRegistration: true } });
    const names = [
      'Win at spam.example',
      'Call 555',
      'x@y.example',
      'https://spam',
      'A'.repeat(41),
      'Dr. Anna-Lena O’Neill',
    ];
    for (const [index, name] of names.entries()) {
      const email = `r${index}@strangers.example`;
      demand(await account.page(event, 'register/voter', { name, email }), 201);
      await account.page(event, 'voter-key/request', { email });
    }
    await settled();
    const told = names.map((name, index) => to(`r${index}@strangers.example`).filter((mail) => mail.includes(name)));
    expect(told.slice(0, 5)).toEqual([[], [], [], [], []]);
    // Encoded where it is not ASCII, so that the plain part of it is looked for.
    expect(to('r5@strangers.example').filter((mail) => mail.includes('Hello Dr. Anna-Lena'))).toHaveLength(1);
  });

  test('tell the old address when an organizer changes it, and the change is counted and named', async () => {
    const event = await create();
    const path = `/voting-events/${event.id}`;
    const email = 'absent@strangers.example';
    const { id } = demand(await account.post(`${path}/voters`, { name: 'Ab Sent', email }), 201);
    demand(await account.patch(`${path}/voters/${id}`, { email: 'mine@strangers.example' }), 200);
    demand(await account.patch(`${path}/voters/${id}`, { weight: 2 }), 200);
    await settled();
    expect(to(email)).toHaveLength(1);
    expect(readMail(to(email)[0] ?? '').text).toMatch(/changed the e-mail address/);
    const stats = demand(await account.get(`${path}/stats`), 200);
    expect([stats.identityChanges, stats.rollChanges]).toEqual([1, 1]);
    const audit = demand(await account.get(`${path}/audit?action=voter.identity_changed`), 200);
    expect(audit).toHaveLength(1);
  });
});

describe('results', () => {
  test('carry how often the roll was changed after the opening, in answers, files, and the output of the verifier', async () => {
    const event = await account.event({
      type: 'election',
      results: { visibility: 'published' },
      voter: { selfRegistration: true },
    });
    const path = `/voting-events/${event.id}`;
    const voters: string[] = [];
    for (const name of ['ann', 'ben', 'cat', 'dan']) {
      const body = { name, email: `${name}@strangers.example` };
      voters.push(demand(await account.post(`${path}/voters`, body), 201).id);
    }
    const change = async (index: number, body: object) =>
      demand(await account.patch(`${path}/voters/${voters[index]}`, body), 200);
    await change(0, { email: 'mine@strangers.example' });
    await change(0, { email: 'ann@strangers.example' });
    await change(1, { weight: 2 });
    expect((await account.delete(`${path}/voters/${voters[2]}`)).status).toBe(202);
    await change(3, { status: 'rejected' });
    await finishEvent(service, event.id);
    // Erased once the result is final: every figure stays.
    expect((await account.delete(`${path}/voters/${voters[1]}`)).status).toBe(202);
    const counted = { identityChanges: 2, rollChanges: 3 };
    const own = demand(await account.get(`${path}/results`), 200);
    expect(own.stats).toMatchObject(counted);
    const everybodys = await service.call('GET', `/public${path}/results`, undefined, { key: account.vote });
    expect(demand(everybodys, 200).stats).toMatchObject(counted);
    const download = async (kind: string): Promise<TestAnswer['body']> => {
      const { headers } = await account.get(`${path}/results/${kind}`);
      const { pathname } = new URL(headers.get('location') ?? '');
      return (await service.call('GET', pathname)).body;
    };
    expect((await download('json')).data.stats).toMatchObject(counted);
    const csv: string = await download('csv');
    expect(csv).toMatch(/identityChanges[^\r\n]*\b2\b/);
    expect(csv).toMatch(/rollChanges[^\r\n]*\b3\b/);
    const run = promisify(execFile);
    const base = ['verifier/main.ts', '--base-url', `http://127.0.0.1:${service.port}`, '--event', event.id];
    const env = { ...process.env, VOTING_KEY: await createObserverKey(service, account, event.id) };
    const { stdout } = await run(process.execPath, base, { env });
    expect(stdout).toMatch(/2 changes of a voter's e-mail or voter ID, 3 other changes of the roll/);
    const { stdout: json } = await run(process.execPath, [...base, '--json'], { env });
    expect(JSON.parse(json).rollAfterOpening).toEqual(counted);
  });
});
