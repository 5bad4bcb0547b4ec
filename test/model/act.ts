/** Abstract operations become requests: what they name by index is looked up in the model, the rest is drawn from their own seed. */
import { spoil, validBallot } from './ballots.ts';
import { type Json, Random } from './kit.ts';
import { moreActs } from './more-acts.ts';
import { closesAt, type Event, HOUR, livePendings, MINUTE, statusOf, type Voter } from './state.ts';
import { DAY, type World } from './world.ts';

export interface Op {
  readonly k: string;
  /** The process, the event, two indexes, a seed, and what stands in a prepared body. */
  readonly p: number;
  readonly e: number;
  readonly i: number;
  readonly j: number;
  readonly r: number;
  readonly x?: Json;
}
export type Act = (world: World, op: Op, random: Random) => Promise<void>;

/** One of a list, by an index that may be beyond it. */
export function nth<T>(items: readonly T[], index: number): T | undefined {
  return items[index % Math.max(items.length, 1)];
}
export const writer = (world: World, op: Op): string =>
  nth(
    world.organizer.filter((one) => !one.revoked),
    op.p,
  )?.key ?? '';
export const voterKey = (world: World, op: Op): string =>
  nth(
    world.voting.filter((one) => !one.revoked),
    op.p,
  )?.key ?? '';
/** An event by ID or, now and then, by its code. */
export const reference = (event: Event, random: Random): string =>
  random.chance(0.9) ? event.id : random.chance(0.5) ? event.code : event.code.toLowerCase();

export async function organizerSend(world: World, op: Op, method: string, path: string, body?: unknown): Promise<void> {
  const headers = method === 'POST' ? world.idempotent(0.1) : {};
  await world.send({
    process: op.p,
    method,
    path,
    key: writer(world, op),
    ...headers,
    ...(body === undefined ? {} : { body }),
  });
}

export const visitor = (number: number): string => `vi_${number.toString(16).padStart(16, '0')}`;
/** A participant of a poll: few numbers, so that identities meet. */
function participant(event: Event, op: Op, random: Random): Json {
  if (op.x?.['visitor'] !== undefined) {
    const { visitor: device, address, member } = op.x;
    const known: Json = { visitorId: visitor(Number(device)) };
    if (event.voter.saveVoterInfo || event.business?.provider === 'provider_b')
      known['email'] = `p${Number(address)}@example.com`;
    if (event.voter.requireVoterId) known['voterId'] = `member ${Number(member)}`;
    return known;
  }
  const mixed = random.chance(0.25);
  const other = mixed ? random.int(8) : op.i % 40;
  const body: Json = { visitorId: visitor(op.i % 40) };
  if (event.voter.saveVoterInfo || event.business?.provider === 'provider_b' || random.chance(0.2))
    body['email'] = random.chance(0.2) ? `P${other}@Example.com` : `p${other}@example.com`;
  if (event.voter.requireVoterId || random.chance(0.1)) body['voterId'] = `member ${mixed ? random.int(8) : op.i % 40}`;
  return body;
}
const identify = (event: Event, voter: Voter): Json => {
  if (event.voter.requireVoterId) return { voterId: voter.voterId };
  return voter.email !== null ? { email: voter.email } : { voterId: voter.voterId };
};
async function keyOf(world: World, event: Event, voter: Voter, op: Op): Promise<string | undefined> {
  if (voter.keys.length === 0 && voter.source !== 'poll' && !voter.erased) {
    await requestKey(world, event, voter, op);
    await world.settle();
  }
  return voter.keys.at(-1);
}
async function requestKey(world: World, event: Event, voter: Voter, op: Op): Promise<void> {
  const path = `/public/voting-events/${event.id}/voter-key/request`;
  await world.send({ process: op.p, method: 'POST', path, key: voterKey(world, op), body: identify(event, voter) });
}

