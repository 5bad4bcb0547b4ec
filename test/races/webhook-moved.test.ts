import { expect, test } from 'vitest';
import { demand } from '#test/harness/answers.ts';
import { untilTrue, useService } from '#test/harness/test-service.ts';
import { useReceivers } from '#test/harness/use.ts';

const receive = useReceivers();
const service = await useService();

test('an endpoint that moved while its old address answers 410 stays switched on, and the new address gets the message', async () => {
  const account = await service.account();
  const moved = await receive();
  let path = '';
  const old = await receive(async (response) => {
    // The organizer names the new address while the old one answers.
    demand(await account.patch(path, { url: moved.url, status: 'active' }), 200);
    response.writeHead(410).end();
  });
  const { id } = await account.make('/webhook-endpoints', { url: old.url, eventTypes: ['voting_event.created'] });
  path = `/webhook-endpoints/${id}`;
  await account.event({}, [], false);
  await untilTrue(async () => (await account.show(`${path}/deliveries`))[0]?.attempts.length > 0);
  expect(old.received).toHaveLength(1);
  // 410 before the change: switched on by it. The change before 410: the old address is not called.
  const { url, status, disabledReason } = await account.show(path);
  expect([url === moved.url, status, disabledReason]).toEqual([true, 'active', null]);
});
