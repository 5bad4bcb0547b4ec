/** Abstract operations become requests: what they name by index is looked up in the model, the rest is drawn from their own seed. */
import { spoil, validBallot } from './ballots.ts';
import { type Json, Random } from './kit.ts';
import { moreActs } from './more-acts.ts';
import {
  type Act,
  ask,
  listedVoters,
  nth,
  type Op,
  onEvent,
  organize,
  organizerSend,
  payAttempt,
  reference,
  relative,
  secondCall,
  visitor,
} from './send.ts';
import { closesAt, type Event, HOUR, livePendings, MINUTE, type Voter } from './state.ts';
import { DAY, type World } from './world.ts';

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
const requestKey = (world: World, event: Event, voter: Voter, op: Op): Promise<void> =>
  ask(world, op, event.id, 'voter-key/request', identify(event, voter));

/** Casts for one voter or visitor. @returns the confirmation code, if any */
async function cast(world: World, op: Op, event: Event, random: Random, spoiled: boolean): Promise<void> {
  const name = reference(event, random);
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
  await ask(world, op, name, 'ballot/cast', body, world.idempotent());
}
export async function confirmOne(world: World, op: Op, event: Event, random: Random, which?: number): Promise<void> {
  const now = world.driver.now();
  const waiting = random.chance(0.9) ? livePendings(event, now) : event.pendings;
  const code = which === undefined ? nth(waiting, op.j)?.code : waiting.at(which)?.code;
  const body = { confirmationCode: code ?? nth(event.ballots, op.j)?.code ?? '0'.repeat(26) };
  await ask(world, op, reference(event, random), 'ballot/confirm', body, world.idempotent());
}

