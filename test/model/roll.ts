/** The roll, and what organizers read: voters, results, votes, stats, payments. */
import {
  type Context,
  conflict,
  type Expected,
  LIMITS,
  ok,
  planGate,
  type Route,
  refuse,
  route,
  unfit,
  wrongly,
} from './answer.ts';
import { resultsBody, voteRows } from './counts.ts';
import { fewHolders, isMarked, isStepped, stepped } from './disclosure.ts';
import * as kit from './kit.ts';
import { at, type Json, nullable, type Spec } from './kit.ts';
import { expectKeyMail, noteMail } from './mails.ts';
import type { Model } from './model.ts';
import { attemptStatuses } from './paying.ts';
import {
  attemptBody,
  type Event,
  emailKey,
  frozen,
  isRoundClosing,
  livePendings,
  metInPoll,
  statusOf,
  type Voter,
  voterBody,
} from './state.ts';
import { stats } from './stats.ts';

const voterSpec: Spec = {
  name: kit.name(200),
  email: nullable(kit.email),
  voterId: nullable(kit.str(1, 200)),
  groupId: nullable(kit.str(0, 200)),
  weight: kit.weight,
};
const createSpec = kit.required(voterSpec, 'name');
const patchSpec: Spec = { ...voterSpec, status: kit.among('pending', 'approved', 'rejected') };

export function voterFrom(body: Json, source: Voter['source']): Voter {
  const trimmed = (name: string) => (typeof body[name] === 'string' ? kit.clean(body[name] as string) : null);
  return {
    id: '',
    name: trimmed('name') ?? '',
    email: trimmed('email'),
    voterId: trimmed('voterId'),
    groupId: (body['groupId'] as string | undefined) ?? null,
    weight: (body['weight'] as number | undefined) ?? 1,
    status: source === 'registration' ? 'pending' : 'approved',
    hasVoted: false,
    source,
    keys: [],
  };
}
/** Fields by which somebody else on the roll is the same. */
export function duplicates(event: Event, voter: Voter, except?: Voter): string[] {
  const others = event.voters.filter((one) => one !== except && one.source !== 'poll');
  const fields: string[] = [];
  const email = voter.email;
  if (email !== null && others.some((one) => one.email !== null && emailKey(one.email) === emailKey(email)))
    fields.push('email');
  if (voter.voterId !== null && others.some((one) => one.voterId === voter.voterId)) fields.push('voterId');
  return fields;
}
export function missingIdentity(event: Event, voter: Voter): string[] {
  if (event.voter.requireVoterId && voter.voterId === null) return ['voterId'];
  return voter.email === null && voter.voterId === null ? ['email', 'voterId'] : [];
}
export const badGroup = (event: Event, voter: Voter) =>
  voter.groupId !== null && !event.groups.some((one) => one.id === voter.groupId) ? ['groupId'] : [];

/** The roll takes nobody once the event is over. */
export function rollClosed(event: Event, now: number): Expected[] {
  if (frozen(event, now)) return [conflict('event_closed'), conflict('results_final')];
  return statusOf(event, now) === 'closed' ? [conflict('event_closed')] : [];
}
const full = (event: Event, more: number) =>
  event.voters.length + more > LIMITS[event.account.plan].voters
    ? [refuse(422, 'plan_limit', undefined, { details: { max: LIMITS[event.account.plan].voters } })]
    : [];

