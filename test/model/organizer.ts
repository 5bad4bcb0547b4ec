/** Events: their settings, life, payment business and deletion. */
import {
  type Context,
  conflict,
  type Expected,
  LIMITS,
  listed,
  notFound,
  ok,
  type Route,
  refuse,
  route,
  unfit,
  wrongly,
} from './answer.ts';
import { stepped } from './disclosure.ts';
import * as kit from './kit.ts';
import { at, bool, type Json, nullable } from './kit.ts';
import type { Model } from './model.ts';
import { rehearse } from './rehearsing.ts';
import { roleOf } from './sharing.ts';
import { type Event, eventBody, frozen, isReady, livePendings, statusOf } from './state.ts';

const price = nullable(
  kit.object({ amountMinor: [kit.int(1, 99_999_999_999)], currency: [kit.pattern(/^[a-z]{3}$/)] }),
);
const settings = {
  title: kit.name(200),
  code: kit.pattern(/^[A-Za-z0-9]{6,12}$/),
  description: nullable(kit.str(0, 5000)),
  type: kit.among('election', 'poll'),
  startsAt: nullable(kit.int(0)),
  endsAt: nullable(kit.int(0)),
  timeZone: kit.pattern(/^(UTC|[A-Z][a-z]+\/[A-Za-z_]+)$/),
  voter: kit.object({
    requireVoterId: bool,
    selfRegistration: bool,
    approval: kit.among('automatic', 'manual'),
    saveVoterInfo: bool,
  }),
  candidate: kit.object({ selfRegistration: bool }),
  ballot: kit.object({
    candidateOrder: kit.among('fixed', 'shuffled'),
    opening: kit.among('none', 'observer', 'public'),
    receipt: kit.among('inclusion', 'full'),
  }),
  results: kit.object({ visibility: kit.among('hidden', 'live', 'published') }),
  log: kit.object({ open: bool }),
  payments: kit.object({ payToVote: price, payToRegisterCandidate: price, repeatVotes: bool }),
};
const createSpec = kit.required(settings, 'title', 'type');
const patchSpec = { ...settings, status: kit.among('draft', 'scheduled', 'open', 'closed', 'rehearsal') };

export function blank(key: Context['key']): Event {
  return {
    id: '',
    code: '',
    account: key.account,
    title: '',
    description: null,
    type: 'election',
    startsAt: null,
    endsAt: null,
    timeZone: 'UTC',
    openedAt: null,
    closedAt: null,
    voter: { requireVoterId: false, selfRegistration: false, approval: 'automatic', saveVoterInfo: false },
    candidate: { selfRegistration: false },
    ballot: { candidateOrder: 'fixed', opening: 'observer', receipt: 'inclusion' },
    visibility: 'hidden',
    log: { open: false },
    payToVote: null,
    payToRegister: null,
    repeatVotes: false,
    business: null,
    positions: [],
    candidates: [],
    groups: [],
    sponsors: [],
    invites: [],
    notifications: [],
    letters: [],
    rehearsal: null,
    made: 0,
    voters: [],
    pendings: [],
    ballots: [],
    attempts: [],
    purchased: new Map(),
    everCast: false,
    deleted: false,
    steps: [0],
    wrongKeys: [],
  };
}

/** A copy of the event with the fields of a body written over it. */
function written(event: Event, body: Json): Event {
  const part = (name: string): Json => (kit.isObject(body[name]) ? body[name] : {});
  const prices = part('payments');
  const cleaned = (name: 'title' | 'timeZone', before: string) =>
    typeof body[name] === 'string' ? kit.clean(body[name]) : before;
  const pick = <T>(name: string, before: T): T => (body[name] === undefined ? before : (body[name] as T));
  const description = body['description'];
  return {
    ...event,
    title: cleaned('title', event.title),
    code: pick('code', event.code),
    description:
      description === undefined
        ? event.description
        : typeof description === 'string' && kit.clean(description) !== ''
          ? kit.clean(description)
          : null,
    type: pick('type', event.type),
    startsAt: pick('startsAt', event.startsAt),
    endsAt: pick('endsAt', event.endsAt),
    timeZone: cleaned('timeZone', event.timeZone),
    voter: { ...event.voter, ...part('voter') },
    candidate: { ...event.candidate, ...part('candidate') },
    ballot: { ...event.ballot, ...part('ballot') },
    log: { ...event.log, ...part('log') },
    visibility: (part('results')['visibility'] as string | undefined) ?? event.visibility,
    payToVote: prices['payToVote'] === undefined ? event.payToVote : (prices['payToVote'] as Json | null),
    payToRegister:
      prices['payToRegisterCandidate'] === undefined
        ? event.payToRegister
        : (prices['payToRegisterCandidate'] as Json | null),
    repeatVotes: (prices['repeatVotes'] as boolean | undefined) ?? event.repeatVotes,
  };
}
export const currencyFits = (event: Event, currency: unknown): boolean =>
  event.business !== null && (event.business.currencies ?? []).includes(String(currency));

