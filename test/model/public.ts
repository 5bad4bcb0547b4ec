/** What a voting page asks: context, ballot, registration, voter keys, eligibility, credits, results. */
import {
  type Context,
  conflict,
  type Expected,
  forbidden,
  invalid,
  LIMITS,
  lacking,
  notFound,
  ok,
  type Route,
  refuse,
  route,
  unfit,
} from './answer.ts';
import { balance } from './ballot-rules.ts';
import { url, VISITOR } from './casting.ts';
import { resultsBody } from './counts.ts';
import { stepped } from './disclosure.ts';
import * as kit from './kit.ts';
import { at, type Json } from './kit.ts';
import { expectKeyMail, noteMail } from './mails.ts';
import type { Model } from './model.ts';
import { identityOf, keyFits, noteWrongKey, paidAndWaits, sameParticipant, voterOfIdentity } from './participants.ts';
import { besides, firstCall, isSecond, mainUnit, second } from './paying.ts';
import { duplicates, rollClosed, voterFrom } from './roll.ts';
import {
  blankCandidate,
  type Candidate,
  type Event,
  frozen,
  livePendings,
  type Position,
  pollIdentityOf,
  pricesBody,
  registeredBody,
  sharedBody,
  statusOf,
  useKey,
} from './state.ts';

function contextBody(event: Event, now: number): Json {
  const topUps = event.positions.some((one) => one.quadraticTopUp !== null);
  return {
    ...sharedBody(event, now),
    ...(event.rehearsal === null ? {} : { rehearsal: true }),
    id: event.id,
    code: event.code,
    votingMethods: new kit.Bag([...new Set(event.positions.map((one) => one.votingMethod))]),
    voter: {
      ...kit.fieldsOf(event.voter, ['requireVoterId', 'selfRegistration', 'saveVoterInfo']),
      pollIdentity: pollIdentityOf(event),
      identity: event.type === 'election' ? 'voter_key' : 'visitor_id',
    },
    results: { visibility: event.visibility, available: resultsOpen(event, now) },
    payments: {
      required: event.payToVote === null && event.payToRegister !== null ? kit.ANY : event.payToVote !== null,
      provider: event.business === null ? null : kit.oneOf(event.business.provider, null),
      ...pricesBody(event),
      quadraticCredits: topUps,
    },
  };
}
export function resultsOpen(event: Event, now: number): boolean {
  return event.visibility === 'live' || (event.visibility === 'published' && frozen(event, now));
}

function ballot(model: Model, { event, query }: Context): Expected[] {
  const groupOf = (id: string | null) => {
    const group = event.groups.find((one) => one.id === id);
    return group === undefined ? null : { id: group.id, name: group.name };
  };
  const positions = event.positions
    .toSorted((a, b) => (a.sortOrder ?? 0) - (b.sortOrder ?? 0))
    .map((one) => ({
      id: one.id,
      title: one.title,
      votingMethod: one.votingMethod,
      group: groupOf(one.groupId),
      ...(one.votingMethod === 'score' ? { scoreMin: one.scoreMin, scoreMax: one.scoreMax } : {}),
      ...(one.votingMethod === 'cumulative' ? { cumulativePointBudget: one.cumulativePointBudget } : {}),
      ...(one.votingMethod === 'quadratic' ? { quadraticBaseCreditBudget: one.quadraticBaseCreditBudget } : {}),
    }));
  const approved = event.candidates.filter((one) => one.status === 'approved');
  const rows = approved.map((one) => ({
    id: one.id,
    name: one.name,
    positionIds: kit.ANY,
    group: groupOf(one.groupId),
    referendumRole: one.referendumRole,
    avatarUrl: one.avatarUrl,
  }));
  const seed = query.get('seed');
  const name = `${event.id} ${event.ballot.candidateOrder} ${seed} ${approved.map((one) => `${one.id}${one.sortOrder}${one.positionIds.join('+')}`).join(' ')} ${event.positions.length}`;
  const stable = event.ballot.candidateOrder === 'fixed' || seed !== null;
  const before = stable ? model.orders.get(name) : undefined;
  const order = (value: unknown) => (Array.isArray(value) ? value.map((one) => String(at(one, 'id'))).join(' ') : '');
  const candidates =
    before === undefined
      ? new kit.Bag(rows)
      : new kit.Match(
          'the same order for the same seed',
          (got) => kit.differences(new kit.Bag(rows), got).length === 0 && order(got) === before,
        );
  const body = {
    votingEventId: event.id,
    positions,
    candidates,
    groups: new kit.Bag(event.groups.map((one) => ({ id: one.id, name: one.name }))),
    sponsors: new kit.Bag(event.sponsors.map((one) => ({ id: one['id'], name: one['name'] }))),
  };
  return [ok(200, body, (answer) => void (stable && model.orders.set(name, order(at(answer, 'data', 'candidates')))))];
}

