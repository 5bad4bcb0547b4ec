import { createHash } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { describe, expect, test } from 'vitest';
import { openCheckpoint } from '#src/ballot-log/checkpoint.ts';
import { listEventsToTend } from '#src/ballot-log/due-repository.ts';
import { ballotCommitment, closeCommitment, hashOfJson } from '#src/ballot-log/leaf.ts';
import { hashLeaf } from '#src/ballot-log/merkle-tree.ts';
import { LogSetBack } from '#src/ballot-log/require-undisputed.ts';
import { voidBallot } from '#src/ballot-log/void-ballot.ts';
import { codeTagOf } from '#src/ballots/waiting-ballot.ts';
import { inTransaction } from '#src/database/client.ts';
import { checkCount } from '#src/results/check-count.ts';
import { EventCounter } from '#src/results/count-event.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import { sealDeps } from '#src/work.ts';
import { demand, refusalOf, valuesOf } from '#test/harness/answers.ts';
import { createObserverKey, LogReader, verifyOverHttp } from '#test/harness/ballot-log.ts';
import { finishEvent, sealBallots, type TestEvent, tendLog } from '#test/harness/elections.ts';
import { setEvent } from '#test/harness/genuine-rows.ts';
import { openLogPromise, verifyConsistency, verifyInclusion } from '#test/harness/read-log-proofs.ts';
import { putIntoBox } from '#test/harness/sealed-box.ts';
import { eventually, untilTrue, useAccount } from '#test/harness/test-service.ts';
import { naiveRoot } from '#test/unit/ballot-log/naive-tree.ts';

const { service, account } = await useAccount();

const PLAN = [
  { votingMethod: 'plurality', candidates: ['Ada', 'Bea', 'Cy'] },
  { votingMethod: 'score', candidates: ['Ada', 'Bea'] },
  { votingMethod: 'ranked_choice', candidates: ['Ada', 'Bea'] },
];

function votesOf(event: TestEvent, choice: number) {
  const [plurality, score, ranked] = event.positions;
  return [
    { positionId: plurality?.id, candidateId: plurality?.candidates[choice % 3] },
    { positionId: score?.id, candidateId: score?.candidates[choice % 2], value: choice % 6 },
    { positionId: ranked?.id, candidateId: ranked?.candidates[choice % 2], rank: 1 },
  ];
}

async function pollWith(ballots: number, settings: Readonly<Record<string, unknown>> = {}) {
  const event = await account.event(settings, PLAN);
  const confirmed: { confirmationCode: string; logPromise: string; salt?: string }[] = [];
  for (let index = 0; index < ballots; index += 1) {
    confirmed.push(await account.votePoll(event, votesOf(event, index)));
  }
  return { event, confirmed, log: logOf(event) };
}

const logOf = ({ id }: { readonly id: string }, key = account.vote) => new LogReader(service, id, key);
const seal = (event: TestEvent) => tendLog(sealDeps(service.deps), event.id, 1);
/** Makes a ballot void by the code that confirmed it. */
const voidBallotOf = (event: TestEvent, code: string) =>
  inTransaction(service.deps.db, (tx) => voidBallot(tx, event.id, codeTagOf(code)));

const hashes = (texts: readonly string[]): Buffer[] => texts.map((text) => Buffer.from(text, 'base64'));

const observerKey = (eventId: string): Promise<string> => createObserverKey(service, account, eventId);

