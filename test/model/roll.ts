/** The roll, and what organizers read: voters, results, votes, stats, payments. */
import {
  type Context,
  conflict,
  type Expected,
  invalid,
  LIMITS,
  listed,
  ok,
  planGate,
  refuse,
  unfit,
  wrongly,
} from './answer.ts';
import { resultsBody, voteRows } from './counts.ts';
import * as kit from './kit.ts';
import { at, type Json, nullable, type Spec } from './kit.ts';
import { expectKeyMail, noteMail } from './mails.ts';
import type { Model, Route } from './model.ts';
import { attemptStatuses } from './paying.ts';
import {
  attemptBody,
  type Event,
  emailKey,
  frozen,
  livePendings,
  metInPoll,
  statusOf,
  type Voter,
  voterBody,
} from './state.ts';

const voterSpec: Spec = {
  name: kit.name(200),
  email: nullable(kit.email),
  voterId: nullable(kit.str(1, 200)),
  groupId: nullable(kit.str(0, 200)),
  weight: kit.weight,
};
const createSpec: Spec = { ...voterSpec, name: [voterSpec['name'] as kit.Rule] };

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
const badGroup = (event: Event, voter: Voter) =>
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
  const issues = kit.check(body, createSpec);
  if (issues.length > 0) return [invalid(issues)];
  const voter = voterFrom(body, 'organizer');
  const refusals: Expected[] = [];
  const fields = [...missingIdentity(event, voter), ...badGroup(event, voter)];
  if (fields.length > 0) refusals.push(unfit(fields));
  refusals.push(...rollClosed(event, now));
  const same = duplicates(event, voter);
  if (same.length > 0) refusals.push(refuse(409, 'conflict', undefined, { fields: same }));
  refusals.push(...full(event, 1));
  const done = ok(201, voterBody(event, voter), (answer) => {
    voter.id = kit.text(at(answer, 'data', 'id'));
    event.voters.push(voter);
  });
  if (refusals.length > 0) return [...refusals, wrongly(done)];
  return event.type === 'poll'
    ? [done, refuse(409, 'conflict'), refuse(422, 'validation_error'), refuse(403, 'forbidden')]
    : [done];
}
function batch(_: Model, { body, event, now }: Context): Expected[] {
  const issues = kit.check(body, { voters: [kit.list(kit.object(createSpec), 1, 100)] });
  if (issues.length > 0) return [invalid(issues)];
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
    rows.map((one) => voterBody(event, one)),
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

function patchVoter(model: Model, context: Context): Expected[] {
  const { body, event, now } = context;
  const voter = voterOf(context);
  if (voter === undefined) return [];
  const issues = kit.check(body, { ...voterSpec, status: kit.among('pending', 'approved', 'rejected') });
  if (issues.length > 0) return [invalid(issues)];
  if (Object.keys(body).length === 0) return [refuse(422, 'validation_error')];
  const next: Voter = { ...voter, ...body };
  for (const name of ['name', 'email', 'voterId'] as const)
    if (typeof body[name] === 'string') next[name] = kit.clean(body[name]);
  const changed = ['name', 'email', 'voterId', 'groupId', 'weight', 'status'].filter(
    (name) => next[name as keyof Voter] !== voter[name as keyof Voter],
  );
  const counted = changed.filter((one) => ['groupId', 'weight', 'status'].includes(one));
  const refusals: Expected[] = [];
  const perhaps: Expected[] = [];
  const fields = [...missingIdentity(event, next), ...(changed.includes('groupId') ? badGroup(event, next) : [])];
  if (changed.length > 0 && fields.length > 0) refusals.push(unfit(fields));
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
  const identity = changed.includes('email') || changed.includes('voterId');
  if (identity && (voter.hasVoted || statusOf(event, now) === 'closed' || voter.source === 'poll'))
    perhaps.push(conflict('event_has_ballots'), conflict('event_closed'), conflict('results_final'));
  if (changed.includes('name') && frozen(event, now)) perhaps.push(conflict('results_final'), conflict('event_closed'));
  if (voter.source === 'poll' || voter.erased) perhaps.push({ status: 409 }, { status: 422 }, { status: 200 });
  const drops = identity || (changed.includes('status') && next.status === 'rejected');
  const done = ok(
    200,
    voterBody(event, drops ? { ...next, keys: [], usedKey: false, perhapsUsed: false } : next),
    () => {
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
        if (pending.voter === voter && (identity || counted.includes('groupId'))) pending.doubtful = true;
    },
  );
  return refusals.length > 0 ? [...refusals, ...perhaps, wrongly(done)] : [done, ...perhaps];
}
function deleteVoter(_: Model, context: Context): Expected[] {
  const { event, now } = context;
  const voter = voterOf(context);
  if (voter === undefined) return [];
  const gone: Expected = {
    status: 202,
    apply: () => {
      event.voters = event.voters.filter((one) => one !== voter);
      event.pendings = event.pendings.filter((one) => one.voter !== voter);
    },
  };
  if (frozen(event, now)) {
    const erased: Expected = {
      status: 202,
      apply: () => {
        Object.assign(voter, { name: '', email: null, voterId: null, erased: true, keys: [] });
      },
    };
    return event.type === 'poll' ? [erased, refuse(409, 'conflict')] : [erased];
  }
  if (statusOf(event, now) === 'closed')
    return [conflict('event_closed'), ...(voter.hasVoted ? [conflict('event_has_ballots')] : []), wrongly(gone)];
  if (voter.hasVoted) return [conflict('event_has_ballots'), wrongly(gone)];
  return livePendings(event, now).some((one) => one.voter === voter) ? [gone, conflict('event_has_ballots')] : [gone];
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
  const rows = event.voters.filter(
    (one) =>
      (status === null || one.status === status) &&
      (group === null || one.groupId === group) &&
      (voted === null || String(one.hasVoted) === voted),
  );
  if (event.voters.some((one) => metInPoll(event, one))) return [{ status: 200 }];
  if (event.looseRoll || event.voters.some((one) => one.erased) || (frozen(event, now) && event.type === 'poll'))
    return [{ status: 200 }];
  if (rows.length > Number(query.get('limit') ?? 50)) return [{ status: 200, body: { nextCursor: kit.STRING } }];
  return [listed(new kit.Bag(rows.map((one) => voterBody(event, one))))];
}

function sendKey(model: Model, context: Context): Expected[] {
  const { body, event, now, request } = context;
  const voter = voterOf(context);
  if (voter === undefined) return [];
  if (request.body !== undefined && Object.keys(body).length > 0) return [refuse(422, 'validation_error')];
  if (event.type === 'poll') return [conflict('not_an_election')];
  const done: Expected = {
    status: 202,
    apply: () => {
      const plain =
        statusOf(event, now) !== 'closed' &&
        !voter.hasVoted &&
        (voter.status === 'approved' || event.voter.approval === 'automatic');
      const withKey = plain && voter.status !== 'rejected';
      expectKeyMail(model, event, voter, now, withKey, withKey);
    },
  };
  const odd = voter.email === null || voter.status !== 'approved' || statusOf(event, now) !== 'open' || voter.hasVoted;
  return odd ? [done, { status: 409 }, { status: 422 }, { status: 403 }] : [done];
}

function stats(_: Model, { event, now }: Context): Expected[] {
  return [
    ok(200, {
      votingEventId: event.id,
      status: statusOf(event, now),
      voters: { total: kit.INTEGER },
      ballots: { cast: kit.INTEGER, confirmed: kit.INTEGER },
    }),
  ];
}
/** The figures that a fresh `stats` has: asked for only when no older ones can be shown. */
export function freshStats(event: Event, now: number): Json {
  const roll = event.voters;
  const of = (status: string) => roll.filter((one) => one.status === status).length;
  const counted = event.ballots.filter((one) => !one.voided);
  return {
    status: statusOf(event, now),
    voters: {
      total: roll.length,
      pending: of('pending'),
      approved: of('approved'),
      rejected: of('rejected'),
      ...(event.repeatVotes ? {} : { voted: event.ballots.length }),
    },
    ballots: {
      confirmed: new kit.Match(
        `${counted.length} or ${event.ballots.length}`,
        (v) => v === counted.length || v === event.ballots.length,
      ),
    },
    positions: event.positions.length,
    candidates: {
      total: event.candidates.length,
      approved: event.candidates.filter((one) => one.status === 'approved').length,
    },
    groups: event.groups.length,
    sponsors: event.sponsors.length,
  };
}

function votes(_: Model, { event, query, now }: Context): Expected[] {
  const limit = Number(query.get('limit') ?? 50);
  // Whether a void ballot is listed is left open.
  if (event.ballots.some((one) => one.voided)) return [{ status: 200 }];
  if (query.get('cursor') !== null) return [{ status: 200 }, refuse(400, 'bad_request')];
  const rows = voteRows(event, query.get('positionId'), query.get('candidateId'));
  const sealed = event.type === 'poll' || frozen(event, now);
  const tail = { nextCursor: rows.length > limit ? kit.STRING : null };
  if (sealed && rows.length <= limit) return [{ status: 200, body: { data: new kit.Bag(rows), ...tail } }];
  if (sealed) return [{ status: 200, body: tail }];
  const some = new kit.Match(`some of ${rows.length} votes`, (got) => {
    if (!Array.isArray(got)) return false;
    const left = [...rows];
    return got.every((row) => {
      const found = left.findIndex((one) => kit.differences(one, row).length === 0);
      if (found !== -1) left.splice(found, 1);
      return found !== -1;
    });
  });
  return [{ status: 200, body: { data: some } }];
}

function payments(_: Model, { event, query, now }: Context): Expected[] {
  const [status, purpose] = ['status', 'purpose'].map((one) => query.get(one));
  if (status !== null) return [{ status: 200 }];
  const rows = event.attempts.filter((one) => purpose === null || one.purpose === purpose);
  return [
    { status: 200, body: { data: new kit.Bag(rows.map((one) => attemptBody(one, attemptStatuses(one, now), false))) } },
  ];
}

const base = '/voting-events/:e';
const exists = (context: Context) => voterOf(context) !== undefined;
export const rollRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: `${base}/voters`,
    scope: 'read',
    query: ['status', 'groupId', 'voted', 'search', 'limit', 'cursor'],
    handle: listVoters,
  },
  { method: 'POST', path: `${base}/voters`, scope: 'write', handle: createVoter },
  { method: 'POST', path: `${base}/voters/batch`, scope: 'write', handle: batch },
  {
    method: 'GET',
    path: `${base}/voters/:id`,
    scope: 'read',
    exists,
    handle: (_, context) => [ok(200, voterBody(context.event, voterOf(context) as Voter))],
  },
  { method: 'PATCH', path: `${base}/voters/:id`, scope: 'write', exists, handle: patchVoter },
  { method: 'DELETE', path: `${base}/voters/:id`, scope: 'write', exists, handle: deleteVoter },
  { method: 'POST', path: `${base}/voters/:id/voter-key`, scope: 'write', exists, handle: sendKey },
  { method: 'GET', path: `${base}/stats`, scope: 'read', handle: stats },
  {
    method: 'GET',
    path: `${base}/results`,
    scope: 'read',
    handle: (_, { event, now }) => [ok(200, resultsBody(event, event.ballots, now))],
  },
  {
    method: 'GET',
    path: `${base}/votes`,
    scope: 'read',
    query: ['positionId', 'candidateId', 'limit', 'cursor'],
    gate: planGate('dataExport'),
    handle: votes,
  },
  {
    method: 'GET',
    path: `${base}/payments`,
    scope: 'read',
    query: ['status', 'purpose', 'from', 'until', 'search'],
    handle: payments,
  },
  {
    method: 'GET',
    path: `${base}/payments/:id`,
    scope: 'read',
    exists: ({ event, id }) => event.attempts.some((one) => one.id === id),
    handle: (_, { event, id, now }) =>
      event.attempts
        .filter((one) => one.id === id)
        .map((one) => ok(200, attemptBody(one, attemptStatuses(one, now), true))),
  },
];