function registerVoter(model: Model, { body, event, now }: Context): Expected[] {
  const issues = kit.check(body, {
    name: [kit.name(200)],
    email: [kit.email],
    voterId: kit.str(1, 200),
    groupId: kit.str(1, 200),
  });
  const open = event.type === 'election' && event.voter.selfRegistration;
  const lacks = event.voter.requireVoterId && body['voterId'] === undefined ? [lacking(['voterId'])] : [];
  if (issues.length === 0 && lacks.length > 0) return open ? lacks : [...lacks, forbidden('registration_closed')];
  if (issues.length > 0) return open ? [invalid(issues)] : [invalid(issues), forbidden('registration_closed')];
  const voter = voterFrom(body, 'registration');
  const refusals: Expected[] = open ? [] : [forbidden('registration_closed')];
  if (voter.groupId !== null && !event.groups.some((one) => one.id === voter.groupId))
    refusals.push(unfit(['groupId']));
  if (statusOf(event, now) === 'closed')
    refusals.push(forbidden('event_closed'), forbidden('registration_closed'), ...rollClosed(event, now));
  const same = duplicates(event, voter);
  if (same.length > 0) refusals.push(refuse(409, 'conflict', undefined, { fields: same }));
  if (event.voters.length >= LIMITS[event.account.plan].voters) refusals.push(refuse(422, 'plan_limit'));
  if (refusals.length > 0) return refusals;
  const shown = {
    id: kit.prefixed('vtr_'),
    name: voter.name,
    email: voter.email,
    voterId: voter.voterId,
    status: 'pending',
    weight: 1,
  };
  const done = ok(201, shown, (answer) => {
    voter.id = kit.text(at(answer, 'data', 'id'));
    event.voters.push(voter);
    if (voter.email !== null) noteMail(model, voter, voter.email, now, false);
  });
  return [done];
}

function registerCandidate(model: Model, context: Context): Expected[] {
  const { body, event, now } = context;
  if (isSecond(body)) return second(model, context, 'candidate_registration');
  const paid = event.payToRegister !== null;
  const issues = [...besides(body)];
  const wrong = kit.check(body, {
    name: [kit.name(200)],
    positionIds: [kit.list(kit.str(1, 200), 1, 100)],
    email: kit.email,
    groupId: kit.str(1, 200),
    avatarUrl: url,
    returnUrl: url,
    cancelUrl: url,
  });
  issues.push(...wrong);
  if (paid && body['email'] === undefined) issues.push('email');
  const lacks =
    paid && event.business?.provider === 'provider_a' && body['returnUrl'] === undefined ? ['returnUrl'] : [];
  if (issues.length === 0 && lacks.length > 0)
    return event.candidate.selfRegistration ? [lacking(lacks)] : [lacking(lacks), forbidden('registration_closed')];
  const open = event.candidate.selfRegistration;
  if (issues.length > 0) return open ? [invalid(issues)] : [invalid(issues), forbidden('registration_closed')];
  const refusals: Expected[] = open ? [] : [forbidden('registration_closed')];
  const fields: string[] = [];
  for (const [index, id] of (body['positionIds'] as string[]).entries())
    if (!event.positions.some((one) => one.id === id)) fields.push(`positionIds[${index}]`, 'positionIds');
  if (body['groupId'] !== undefined && !event.groups.some((one) => one.id === body['groupId'])) fields.push('groupId');
  if (fields.length > 0) refusals.push(unfit(fields));
  if (frozen(event, now))
    refusals.push(
      forbidden('event_closed'),
      forbidden('registration_closed'),
      conflict('results_final'),
      conflict('event_closed'),
    );
  if (refusals.length > 0) return refusals;
  const silent = statusOf(event, now) === 'closed' || event.everCast;
  const perhaps = silent ? [forbidden('event_closed'), forbidden('registration_closed'), refuse(409, 'conflict')] : [];
  if (!paid && body['returnUrl'] !== undefined) perhaps.push(unfit(['returnUrl']));
  const candidate: Candidate = {
    ...blankCandidate('registration', body['positionIds'] as string[]),
    name: kit.clean(String(body['name'])),
    ...kit.givenOf(body, ['email', 'groupId', 'avatarUrl']),
  };
  if (paid)
    return [
      ...firstCall(model, context, 'candidate_registration', event.payToRegister as Json, { candidate }),
      ...perhaps,
    ];
  const done = ok(201, registeredBody(candidate), (answer) => {
    candidate.id = kit.text(at(answer, 'data', 'id'));
    event.candidates.push(candidate);
  });
  return [done, ...perhaps];
}

