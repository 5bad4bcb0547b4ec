import { sql } from 'drizzle-orm';
import { describe, expect, test } from 'vitest';
import type { Transaction } from '#src/database/client.ts';
import { foldAllRollFigures, foldRollFigures } from '#src/results/read-stats.ts';
import { readTurnoutByGroup, readVoterFigures } from '#src/results/repository.ts';
import { discloseVoters } from '#src/voters/disclose-voters.ts';
import { demand, finishEvent, type TestEvent, votesFor } from '#test/harness/elections.ts';
import { useService } from '#test/harness/test-service.ts';
import { giveVoterKey } from '#test/harness/voter-keys.ts';

// A job would show who voted a moment after the confirms: here the test does.
const service = await useService({ worker: false });
const account = await service.account();

/** Casts and confirms a ballot with a key of this voter. */
async function vote(event: TestEvent, voterId: string, email: string): Promise<void> {
  const votes = votesFor(event);
  const [base, key] = [`/public/voting-events/${event.id}/ballot`, { key: account.vote }];
  const voterKey = await giveVoterKey(service, event.id, voterId);
  const { confirmationCode } = demand(await service.call('POST', `${base}/cast`, { voterKey, email, votes }, key), 201);
  demand(await service.call('POST', `${base}/confirm`, { confirmationCode }, key), 200);
}

/** The figures counted plainly, voter by voter. */
async function countPlainly(eventId: string) {
  const { rows } = await service.deps.db.execute<Record<string, string>>(sql`
    WITH roll AS (
      SELECT v.status, v.weight_micro, (v.source = 'poll' OR p.participant IS NOT NULL) AS voted
      FROM voters v LEFT JOIN participation p ON p.voting_event_id = v.voting_event_id AND p.participant = v.id
      WHERE v.voting_event_id = ${eventId} AND v.deleted_at IS NULL)
    SELECT count(*) AS total, count(*) FILTER (WHERE status = 'pending') AS pending,
      count(*) FILTER (WHERE status = 'approved') AS approved, count(*) FILTER (WHERE status = 'rejected') AS rejected,
      count(*) FILTER (WHERE voted) AS voted, coalesce(sum(weight_micro), 0) / 1000000.0 AS weight,
      coalesce(sum(weight_micro) FILTER (WHERE voted), 0) / 1000000.0 AS "votedWeight" FROM roll`);
  const { rows: groups } = await service.deps.db.execute<Record<string, string>>(sql`
    SELECT g.id AS "groupId", count(v.id) AS voters, count(p.participant) AS voted FROM groups g
    LEFT JOIN voters v ON v.voting_event_id = g.voting_event_id AND v.group_id = g.id AND v.deleted_at IS NULL
    LEFT JOIN participation p ON p.voting_event_id = v.voting_event_id AND p.participant = v.id
    WHERE g.voting_event_id = ${eventId} AND g.deleted_at IS NULL GROUP BY g.id ORDER BY g.id`);
  const [row] = rows;
  if (row === undefined) throw new Error('aggregates without a row');
  return {
    voters: Object.fromEntries(Object.entries(row).map(([name, value]) => [name, Number(value)])),
    byGroup: groups.map((group) => [group['groupId'], Number(group['voters']), Number(group['voted'])]),
  };
}

async function figuresOf({ id }: TestEvent) {
  const stats = await account.show(`/voting-events/${id}/stats`);
  return {
    voters: stats.voters,
    byGroup: stats.byGroup.map((group: { groupId: string; voters: number; voted: number }) => [
      ...[group.groupId, group.voters, group.voted],
    ]),
  };
}

/** Rows of the roll and of its participants that a transaction has read so far. */
async function rowsRead(tx: Transaction): Promise<number> {
  const { rows } = await tx.execute<{ read: string }>(sql`
    SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::text AS read FROM pg_stat_xact_user_tables
    WHERE relname IN ('voters', 'participation')`);
  return Number(rows[0]?.read);
}

