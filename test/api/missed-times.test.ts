import { expect, test } from 'vitest';
import { demand } from '#test/harness/elections.ts';
import { useService } from '#test/harness/test-service.ts';

const service = await useService();
const account = await service.account();

const call = (method: string, path: string, body?: object) =>
  service.call(method, `/voting-events${path}`, body, { key: account.write });

const HOUR_MS = 3_600_000;
const SECONDS = { startsAt: 1_795_451_582, endsAt: 1_795_534_382 };
const passed = () => ({ startsAt: Date.now() - 2 * HOUR_MS, endsAt: Date.now() - HOUR_MS });
const settings = { title: 'An event', type: 'poll' };

test.each([
  ['seconds in place of milliseconds', () => SECONDS],
  ['times that have passed', passed],
])('no event is closed before it was ever open: %s are refused wherever they are set', async (_what, timesOf) => {
  const times = timesOf();
  const { id } = demand(await call('POST', '', settings), 201);
  const file = demand(await call('GET', `/${id}/definition`), 200);
  const answers = [
    await call('POST', '', { ...settings, ...times }),
    await call('PATCH', `/${id}`, times),
    await call('POST', '/definition', { ...file, event: { ...file.event, code: undefined, ...times } }),
    await call('PUT', `/${id}/definition`, { ...file, event: { ...file.event, ...times } }),
  ];
  for (const { status, body } of answers) {
    expect(status).toBe(422);
    expect(body.error.details.issues[0].message).toContain('the end must lie ahead');
  }
  expect(demand(await call('GET', `/${id}`), 200)).toMatchObject({ status: 'draft', startsAt: null, endsAt: null });
  // A start before an end that has passed alone.
  demand(await call('PATCH', `/${id}`, { endsAt: times.endsAt }), 200);
  const late = await call('PATCH', `/${id}`, { startsAt: times.startsAt });
  expect([late.status, late.body.error.details.field]).toEqual([422, 'startsAt']);
  demand(await call('PATCH', `/${id}`, { startsAt: times.startsAt, endsAt: Date.now() + HOUR_MS }), 200);
});
