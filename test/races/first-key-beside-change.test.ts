import { expect, test } from 'vitest';
import { countWaiting } from '#test/harness/count-waiting.ts';
import { demand, PLURALITY } from '#test/harness/elections.ts';
import { untilTrue, useAccount } from '#test/harness/test-service.ts';
import { giveVoterKey } from '#test/harness/voter-keys.ts';

const { service, account } = await useAccount({ worker: false });

test('a first key approves its registrant, also when the organizer corrects the name meanwhile', async () => {
  const settings = { type: 'election', voter: { selfRegistration: true, approval: 'automatic' } };
  const event = await account.event(settings, PLURALITY);
  const of = account.of(event);
  const email = 'reg@club.example';
  const { id } = demand(await account.page(event, 'register/voter', { name: 'Reg', email }), 201);
  const voterKey = await giveVoterKey(service, event.id, id);
  const client = await service.deps.db.$client.connect();
  try {
    // Both wait for the event: the check has judged the key, and the change comes before its approval is stored.
    await client.query('BEGIN');
    await client.query('SELECT 1 FROM voting_events WHERE id = $1 FOR UPDATE', [event.id]);
    const check = account.page(event, 'voter/check', { email, voterKey });
    await untilTrue(async () => (await countWaiting(service)) === 1);
    const change = of.patch(`/voters/${id}`, { name: 'Regina' });
    await untilTrue(async () => (await countWaiting(service)) === 2);
    await client.query('COMMIT');
    demand(await change, 200);
    expect(demand(await check, 200)).toEqual({ eligible: true });
  } finally {
    client.release();
  }
  const rows = await service.query('SELECT name, status, key_used FROM voters WHERE id = $1', [id]);
  expect(rows).toEqual([{ name: 'Regina', status: 'approved', key_used: true }]);
});