function misfits(next: Event, before: Event | undefined): string[] {
  const fields: string[] = [];
  // An end before the start of an event that was opened earlier by hand lies after its opening.
  const start = next.startsAt === null ? null : Math.min(next.startsAt, next.openedAt ?? Infinity);
  if (start !== null && next.endsAt !== null && next.endsAt <= start) fields.push('endsAt', 'startsAt');
  if (next.type === 'poll' && next.voter.selfRegistration) fields.push('voter.selfRegistration', 'type');
  if (next.payToVote !== null && next.type === 'election') fields.push('payments.payToVote', 'type');
  for (const name of ['payToVote', 'payToRegister'] as const) {
    const value = next[name];
    if (value === null || JSON.stringify(value) === JSON.stringify(before?.[name] ?? null)) continue;
    const field = name === 'payToVote' ? 'payments.payToVote' : 'payments.payToRegisterCandidate';
    if (!currencyFits(next, value['currency'])) fields.push(field, `${field}.currency`);
  }
  return fields;
}

function create(model: Model, { body, key, now }: Context): Expected[] {
  const event = written(blank(key), body);
  if (event.type === 'poll' && at(body, 'ballot', 'receipt') === undefined) event.ballot.receipt = 'full';
  const fields = misfits(event, undefined);
  const paid = event.payToVote !== null || event.payToRegister !== null;
  if (fields.length > 0 || paid)
    return [
      unfit(fields),
      ...(paid && !LIMITS[key.account.plan].paid ? [refuse(403, 'forbidden', 'plan_feature')] : []),
    ];
  const count = model.events.filter((one) => one.account === key.account && !one.deleted).length;
  const max = LIMITS[key.account.plan].events;
  const taken =
    event.code !== '' &&
    model.events.some((one) => !one.deleted && one.code.toLowerCase() === event.code.toLowerCase());
  const refusals: Expected[] = [];
  if (count >= max) refusals.push(refuse(422, 'plan_limit', undefined, { details: { max } }));
  if (taken) refusals.push(refuse(409, 'conflict'));
  if (refusals.length > 0) return refusals;
  if (event.repeatVotes) return [unfit(['payments.repeatVotes', 'payments']), created(model, event, now)];
  return [created(model, event, now)];
}
function created(model: Model, event: Event, now: number): Expected {
  return ok(201, eventBody(event, now), (answer) => {
    event.id = kit.text(at(answer, 'data', 'id'));
    event.code = kit.text(at(answer, 'data', 'code'));
    // A difference in a default is told once, here; after that the model goes on with what the service chose.
    event.ballot.receipt = kit.text(at(answer, 'data', 'ballot', 'receipt'));
    model.events.push(event);
  });
}