function createVoter(_: Model, { body, event, now }: Context): Expected[] {
  const voter = voterFrom(body, 'organizer');
  const refusals: Expected[] = [];
  const fields = [...missingIdentity(event, voter), ...badGroup(event, voter)];
  if (fields.length > 0) refusals.push(unfit(fields));
  refusals.push(...rollClosed(event, now));
  const same = duplicates(event, voter);
  if (same.length > 0) refusals.push(refuse(409, 'conflict', undefined, { fields: same }));
  refusals.push(...full(event, 1));
  const done = ok(201, voterBody(event, voter, true), (answer) => {
    voter.id = kit.text(at(answer, 'data', 'id'));
    event.voters.push(voter);
  });
  if (refusals.length > 0) return [...refusals, wrongly(done)];
  return event.type === 'poll'
    ? [done, refuse(409, 'conflict'), refuse(422, 'validation_error'), refuse(403, 'forbidden')]
    : [done];
}
function batch(_: Model, { body, event, now }: Context): Expected[] {
  const rows = (body['voters'] as Json[]).map((one) => voterFrom(one, 'organizer'));
  const bad: string[] = [];
  const same: string[] = [];
  for (const [index, row] of rows.entries()) {
    const row0 = (fields: readonly string[]) => fields.map((one) => `voters[${index}].${one}`);
    bad.push(...row0([...missingIdentity(event, row), ...badGroup(event, row)]));
    same.push(...row0(duplicates(event, row)));
    for (const earlier of rows.slice(0, index)) {
      if (row.email !== null && earlier.email !== null && emailKey(row.email) === emailKey(earlier.email))
        same.push(...row0(['email']));
      if (row.voterId !== null && row.voterId === earlier.voterId) same.push(...row0(['voterId']));
    }
  }
  const refusals: Expected[] = [];
  if (bad.length > 0) refusals.push(unfit(bad));
  if (same.length > 0) refusals.push(refuse(409, 'conflict', undefined, { fields: same }), unfit([...bad, ...same]));
  refusals.push(...rollClosed(event, now), ...full(event, rows.length));
  if (refusals.length > 0) return refusals;
  const done = ok(
    201,
    rows.map((one) => voterBody(event, one, true)),
    (answer) => {
      for (const [index, row] of rows.entries()) {
        row.id = kit.text(at(answer, 'data', index, 'id'));
        event.voters.push(row);
      }
    },
  );
  return event.type === 'poll'
    ? [done, refuse(409, 'conflict'), refuse(422, 'validation_error'), refuse(403, 'forbidden')]
    : [done];
}

const voterOf = ({ event, id }: Context) => event.voters.find((one) => one.id === id);

export function patchVoter(model: Model, context: Context): Expected[] {
  const { body, event, now } = context;
  const voter = voterOf(context);
  if (voter === undefined) return [];
  const next: Voter = { ...voter, ...body };
  for (const name of ['name', 'email', 'voterId'] as const)
    if (typeof body[name] === 'string') next[name] = kit.clean(body[name]);
  const changed = ['name', 'email', 'voterId', 'groupId', 'weight', 'status'].filter(
    (name) => next[name as keyof Voter] !== voter[name as keyof Voter],
  );
  const counted = changed.filter((one) => ['groupId', 'weight', 'status'].includes(one));
  const refusals: Expected[] = [];
  const perhaps: Expected[] = [];
  const named = changed.includes('email') || changed.includes('voterId');
  const bad = changed.includes('groupId') ? badGroup(event, next) : [];
  const fields = [...missingIdentity(event, next), ...bad];
  // An event that asks for voter IDs later may have voters without one: what else they have may be changed, or not before they have one.
  if (changed.length > 0 && fields.length > 0) (named || bad.length > 0 ? refusals : perhaps).push(unfit(fields));
  if (changed.includes('status') && next.status === 'pending') refusals.push(unfit(['status']));
  const same = duplicates(event, next, voter).filter((one) => changed.includes(one));
  if (same.length > 0) refusals.push(refuse(409, 'conflict', undefined, { fields: same }));
  if (counted.length > 0) {
    refusals.push(...rollClosed(event, now));
    if (voter.hasVoted) refusals.push(conflict('event_has_ballots'));
    if (
      (counted.includes('groupId') || counted.includes('weight')) &&
      livePendings(event, now).some((one) => one.voter === voter)
    )
      perhaps.push(conflict('event_has_ballots'));
  }
  if (named && (voter.hasVoted || statusOf(event, now) === 'closed' || voter.source === 'poll'))
    perhaps.push(conflict('event_has_ballots'), conflict('event_closed'), conflict('results_final'));
  if (changed.includes('name') && frozen(event, now)) perhaps.push(conflict('results_final'), conflict('event_closed'));
  // Approved by a first key and not disclosed yet, it is shown as pending: what is shown can be sent back.
  if (voter.approvedByKey === true && body['status'] !== undefined && isStepped(event, now))
    perhaps.push({ status: 200 }, conflict('event_has_ballots'), unfit(['status']));
  if (voter.source === 'poll' || voter.erased) perhaps.push({ status: 409 }, { status: 422 }, { status: 200 });
  const drops = named || (changed.includes('status') && next.status === 'rejected');
  if (changed.includes('status')) next.approvedByKey = false;
  const after = drops ? { ...next, keys: [], usedKey: false, perhapsUsed: false } : next;
  const step = stepped(event, now, (shown) => voterBody(event, after, isMarked(voter, shown)));
  const done = ok(200, step.body, (answer) => {
    step.learn(at(answer, 'data'));
    if (changed.includes('email')) {
      for (const to of [voter.email, next.email]) if (to !== null) noteMail(model, voter, to, now, false);
    }
    Object.assign(voter, next);
    if (drops) {
      voter.dropped = [...(voter.dropped ?? []), ...voter.keys];
      voter.keys = [];
      voter.usedKey = false;
      voter.perhapsUsed = false;
    }
    for (const pending of event.pendings)
      if (pending.voter === voter && (named || counted.includes('groupId'))) pending.doubtful = true;
  });
  return refusals.length > 0 ? [...refusals, ...perhaps, wrongly(done)] : [done, ...perhaps];
}
export function deleteVoter(_: Model, context: Context): Expected[] {
  const { event, now } = context;
  const voter = voterOf(context);
  if (voter === undefined) return [];
  const gone = ok(202, undefined, () => {
    event.voters = event.voters.filter((one) => one !== voter);
    event.pendings = event.pendings.filter((one) => one.voter !== voter);
  });
  if (frozen(event, now)) {
    const erased = ok(202, undefined, () => {
      Object.assign(voter, { name: '', email: null, voterId: null, erased: true, keys: [] });
    });
    return event.type === 'poll' ? [erased, refuse(409, 'conflict')] : [erased];
  }
  if (statusOf(event, now) === 'closed')
    return [conflict('event_closed'), ...(voter.hasVoted ? [conflict('event_has_ballots')] : []), wrongly(gone)];
  if (voter.hasVoted) return [conflict('event_has_ballots'), wrongly(gone)];
  return livePendings(event, now).some((one) => one.voter === voter) ? [gone, conflict('event_has_ballots')] : [gone];
}