describe('the figures of a roll', () => {
  test('are what a plain count gives, after every kind of change of an election’s roll', async () => {
    const event = await account.event({ type: 'election', voter: { selfRegistration: true } });
    const path = `/voting-events/${event.id}`;
    const agree = async (): Promise<void> => expect(await figuresOf(event)).toEqual(await countPlainly(event.id));
    const groups: string[] = [];
    for (const name of ['North', 'South']) groups.push((await account.make(`${path}/groups`, { name })).id);
    await agree();
    const voters = Array.from({ length: 24 }, (_, index) => ({
      ...{ name: `Voter ${index}`, email: `voter-${index}@club.example`, weight: 1 + (index % 3) / 2 },
      ...(index % 3 === 2 ? {} : { groupId: groups[index % 3] }),
    }));
    const made = await account.make(`${path}/voters/batch`, { voters });
    await agree();
    const idOf = (index: number): string => made[index].id;
    const change = async (index: number, body: object) => await account.change(`${path}/voters/${idOf(index)}`, body);
    await change(0, { weight: 7.25 });
    await change(1, { groupId: groups[0] });
    await change(2, { status: 'rejected' });
    await change(3, { groupId: null });
    await change(4, { name: 'Of no figure' });
    await agree();
    demand(await account.delete(`${path}/voters/${idOf(5)}`), 202);
    const registered = { name: 'Zoe', email: 'zoe@club.example' };
    const zoe = demand(
      await service.call('POST', `/public${path}/register/voter`, registered, { key: account.vote }),
      201,
    );
    await agree();
    // Members of both groups and of none vote; Zoe is approved by her first use of a key, in the same act.
    for (const index of [0, 6, 7, 8]) await vote(event, idOf(index), `voter-${index}@club.example`);
    await vote(event, zoe.id, registered.email);
    // Five voted: they are shown together (completions 5.6).
    expect((await figuresOf(event)).voters).toMatchObject({ voted: 0, votedWeight: 0 });
    await discloseVoters(service.deps.db, event.id);
    await agree();
    const before = (await figuresOf(event)).voters;
    expect(before).toMatchObject({ total: 24, voted: 5, rejected: 1, pending: 0 });
    const { changes } = await readVoterFigures(service.deps.db, event.id);
    await foldRollFigures(service.deps.db, event.id, 1_000_000);
    await agree();
    expect((await readVoterFigures(service.deps.db, event.id)).changes).toBeLessThan(changes);
    // The roll and who took part are written once more in another order, when the result is final.
    await finishEvent(service, event.id);
    await agree();
    expect((await figuresOf(event)).voters).toEqual(before);
    demand(await account.delete(`${path}/voters/${idOf(7)}`), 202);
    await agree();
    expect(await readTurnoutByGroup(service.deps.db, event.id, 5)).toEqual([
      ...[{ groupId: groups[0], voters: 8, voted: 2 }],
      ...[{ groupId: groups[1], voters: 7, voted: 1 }],
    ]);
  });

  test('are what a plain count gives in a poll, whose participants appear as they vote', async () => {
    const event = await account.event();
    const [position] = event.positions;
    for (let index = 0; index < 3; index += 1)
      await account.votePoll(event, [{ positionId: position?.id, candidateId: position?.candidates[index % 2] }]);
    expect(await figuresOf(event)).toEqual(await countPlainly(event.id));
    expect((await figuresOf(event)).voters).toMatchObject({ total: 3, voted: 3 });
  });

  test('are read without a look at the roll, and the many changes of a busy event are put together', async () => {
    const event = await account.event({ type: 'election' });
    await service.deps.db.execute(sql`
      INSERT INTO roll_figures (voting_event_id, group_id, status, heads, weight_micro, voted, voted_weight_micro)
      SELECT ${event.id}, '', 'approved', 1, 1000000, 0, 0 FROM generate_series(1, 300)`);
    await foldAllRollFigures(service.deps.db);
    await service.deps.db.transaction(async (tx) => {
      await tx.execute(sql`
        INSERT INTO voters (voting_event_id, id, name, email, email_key, status, source, weight_micro, key_status, created_at, updated_at)
        SELECT ${event.id}, 'vtr_' || n, 'V', n || '@club.example', n || '@club.example', 'rejected', 'organizer', 1000000, 'none', 0, 0
        FROM generate_series(1, 300) AS n`);
      const before = await rowsRead(tx);
      const { voters, changes } = await readVoterFigures(tx, event.id);
      expect([voters.total, changes]).toEqual([600, 2]);
      expect(await readTurnoutByGroup(tx, event.id, 5)).toEqual([]);
      expect(await rowsRead(tx)).toBe(before);
    });
  });
});
