import { expect, test } from 'vitest';
import { demand } from '#test/harness/elections.ts';
import { invite, shareEvent } from '#test/harness/sharing.ts';
import { useService } from '#test/harness/test-service.ts';

const service = await useService();
const [owner, viewer, editor] = [await service.account(), await service.account(), await service.account()];
const event = await owner.event({
  type: 'election',
  voter: { selfRegistration: true },
  candidate: { selfRegistration: true },
});
await shareEvent(service, owner, event, viewer, 'viewer');
await shareEvent(service, owner, event, editor, 'editor');

/** Deleting the event, linking a payment business and managing invites (completions 2.5). The code has a test of its own. */
const OWNER_ONLY: ReadonlySet<string> = new Set([
  'DELETE /voting-events/{idOrCode}',
  'PUT /voting-events/{idOrCode}/payment-business',
  'DELETE /voting-events/{idOrCode}/payment-business',
  'POST /voting-events/{idOrCode}/invites',
  'DELETE /voting-events/{idOrCode}/invites/{id}',
]);
/** What is sent by POST and changes nothing. */
const READING: ReadonlySet<string> = new Set([
  'POST /public/voting-events/{idOrCode}/voter/check',
  'POST /public/voting-events/{idOrCode}/log/proof',
]);

let serial = 0;
/** A row that is there: a role is judged after what the path names was found. */
async function rowFor(path: string): Promise<string> {
  const noun = path.split('/')[3] ?? '';
  serial += 1;
  if (noun === 'invites') return invite(service, owner, event, `guest-${serial}@club.example`, 'viewer');
  const position = event.positions[0]?.id;
  const bodies: Readonly<Record<string, object>> = {
    positions: { title: 'Another', votingMethod: 'plurality' },
    candidates: { name: 'Cy', positionIds: [position] },
    groups: { name: `Group ${serial}` },
    sponsors: { name: 'Sponsor' },
    voters: { name: 'Vera', voterId: `v-${serial}` },
  };
  const body = bodies[noun];
  if (body === undefined) return 'none';
  const target = `/voting-events/${event.id}/${noun}`;
  return demand(await owner.post(target, body), 201).id;
}

/** Every operation about an event, as the API document lists them. */
async function listOperations(): Promise<string[]> {
  const { body } = await service.call('GET', '/openapi.json');
  const paths: [string, object][] = Object.entries(body.paths);
  const ofEvents = paths.filter(([path]) => /^(\/public)?\/voting-events\/\{idOrCode\}/.test(path));
  return ofEvents.flatMap(([path, item]) =>
    Object.keys(item)
      .filter((method) => ['get', 'post', 'put', 'patch', 'delete'].includes(method))
      .map((method) => `${method.toUpperCase()} ${path}`),
  );
}

test('every operation about a shared event agrees with the role', async () => {
  const operations = await listOperations();
  expect(operations.length).toBeGreaterThan(50);
  expect([...OWNER_ONLY, ...READING].filter((one) => !operations.includes(one))).toEqual([]);
  const wrong: unknown[] = [];
  for (const operation of operations) {
    const [method = '', path = ''] = operation.split(' ');
    const isReading = method === 'GET' || READING.has(operation);
    for (const [role, account] of [
      ['viewer', viewer],
      ['editor', editor],
    ] as const) {
      const target = path
        .replace('{idOrCode}', event.id)
        .replace('{id}', path.includes('{id}') ? await rowFor(path) : '');
      // Refused for its body where the role allows it: nothing is changed.
      const body = method === 'GET' || method === 'DELETE' ? undefined : { nothing: 'known' };
      const key = path.startsWith('/public') ? account.vote : method === 'GET' ? account.read : account.write;
      const answer = await service.call(method, target.replaceAll(/\{\w+\}/g, '0'), body, { key });
      const isRefused = answer.status === 403 && answer.body.error?.details?.reason === 'role';
      const isExpected = !isReading && (role === 'viewer' || OWNER_ONLY.has(operation));
      if (isRefused !== isExpected) wrong.push([operation, role, answer.status, answer.body?.error?.details]);
    }
  }
  expect(wrong).toEqual([]);
});
