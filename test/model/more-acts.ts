/** Changes, reads and odd requests. */

import { besideActs, takeAway } from './beside-acts.ts';
import { eventChange, positionChange } from './changes.ts';
import { at, fieldsOf, isObject, type Json } from './kit.ts';
import { resolvedMax } from './positions.ts';
import {
  type Act,
  ask,
  listedVoters,
  nth,
  onEvent,
  organize,
  organizerSend,
  payAttempt,
  reference,
  relative,
  secondCall,
  visitor,
  voterKey,
  writer,
} from './send.ts';
import { sharingActs } from './sharing-acts.ts';
import { type Event, frozen, HOUR, MINUTE, metInPoll } from './state.ts';
import { DAY } from './world.ts';

const organizerReads = [
  '',
  '/positions',
  '/candidates',
  '/groups',
  '/sponsors',
  '/voters',
  '/results',
  '/votes',
  '/stats',
  '/payments',
  '/payment-business',
];
const publicReads = ['', '', '/ballot', '/ballot?seed=one', '/ballot?seed=two', '/results', '/results', '/results'];

const quadraticOf = (event: Event) => event.positions.filter((one) => one.votingMethod === 'quadratic');

export const moreActs: Record<string, Act> = {
  ...sharingActs,
  ...besideActs,
  patchEvent: onEvent(async (world, event, op, random) => {
    const body = op.x === undefined ? eventChange(world, op.e, random) : relative(op.x, world.driver.now());
    await organizerSend(world, op, 'PATCH', `/voting-events/${reference(event, random)}`, body);
  }),
  /** The start is put off, or taken away. */
  moveStart: onEvent(async (world, event, op, random) => {
    const later = world.driver.now() + random.pick([10 * MINUTE, 2 * HOUR, DAY]);
    const startsAt = random.chance(0.4) ? null : later;
    const endsAt = event.endsAt !== null && startsAt !== null && startsAt >= event.endsAt ? { endsAt: null } : {};
    await organize(world, op, event, 'PATCH', '', { startsAt, ...endsAt });
  }),
  /** Credits of the event's quadratic position go on sale. */
  topUp: onEvent(async (world, event, op, random) => {
    const [position] = quadraticOf(event);
    if (position === undefined) return;
    const currency = event.business?.provider === 'provider_b' ? 'ngn' : 'usd';
    const quadraticTopUp = random.chance(0.5)
      ? { pricingModel: 'ratio', currency, pricePerCreditMinor: 1000, minCredits: 5, maxCredits: 60 }
      : {
          pricingModel: 'tiered',
          currency,
          tiers: [
            { id: 'small', label: 'Small', credits: 10, amountMinor: 6000 },
            { id: 'large', label: 'Large', credits: 40, amountMinor: 15_000 },
          ],
        };
    await organize(world, op, event, 'PATCH', `/positions/${position.id}`, { quadraticTopUp });
  }),
  patchPosition: onEvent(async (world, event, op, random) => {
    const position = nth(event.positions, op.i);
    if (position === undefined) return;
    const maxSelections = position.maxSelections ?? resolvedMax(event, position);
    const change = positionChange(random, event.groups, { ...position, maxSelections });
    await organize(world, op, event, 'PATCH', `/positions/${position.id}`, change);
  }),
  patchCandidate: onEvent(async (world, event, op, random) => {
    const candidate = nth(event.candidates, op.i);
    if (candidate === undefined) return;
    const body = random.weighted<() => Json>([
      [5, () => ({ status: random.pick(['pending', 'approved', 'rejected', 'withdrawn']) })],
      [3, () => ({ status: 'approved' })],
      [1, () => ({ name: `Renamed ${random.int(99)}` })],
      [1, () => ({ description: 'Words.' })],
      [1, () => ({ positionIds: [nth(event.positions, random.int(5))?.id ?? 'pos_unknown'] })],
      [1, () => fieldsOf(candidate, ['name', 'status', 'positionIds', 'groupId'])],
      [1, () => ({ status: 'gone' })],
    ])();
    await organize(world, op, event, 'PATCH', `/candidates/${candidate.id}`, body);
  }),
  patchVoter: onEvent(async (world, event, op, random) => {
    const voter = nth(listedVoters(event), op.i);
    if (voter === undefined) return;
    world.serial += 1;
    const body = random.weighted<() => Json>([
      [4, () => ({ status: 'rejected' })],
      [4, () => ({ status: 'approved' })],
      [3, () => ({ email: `v${world.serial}.new@example.com` })],
      [1, () => ({ email: nth(event.voters, op.j)?.email ?? null })],
      [2, () => ({ weight: random.pick([1, 2, 3, 0.5]) })],
      [1, () => ({ voterId: `M-${world.serial}` })],
      [2, () => ({ groupId: nth(event.groups, random.int(5))?.id ?? null })],
      [1, () => ({ name: `Named ${random.int(99)}` })],
      [1, () => fieldsOf(voter, ['name', 'email', 'voterId', 'weight', 'groupId', 'status'])],
      [1, () => ({ status: 'pending' })],
    ])();
    await organize(world, op, event, 'PATCH', `/voters/${voter.id}`, body);
  }),
  remove: onEvent(async (world, event, op, random) => {
    const [kind, rows] = random.weighted<readonly [string, readonly { readonly id: string }[]]>([
      [1, ['positions', event.positions]],
      [2, ['candidates', event.candidates]],
      [2, ['groups', event.groups]],
      [4, ['voters', listedVoters(event)]],
    ]);
    await organize(world, op, event, 'DELETE', `/${kind}/${nth(rows, op.i)?.id ?? `${kind.slice(0, 3)}_unknown`}`);
  }),
  removeEvent: onEvent((world, event, op, random) =>
    organize(world, op, event, 'DELETE', random.chance(0.2) ? '?force=true' : ''),
  ),
  read: onEvent(async (world, event, op, random) => {
    const path = `/voting-events/${reference(event, random)}${random.pick(organizerReads)}`;
    const filter = /voters$/.test(path)
      ? random.pick(['', '?status=approved', '?voted=true', '?limit=200', '?status=nonsense', '?limit=0'])
      : '';
    await organizerSend(world, op, 'GET', path + filter);
  }),
  readOne: onEvent(async (world, event, op, random) => {
    const [kind, rows] = random.pick<readonly [string, readonly { readonly id: string }[]]>([
      ['positions', event.positions],
      ['candidates', event.candidates],
      ['voters', listedVoters(event)],
      ['payments', event.attempts],
    ]);
    const row = nth(rows, op.i);
    if (row !== undefined) await organize(world, op, event, 'GET', `/${kind}/${row.id}`);
  }),
  look: onEvent(async (world, event, op, random) => {
    const path = `/public/voting-events/${reference(event, random)}${random.pick(publicReads)}`;
    await world.send({ process: op.p, method: 'GET', path, key: voterKey(world, op) });
  }),
  payment: onEvent(async (world, event, op) => {
    const attempt = nth(event.attempts, op.i);
    if (attempt === undefined) return;
    const path = `/public/voting-events/${event.id}/payments/${attempt.id}`;
    await world.send({ process: op.p, method: 'GET', path, key: voterKey(world, op) });
  }),
  /** A list page by page, with something happening in between. */
  walk: onEvent(async (world, event, op, random) => {
    const kind = random.pick(['votes', 'voters']);
    const limit = random.between(1, 7);
    const seen: string[] = [];
    let cursor: string | null = null;
    const expected = kind === 'voters' ? event.voters.length : undefined;
    for (let page = 0; page < 60; page += 1) {
      const next: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const answer = await world.driver.call({
        process: page % 2,
        method: 'GET',
        path: `/voting-events/${event.id}/${kind}?limit=${limit}${next}`,
        key: writer(world, op),
      });
      if (answer.status !== 200) {
        if (answer.status !== 403 && answer.status !== 429)
          world.report(
            `walk ${kind} | page answered ${answer.status}`,
            `page ${page} of ${kind} answered ${answer.status}`,
            false,
          );
        return;
      }
      const rows = at(answer.body, 'data');
      if (Array.isArray(rows)) {
        if (rows.length > limit)
          world.report(`walk ${kind} | a page longer than its limit`, `${rows.length} rows at limit ${limit}`, false);
        seen.push(...rows.map((one) => (isObject(one) ? String(one['id']) : '')));
      }
      const following = at(answer.body, 'nextCursor');
      cursor = typeof following === 'string' ? following : null;
      if (cursor === null) break;
    }
    world.note(`GET …/${kind} walked by ${limit}: ${seen.length} rows`);
    if (new Set(seen).size !== seen.length)
      world.report(`walk ${kind} | a row twice`, `${seen.length} rows, ${new Set(seen).size} different`, false);
    if (
      expected !== undefined &&
      cursor === null &&
      seen.length !== expected &&
      !event.looseRoll &&
      !event.voters.some((one) => metInPoll(event, one)) &&
      !event.voters.some((one) => one.erased)
    )
      world.report(`walk ${kind} | rows missing or too many`, `${seen.length} rows, expected ${expected}`, false);
  }),
  registerVoter: onEvent(async (world, event, op, random) => {
    world.serial += 1;
    const body: Json = { name: 'New Voter', email: `r${world.serial}@example.com` };
    if (event.voter.requireVoterId || random.chance(0.2)) body['voterId'] = `R-${world.serial}`;
    if (random.chance(0.1)) body['email'] = nth(event.voters, op.i)?.email ?? 'x';
    if (random.chance(0.1)) body['groupId'] = nth(event.groups, op.i)?.id ?? 'grp_unknown';
    await ask(world, op, event.id, 'register/voter', body, world.idempotent());
  }),
  registerCandidate: onEvent(async (world, event, op, random) => {
    const positions = event.positions.filter((one) => one.votingMethod !== 'referendum');
    const body: Json = {
      name: `Runner ${random.int(99)}`,
      positionIds: [nth(positions, op.i)?.id ?? 'pos_unknown'],
      email: 'runner@example.com',
    };
    if (event.payToRegister !== null && event.business?.provider === 'provider_a' && random.chance(0.9))
      body['returnUrl'] = 'https://example.com/back';
    await ask(world, op, event.id, 'register/candidate', body, world.idempotent());
  }),
  credits: onEvent(async (world, event, op, random) => {
    const position = nth(quadraticOf(event), op.j);
    if (position === undefined) return;
    const path = `/public/voting-events/${event.id}/quadratic-credits${random.chance(0.3) ? '/options' : ''}?positionId=${position.id}&visitorId=${visitor(op.i % 40)}`;
    await world.send({ process: op.p, method: 'GET', path, key: voterKey(world, op) });
  }),
  buyCredits: onEvent(async (world, event, op, random) => {
    const position = nth(quadraticOf(event), op.j);
    if (position === undefined) return;
    const tiers = position.quadraticTopUp?.['tiers'];
    const tier: unknown = Array.isArray(tiers) ? at(nth(tiers, random.int(3)), 'id') : undefined;
    const body: Json = {
      positionId: position.id,
      visitorId: visitor(op.i % 40),
      ...(tier === undefined ? { credits: random.pick([1, 10, 20, 50, 100000]) } : { tierId: tier }),
    };
    if (event.business?.provider === 'provider_b') body['email'] = 'payer@example.com';
    else if (random.chance(0.9)) body['returnUrl'] = 'https://example.com/back';
    await ask(world, op, event.id, 'quadratic-credits/checkout', body, world.idempotent());
    const attempt = event.attempts.at(-1);
    if (attempt !== undefined && !attempt.paid && !world.stopped && random.chance(0.7)) {
      await payAttempt(world, attempt.id, 'pay');
      await secondCall(world, op, attempt.id);
    }
  }),
  /** The merchant pays back, or loses (or wins) a dispute: the ballot that was paid for is void, or stays. */
  reverse: async (world, op, random) => {
    const event = world.event(op.e);
    const attempt = nth(
      event?.attempts.filter((one) => one.fulfilled !== undefined && one.purpose === 'vote' && !one.reversed) ?? [],
      op.i,
    );
    const ballot = event?.ballots.find((one) => one.attempt === attempt);
    if (event === undefined || attempt === undefined || ballot === undefined || world.held) return;
    attempt.reversed = true;
    const way = random.pick(['refund', 'won', 'lost'] as const);
    world.note(`-- the merchant of ${attempt.id}: ${way}`);
    if (way === 'refund') await world.driver.merchantRefund(attempt.checkoutUrl);
    else {
      await world.driver.dispute(attempt.checkoutUrl, 'opened');
      await world.settle();
      await world.driver.dispute(attempt.checkoutUrl, way);
    }
    await world.settle();
    // What a final result shows stays as it was at the close.
    if (way !== 'won')
      Object.assign(ballot, frozen(event, world.driver.now()) ? { voidedLate: true } : { voided: true });
  },
  /** The same request again, at the other process; sometimes a little different. */
  repeat: async (world, op, random) => {
    const request = nth(world.recent, op.i);
    if (request === undefined) return;
    const event = world.model.events.find((one) => request.path.includes(one.id));
    const path = event !== undefined && random.chance(0.2) ? request.path.replace(event.id, event.code) : request.path;
    const changed =
      random.chance(0.15) && isObject(request.body) ? { body: { ...request.body, name: 'Somebody else' } } : {};
    const before = world.model.events.length;
    await world.send({ ...request, path, ...changed, process: 1 - request.process });
    world.recent.pop();
    // A day later the same key makes another copy.
    if (/\/(copy|definition)$/.test(path)) await takeAway(world, op, before);
  },
  plan: async (world, op, random) => {
    const account = world.organizer[0]?.account;
    if (account === undefined) return;
    const plan = op.x === undefined ? random.pick(['pro', 'enterprise'] as const) : 'free';
    world.note(`-- the plan becomes ${plan}`);
    await world.driver.setPlan(account.id, plan);
    account.plan = plan;
  },
  revoke: async (world, op) => {
    const keys = world[op.j % 2 === 0 ? 'voting' : 'organizer'];
    const key = keys.length > 1 ? keys[0] : undefined;
    if (key === undefined) return;
    world.note(`-- a key is revoked and replaced: ${key.id}`);
    await world.driver.revokeKey(key.id);
    key.revoked = true;
    await world.driver.settle();
    const fresh = await world.key(key.account, key.scopes as ('read' | 'write' | 'vote')[]);
    keys.shift();
    keys.push(fresh);
    world.others.push(key);
  },
  hold: async (world) => {
    if (world.held) {
      const messages = await world.driver.heldMessages();
      world.note(`-- the providers' ${messages.length} messages come, the last first and some twice`);
      const order = [...messages.keys()].reverse().flatMap((one) => (one % 2 === 0 ? [one, one] : [one]));
      await world.driver.deliverMessages(order);
      await world.driver.holdMessages(false);
      world.held = false;
      await world.settle();
    } else {
      world.note("-- the providers' messages are held back");
      await world.driver.holdMessages(true);
      world.held = true;
    }
  },
  odd: onEvent(async (world, event, op, random) => {
    const base = `/voting-events/${event.id}`;
    const key = random.weighted<string | undefined>([
      [4, writer(world, op)],
      [3, voterKey(world, op)],
      [3, nth(world.others, op.i)?.key],
      [1, undefined],
      [1, 'vsk_0000000000000000000000000000000000000000'],
    ]);
    const [method, path, body] = random.pick<readonly [string, string, unknown?]>([
      ['GET', `${base}?nonsense=1`],
      ['GET', `${base}/nonsense`],
      ['PUT', `${base}/voters`],
      ['GET', `${base}/candidates/cnd_unknown`],
      ['PATCH', `${base}/positions/pos_unknown`, { title: '' }],
      ['POST', `${base}/candidates`, { name: 'No position' }],
      ['POST', `${base}/positions`, { title: 'x', votingMethod: 'score', cumulativePointBudget: 5 }],
      ['POST', `${base}/groups`, { name: 'Group 0' }],
      ['GET', '/me'],
      ['GET', '/voting-events?type=poll'],
      ['GET', '/voting-events?limit=1'],
      ['GET', `${base}/votes?limit=5`],
      ['GET', `/public${base}`],
      ['GET', `/public${base}/payments/pay_unknown`],
      ['POST', `/public${base}/ballot/cast`, { paymentAttemptId: 'pay_unknown' }],
      ['POST', `/public${base}/ballot/confirm`, { confirmationCode: '' }],
      ['POST', `/public${base}/ballot/confirm`, { confirmationCode: 'ZZZZZZZZZZZZZZZZZZZZZZZZZZ' }],
      ['GET', '/public/voting-events/evt_unknown'],
      ['GET', '/payment-businesses'],
    ]);
    const given = { ...(key === undefined ? {} : { key }), ...(body === undefined ? {} : { body }) };
    await world.send({ process: op.p, method, path, ...given });
  }),
};
