/** Acts about what stands beside the votes. */
import { at, type Json, type Random, text } from './kit.ts';
import { type Act, listedVoters, nth, type Op, onEvent, organize, organizerSend, voterKey, writer } from './send.ts';
import type { Event } from './state.ts';
import type { World } from './world.ts';

const get = (world: World, op: Op, path: string, key?: string) =>
  world.send({ process: op.p, method: 'GET', path, ...(key === undefined ? {} : { key }) });
const FILES = ['/voters/csv', '/payments/csv', '/audit/csv', '/definition', '/notifications'];
const PAGES = [
  ...['/', '/health', '/docs'],
  ...['/docs/errors', '/reference', '/reference/errors', '/reference/page.js', '/reference/search.json', '/llms.txt'],
  ...['/openapi.json', '/sdk/nothing.tgz', '/verify', '/verify/page.js', '/verify/voting-verifier.mjs', '/health/live'],
  ...['/.well-known/voting-log-key', '/.well-known/voting-service-log-key', '/log/checkpoint', '/log/tile/0/000'],
  ...['/confirm-address/none', '/rehearsal-payments/pay_none', '/downloads/none', '/downloads/letters/none'],
];
const LOG = [
  '/checkpoint',
  '/tile/0/000',
  '/tile/entries/000.p/1',
  '/consistency?from=1&to=1',
  '/configurations?from=0',
  '/inclusion',
  '/openings?fromIndex=0',
];

/** Follows an address that was given for a file: at once, when it is over, or a little changed. */
async function follow(world: World, op: Op, event: Event, location: string, random: Random): Promise<void> {
  if (!location.includes('/downloads/')) return;
  const { pathname } = new URL(location);
  const [id, key] = [pathname.split('/').at(-1) ?? '', world.model.keys.get(writer(world, op))];
  if (key === undefined) return;
  world.model.links.set(id, { until: world.driver.now() + 5 * 60_000, key, event });
  if (random.chance(0.15)) await world.advance(6 * 60_000);
  await get(world, op, random.chance(0.15) ? `${pathname}x` : pathname);
}
/** What was made to be looked at goes at once. */
export async function takeAway(world: World, op: Op, before: number): Promise<void> {
  const made = world.model.events.slice(before).at(-1);
  if (made !== undefined && !world.stopped) await organizerSend(world, op, 'DELETE', `/voting-events/${made.id}`);
}

