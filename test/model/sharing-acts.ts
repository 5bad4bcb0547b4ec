/** What owners share, whom they tell by webhook, what they look back at; and what needs no key. */

import { EVENT_TYPES } from './hooks.ts';
import type { Json } from './kit.ts';
import { type Act, nth, type Op, onEvent, organize, organizerSend } from './send.ts';
import { HOUR } from './state.ts';
import type { World } from './world.ts';

async function acceptInvite(world: World, op: Op, token: string, key = world.others[0]?.key): Promise<void> {
  if (key !== undefined)
    await world.send({ process: op.p, method: 'POST', path: '/invites/accept', key, body: { token } });
}
export const sharingActs: Record<string, Act> = {
  invite: onEvent(async (world, event, op, random) => {
    world.serial += 1;
    const again = nth(event.invites, op.i)?.email;
    const body = random.weighted<Json>([
      [6, { email: `helper${world.serial}@example.org`, role: random.pick(['viewer', 'editor']) }],
      [1, { email: again ?? 'x', role: 'viewer' }],
      [1, { email: `helper${world.serial}@example.org`, role: 'owner' }],
    ]);
    await organize(world, op, event, 'POST', '/invites', body);
    await world.settle();
    const invite = event.invites.at(-1);
    if (invite?.token !== undefined && random.chance(0.8)) await acceptInvite(world, op, invite.token);
  }),
  accept: async (world, op, random) => {
    const token = nth(world.event(op.e)?.invites ?? [], op.i)?.token;
    const key = random.weighted([
      [3, world.others[0]?.key],
      [1, world.organizer[0]?.key],
      [1, world.others[2]?.key],
    ]);
    await acceptInvite(world, op, random.chance(0.8) && token !== undefined ? token : 'vit_unknown', key);
  },
  uninvite: onEvent((world, event, op) =>
    organize(world, op, event, 'DELETE', `/invites/${nth(event.invites, op.i)?.id ?? 'inv_unknown'}`),
  ),
  /** What somebody does with whom the event is shared, or isn't. */
  helper: onEvent(async (world, event, op, random) => {
    const key = world.others[0];
    if (key === undefined) return;
    const base = `/voting-events/${event.id}`;
    const [method, path, body] = random.pick<readonly [string, string, unknown?]>([
      ['GET', base],
      ['GET', `${base}/voters?limit=200`],
      ['GET', `${base}/results`],
      ['GET', `${base}/invites`],
      ['GET', '/voting-events?limit=200'],
      ['PATCH', base, { title: `Helped ${random.int(99)}` }],
      ['PATCH', base, { code: `Help${random.between(10, 99)}X` }],
      ['POST', `${base}/groups`, { name: `Helpers ${op.i}` }],
      ['PUT', `${base}/payment-business`, { paymentBusinessId: 'biz_unknown' }],
      ['DELETE', `${base}/payment-business`],
      ['DELETE', base],
      ['POST', `${base}/invites`, { email: 'another@example.org', role: 'viewer' }],
    ]);
    await world.send({ process: op.p, method, path, key: key.key, ...(body === undefined ? {} : { body }) });
  }),
  hook: async (world, op, random) => {
    const event = world.event(op.e);
    const code = event !== undefined && random.chance(0.6) ? { votingEventCode: event.code } : {};
    const eventTypes = random.shuffle(EVENT_TYPES).slice(0, random.between(1, 12));
    const body = random.weighted<Json>([
      [8, { url: await world.receiver.address(), eventTypes, ...code }],
      [1, { url: 'nonsense', eventTypes }],
      [1, { url: 'https://example.com/', eventTypes: ['voter.created', 'unknown.type'] }],
      [1, { url: 'https://example.com/', eventTypes: [] }],
      [1, { url: 'https://example.com/', eventTypes: ['voter.created', 'voter.created'] }],
      [1, { url: 'https://example.com/', eventTypes, votingEventCode: 'NOSUCH99' }],
    ]);
    await organizerSend(world, op, 'POST', '/webhook-endpoints', body);
  },
  hookChange: async (world, op, random) => {
    const endpoint = nth(world.model.endpoints, op.i);
    const path = `/webhook-endpoints/${endpoint?.id ?? 'whe_unknown'}`;
    const changes = random.shuffle<readonly [string, string, unknown?]>([
      ['GET', ''],
      ['PATCH', '', { description: random.pick(['Ours', '', null]) }],
      ['PATCH', '', { status: 'disabled' }],
      ['PATCH', '', { status: 'active' }],
      ['PATCH', '', { eventTypes: ['voter.updated', 'ballot.confirmed'] }],
      ['PATCH', '', {}],
      ['PATCH', '', { status: 'gone' }],
      ['POST', '/test'],
      ['POST', '/test', { a: 1 }],
      ['POST', '/rotate-secret'],
      ['GET', '/deliveries'],
      ['DELETE', ''],
    ]);
    for (const [method, rest, body] of changes.slice(0, random.between(1, 6)))
      await organizerSend(world, op, method, path + rest, body);
    await organizerSend(world, op, 'GET', random.pick(['/webhook-endpoints', '/webhook-event-types']));
    const code = world.event(op.e)?.code ?? 'NOSUCH99';
    await organizerSend(world, op, 'GET', `/webhook-endpoints?votingEventCode=${code}`);
    await world.settle();
  },
  audit: onEvent(async (world, event, op, random) => {
    const now = world.driver.now();
    const filter = random.pick(['', '', `?from=${now - HOUR}`, `?until=${now - HOUR}`, '?from=x']);
    await organize(world, op, event, 'GET', `/audit${filter}`);
  }),
};