/** Casts for one voter or visitor. @returns the confirmation code, if any */
export async function cast(world: World, op: Op, event: Event, random: Random, spoiled: boolean): Promise<void> {
  const path = `/public/voting-events/${reference(event, random)}/ballot/cast`;
  let body: Json;
  let group: string | null = null;
  if (event.type === 'election') {
    const voter = nth(event.voters, op.i);
    if (voter === undefined) return;
    group = random.chance(0.95) ? voter.groupId : null;
    const key = random.chance(0.04) ? 'ABCD-EFGH-JKMN-PQRS' : await keyOf(world, event, voter, op);
    body = { ...identify(event, voter), voterKey: key ?? 'ABCD-EFGH-JKMN-PQRT' };
    const old = voter.dropped?.at(-1);
    if (old !== undefined && random.chance(0.2)) body['voterKey'] = old;
    if (random.chance(0.1)) body['voterKey'] = String(body['voterKey']).toLowerCase().replaceAll('-', '');
  } else {
    body = participant(event, op, random);
    if (event.payToVote !== null && event.business?.provider === 'provider_a')
      body['returnUrl'] = 'https://example.com/back';
    if (random.chance(0.03)) delete body[random.pick(Object.keys(body))];
  }
  if (random.chance(0.2)) body['countryCode'] = random.pick(['de', 'FR', 'ng']);
  if (random.chance(0.1)) body['name'] = 'Ada Lovelace';
  const votes = validBallot(event, group, random);
  body['votes'] = spoiled ? spoil(event, votes, random) : votes;
  await world.send({ process: op.p, method: 'POST', path, key: voterKey(world, op), ...world.idempotent(), body });
}
export async function confirmOne(world: World, op: Op, event: Event, random: Random, which?: number): Promise<void> {
  const now = world.driver.now();
  const waiting = random.chance(0.9) ? livePendings(event, now) : event.pendings;
  const code = which === undefined ? nth(waiting, op.j)?.code : waiting.at(which)?.code;
  const body = { confirmationCode: code ?? nth(event.ballots, op.j)?.code ?? '0'.repeat(26) };
  const path = `/public/voting-events/${reference(event, random)}/ballot/confirm`;
  await world.send({ process: op.p, method: 'POST', path, key: voterKey(world, op), ...world.idempotent(), body });
}