/** `j***@e***.com`: the first character, and the domain's first and last label. */
function maskParts(address: string): readonly [string, string, string] {
  const [local = '', domain = ''] = address.trim().split('@');
  return [local.slice(0, 1), domain.slice(0, 1), domain.split('.').at(-1) ?? ''];
}
function maskOf(address: string): kit.Match {
  const [first, letter, ending] = maskParts(address);
  const shown = `${first}***@${letter}***.${ending}`;
  return new kit.Match(shown, (got) => kit.text(got).toLowerCase() === shown.toLowerCase());
}
/** Who has no address is answered as an unknown voter ID: with parts of addresses that are on the roll. */
function inventedMask(event: Event): kit.Match {
  const roll = event.voters.flatMap((one) => (one.email === null ? [] : [maskParts(one.email.toLowerCase())]));
  return new kit.Match('a mask made of parts of the roll', (got) => {
    if (roll.length === 0) return got === '***@***';
    const found = /^(.)\*\*\*@(.)\*\*\*\.(.+)$/u.exec(kit.text(got).toLowerCase());
    return found !== null && [1, 2, 3].every((part) => roll.some((one) => one[part - 1] === found[part]));
  });
}

function requestKey(model: Model, { body, event, now }: Context): Expected[] {
  const issues = kit.check(body, { voterId: kit.str(1, 200), email: kit.email });
  if (Object.keys(body).length === 0) issues.push('email', 'voterId');
  if (issues.length > 0) return [invalid(issues), ...(event.type === 'poll' ? [conflict('not_an_election')] : [])];
  if (event.type === 'poll')
    return [
      conflict('not_an_election'),
      ...(event.voter.requireVoterId && body['voterId'] === undefined ? [unfit(['voterId'])] : []),
    ];
  const voter = voterOfIdentity(event, body);
  const given = voter?.email ?? (voter === undefined ? kit.text(body['email']) : '');
  const mask = given === '' ? inventedMask(event) : maskOf(given);
  const sent = ok(200, { sent: true, maskedEmail: mask }, () => {
    if (voter === undefined) return;
    const closed = statusOf(event, now) === 'closed';
    const mayVote = voter.status === 'approved' || (voter.status === 'pending' && event.voter.approval === 'automatic');
    expectKeyMail(model, event, voter, now, mayVote && !closed, !closed && !voter.hasVoted);
  });
  const perhaps: Expected[] = [];
  if (event.voter.requireVoterId && body['voterId'] === undefined) perhaps.push(unfit(['voterId']));
  if (Object.keys(body).length > 1) perhaps.push(refuse(422, 'validation_error'));
  return [sent, ...perhaps];
}