export const besideActs: Record<string, Act> = {
  /** Every page that needs no key. */
  page: async (world, op) => {
    for (const path of PAGES) {
      await get(world, op, path);
      if (/confirm-address|rehearsal-payments/.test(path)) await world.send({ process: op.p, method: 'POST', path });
    }
    const path = '/provider-webhooks/provider_a/biz_none';
    await world.send({ process: op.p, method: 'POST', path, body: { id: 'evt_1' } });
  },
  beside: onEvent(async (world, event, op) => {
    const [key, base] = [writer(world, op), `/voting-events/${event.id}`];
    for (const path of [...FILES.map((one) => base + one), '/payments', '/payments/csv', '/payment-businesses', '/me'])
      await get(world, op, path, key);
    const rounds = `${base}/results/rounds?positionId=${nth(event.positions, op.i)?.id ?? 'pos_unknown'}`;
    await get(world, op, rounds, key);
    await get(world, op, `/public${rounds}`, voterKey(world, op));
  }),
  file: onEvent(async (world, event, op, random) => {
    await world.settle();
    const position = nth(event.positions, op.i)?.id ?? 'pos_unknown';
    const kinds = random.shuffle(['csv', 'json', 'cvr', 'pdf', `blt?positionId=${position}`]);
    for (const kind of kinds.slice(0, 2)) {
      const answer = await get(world, op, `/voting-events/${event.id}/results/${kind}`, writer(world, op));
      if (answer.status === 302) await follow(world, op, event, answer.headers['location'] ?? '', random);
    }
  }),
  log: onEvent(async (world, event, op, random) => {
    await world.settle();
    const key = random.chance(0.3) ? (await world.key(event.account, ['observe'], event.id)).key : voterKey(world, op);
    const base = `/public/voting-events/${event.id}/log`;
    for (const path of LOG) await get(world, op, base + path, key);
    const code = nth(event.ballots, op.j)?.code ?? event.pendings.at(-1)?.code ?? '0'.repeat(26);
    await world.send({ process: op.p, method: 'POST', path: `${base}/proof`, key, body: { confirmationCode: code } });
  }),
  notify: onEvent(async (world, event, op, random) => {
    const body = { audience: random.pick(['all', 'not_invited', 'not_voted']), kind: random.pick(['key', 'reminder']) };
    const early = random.chance(0.3) ? { beforeOpening: true } : {};
    await organize(world, op, event, 'POST', '/voters/notify', { ...body, ...early });
    await world.settle();
    const id = text(at(event.notifications.at(-1), 'id'));
    await organize(world, op, event, 'GET', `/notifications/${id === '' ? 'ntf_unknown' : id}`);
  }),
  letters: onEvent(async (world, event, op, random) => {
    const early = random.chance(0.3) ? { beforeOpening: true } : {};
    const body = { audience: random.chance(0.7) ? 'all' : 'without_email', ...early };
    await organize(world, op, event, 'POST', '/voters/letters', body);
    const path = `/letters/${event.letters.at(-1)?.id ?? 'let_unknown'}`;
    if (random.chance(0.8)) await world.settle();
    await organize(world, op, event, 'GET', path);
    const pdf = `/voting-events/${event.id}${path}/pdf?file=1`;
    for (let times = random.between(1, 2); times > 0 && !world.stopped; times -= 1) {
      const answer = await get(world, op, pdf, writer(world, op));
      if (answer.status === 302) await follow(world, op, event, answer.headers['location'] ?? '', random);
    }
  }),
  importRoll: onEvent(async (world, event, op, random) => {
    if (event.type === 'poll') return;
    const voters = Array.from({ length: random.between(1, 4) }, (): Json => {
      world.serial += 1;
      const twin = random.chance(0.2) ? nth(event.voters, op.i)?.email : undefined;
      const voterId = event.voter.requireVoterId && random.chance(0.9) ? { voterId: `I-${world.serial}` } : {};
      return { name: `Imported ${world.serial}`, email: twin ?? `i${world.serial}@example.com`, ...voterId };
    });
    const dry = random.chance(0.3) ? { dryRun: true } : {};
    await organize(world, op, event, 'POST', '/voters/import', {
      mode: random.pick(['all', 'partial']),
      ...dry,
      voters,
    });
  }),
  bulk: onEvent(async (world, event, op, random) => {
    const action = random.chance(0.7) ? 'reject' : 'delete';
    const [kind, name, rows] = random.pick<readonly [string, string, readonly { readonly id: string }[]]>([
      ['voters', 'voterIds', listedVoters(event)],
      ['candidates', 'candidateIds', event.candidates],
    ]);
    const ids = [...new Set([nth(rows, op.i)?.id, nth(rows, op.j)?.id])].map((id) => id ?? 'none');
    await organize(world, op, event, 'POST', `/${kind}/bulk`, {
      action,
      [name]: random.chance(0.9) ? ids : [...ids, 'none'],
    });
  }),
  copy: onEvent(async (world, event, op, random) => {
    const before = world.model.events.length;
    await organize(world, op, event, 'POST', '/copy', { title: `Copy ${op.i}`, withVoters: random.chance(0.5) });
    await takeAway(world, op, before);
  }),
  define: onEvent(async (world, event, op, random) => {
    const { body, status } = await get(world, op, `/voting-events/${event.id}/definition`, writer(world, op));
    const data = at(body, 'data') as Json;
    if (status !== 200 || world.stopped) return;
    if (random.chance(0.6)) {
      const dry = random.chance(0.4) ? '?dryRun=true' : '';
      return organize(world, op, event, 'PUT', `/definition${dry}`, data);
    }
    const before = world.model.events.length;
    const { code, ...settings } = at(data, 'event') as Json;
    const body2 = { ...data, event: random.chance(0.3) ? { code, ...settings } : settings };
    await world.send({
      process: op.p,
      method: 'POST',
      path: '/voting-events/definition',
      key: writer(world, op),
      body: body2,
    });
    await takeAway(world, op, before);
  }),
  sponsorChange: onEvent(async (world, event, op, random) => {
    if (event.sponsors.length === 0) await organize(world, op, event, 'POST', '/sponsors', { name: `Sponsor ${op.i}` });
    const path = `/sponsors/${text(nth(event.sponsors, op.i)?.['id']) || 'spn_unknown'}`;
    await organize(world, op, event, 'GET', path);
    await organize(world, op, event, 'PATCH', path, random.chance(0.8) ? { name: `Sponsor ${op.j}` } : {});
    if (random.chance(0.7)) await organize(world, op, event, 'DELETE', path);
  }),
  /** The organizer pays back what bought a vote, or what was never paid; or settles a case that is none. */
  refund: onEvent(async (world, event, op, random) => {
    const some = event.attempts.filter(
      (one) => !one.paid || (one.purpose === 'vote' && one.fulfilled !== undefined && !one.reversed),
    );
    const id = nth(some, op.i)?.id ?? 'pay_unknown';
    if (world.held) return;
    const path = `${random.chance(0.5) ? `/voting-events/${event.id}` : ''}/payments/${id}`;
    await organizerSend(world, op, 'POST', `${path}/settle`, { note: 'By hand.' });
    if (random.chance(0.8)) await organizerSend(world, op, 'POST', `${path}/refund`);
    await world.settle();
  }),
  retry: async (world, op, random) => {
    const id = nth(world.model.endpoints, op.i)?.id ?? 'whe_unknown';
    const path = `/webhook-endpoints/${id}/deliveries`;
    if (random.chance(0.3)) return void (await get(world, op, `${path}/csv`, writer(world, op)));
    const { body } = await get(world, op, path, writer(world, op));
    const rows = at(body, 'data');
    const delivery = Array.isArray(rows) ? text(at(nth(rows, op.j), 'id')) : '';
    await organizerSend(world, op, 'POST', `${path}/${delivery === '' ? 'whd_unknown' : delivery}/retry`);
  },
};