function oneVoter(context: Context): Expected[] {
  const { event, now } = context;
  const voter = voterOf(context) as Voter;
  const step = stepped(event, now, (shown) => voterBody(event, voter, isMarked(voter, shown)));
  return [ok(200, step.body, (answer) => step.learn(at(answer, 'data')))];
}
function listVoters(_: Model, { event, query, now }: Context): Expected[] {
  const [status, group, voted, search, cursor] = ['status', 'groupId', 'voted', 'search', 'cursor'].map((one) =>
    query.get(one),
  );
  if (status !== null && !['pending', 'approved', 'rejected'].includes(status ?? ''))
    return [refuse(400, 'bad_request')];
  if (voted !== null && voted !== 'true' && voted !== 'false') return [refuse(400, 'bad_request')];
  if (cursor !== null || search !== null)
    return [{ status: 200 }, ...(cursor === null ? [] : [refuse(400, 'bad_request')])];
  if (event.voters.some((one) => metInPoll(event, one))) return [{ status: 200 }];
  if (event.looseRoll || event.voters.some((one) => one.erased) || (frozen(event, now) && event.type === 'poll'))
    return [{ status: 200 }];
  const limit = Number(query.get('limit') ?? 50);
  // Whether somebody approved by a first key is listed as approved before the disclosure depends on the step.
  const hidden = status !== null && isStepped(event, now) && event.voters.some((one) => one.approvedByKey === true);
  const sure = hidden
    ? undefined
    : event.voters.filter(
        (one) => (status === null || one.status === status) && (group === null || one.groupId === group),
      );
  if (sure === undefined) return [{ status: 200 }];
  const step = stepped(event, now, (shown) => {
    const rows = sure.filter((one) => voted === null || String(one.hasVoted && isMarked(one, shown)) === voted);
    const body = new kit.Bag(rows.map((one) => voterBody(event, one, isMarked(one, shown))));
    return rows.length > limit ? { nextCursor: kit.STRING } : { data: body, nextCursor: null };
  });
  return [{ status: 200, body: step.body, apply: step.learn }];
}

function sendKey(model: Model, context: Context): Expected[] {
  const { body, event, now, request } = context;
  const voter = voterOf(context);
  if (voter === undefined) return [];
  if (request.body !== undefined && Object.keys(body).length > 0) return [refuse(422, 'validation_error')];
  if (event.type === 'poll') return [conflict('not_an_election')];
  const done = ok(202, undefined, () => {
    const plain =
      statusOf(event, now) !== 'closed' &&
      !voter.hasVoted &&
      (voter.status === 'approved' || event.voter.approval === 'automatic');
    const withKey = plain && voter.status !== 'rejected';
    expectKeyMail(model, event, voter, now, withKey, withKey);
  });
  const status = statusOf(event, now);
  if (status === 'draft' || status === 'scheduled') return [conflict('event_not_open')];
  const odd = voter.email === null || voter.status !== 'approved' || statusOf(event, now) !== 'open' || voter.hasVoted;
  return odd ? [done, { status: 409 }, { status: 422 }, { status: 403 }] : [done];
}

