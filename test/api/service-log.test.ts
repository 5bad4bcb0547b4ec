import { describe, expect, test } from 'vitest';
import { hashLeaf } from '#src/ballot-log/merkle-tree.ts';
import { inTransaction } from '#src/database/client.ts';
import { takeServiceSequencer } from '#src/service-log/repository.ts';
import { ServiceLogSetBack, sequenceServiceLog } from '#src/service-log/sequence-service-log.ts';
import { demand } from '#test/harness/answers.ts';
import { LogReader } from '#test/harness/ballot-log.ts';
import { sealBallots, type TestEvent, votePolls } from '#test/harness/elections.ts';
import { verifyInclusion } from '#test/harness/read-log-proofs.ts';
import { expectedLeaf, ServiceLogReader } from '#test/harness/service-log.ts';
import { startTestService, useAccount } from '#test/harness/test-service.ts';
import { naiveRoot } from '#test/unit/ballot-log/naive-tree.ts';

const { service, account } = await useAccount();
const log = new ServiceLogReader(service);

const vote = (event: TestEvent, ballots: number) => votePolls(service, account, event, ballots);

async function pollWith(ballots: number, settings: Readonly<Record<string, unknown>> = {}): Promise<TestEvent> {
  const event = await account.event(settings);
  await vote(event, ballots);
  return event;
}

/** Every checkpoint of an event that was ever signed, by the size of its log. */
async function notesOf(eventId: string): Promise<string[]> {
  const rows = await service.query<{ note: string }>(
    'SELECT note FROM log_checkpoints WHERE voting_event_id = $1 ORDER BY size',
    [eventId],
  );
  return rows.map(({ note }) => note);
}

const leavesOf = async (): Promise<Record<string, unknown>[]> =>
  (await log.entries((await log.head()).size)).map((data) => JSON.parse(data.toString()));
const prove = (event: TestEvent) => account.page(event, 'log/inclusion');

