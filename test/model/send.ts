/** How an act reaches the service: the requests that many acts send, and paying. */
import type { Json, Random } from './kit.ts';
import { type Event, hasBareReferendum, type Key, MINUTE, statusOf, type Voter } from './state.ts';
import type { World } from './world.ts';

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
/** An act about one event: nothing happens where there is none. */
export const onEvent =
  (act: (world: World, event: Event, op: Op, random: Random) => Promise<void>): Act =>
  async (world, op, random) => {
    const event = world.event(op.e);
    if (event !== undefined) await act(world, event, op, random);
  };

/** One of a list, by an index that may be beyond it. */
export function nth<T>(items: readonly T[], index: number): T | undefined {
  return items[index % Math.max(items.length, 1)];
}
const liveKey = (keys: readonly Key[], op: Op): string => {
  const live = keys.filter((one) => !one.revoked);
  return nth(live, op.p)?.key ?? '';
};
export const writer = (world: World, op: Op): string => liveKey(world.organizer, op);
export const voterKey = (world: World, op: Op): string => liveKey(world.voting, op);
/** Voters who stand on the roll by name: they have an ID, and are not erased. */
export const listedVoters = (event: Event): readonly Voter[] =>
  event.voters.filter((one) => one.id !== '' && !one.erased);
/** An event by ID or, now and then, by its code. */
export const reference = (event: Event, random: Random): string =>
  random.chance(0.9) ? event.id : random.chance(0.5) ? event.code : event.code.toLowerCase();

export async function organizerSend(world: World, op: Op, method: string, path: string, body?: unknown): Promise<void> {
  const [, reference = ''] = /^\/voting-events\/([^/]+)$/.exec(path) ?? [];
  const event = method === 'PATCH' ? world.model.find(reference) : undefined;
  const sent = (body ?? {}) as Json;
  // The IDs of Yes, No and Abstain would be the service's own choice.
  if (event !== undefined && hasBareReferendum(event) && (sent['status'] === 'open' || sent['startsAt'] != null))
    return;
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

/** An organizer's request about an event. */
export const organize = (world: World, op: Op, event: Event, method: string, path: string, body?: unknown) =>
  organizerSend(world, op, method, `/voting-events/${event.id}${path}`, body);
/** What a voting page posts about an event, which is named by its ID or its code. */
export async function ask(
  world: World,
  op: Op,
  name: string,
  place: string,
  body: Json,
  headers: ReturnType<World['idempotent']> = {},
): Promise<void> {
  const path = `/public/voting-events/${name}/${place}`;
  await world.send({ process: op.p, method: 'POST', path, key: voterKey(world, op), ...headers, body });
}

export const visitor = (number: number): string => `vi_${number.toString(16).padStart(16, '0')}`;
/** `startsIn` and `endsIn` (ms) become times. */
export function relative(x: Json, now: number): Json {
  const { startsIn, endsIn, ...body } = x;
  if (typeof startsIn === 'number') body['startsAt'] = now + startsIn;
  if (typeof endsIn === 'number') body['endsAt'] = now + endsIn;
  return body;
}

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
  // One name for all second calls of an attempt: a stored 402 would be replayed.
  const headers = op.j % 3 === 0 ? { headers: { 'idempotency-key': `second-${id}` } } : {};
  const path = `/public/voting-events/${attempt.event.id}/${secondPaths[attempt.purpose]}`;
  const key = voterKey(world, { ...op, p: 0 });
  await world.send({ process: op.p, method: 'POST', path, key, ...headers, body: { paymentAttemptId: id } });
}