function patch(model: Model, context: Context): Expected[] {
  const { body, event, now } = context;
  const rehearsed = rehearse(model, event, now, body['status']);
  if (rehearsed !== undefined) return rehearsed;
  const next = written(event, body);
  const changed = (
    ['title', 'code', 'description', 'type', 'startsAt', 'endsAt', 'timeZone', 'voter', 'candidate', 'ballot'] as const
  )
    .filter((name) => JSON.stringify(next[name]) !== JSON.stringify(event[name]))
    .map(String);
  const differs = (a: unknown, b: unknown) => JSON.stringify(a) !== JSON.stringify(b);
  const priced = differs(next.payToVote, event.payToVote) || differs(next.payToRegister, event.payToRegister);
  if (priced || next.repeatVotes !== event.repeatVotes) changed.push('payments');
  const status = statusOf(event, now);
  const wanted = body['status'] === undefined || body['status'] === status ? undefined : body['status'];
  const refusals: Expected[] = [];
  const perhaps: Expected[] = [];
  const openedAt = next.openedAt ?? (body['status'] === 'open' ? now : null);
  const fields = misfits({ ...next, openedAt: changed.includes('startsAt') ? null : openedAt }, event);
  // What a provider takes at least isn't in the contract.
  if (priced)
    perhaps.push(unfit(['payments.payToVote', 'payments.payToRegisterCandidate', 'payments.payToVote.amountMinor']));
  const setsPrice = (next.payToVote ?? next.payToRegister) !== null && priced;
  if (setsPrice && !LIMITS[event.account.plan].paid) refusals.push(refuse(403, 'forbidden', 'plan_feature'));
  if (fields.length > 0) refusals.push(unfit(fields));
  if (
    changed.includes('code') &&
    model.events.some((one) => one !== event && !one.deleted && one.code.toLowerCase() === next.code.toLowerCase())
  )
    refusals.push(refuse(409, 'conflict'));
  if (changed.includes('code') && roleOf(event, context.key.account) !== 'owner')
    refusals.push(refuse(403, 'forbidden', 'role'));
  if (next.repeatVotes && next.payToVote === null)
    perhaps.push(unfit(['payments.repeatVotes', 'payments', 'payments.payToVote']));
  const ballots = event.ballots.length > 0 || livePendings(event, now).length > 0;
  if (frozen(event, now)) {
    if (changed.includes('title') || changed.includes('endsAt') || changed.includes('type') || wanted === 'open')
      refusals.push(conflict('results_final'));
    else if (changed.some((one) => one !== 'description'))
      perhaps.push(conflict('results_final'), conflict('event_has_ballots'));
  }
  const identity = differs(
    [next.type, next.voter.requireVoterId, next.voter.saveVoterInfo],
    [event.type, event.voter.requireVoterId, event.voter.saveVoterInfo],
  );
  // Open and fulfilled payments hold what they depend on, too.
  if (identity && event.attempts.length > 0) perhaps.push(conflict('event_has_ballots'));
  if (identity && event.everCast) (ballots ? refusals : perhaps).push(conflict('event_has_ballots'));
  if (
    changed.includes('type') &&
    next.type === 'election' &&
    event.positions.some((one) => one.quadraticTopUp !== null)
  )
    refusals.push(unfit(['type']));
  if (changed.includes('payments') && (event.everCast || event.attempts.length > 0))
    perhaps.push(conflict('event_has_ballots'));
  const leadsBack = changed.includes('startsAt') && (next.startsAt === null || next.startsAt > now);
  if (leadsBack && (event.everCast || event.attempts.length > 0)) perhaps.push(conflict('event_has_ballots'));
  if (changed.includes('ballot') && event.everCast) perhaps.push(conflict('event_has_ballots'));
  if (wanted === 'draft' || wanted === 'scheduled')
    refusals.push(refuse(422, 'validation_error'), refuse(409, 'conflict'));
  if (wanted === 'open' && status !== 'closed' && !isReady(event)) refusals.push(conflict('not_ready'));
  if (wanted === 'open' && status === 'closed') {
    if (!isReady(event)) perhaps.push(conflict('not_ready'));
    next.closedAt = null;
    next.openedAt = event.openedAt ?? now;
    if (next.endsAt !== null && next.endsAt <= now)
      perhaps.push(refuse(409, 'conflict'), refuse(422, 'validation_error'));
  } else if (wanted === 'open') next.openedAt = now;
  if (wanted === 'closed') {
    if (status !== 'open') perhaps.push(refuse(409, 'conflict'), refuse(422, 'validation_error'));
    next.closedAt = now;
  }
  if (changed.includes('startsAt') && next.startsAt !== null) next.missedStartAt = null;
  if (next.openedAt !== event.openedAt) next.missedStartAt = null;
  const after = statusOf(next, now);
  if (status === 'open' && changed.includes('startsAt')) {
    const would = statusOf({ ...next, openedAt: null }, now);
    if (would === 'draft' || would === 'scheduled') {
      if (after !== 'open') (ballots ? refusals : perhaps).push(conflict('event_has_ballots'));
      else if (event.everCast) perhaps.push(conflict('event_has_ballots'));
      // Opened by hand, nothing cast: the contract leaves open which of the two wins.
      if (!event.everCast && after === 'open') perhaps.push(accepted(event, { ...next, openedAt: null }, now));
      // So it does for what opened by its start: opened once stays opened.
      if (after !== 'open') perhaps.push(accepted(event, { ...next, openedAt: now }, now));
      if (!event.everCast && event.attempts.length > 0) perhaps.push(conflict('event_has_ballots'));
    }
  }
  if (wanted === undefined && status !== 'open' && after === 'open' && !isReady(event))
    perhaps.push(conflict('not_ready'));
  if (refusals.length > 0)
    return [
      ...refusals,
      ...perhaps,
      { ...wrongly(accepted(event, next, now)), ends: frozen(event, now) && !frozen(next, now) },
    ];
  return [accepted(event, next, now), ...perhaps];
}
function accepted(event: Event, next: Event, now: number): Expected {
  return ok(200, eventBody(next, now), () => {
    // Whether it was ever open is seen by looking at the event itself.
    const { everOpen } = event;
    // A price that is set drops what waits unpaid.
    if (next.payToVote !== null && JSON.stringify(next.payToVote) !== JSON.stringify(event.payToVote))
      next.pendings = event.pendings.filter(({ attempt }) => attempt !== undefined);
    Object.assign(event, next, { everOpen });
  });
}

