import { sql } from 'drizzle-orm';
import { describe, expect, test } from 'vitest';
import { foldElectorate } from '#src/results/repository.ts';
import { demand } from '#test/harness/elections.ts';
import { eventually, patiently, useService } from '#test/harness/test-service.ts';

const service = await useService();
const account = await service.account();

const createElection = () => account.event({ type: 'election' });

const electorateOf = async (eventId: string): Promise<number> =>
  demand(await account.get(`/voting-events/${eventId}/results`), 200).stats.electorate;

/** The sum over the roll itself. */
async function countedRoll(eventId: string): Promise<number> {
  const { rows } = await service.deps.db.execute<{ weight: string }>(sql`
    SELECT coalesce(sum(weight_micro), 0) / 1000000 AS weight FROM voters
    WHERE voting_event_id = ${eventId} AND status = 'approved' AND deleted_at IS NULL`);
  return Number(rows[0]?.weight);
}

const changesOf = async (eventId: string): Promise<number> =>
  (await service.deps.db.execute(sql`SELECT 1 FROM electorate_changes WHERE voting_event_id = ${eventId}`)).rows.length;

describe('the electorate of an election', () => {
  test('is the weight of the approved voters after every kind of change of the roll', async () => {
    const { id } = await createElection();
    const path = `/voting-events/${id}/voters`;
    const batch = Array.from({ length: 30 }, (_, index) => ({
      name: `Voter ${index}`,
      email: `voter-${index}@club.example`,
      weight: index === 7 ? 2.5 : 1 + (index % 3),
    }));
    demand(await account.post(`${path}/batch`, { voters: batch }), 201);
    expect(await electorateOf(id)).toBe(await countedRoll(id));
    expect(await electorateOf(id)).toBeGreaterThan(30);

    const voters = demand(await account.get(`${path}?limit=100`), 200);
    const [first, second, third, fourth] = voters.map((voter: { id: string }) => voter.id);
    demand(await account.patch(`${path}/${first}`, { weight: 0.000001 }), 200);
    expect(await electorateOf(id)).toBe(await countedRoll(id));
    demand(await account.patch(`${path}/${second}`, { status: 'rejected' }), 200);
    demand(await account.patch(`${path}/${third}`, { name: 'Same weight' }), 200);
    expect(await electorateOf(id)).toBe(await countedRoll(id));
    const before = await electorateOf(id);
    demand(await account.delete(`${path}/${fourth}`), 202);
    await eventually(async () => ((await electorateOf(id)) < before ? true : undefined));
    expect(await electorateOf(id)).toBe(await countedRoll(id));
    demand(await account.patch(`${path}/${second}`, { status: 'approved' }), 200);
    expect(await electorateOf(id)).toBe(await countedRoll(id));
  });

  test('stays the same while its changes are put together, by several at once, and voters come', async () => {
    const { id } = await createElection();
    const add = (index: number) =>
      account.post(`/voting-events/${id}/voters`, {
        name: `Voter ${index}`,
        email: `voter-${index}@club.example`,
        weight: 1.5,
      });
    await Promise.all(
      Array.from({ length: 60 }, async (_, index) => {
        demand(await patiently(() => add(index)), 201);
        await foldElectorate(service.deps.db, id);
      }),
    );
    expect(await electorateOf(id)).toBe(90);
    await foldElectorate(service.deps.db, id);
    expect(await changesOf(id)).toBe(1);
    expect(await electorateOf(id)).toBe(90);
  });

  test('is rewritten and deleted together with its roll', async () => {
    const { id } = await createElection();
    const voters = [{ name: 'Vera', email: 'vera@club.example', weight: 3 }];
    demand(await account.post(`/voting-events/${id}/voters/batch`, { voters }), 201);
    await service.deps.db.execute(sql`SELECT scatter_voters(${id}, '', 100)`);
    expect(await electorateOf(id)).toBe(3);
    expect((await account.delete(`/voting-events/${id}`)).status).toBe(204);
    await eventually(async () => ((await changesOf(id)) === 0 ? true : undefined));
  });
});
