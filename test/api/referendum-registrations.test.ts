import { describe, expect, test } from 'vitest';
import { demand, type PositionPlan, type TestEvent, visitor } from '#test/harness/elections.ts';
import { type TestAnswer, useService } from '#test/harness/test-service.ts';

const service = await useService();
const account = await service.account();

const PLANS: readonly PositionPlan[] = [
  { votingMethod: 'plurality', candidates: ['Ada', 'Bea'] },
  { votingMethod: 'referendum', candidates: ['Yes', 'No'] },
];

const create = (open: boolean): Promise<TestEvent> =>
  account.event({ candidate: { selfRegistration: true } }, PLANS, open);
const register = (event: TestEvent, positionIds: readonly unknown[]): Promise<TestAnswer> =>
  account.page(event, 'register/candidate', { name: 'Cleo', positionIds });
const change = (path: string, body: object): Promise<TestAnswer> => account.patch(path, body);

describe('a candidate on the ballot of a referendum has a role, so that it can be voted for', () => {
  test.each([false, true])(
    'registrations for one are refused, alone and beside other positions (open: %s)',
    async (open) => {
      const event = await create(open);
      const [race, referendum] = event.positions;
      if (!open) await change(`/voting-events/${event.id}`, { startsAt: Date.now() + 86_400_000 });
      for (const positionIds of [[referendum?.id], [race?.id, referendum?.id]]) {
        const refused = await register(event, positionIds);
        expect([refused.status, refused.body.error.details.issues]).toEqual([
          422,
          [
            {
              field: `positionIds[${positionIds.length - 1}]`,
              message: 'is a referendum, whose choices the organizer sets',
            },
          ],
        ]);
      }
      expect((await register(event, [race?.id])).status).toBe(201);
    },
  );

  test('a candidate that registered before its position became a referendum is approved with a role alone', async () => {
    const event = await create(true);
    const [race, referendum] = event.positions;
    const { id } = demand(await register(event, [race?.id]), 201);
    await service.query('UPDATE candidates SET position_ids = $2 WHERE id = $1', [id, [referendum?.id]]);
    const path = `/voting-events/${event.id}/candidates/${id}`;
    const refused = await change(path, { status: 'approved' });
    expect([refused.status, refused.body.error.details.issues[0].field]).toEqual([422, 'referendumRole']);
    demand(await change(path, { status: 'approved', referendumRole: 'abstain' }), 200);
    const votes = [{ positionId: referendum?.id, candidateId: id }];
    demand(await account.page(event, 'ballot/cast', { visitorId: visitor(), votes }), 201);
  });
});