const acts: Record<string, Act> = {
  event: async (world, op, random) => {
    const now = world.driver.now();
    const body =
      op.x === undefined ? { title: `Event ${op.i}`, type: random.pick(['election', 'poll']) } : relative(op.x, now);
    await organizerSend(world, op, 'POST', '/voting-events', body);
  },
  business: async (world, op) => {
    const event = world.event(op.e);
    const id = nth(event?.account.businesses ?? [], op.i)?.id;
    if (event !== undefined)
      await organizerSend(world, op, 'PUT', `/voting-events/${event.id}/payment-business`, {
        paymentBusinessId: id ?? 'biz_unknown',
      });
  },
  unlink: async (world, op) => {
    const event = world.event(op.e);
    if (event !== undefined) await organizerSend(world, op, 'DELETE', `/voting-events/${event.id}/payment-business`);
  },
  position: async (world, op) => {
    const event = world.event(op.e);
    if (event === undefined) return;
    const x = { ...(op.x ?? { title: `Position ${op.i}`, votingMethod: 'plurality' }) };
    if (typeof x['group'] === 'number') x['groupId'] = nth(event.groups, x['group'])?.id;
    delete x['group'];
    await organizerSend(world, op, 'POST', `/voting-events/${event.id}/positions`, x);
  },
  candidate: async (world, op) => {
    const event = world.event(op.e);
    if (event === undefined) return;
    const position = nth(event.positions, op.i);
    const body = {
      name: `Candidate ${op.j}`,
      positionIds: position === undefined ? ['pos_unknown'] : [position.id],
      ...op.x,
    };
    await organizerSend(world, op, 'POST', `/voting-events/${event.id}/candidates`, body);
  },
  group: async (world, op) => {
    const event = world.event(op.e);
    if (event !== undefined)
      await organizerSend(world, op, 'POST', `/voting-events/${event.id}/groups`, { name: `Group ${op.i}` });
  },
  sponsor: async (world, op) => {
    const event = world.event(op.e);
    if (event !== undefined)
      await organizerSend(world, op, 'POST', `/voting-events/${event.id}/sponsors`, { name: `Sponsor ${op.i}` });
  },
  /** x: { count, weights, groups, ids } */
  voters: async (world, op, random) => {
    const event = world.event(op.e);
    if (event === undefined) return;
    const voters = Array.from({ length: Number(op.x?.['count'] ?? 3) }, () => newVoter(world, event, op, random));
    await organizerSend(world, op, 'POST', `/voting-events/${event.id}/voters/batch`, { voters });
  },
  voter: async (world, op, random) => {
    const event = world.event(op.e);
    if (event === undefined || (event.type === 'poll' && random.chance(0.9))) return;
    const body = newVoter(world, event, op, random);
    const twin = nth(event.voters, op.i);
    if (random.chance(0.15) && twin?.email) body['email'] = twin.email.toUpperCase();
    if (random.chance(0.1)) body['weight'] = random.pick([0, -1, 0.0000001, '2']);
    if (random.chance(0.1)) delete body[random.pick(Object.keys(body))];
    await organizerSend(world, op, 'POST', `/voting-events/${event.id}/voters`, body);
  },
  open: async (world, op) => {
    const event = world.event(op.e);
    if (event !== undefined) await organizerSend(world, op, 'PATCH', `/voting-events/${event.id}`, { status: 'open' });
  },
  close: async (world, op) => {
    const event = world.event(op.e);
    if (event !== undefined)
      await organizerSend(world, op, 'PATCH', `/voting-events/${event.id}`, { status: 'closed' });
  },
  keys: async (world, op) => {
    const event = world.event(op.e);
    if (event === undefined || event.type === 'poll') return;
    for (let index = 0; index < Math.min(Math.max(op.j, 1), 12, event.voters.length); index += 1) {
      const voter = nth(event.voters, op.i + index);
      if (voter !== undefined) await requestKey(world, event, voter, op);
    }
    await world.settle();
  },
  keyUnknown: async (world, op, random) => {
    const event = world.event(op.e);
    if (event === undefined) return;
    const body = random.pick<Json>([
      { email: 'nobody@example.com' },
      { voterId: 'nobody' },
      {},
      { email: 'x' },
      { email: 'a@b.invalid' },
      { name: 'x' },
    ]);
    await world.send({
      process: op.p,
      method: 'POST',
      path: `/public/voting-events/${event.id}/voter-key/request`,
      key: voterKey(world, op),
      body,
    });
  },
  sendKey: async (world, op) => {
    const event = world.event(op.e);
    const voter = nth(event?.voters.filter((one) => one.id !== '' && !one.erased) ?? [], op.i);
    if (event !== undefined && voter !== undefined)
      await organizerSend(world, op, 'POST', `/voting-events/${event.id}/voters/${voter.id}/voter-key`);
    await world.settleIfNeeded();
  },
  check: async (world, op, random) => {
    const event = world.event(op.e);
    if (event === undefined) return;
    const voter = nth(event.voters, op.i);
    let body: Json = participant(event, op, random);
    if (event.type === 'election') {
      if (voter === undefined) return;
      body = {
        ...identify(event, voter),
        voterKey: voter.keys.at(random.chance(0.7) ? -1 : 0) ?? 'ABCD-EFGH-JKMN-PQRV',
      };
    }
    if (random.chance(0.05)) delete body[random.pick(Object.keys(body))];
    await world.send({
      process: op.p,
      method: 'POST',
      path: `/public/voting-events/${event.id}/voter/check`,
      key: voterKey(world, op),
      body,
    });
  },
  cast: async (world, op, random) => {
    const event = world.event(op.e);
    if (event !== undefined && event.positions.length > 0 && event.candidates.length > 0)
      await cast(world, op, event, random, false);
  },
  castOdd: async (world, op, random) => {
    const event = world.event(op.e);
    if (event !== undefined && event.positions.length > 0 && event.candidates.length > 0)
      await cast(world, op, event, random, true);
  },
  confirm: async (world, op, random) => {
    const event = world.event(op.e);
    if (event !== undefined) await confirmOne(world, op, event, random);
  },
  /** A voter from the key to the confirm; in paid polls with the payment. */
  vote: async (world, op, random) => {
    const event = world.event(op.e);
    if (event === undefined || event.positions.length === 0 || event.candidates.length === 0) return;
    const before = event.attempts.length;
    await cast(world, op, event, random, false);
    if (event.attempts.length > before) {
      const attempt = event.attempts.at(-1);
      if (attempt === undefined || world.stopped) return;
      await payAttempt(world, attempt.id, 'pay');
      await secondCall(world, op, attempt.id);
    }
    if (!world.stopped) await confirmOne(world, op, event, random, -1);
  },
  confirmAgain: async (world, op, random) => {
    const event = world.event(op.e);
    const code = nth(event?.ballots ?? [], op.j)?.code;
    if (event === undefined || code === undefined) return;
    const path = `/public/voting-events/${reference(event, random)}/ballot/confirm`;
    await world.send({
      process: op.p,
      method: 'POST',
      path,
      key: voterKey(world, op),
      body: { confirmationCode: random.chance(0.9) ? code : ` ${code} ` },
    });
  },
  advance: async (world, _, random) => {
    await world.advance(
      random.weighted([
        [4, 3000],
        [4, MINUTE],
        [3, 10 * MINUTE],
        [3, 16 * MINUTE],
        [3, 61 * MINUTE],
        [1, 25 * HOUR],
      ]),
    );
  },
  /** To the event's start or end, or around the end of its confirm window. */
  advanceTo: async (world, op, random) => {
    const event = world.event(op.e);
    if (event === undefined) return;
    const now = world.driver.now();
    const start = event.startsAt !== null && event.startsAt > now ? event.startsAt : null;
    const target = start ?? closesAt(event);
    if (target === null) return;
    const to = target + (start !== null ? MINUTE : random.pick([-2 * MINUTE, 2 * MINUTE, 14 * MINUTE, 16 * MINUTE]));
    if (to > now + 1000 && to < now + 30 * DAY) await world.advance(to - now);
  },
  restart: async (world, op) => {
    await world.settleIfNeeded();
    world.note(`-- process ${op.p} is killed and starts again`);
    await world.driver.restart(op.p);
  },
  rotate: async (world) => {
    await world.settleIfNeeded();
    world.note('-- the secret key is rotated');
    await world.driver.rotateSecretKey();
  },
  pay: async (world, op, random) => {
    const event = world.event(op.e);
    const attempt = nth(recentOnes(event?.attempts ?? [], op), op.i);
    if (attempt !== undefined)
      await payAttempt(
        world,
        attempt.id,
        random.weighted([
          [6, 'pay'],
          [1, 'fail'],
          [1, 'cancel'],
        ] as const),
      );
  },
  second: async (world, op) => {
    const attempt = nth(recentOnes(world.event(op.e)?.attempts ?? [], op), op.i);
    if (attempt !== undefined) await secondCall(world, op, attempt.id);
  },
  ...moreActs,
};