function checkVoter(model: Model, { body, event, now }: Context): Expected[] {
  const spec = { voterKey: kit.str(1, 200), voterId: kit.str(1, 200), email: kit.email, visitorId: VISITOR };
  const issues = kit.check(body, spec);
  const answer = (...reasons: string[]) => ok(200, { eligible: false, reason: kit.oneOf(...reasons) });
  const status = statusOf(event, now);
  const reasons: string[] = status === 'open' ? [] : [status === 'closed' ? 'event_closed' : 'event_not_open'];
  const whole = event.type === 'poll' ? 'visitorId' : 'voterKey';
  if (issues.length > 0) return [invalid(body[whole] === undefined ? [...issues, whole] : issues)];
  if (event.type === 'poll') {
    if (body['visitorId'] === undefined) return [invalid(['visitorId']), answer('identity_required', ...reasons)];
    const missing =
      (event.voter.requireVoterId && body['voterId'] === undefined) ||
      (event.voter.saveVoterInfo && body['email'] === undefined);
    if (missing) reasons.push('identity_required');
    const identity = { ...identityOf(body), name: null };
    const took = event.ballots.some(
      (one) => one.identity !== undefined && sameParticipant(event, one.identity, identity),
    );
    if ((took && !event.repeatVotes) || paidAndWaits(event, identity, now)) reasons.push('already_voted');
    const waits = !took && paidAndWaits(event, identity, now);
    const perhaps = missing ? [invalid(['voterId', 'email'])] : [];
    if (body['voterKey'] !== undefined) perhaps.push(invalid(['voterKey']));
    if (reasons.length === 0) return [ok(200, { eligible: true }), ...perhaps];
    const no = new kit.Match('false: a paid ballot waits', (got) => got === false);
    const told = waits && reasons.length === 1;
    return [told ? ok(200, { eligible: no, reason: 'already_voted' }) : answer(...reasons), ...perhaps];
  }
  if (body['voterKey'] === undefined)
    return [invalid(['voterKey']), answer('identity_required', 'voter_key_invalid', ...reasons)];
  if (body['email'] === undefined && body['voterId'] === undefined)
    return [answer('identity_required', ...reasons), invalid(['voterId', 'email'])];
  if (event.voter.requireVoterId && body['voterId'] === undefined)
    return [answer('identity_required', ...reasons), invalid(['voterId'])];
  const voter = voterOfIdentity(event, body);
  if (!keyFits(voter, body['voterKey'])) {
    if (voter?.status === 'rejected') reasons.push('voter_rejected');
    return [{ ...answer('voter_key_invalid', ...reasons), apply: () => noteWrongKey(event, body, now) }];
  }
  if (voter?.status === 'rejected') reasons.push('voter_rejected', 'voter_key_invalid');
  if (voter?.status === 'pending' && event.voter.approval === 'manual') reasons.push('voter_pending');
  if (voter?.hasVoted) reasons.push('already_voted');
  if (status === 'closed') reasons.push('voter_key_invalid');
  void model;
  // A right key is used by it, whatever else is in the way while the event is open.
  const used = (one: Expected): Expected => ({
    ...one,
    apply: () => {
      if (voter === undefined || voter.status === 'rejected') return;
      if (status === 'open') useKey(event, voter);
      else voter.perhapsUsed = true;
    },
  });
  return [used(reasons.length > 0 ? answer(...reasons) : ok(200, { eligible: true }))];
}

function results(_: Model, { event, now, key }: Context): Expected[] {
  const observer = key.scopes.includes('observe') && frozen(event, now);
  if (!resultsOpen(event, now) && !observer) return [forbidden('results_not_available')];
  // Public live counts of a secret event are the snapshot of the last step: names may be those of then or of now.
  const step = stepped(event, now, (shown) => resultsBody(event, shown.ballots, now, shown));
  return [ok(200, step.body, (answer) => step.learn(at(answer, 'data')))];
}