function remove(model: Model, { event, query }: Context): Expected[] {
  const force = query.get('force');
  if (force !== null && force !== 'true' && force !== 'false') return [refuse(400, 'bad_request')];
  const gone = ok(204, undefined, () => {
    event.deleted = true;
    // An endpoint of a deleted event still receives messages, but no route shows or changes it.
    model.endpoints = model.endpoints.filter(({ eventId }) => eventId !== event.id);
  });
  if (event.ballots.length > 0 && force !== 'true') return [conflict('event_has_ballots')];
  if (force !== 'true' && (event.everCast || event.attempts.length > 0)) return [gone, conflict('event_has_ballots')];
  return [gone];
}

const visible = (model: Model, key: Context['key']) =>
  model.events.filter((one) => !one.deleted && roleOf(one, key.account) !== undefined);

function list(model: Model, { query, key, now }: Context): Expected[] {
  const [status, type, search, cursor] = ['status', 'type', 'search', 'cursor'].map((one) => query.get(one));
  if (type !== null && type !== 'election' && type !== 'poll') return [refuse(400, 'bad_request')];
  if (cursor !== null || search !== null)
    return [{ status: 200 }, ...(cursor === null ? [] : [refuse(400, 'bad_request')])];
  const rows = visible(model, key)
    .filter((one) => (status === null || statusOf(one, now) === status) && (type === null || one.type === type))
    .map((one) => eventBody(one, now));
  const limit = Number(query.get('limit') ?? 50);
  if (rows.length > limit) return [{ status: 200, body: { nextCursor: kit.STRING } }];
  return [listed(new kit.Bag(rows))];
}

function linked({ event }: Context): Expected[] {
  return event.business === null
    ? [notFound()]
    : [ok(200, { id: event.business.id, provider: event.business.provider, ready: true })];
}
function link(_: Model, { body, event, key }: Context): Expected[] {
  const business = key.account.businesses.find((one) => one.id === body['paymentBusinessId']);
  if (business === undefined) return [notFound(), unfit(['paymentBusinessId'])];
  const done = ok(200, { id: business.id, provider: business.provider, ready: true }, (answer) => {
    business.currencies = at(answer, 'data', 'supportedCurrencies') as string[];
    event.business = business;
  });
  const same = event.business === null || event.business.id === business.id;
  if (!LIMITS[key.account.plan].paid) return [done, refuse(403, 'forbidden', 'plan_feature')];
  return same ? [done] : [done, refuse(409, 'conflict'), refuse(422, 'validation_error')];
}
function unlink(_: Model, { event }: Context): Expected[] {
  const topUps = event.positions.some((one) => one.quadraticTopUp !== null);
  if (event.payToVote !== null || event.payToRegister !== null) return [conflict('paid_pricing_set')];
  const done = ok(204, undefined, () => {
    event.business = null;
  });
  if (event.business === null) return [done, notFound()];
  return topUps ? [conflict('paid_pricing_set')] : [done];
}

export const organizerRoutes: readonly Route[] = [
  route('GET', '/voting-events', 'read', list, { query: ['status', 'type', 'search', 'limit', 'cursor'] }),
  route('POST', '/voting-events', 'write', create, { body: createSpec }),
  route('GET', '/voting-events/:e', 'read', (_, { event, now }) => {
    const step = stepped(event, now, (shown) => eventBody(event, now, shown));
    return [ok(200, step.body, (answer) => step.learn(at(answer, 'data')))];
  }),
  route('PATCH', '/voting-events/:e', 'write', patch, { body: patchSpec }),
  route('DELETE', '/voting-events/:e', 'write', remove, { owner: true, query: ['force'] }),
  route('GET', '/voting-events/:e/payment-business', 'read', (_, context) => linked(context)),
  route('PUT', '/voting-events/:e/payment-business', 'write', link, {
    owner: true,
    body: { paymentBusinessId: [kit.str(1, 200)] },
  }),
  route('DELETE', '/voting-events/:e/payment-business', 'write', unlink, { owner: true }),
  route('GET', '/payment-businesses', 'read', (_, { key }) => [
    listed(new kit.Bag(key.account.businesses.map((one) => ({ id: one.id, provider: one.provider, ready: true })))),
  ]),
  route('GET', '/me', 'any', (_, { key }) => [
    ok(200, { account: { id: key.account.id, plan: key.account.plan }, key: { id: key.id } }),
  ]),
];