/** In a crowd only the last few are meant. */
const recentOnes = <T>(items: readonly T[], op: Op): readonly T[] =>
  op.x?.['recent'] === undefined ? items : items.slice(-Number(op.x['recent']));
export async function payAttempt(world: World, id: string, outcome: 'pay' | 'fail' | 'cancel'): Promise<void> {
  const attempt = world.model.attempts.get(id);
  if (attempt === undefined || attempt.paid || attempt.refused || attempt.ended || attempt.checkoutUrl === '') return;
  if (world.driver.now() > attempt.createdAt + 55 * MINUTE) return;
  // Providers tell whole seconds: within the second of the close, before and after cannot be told apart.
  const [now, { event }] = [world.driver.now(), attempt];
  if (statusOf(event, now) === 'closed' && statusOf(event, now - 1_500) !== 'closed') await world.driver.advance(2_000);
  world.note(`-- the payer of ${id}: ${outcome}`);
  const answer = await world.driver.pay(attempt.checkoutUrl, outcome);
  if (outcome === 'pay') {
    if (answer.status !== 303) world.report(`pay | status ${answer.status}`, `paying answered ${answer.status}`, true);
    attempt.paid = true;
    attempt.paidLate = statusOf(attempt.event, world.driver.now()) === 'closed';
  } else attempt.refused = true;
  if (!world.held) await world.settle();
}
const secondPaths = {
  vote: 'ballot/cast',
  candidate_registration: 'register/candidate',
  quadratic_credits: 'quadratic-credits/checkout',
};
export async function secondCall(world: World, op: Op, id: string): Promise<void> {
  const attempt = world.model.attempts.get(id);
  if (attempt === undefined || attempt.event.deleted) return;
  const path = `/public/voting-events/${attempt.event.id}/${secondPaths[attempt.purpose]}`;
  // One name for all second calls of an attempt: a stored 402 would be replayed.
  const headers = op.j % 3 === 0 ? { headers: { 'idempotency-key': `second-${id}` } } : {};
  await world.send({
    process: op.p,
    method: 'POST',
    path,
    key: voterKey(world, { ...op, p: 0 }),
    ...headers,
    body: { paymentAttemptId: id },
  });
}

function newVoter(world: World, event: Event, op: Op, random: Random): Json {
  world.serial += 1;
  const body: Json = {
    name: `Voter ${world.serial}`,
    email: `v${world.serial}.e${world.model.events.indexOf(event)}@example.com`,
  };
  if (event.voter.requireVoterId || random.chance(0.1)) body['voterId'] = `M-${world.serial}`;
  const weights = op.x?.['weights'];
  if (Array.isArray(weights)) body['weight'] = random.pick(weights as number[]);
  if (event.groups.length > 0 && random.chance(0.7)) body['groupId'] = nth(event.groups, random.int(9))?.id;
  return body;
}
/** `startsIn` and `endsIn` (ms) become times. */
export function relative(x: Json, now: number): Json {
  const { startsIn, endsIn, ...body } = x;
  if (typeof startsIn === 'number') body['startsAt'] = now + startsIn;
  if (typeof endsIn === 'number') body['endsAt'] = now + endsIn;
  return body;
}

export async function perform(world: World, op: Op): Promise<void> {
  const act = acts[op.k];
  if (act === undefined) throw new Error(`no operation ${op.k}`);
  // Deletions are done and mails read before anything else is asked: what is under way is left to the concurrent histories.
  await world.settleIfNeeded();
  world.random = new Random(op.r ^ 0x5bd1e995);
  world.reader = new Random(op.r ^ 0x27d4eb2f);
  world.note(`# ${op.k}`);
  await act(world, op, new Random(op.r));
}