const hasChoices = (event: Event): boolean => event.positions.length > 0 && event.candidates.length > 0;
const acts: Record<string, Act> = {
  event: async (world, op, random) => {
    const now = world.driver.now();
    const body =
      op.x === undefined ? { title: `Event ${op.i}`, type: random.pick(['election', 'poll']) } : relative(op.x, now);
    await organizerSend(world, op, 'POST', '/voting-events', body);
  },
  business: onEvent((world, event, op) => {
    const paymentBusinessId = nth(event.account.businesses, op.i)?.id ?? 'biz_unknown';
    return organize(world, op, event, 'PUT', '/payment-business', { paymentBusinessId });
  }),
  unlink: onEvent((world, event, op) => organize(world, op, event, 'DELETE', '/payment-business')),
  position: onEvent(async (world, event, op) => {
    const x = { ...(op.x ?? { title: `Position ${op.i}`, votingMethod: 'plurality' }) };
    if (typeof x['group'] === 'number') x['groupId'] = nth(event.groups, x['group'])?.id;
    delete x['group'];
    await organize(world, op, event, 'POST', '/positions', x);
  }),
  candidate: onEvent(async (world, event, op) => {
    const position = nth(event.positions, op.i);
    const body = { name: `Candidate ${op.j}`, positionIds: [position?.id ?? 'pos_unknown'], ...op.x };
    await organize(world, op, event, 'POST', '/candidates', body);
  }),
  group: onEvent((world, event, op) => organize(world, op, event, 'POST', '/groups', { name: `Group ${op.i}` })),
  sponsor: onEvent((world, event, op) => organize(world, op, event, 'POST', '/sponsors', { name: `Sponsor ${op.i}` })),
  /** x: { count, weights, groups, ids } */
  voters: onEvent(async (world, event, op, random) => {
    const voters = Array.from({ length: Number(op.x?.['count'] ?? 3) }, () => newVoter(world, event, op, random));
    await organize(world, op, event, 'POST', '/voters/batch', { voters });
  }),
  voter: onEvent(async (world, event, op, random) => {
    if (event.type === 'poll' && random.chance(0.9)) return;
    const body = newVoter(world, event, op, random);
    const twin = nth(event.voters, op.i);
    if (random.chance(0.15) && twin?.email) body['email'] = twin.email.toUpperCase();
    if (random.chance(0.1)) body['weight'] = random.pick([0, -1, 0.0000001, '2']);
    if (random.chance(0.1)) delete body[random.pick(Object.keys(body))];
    await organize(world, op, event, 'POST', '/voters', body);
  }),
  open: onEvent((world, event, op) => organize(world, op, event, 'PATCH', '', { status: 'open' })),
  close: onEvent((world, event, op) => organize(world, op, event, 'PATCH', '', { status: 'closed' })),
  keys: onEvent(async (world, event, op) => {
    if (event.type === 'poll') return;
    for (let index = 0; index < Math.min(Math.max(op.j, 1), 12, event.voters.length); index += 1) {
      const voter = nth(event.voters, op.i + index);
      if (voter !== undefined) await requestKey(world, event, voter, op);
    }
    await world.settle();
  }),
  keyUnknown: onEvent(async (world, event, op, random) => {
    const body = random.pick<Json>([
      { email: 'nobody@example.com' },
      { voterId: 'nobody' },
      {},
      { email: 'x' },
      { email: 'a@b.invalid' },
      { name: 'x' },
    ]);
    await ask(world, op, event.id, 'voter-key/request', body);
  }),
  sendKey: onEvent(async (world, event, op) => {
    const voter = nth(listedVoters(event), op.i);
    if (voter !== undefined) await organize(world, op, event, 'POST', `/voters/${voter.id}/voter-key`);
    await world.settleIfNeeded();
  }),
  check: onEvent(async (world, event, op, random) => {
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
    await ask(world, op, event.id, 'voter/check', body);
  }),
  cast: onEvent(async (world, event, op, random) => {
    if (hasChoices(event)) await cast(world, op, event, random, false);
  }),
  castOdd: onEvent(async (world, event, op, random) => {
    if (hasChoices(event)) await cast(world, op, event, random, true);
  }),
  confirm: onEvent((world, event, op, random) => confirmOne(world, op, event, random)),
  /** A voter from the key to the confirm; in paid polls with the payment. */
  vote: onEvent(async (world, event, op, random) => {
    if (!hasChoices(event)) return;
    const before = event.attempts.length;
    await cast(world, op, event, random, false);
    if (event.attempts.length > before) {
      const attempt = event.attempts.at(-1);
      if (attempt === undefined || world.stopped) return;
      await payAttempt(world, attempt.id, 'pay');
      await secondCall(world, op, attempt.id);
    }
    if (!world.stopped) await confirmOne(world, op, event, random, -1);
  }),
  confirmAgain: onEvent(async (world, event, op, random) => {
    const code = nth(event.ballots, op.j)?.code;
    if (code === undefined) return;
    const name = reference(event, random);
    await ask(world, op, name, 'ballot/confirm', { confirmationCode: random.chance(0.9) ? code : ` ${code} ` });
  }),
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
  advanceTo: onEvent(async (world, event, _, random) => {
    const now = world.driver.now();
    const start = event.startsAt !== null && event.startsAt > now ? event.startsAt : null;
    const target = start ?? closesAt(event);
    if (target === null) return;
    const to = target + (start !== null ? MINUTE : random.pick([-2 * MINUTE, 2 * MINUTE, 14 * MINUTE, 16 * MINUTE]));
    if (to > now + 1000 && to < now + 30 * DAY) await world.advance(to - now);
  }),
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
  pay: onEvent(async (world, event, op, random) => {
    const attempt = nth(recentOnes(event.attempts, op), op.i);
    if (attempt === undefined) return;
    const outcome = random.weighted<'pay' | 'fail' | 'cancel'>([
      [6, 'pay'],
      [1, 'fail'],
      [1, 'cancel'],
    ]);
    await payAttempt(world, attempt.id, outcome);
  }),
  second: onEvent(async (world, event, op) => {
    const attempt = nth(recentOnes(event.attempts, op), op.i);
    if (attempt !== undefined) await secondCall(world, op, attempt.id);
  }),
  /** A rehearsal from its beginning to its end: rounds of votes, and then nothing of it. */
  rehearse: onEvent(async (world, event, op, random) => {
    const now = world.driver.now();
    const begun = () => organize(world, op, event, 'PATCH', '', { status: 'rehearsal' });
    const soon = [event.startsAt, event.endsAt].some((one) => one !== null && one > now && one < now + HOUR);
    const isLate = event.endsAt !== null && event.endsAt <= now;
    if (!hasChoices(event) || soon || isLate || event.payToVote !== null || event.business !== null) return;
    // A start gives an election its own key, which no rehearsal may take.
    if (random.chance(0.5)) await organize(world, op, event, 'PATCH', '', { startsAt: now + 30 * DAY });
    await begun();
    await world.settle();
    for (let round = random.between(1, 2); event.rehearsal !== null && !world.stopped; round -= 1) {
      for (let voter = 0; voter < 3 && !world.stopped; voter += 1) {
        await cast(world, { ...op, i: op.i + voter }, event, random, random.chance(0.2));
        if (!world.stopped && random.chance(0.8)) await confirmOne(world, op, event, random, -1);
      }
      if (world.stopped) return;
      await organize(world, op, event, 'PATCH', '', { status: 'closed' });
      await world.settle();
      // Until the recurring jobs have seen the closed round.
      for (let minute = random.pick([0, 3]); minute > 0; minute -= 1) await world.advance(MINUTE);
      if (random.chance(0.5)) await cast(world, op, event, random, false);
      await organize(world, op, event, 'GET', '/results');
      if (round > 1) await begun();
      else await organize(world, op, event, 'PATCH', '', { status: random.pick(['draft', 'draft', 'open']) });
      world.recent.splice(0);
      await world.settle();
    }
  }),
  ...moreActs,
};

/** In a crowd only the last few are meant. */
const recentOnes = <T>(items: readonly T[], op: Op): readonly T[] =>
  op.x?.['recent'] === undefined ? items : items.slice(-Number(op.x['recent']));
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