describe('the log of the service', () => {
  test('holds every checkpoint of every event once, in the order of each, and is signed under its own origin', async () => {
    const events = [await pollWith(1), await pollWith(2)];
    for (const event of events) await vote(event, 1);
    await sequenceServiceLog(service.deps);
    await vote(events[0] as TestEvent, 2);
    await sequenceServiceLog(service.deps);
    await sequenceServiceLog(service.deps);
    const head = await log.head();
    expect(head.origin).toBe(`${service.deps.logKey.name}/log`);
    expect(await log.verifierKey()).toContain(`${head.origin}+`);
    const entries = await log.entries(head.size);
    expect(Buffer.from(naiveRoot(entries))).toEqual(Buffer.from(head.rootHash));
    const leaves = entries.map((data) => JSON.parse(data.toString()));
    for (const event of events) {
      const expected = (await notesOf(event.id)).map(expectedLeaf);
      expect(expected.length).toBeGreaterThan(1);
      expect(leaves.filter(({ e }) => e === expected[0]?.e)).toEqual(expected);
    }
  });

  test('shows where a checkpoint stands, first as waiting, then with its proof', async () => {
    const event = await pollWith(1);
    expect(demand(await prove(event), 200)).toEqual({
      ...{ status: 'queued', index: null, hashes: [], checkpoint: null, serviceCheckpoint: null },
    });
    await sequenceServiceLog(service.deps);
    await pollWith(1);
    await sequenceServiceLog(service.deps);
    const proof = demand(await prove(event), 200);
    expect(proof).toMatchObject({ status: 'logged', checkpoint: (await notesOf(event.id)).at(-1) });
    const [, size = '', root = ''] = proof.serviceCheckpoint.split('\n');
    const leaf = expectedLeaf(proof.checkpoint);
    const entry = Buffer.from(JSON.stringify({ c: leaf.c, e: leaf.e, t: leaf.t, v: leaf.v }));
    const hashes = proof.hashes.map((hash: string) => Buffer.from(hash, 'base64'));
    const shown = { index: proof.index, size: Number(size), hashes, root: Buffer.from(root, 'base64') };
    expect(verifyInclusion({ ...shown, leafHash: hashLeaf(entry) })).toBe(true);
  });

  test('tells a stranger neither size nor root of a log that is not open, nor where it stands', async () => {
    const event = await pollWith(3);
    await sequenceServiceLog(service.deps);
    for (const leaf of await leavesOf()) expect(Object.keys(leaf).sort()).toEqual(['c', 'e', 't', 'v']);
    const path = `/public/voting-events/${event.id}/log/inclusion`;
    expect((await service.call('GET', path)).status).toBe(401);
    const open = await pollWith(1, { log: { open: true } });
    await sequenceServiceLog(service.deps);
    const answer = await service.call('GET', `/public/voting-events/${open.id}/log/inclusion`);
    expect(demand(answer, 200).status).toBe('logged');
  });

  test('is appended to by one process at a time, and another one leaves it to it', async () => {
    await using other = await service.another();
    const events = await Promise.all(Array.from({ length: 4 }, () => pollWith(1)));
    await inTransaction(service.deps.db, async (tx) => {
      expect(await takeServiceSequencer(tx)).toBe(true);
      const before = await log.note();
      await sequenceServiceLog(other.deps);
      expect(await log.note()).toBe(before);
      // Who holds the log keeps no ballot and no seal waiting.
      await vote(events[0] as TestEvent, 2);
    });
    await Promise.all(
      [service, other, service, other, service, other, service, other].map(({ deps }) => sequenceServiceLog(deps)),
    );
    await sequenceServiceLog(service.deps);
    const leaves = await leavesOf();
    for (const event of events) {
      const expected = (await notesOf(event.id)).map(expectedLeaf);
      expect(leaves.filter(({ e }) => e === expected[0]?.e)).toEqual(expected);
    }
  });

  test('keeps the leaves of an event that is deleted', async () => {
    const event = await pollWith(1);
    await sequenceServiceLog(service.deps);
    const before = await log.head();
    const removed = await account.delete(`/voting-events/${event.id}?force=true`);
    expect(removed.status).toBe(204);
    await sequenceServiceLog(service.deps);
    expect(await log.head()).toEqual(before);
    expect((await leavesOf()).length).toBe(before.size);
  });

  test('is limited by address as everything without a key', async () => {
    const answers = await Promise.all(Array.from({ length: 200 }, () => service.call('GET', '/log/checkpoint')));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 429]));
  });
});

describe('a log of the service whose database', () => {
  test('was set back or changed is not appended to: it would be a second history', async () => {
    await using own = await startTestService();
    const owner = await own.account();
    const event = await owner.event();
    const sealAnother = async () => sealBallots(own, (await owner.event()).id, 1);
    await sealBallots(own, event.id, 1);
    await sequenceServiceLog(own.deps);
    const note = await new ServiceLogReader(own).note();
    expect((await new LogReader(own, event.id, owner.vote).get('checkpoint')).status).toBe(200);
    const [{ frontier }] = await own.query('SELECT frontier FROM service_log');
    await sealAnother();
    await sequenceServiceLog(own.deps);
    // As a restored backup would have it.
    await own.query('UPDATE service_log SET size = 1, frontier = $1', [frontier]);
    await own.query('DELETE FROM service_log_leaves WHERE leaf_index > 0');
    await own.query('DELETE FROM service_checkpoints WHERE size > 1');
    await sealAnother();
    await expect(sequenceServiceLog(own.deps)).rejects.toThrow(ServiceLogSetBack);
    expect(await new ServiceLogReader(own).note()).toBe(note);
    await own.query("UPDATE service_checkpoints SET root_hash = sha256('')");
    await expect(sequenceServiceLog(own.deps)).rejects.toThrow(ServiceLogSetBack);
    expect(await own.query('SELECT 1 FROM checkpoint_queue')).not.toEqual([]);
  });
});