function votes(_: Model, { event, query, now }: Context): Expected[] {
  const limit = Number(query.get('limit') ?? 50);
  // Whether a void ballot is listed is left open.
  if (event.ballots.some((one) => one.voided)) return [{ status: 200 }];
  if (query.get('cursor') !== null) return [{ status: 200 }, refuse(400, 'bad_request')];
  const rows = voteRows(event, query.get('positionId'), query.get('candidateId'));
  const sealed = event.type === 'poll' || (frozen(event, now) && !isRoundClosing(event, now));
  const tail = { nextCursor: rows.length > limit ? kit.STRING : null };
  if (sealed && rows.length <= limit) return [{ status: 200, body: { data: new kit.Bag(rows), ...tail } }];
  if (sealed) return [{ status: 200, body: tail }];
  const some = new kit.Match(`some of ${rows.length} votes`, (got) => {
    if (!Array.isArray(got)) return false;
    const alone = kit.unpaired(got, rows);
    if (alone !== undefined) some.name = `some of ${rows.length} votes, not ${kit.short(alone)}`;
    return alone === undefined;
  });
  return [{ status: 200, body: { data: some } }];
}

/** Exact at any moment, except where a weight has fewer than 5 holders: then the figures move with the step. */
export function organizerResults(event: Event, now: number): Expected[] {
  const few = isStepped(event, now) ? fewHolders(event) : 'no';
  const step = stepped(event, now, (shown) => {
    const moved = { ...resultsBody(event, shown.ballots, now, shown) };
    const exact = resultsBody(event, event.ballots, now, shown);
    return few === 'yes' ? moved : few === 'no' ? exact : kit.anyOf('exact, or with the step', [exact, moved]);
  });
  return [ok(200, step.body, (answer) => step.learn(at(answer, 'data')))];
}
function payments(_: Model, { event, query, now }: Context): Expected[] {
  const [status, purpose] = ['status', 'purpose'].map((one) => query.get(one));
  if (status !== null) return [{ status: 200 }];
  const rows = event.attempts.filter((one) => purpose === null || one.purpose === purpose);
  return [
    { status: 200, body: { data: new kit.Bag(rows.map((one) => attemptBody(one, attemptStatuses(one, now), false))) } },
  ];
}

const whole = (one: unknown) => kit.oneOf(null, one);
/** What only organizers see of an attempt. */
const ORGANIZER_PART: Json = {
  providerDetails: whole({
    reference: kit.ANY,
    paymentId: kit.ANY,
    paidAt: kit.ANY,
    feeMinor: kit.ANY,
    livemode: false,
  }),
  refund: whole({ status: kit.STRING, amountMinor: kit.INTEGER, requestedAt: kit.TIME, finishedAt: kit.TIME_OR_NULL }),
};
const base = '/voting-events/:e';
const exists = (context: Context) => voterOf(context) !== undefined;
export const rollRoutes: readonly Route[] = [
  route('GET', `${base}/voters`, 'read', listVoters, {
    query: ['status', 'groupId', 'voted', 'search', 'limit', 'cursor'],
  }),
  route('POST', `${base}/voters`, 'write', createVoter, { body: createSpec }),
  route('POST', `${base}/voters/batch`, 'write', batch, {
    body: { voters: [kit.list(kit.object(createSpec), 1, 100)] },
  }),
  route('GET', `${base}/voters/:id`, 'read', (_, context) => oneVoter(context), { exists }),
  route('PATCH', `${base}/voters/:id`, 'write', patchVoter, { exists, body: patchSpec }),
  route('DELETE', `${base}/voters/:id`, 'write', deleteVoter, { exists }),
  route('POST', `${base}/voters/:id/voter-key`, 'write', sendKey, { exists }),
  route('GET', `${base}/stats`, 'read', stats),
  route('GET', `${base}/results`, 'read', (_, { event, now }) => organizerResults(event, now)),
  route('GET', `${base}/votes`, 'read', votes, {
    query: ['positionId', 'candidateId', 'limit', 'cursor'],
    gate: planGate('dataExport'),
  }),
  route('GET', `${base}/payments`, 'read', payments, { query: ['status', 'purpose', 'from', 'until', 'search'] }),
  route(
    'GET',
    `${base}/payments/:id`,
    'read',
    (_, { event, id, now }) =>
      event.attempts
        .filter((one) => one.id === id)
        .map((one) => ok(200, { ...attemptBody(one, attemptStatuses(one, now), true), ...ORGANIZER_PART })),
    { exists: ({ event, id }) => event.attempts.some((one) => one.id === id) },
  ),
];