describe('the log of an event', () => {
  test('begins with the opening soon after the event opens, without any ballot', async () => {
    const { log, event } = await pollWith(0);
    const leaves = await eventually(async () => ((await log.checkpoint()).size > 0 ? log.leaves() : undefined));
    expect(leaves).toMatchObject([{ v: 2, t: 'open', e: event.id, roll: null }]);
    const names = ['at', 'closeDue', 'config', 'e', 'end', 'letters', 'roll', 'seed', 't', 'v'];
    expect(Object.keys(leaves[0] ?? {}).sort()).toEqual(names);
  });

  test('of one that is only scheduled is an empty tree, signed all the same; one that is a draft has none', async () => {
    const startsAt = Date.now() + 3_600_000;
    const event = await account.event({ startsAt }, PLAN.slice(0, 1), false);
    const log = logOf(event);
    const { size, rootHash } = await log.checkpoint();
    expect([size, Buffer.from(rootHash)]).toEqual([0, createHash('sha256').digest()]);
    const draft = await account.event({}, PLAN.slice(0, 1), false);
    expect((await logOf(draft).get('checkpoint')).status).toBe(404);
  });

  test('has the root of its leaves, in the signed checkpoint and in the results', async () => {
    const { log, event } = await pollWith(7);
    await sealBallots(service, event.id);
    const { size, rootHash, origin } = await log.checkpoint();
    expect([size, origin]).toEqual([8, `localhost/${event.id}`]);
    const entries = await log.entries(size);
    expect(naiveRoot(entries)).toEqual(Buffer.from(rootHash));
    const results = await account.get(`/voting-events/${event.id}/results`);
    expect(results.body.data.log).toEqual({ size, rootHash: Buffer.from(rootHash).toString('base64'), close: null });
    expect(results.body.data.stats.ballots).toBe(7);
  });

  test('holds fewer than three ballots back while more may come, and takes the last one at the end', async () => {
    const { log, event, confirmed } = await pollWith(2);
    await sealBallots(service, event.id, 3);
    const code = confirmed[0]?.confirmationCode ?? '';
    expect(await log.prove(code)).toEqual({ status: 'queued', index: null, hashes: [], checkpoint: null });
    await finishEvent(service, event.id);
    expect((await log.prove(code)).status).toBe('logged');
  });

  test('takes the queue by itself once 32 ballots wait', async () => {
    const { log } = await pollWith(32);
    const leaves = await eventually(async () => ((await log.checkpoint()).size > 1 ? log.leaves() : undefined));
    expect(leaves.filter(({ t }) => t === 'ballot').length).toBeGreaterThanOrEqual(31);
  });

  test('proves every confirmed ballot to be in, by the promise its voter was given; an unknown code is 404', async () => {
    const { log, event, confirmed } = await pollWith(9);
    await sealBallots(service, event.id);
    const verifier = await log.verifier();
    for (const { confirmationCode, logPromise } of confirmed) {
      const promise = openLogPromise(logPromise, verifier);
      const proof = await log.prove(confirmationCode);
      const { size, rootHash } = openCheckpoint(proof.checkpoint, verifier);
      const shown = { index: proof.index, size, root: rootHash, hashes: hashes(proof.hashes) };
      expect(verifyInclusion({ ...shown, leafHash: promise.leafHash })).toBe(true);
      expect(verifyInclusion({ ...shown, leafHash: hashLeaf(Buffer.from('another')) })).toBe(false);
      expect(promise.origin).toBe(`localhost/${event.id}`);
    }
    const unknown = await account.page(event, 'log/proof', { confirmationCode: 'A'.repeat(26) });
    expect(unknown.status).toBe(404);
  });

  test('shows each earlier size to be the beginning of each later one', async () => {
    const event = await account.event({}, PLAN);
    const log = logOf(event);
    const heads = [];
    for (let round = 0; round < 4; round += 1) {
      for (let index = 0; index < 3; index += 1) await account.votePoll(event, votesOf(event, index));
      await sealBallots(service, event.id);
      heads.push(await log.checkpoint());
    }
    for (const from of heads) {
      for (const to of heads.filter(({ size }) => size >= from.size)) {
        const answer = demand(await log.get(`consistency?from=${from.size}&to=${to.size}`), 200);
        const proof = { from: from.size, to: to.size, fromRoot: from.rootHash, toRoot: to.rootHash };
        expect(verifyConsistency({ ...proof, hashes: hashes(answer.hashes) })).toBe(true);
      }
    }
    for (const query of ['from=0&to=1', 'from=2&to=1', 'from=1&to=99999', 'from=1', 'from=a&to=1', 'from=1&to=1&x=1']) {
      expect((await log.get(`consistency?${query}`)).status).toBe(400);
    }
  });

  test('serves tiles that whoever has a key may keep for ever, and no tile that it does not have', async () => {
    const { log, event } = await pollWith(3);
    await sealBallots(service, event.id);
    for (const path of ['tile/0/000.p/4', 'tile/entries/000.p/4', 'tile/0/000.p/2']) {
      const tile = await log.get(path);
      expect([tile.status, tile.headers.get('cache-control')]).toEqual([200, 'private, max-age=31536000, immutable']);
    }
    const tiles = '0/000 0/000.p/5 0/000.p/0 0/001.p/1 1/000.p/1 0/0 x/000 0/x000/000.p/1 0 0/000.p 99/000';
    for (const path of [...tiles.split(' '), 'entries/000', 'entries/000.p/05']) {
      const absent = await log.get(`tile/${path}`);
      expect([path, absent.status, absent.headers.get('cache-control')]).toEqual([path, 404, 'no-store']);
    }
  });

  test('records what changes while it is open, and a close that commits to the published result', async () => {
    const { log, event } = await pollWith(5, { results: { visibility: 'published' } });
    await sealBallots(service, event.id);
    await account.of(event).change('', { title: 'Another title' });
    await untilTrue(async () => (await log.leaves()).some(({ t }) => t === 'config'));
    await account.of(event).change('', { status: 'closed' });
    await finishEvent(service, event.id);
    const leaves = await log.leaves();
    // The new name, the close by status, and its moving back in this test.
    const changes = Array(3).fill('config');
    expect(leaves.map(({ t }) => t)).toEqual(['open', ...Array(5).fill('ballot'), ...changes, 'close']);
    const results = demand(await account.page(event, 'results'), 200);
    const { salt, ...content } = results.log.close;
    expect(content).toMatchObject({
      ...{ ballots: 5, weight: '5', result: hashOfJson(results.positions), title: results.title },
      ...{ participants: null, electorate: null, abstentions: results.stats.abstentions },
    });
    expect(content.config).toBe(leaves.at(-2)?.['config']);
    expect(leaves.at(-1)?.['c']).toBe(closeCommitment(Buffer.from(salt, 'base64'), content).toString('hex'));
    expect(results.final).toBe(true);
    expect(leaves[0]?.['seed']).toBe(results.lot.seedHash);
  });

  test('shows nothing of a hidden result by its close: two results differ in random bytes alone', async () => {
    const closes = [];
    for (const choices of [
      [0, 0, 0],
      [1, 1, 2],
    ]) {
      const event = await account.event({ results: { visibility: 'hidden' } }, PLAN);
      for (const choice of choices) await account.votePoll(event, votesOf(event, choice));
      await finishEvent(service, event.id);
      expect((await account.page(event, 'results')).status).toBe(403);
      const leaves = await logOf(event).leaves();
      const { at, c, e, ...rest } = leaves.at(-1) ?? { t: '' };
      expect([typeof at, e, rest]).toEqual(['number', event.id, { v: 2, t: 'close' }]);
      closes.push(String(c));
      const { salt, ...content } = (await account.show(`/voting-events/${event.id}/results`)).log.close;
      // Everything that a stranger could try out, without the salt.
      for (const guess of [content.result, hashOfJson(content)]) expect(c).not.toBe(guess);
      expect(closeCommitment(Buffer.from(salt, 'base64'), content).toString('hex')).toBe(c);
      expect(Buffer.from(salt, 'base64')).toHaveLength(32);
    }
    expect(new Set(closes).size).toBe(2);
    for (const c of closes) expect(c).toMatch(/^[0-9a-f]{64}$/);
  });

  test('commits by its close to the electorate and to who took part, of an election', async () => {
    const event = await account.event({ type: 'election' }, PLAN.slice(0, 1), false);
    const voters = [1, 2, 0.5].map((weight, index) => ({ name: `Voter ${index}`, voterId: `V-${index}`, weight }));
    const own = account.of(event);
    await own.make('/voters/batch', { voters });
    await own.change('', { status: 'open' });
    await finishEvent(service, event.id);
    const { log } = await own.show('/results');
    expect(log.close).toMatchObject({ participants: 0, ballots: 0, electorate: { heads: 3, weight: '3.5' } });
  });

  test('of an election holds its roll, and a leaf for every change of it, before the ballots that follow', async () => {
    const event = await account.event({ type: 'election' }, PLAN.slice(0, 1), false);
    const own = account.of(event);
    const voters = [1, 2.5].map((weight, at) => ({ name: `Voter ${at}`, email: `v${at}@voters.example`, weight }));
    const [first, second] = await own.make('/voters/batch', { voters });
    await own.change('', { status: 'open' });
    const log = logOf(event);
    const seal = () =>
      untilTrue(async () => {
        await tendLog(sealDeps(service.deps), event.id, 5);
        return !(await listEventsToTend(service.deps.db, 5)).includes(event.id);
      });
    const rolls = async () =>
      (await log.leaves()).filter(({ t }) => t === 'roll').map(({ at, e, v, t, ...rest }) => rest);
    await seal();
    expect((await log.leaves())[0]).toMatchObject({ v: 2, t: 'open', roll: { heads: 2, weight: '3.5' } });
    await own.change(`/voters/${first.id}`, { email: 'new@voters.example' });
    await seal();
    const one = { heads: 2, weight: '3.5', identityChanges: 1, rollChanges: 0, seq: 1 };
    expect(await rolls()).toEqual([one]);
    await own.change(`/voters/${second.id}`, { weight: 3 });
    await seal();
    const two = { heads: 2, weight: '4', identityChanges: 1, rollChanges: 1, seq: 2 };
    expect(await rolls()).toEqual([one, two]);
    // A voter that comes is recorded with the ballots that follow, here with the close.
    await own.make('/voters', { name: 'Late', email: 'late@voters.example' });
    await seal();
    expect(await rolls()).toEqual([one, two]);
    await finishEvent(service, event.id);
    expect(await rolls()).toEqual([one, two, { ...two, heads: 3, weight: '5', seq: 3 }]);
    expect((await log.leaves()).map(({ t }) => t)).toEqual(['open', 'roll', 'roll', 'config', 'roll', 'close']);
    const { close } = (await own.show('/results')).log;
    expect(close).toMatchObject({ electorate: { heads: 3, weight: '5' }, identityChanges: 1, rollChanges: 1 });
    await own.change('', { results: { visibility: 'published' } });
    const report = await verifyOverHttp(service, event.id, await observerKey(event.id));
    expect(report.open).toEqual([]);
    expect(report.rollAfterOpening).toMatchObject({ identityChanges: 1, rollChanges: 1 });
  });

  test('of an election takes no ballot back, whatever the database says: nothing is sealed over it', async () => {
    const event = await account.event({ type: 'election' }, PLAN.slice(0, 1), false);
    await account.of(event).make('/voters', { name: 'A voter', email: 'a@voters.example' });
    await account.of(event).change('', { status: 'open' });
    await sealBallots(service, event.id);
    const tag = Buffer.alloc(32, 1);
    await service.query(
      putIntoBox(`SELECT 1 AS leaf_index, 'bal_1' AS id, $2::bytea AS code_tag, ''::bytea AS entries, 1000000 AS weight_micro,
        ''::bytea AS salt, ''::bytea AS sealed_time`),
      [event.id, tag],
    );
    await service.query('INSERT INTO voided_ballots (voting_event_id, code_tag) VALUES ($1, $2)', [event.id, tag]);
    await expect(seal(event)).rejects.toThrow(LogSetBack);
  });

  test('ends with a close for every event that the clock has opened and closed, and begins for no other', async () => {
    for (const [type, plans] of [
      ['poll', []],
      ['poll', PLAN],
      ['election', []],
      ['election', PLAN.slice(0, 1)],
    ] as const) {
      const [startsAt, endsAt] = [Date.now() - 7_200_000, Date.now() - 3_600_000];
      const event = await account.event({ type }, plans, false);
      await setEvent(service, event.id, sql`starts_at = ${startsAt}, ends_at = ${endsAt}`);
      service.deps.events.forget(event.id);
      const read = account.of(event).show;
      const isReady = plans.length > 0;
      expect((await read('')).status).toBe(isReady ? 'closed' : 'draft');
      if (!isReady) {
        expect(await listEventsToTend(service.deps.db, 1)).not.toContain(event.id);
        continue;
      }
      expect(await listEventsToTend(service.deps.db, 1)).toContain(event.id);
      await seal(event);
      expect([(await read('/results')).final, typeof (await read('')).finalAt]).toEqual([true, 'number']);
      expect(await listEventsToTend(service.deps.db, 1)).not.toContain(event.id);
      const leaves = await logOf(event).leaves();
      expect(leaves.map(({ t }) => t)).toEqual(['open', 'close']);
    }
  });

  test('tells of a ballot no more than its commitment, until it is opened to whom the organizer allows', async () => {
    const { log, event, confirmed } = await pollWith(4, { ballot: { opening: 'observer', receipt: 'full' } });
    await sealBallots(service, event.id);
    const observer = logOf(event, await observerKey(event.id));
    for (const reader of [log, observer]) {
      expect(refusalOf(await reader.get('openings'))).toEqual([403, 'openings_not_available']);
    }
    await account.of(event).change('', { status: 'closed' });
    expect((await observer.get('openings')).body.error.details.reason).toBe('openings_not_available');
    await finishEvent(service, event.id);
    expect((await log.get('openings')).status).toBe(403);
    const leaves = await log.leaves();
    const opened = [];
    let cursor = '';
    do {
      const { status, body } = await observer.get(`openings?limit=3${cursor}`);
      expect(status).toBe(200);
      expect(createHash('sha256').update(Buffer.from(body.tieSeed, 'hex')).digest('hex')).toBe(leaves[0]?.['seed']);
      opened.push(...body.data);
      cursor = body.nextCursor === null ? '' : `&cursor=${body.nextCursor}`;
    } while (cursor !== '');
    expect(opened.map(({ index }) => index)).toEqual([1, 2, 3, 4]);
    for (const { index, votes, weight, salt } of opened) {
      const commitment = ballotCommitment(Buffer.from(salt, 'base64'), { votes, weight });
      expect(commitment.toString('hex')).toBe(leaves[index]?.['c']);
    }
    expect(new Set(opened.map(({ salt }) => salt))).toEqual(new Set(confirmed.map(({ salt }) => salt)));
  });

  test('is opened from any leaf on, in pages that hold each ballot once, by index or by cursor', async () => {
    const { log, event } = await pollWith(12, { ballot: { opening: 'public' } });
    expect((await log.get('openings?fromIndex=0')).status).toBe(403);
    await finishEvent(service, event.id);
    const all = (await log.get('openings?fromIndex=0')).body;
    expect(valuesOf(all.data, 'index')).toEqual(Array.from({ length: 12 }, (_, at) => at + 2));
    expect([all.nextIndex, all.nextCursor, typeof all.configuration]).toEqual([null, null, 'object']);
    for (const limit of [1, 5, 11, 12, 1_000]) {
      const seen = [];
      let next: number | null = 0;
      while (next !== null) {
        const { status, body } = await log.get(`openings?fromIndex=${next}&limit=${limit}`);
        expect([status, body.data.length <= limit]).toEqual([200, true]);
        seen.push(...body.data);
        next = body.nextIndex;
      }
      expect(seen).toEqual(all.data);
    }
    for (const from of [2, 8, 13]) {
      const { body } = await log.get(`openings?fromIndex=${from}`);
      expect(body.data).toEqual(all.data.slice(from - 2));
    }
    const nothing = { data: [], nextIndex: null, nextCursor: null };
    expect((await log.get('openings?fromIndex=14')).body).toMatchObject(nothing);
    const first = (await log.get('openings?limit=7')).body;
    const second = (await log.get(`openings?limit=7&cursor=${first.nextCursor}`)).body;
    expect([[...first.data, ...second.data], first.nextIndex]).toEqual([all.data, 9]);
    const wrong = 'fromIndex=-1 fromIndex=x fromIndex= fromIndex=0&limit=1001 fromIndex=0&limit=0 limit=201';
    for (const query of [...wrong.split(' '), `fromIndex=0&cursor=${first.nextCursor}`, 'fromIndex=1&fromIndex=1'])
      expect([query, (await log.get(`openings?${query}`)).status]).toEqual([query, 400]);
    expect((await log.get('openings?fromIndex=999999999999999')).body.data).toEqual([]);
  });

  test('voids a ballot by a leaf after its own, and counts it no more from that moment on', async () => {
    const { log, event, confirmed } = await pollWith(4);
    const code = confirmed[2]?.confirmationCode ?? '';
    const results = () => account.of(event).show('/results');
    const votes = () => account.of(event).show('/votes');
    expect((await results()).stats.ballots).toBe(4);
    await voidBallotOf(event, code);
    expect([(await results()).stats.ballots, (await votes()).length]).toEqual([3, 9]);
    await sealBallots(service, event.id);
    await voidBallotOf(event, code);
    await voidBallotOf(event, '0'.repeat(26));
    expect([(await results()).stats.ballots, (await votes()).length]).toEqual([3, 9]);
    const leaves = await log.leaves();
    expect(leaves.map(({ t }) => t)).toEqual(['open', ...Array(4).fill('ballot'), 'void']);
    const { index } = await log.prove(code);
    expect(leaves[5]).toMatchObject({ index, h: leaves[index]?.['h'] });
    await finishEvent(service, event.id);
    expect((await log.leaves()).at(-1)).toMatchObject({ t: 'close' });
    expect((await results()).log.close.ballots).toBe(3);
  });

  test('keeps the final result when a ballot becomes void after the close, and shows what is left beside it', async () => {
    const { log, event, confirmed } = await pollWith(4, { ballot: { opening: 'public' } });
    const { db } = service.deps;
    const voidIt = (place: number) => voidBallotOf(event, confirmed[place]?.confirmationCode ?? '');
    const own = account.of(event);
    const read = (what: string) => own.show(`/${what}`);
    await voidIt(3);
    await finishEvent(service, event.id);
    const closed = await read('results');
    const votes = await read('votes');
    expect([closed.final, closed.stats.ballots, closed.afterReversals]).toEqual([true, 3, null]);
    await voidIt(0);
    await voidIt(1);
    await seal(event);
    const after = await read('results');
    expect([after.stats, after.positions]).toEqual([closed.stats, closed.positions]);
    expect(await read('votes')).toEqual(votes);
    expect(after.afterReversals.ballots).toBe(1);
    expect(after.afterReversals.positions[0].ballots).toBe(1);
    const kinds = (await log.leaves()).map(({ t }) => t);
    expect(kinds).toEqual(['open', 'config', ...Array(4).fill('ballot'), 'void', 'close', 'void', 'void']);
    // Another look at the log finds nothing to do: it ends once.
    await seal(event);
    await own.change('', { description: 'The minutes are at the desk.' });
    await seal(event);
    expect((await log.leaves()).map(({ t }) => t)).toEqual(kinds);
    expect(await listEventsToTend(db, 1)).not.toContain(event.id);
    const found = await findEventById(db, event.id);
    const definition = found === undefined ? undefined : await service.deps.definitions.get(found);
    if (definition === undefined) throw new Error('the event is gone');
    const { checks } = await checkCount(service.deps, definition, () =>
      new EventCounter(service.deps).results(definition, 'organizer', service.deps.clock.now()),
    );
    expect(checks.filter(({ status }) => status === 'differs')).toEqual([]);
    expect(checks.find(({ check }) => check === 'close')?.status).toBe('agrees');
    await own.change('', { results: { visibility: 'published' } });
    const report = await verifyOverHttp(service, event.id, account.vote);
    expect(report.open).toEqual([]);
    expect(report.checks.map(({ name }) => name)).toContain('recount');
  });
});

describe('a key', () => {
  test('of an observer reads the log of its event and of no other', async () => {
    const { event } = await pollWith(0);
    const other = await pollWith(0);
    const key = await observerKey(event.id);
    expect((await logOf(event, key).get('checkpoint')).status).toBe(200);
    expect((await logOf(other.event, key).get('checkpoint')).status).toBe(404);
    expect((await logOf(event, account.write).get('checkpoint')).status).toBe(403);
  });
});