function quadratic(context: Context): Position | Expected[] {
  const { event, query } = context;
  const [positionId, visitorId] = [query.get('positionId'), query.get('visitorId')];
  if (positionId === null || visitorId === null || !/^vi_[0-9a-f]{16,128}$/i.test(visitorId))
    return [refuse(400, 'bad_request'), refuse(422, 'validation_error')];
  const position = event.positions.find((one) => one.id === positionId);
  if (position === undefined) return [notFound(), refuse(400, 'bad_request'), refuse(422, 'validation_error')];
  if (position.votingMethod !== 'quadratic')
    return [{ status: 404 }, { status: 422 }, { status: 400 }, { status: 409 }];
  return position;
}
function credits(_: Model, context: Context): Expected[] {
  const position = quadratic(context);
  if (Array.isArray(position)) return position;
  const { event, now } = context;
  const doubtful = livePendings(event, now).some((one) => one.doubtful);
  const exact = balance(event, position, String(context.query.get('visitorId')), now);
  return [ok(200, doubtful ? { ...exact, heldCredits: kit.INTEGER, availableCredits: kit.INTEGER } : exact)];
}
function options(_: Model, context: Context): Expected[] {
  const position = quadratic(context);
  if (Array.isArray(position)) return position;
  const topUp = position.quadraticTopUp;
  if (topUp === null) return [{ status: 404 }, { status: 403 }, { status: 409 }, { status: 422 }];
  const { tiers, ...rest } = topUp;
  const currency = String(topUp['currency']);
  const shown = Array.isArray(tiers)
    ? { tiers: tiers.map((one: Json) => ({ ...one, amount: mainUnit(Number(one['amountMinor']), currency) })) }
    : {};
  return [
    ok(200, {
      positionId: position.id,
      visitorId: context.query.get('visitorId'),
      provider: context.event.business?.provider,
      ...rest,
      ...shown,
    }),
  ];
}
function checkout(model: Model, context: Context): Expected[] {
  const { body, event, now } = context;
  if (isSecond(body)) return second(model, context, 'quadratic_credits');
  const issues = [...besides(body)];
  const misshapen = kit.check(body, {
    positionId: [kit.str(1, 200)],
    visitorId: [VISITOR],
    credits: kit.int(1),
    tierId: kit.str(1, 200),
    email: kit.email,
    voterId: kit.str(1, 200),
    name: kit.name(200),
    returnUrl: url,
    cancelUrl: url,
  });
  issues.push(...misshapen);
  if (event.business?.provider === 'provider_b' && body['email'] === undefined) issues.push('email');
  if (event.business?.provider === 'provider_a' && body['returnUrl'] === undefined) issues.push('returnUrl');
  const position = event.positions.find((one) => one.id === body['positionId']);
  const topUp = position?.quadraticTopUp ?? null;
  if (topUp === null) {
    if (issues.length > 0)
      return [invalid([...issues, 'positionId']), { status: 404 }, { status: 403 }, { status: 409 }];
    return [{ status: 422 }, { status: 404 }, { status: 403 }, { status: 409 }];
  }
  const tiered = topUp['pricingModel'] === 'tiered';
  const tiers = (topUp['tiers'] ?? []) as Json[];
  const tier = tiers.find((one) => one['id'] === body['tierId']);
  const wanted = Number(body['credits']);
  const wrong = tiered
    ? tier === undefined || body['credits'] !== undefined
    : body['tierId'] !== undefined ||
      body['credits'] === undefined ||
      wanted < Number(topUp['minCredits']) ||
      wanted > Number(topUp['maxCredits']);
  if (issues.length > 0) return [invalid([...issues, 'credits', 'tierId'])];
  if (wrong) return [unfit(['credits', 'tierId'])];
  if (statusOf(event, now) !== 'open')
    return [forbidden(statusOf(event, now) === 'closed' ? 'event_closed' : 'event_not_open')];
  const visitorId = String(body['visitorId']);
  const count = tiered ? Number(tier?.['credits']) : wanted;
  const amountMinor = tiered ? Number(tier?.['amountMinor']) : wanted * Number(topUp['pricePerCreditMinor']);
  const took = event.ballots.some((one) => one.identity?.visitorId === visitorId) && !event.repeatVotes;
  const stored = { positionId: body['positionId'], visitorId, credits: count };
  const more = { credits: count, pricingModel: topUp['pricingModel'] };
  const first = firstCall(
    model,
    context,
    'quadratic_credits',
    { amountMinor, currency: topUp['currency'] },
    stored,
    more,
  );
  return took ? [...first, conflict('already_voted')] : first;
}

const firstGate =
  (paid: (event: Event) => boolean) =>
  (_: Model, { event, body }: Context): Expected[] =>
    paid(event) && !LIMITS[event.account.plan].paid && body['paymentAttemptId'] === undefined
      ? [forbidden('plan_feature')]
      : [];
const base = '/public/voting-events/:e';
export const publicRoutes: readonly Route[] = [
  route('GET', base, 'vote', (_, { event, now }) => [ok(200, contextBody(event, now))]),
  route('GET', `${base}/ballot`, 'vote', ballot, { query: ['seed'] }),
  route('POST', `${base}/register/voter`, 'vote', registerVoter),
  route('POST', `${base}/register/candidate`, 'vote', registerCandidate, {
    gate: firstGate((event) => event.payToRegister !== null),
  }),
  route('POST', `${base}/voter-key/request`, 'vote', requestKey),
  route('POST', `${base}/voter/check`, 'vote', checkVoter),
  route('GET', `${base}/results`, 'vote', results),
  route('GET', `${base}/quadratic-credits`, 'vote', credits, { query: ['positionId', 'visitorId'] }),
  route('GET', `${base}/quadratic-credits/options`, 'vote', options, { query: ['positionId', 'visitorId'] }),
  route('POST', `${base}/quadratic-credits/checkout`, 'vote', checkout, {
    gate: firstGate(() => true),
  }),
];
