/** Casting and confirming. */
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
  wrongly,
} from './answer.ts';
import { ballotIssues, ballotRefusal, creditRefusal, spendsCredits } from './ballot-rules.ts';
import { noteConfirm } from './disclosure.ts';
import * as kit from './kit.ts';
import { at, type Json, type Spec } from './kit.ts';
import type { Model } from './model.ts';
import {
  identityOf,
  keyFits,
  noteWrongKey,
  overlap,
  paidAndWaits,
  sameParticipant,
  took,
  voterOfIdentity,
  wrongKeys,
} from './participants.ts';
import { attemptStatuses, besides, castResult, codeOf, firstCall, isSecond, keep, second } from './paying.ts';
import {
  attemptBody,
  type Entry,
  type Event,
  emailKey,
  frozen,
  type Identity,
  livePendings,
  MINUTE,
  type Pending,
  statusOf,
  useKey,
} from './state.ts';

export const VISITOR = kit.pattern(/^vi_[0-9a-f]{16,128}$/i);
export const url = kit.httpsUrl;
const entry = kit.object({
  positionId: [kit.str(1, 200)],
  candidateId: [kit.str(1, 200)],
  value: (value, path, issues) => {
    if (typeof value !== 'number') issues.push(path);
  },
  rank: (value, path, issues) => {
    if (typeof value !== 'number') issues.push(path);
  },
});
const shared: Spec = {
  voterId: kit.str(1, 200),
  email: kit.email,
  name: kit.name(200),
  countryCode: kit.pattern(/^[A-Za-z]{2}$/),
  votes: [kit.list(entry, 1, 200)],
};
const electionSpec: Spec = { ...shared, voterKey: [kit.str(1, 200)] };
const pollSpec: Spec = { ...shared, visitorId: [VISITOR], returnUrl: url, cancelUrl: url };

const timing = (event: Event, now: number): Expected[] => {
  const status = statusOf(event, now);
  if (status === 'open') return [];
  return [forbidden(status === 'closed' ? 'event_closed' : 'event_not_open')];
};
const country = (body: Json) =>
  typeof body['countryCode'] === 'string' ? body['countryCode'].trim().toUpperCase() : null;

function castElection({ body, event, now }: Context): Expected[] {
  const issues = kit.check(body, electionSpec);
  const lacks: string[] = [];
  if (event.voter.requireVoterId && body['voterId'] === undefined) lacks.push('voterId');
  else if (body['email'] === undefined && body['voterId'] === undefined) lacks.push('email', 'voterId');
  if (issues.length > 0) return [invalid([...issues, ...lacks])];
  if (lacks.length > 0) return [lacking(lacks)];
  const votes = body['votes'] as Entry[];
  const voter = voterOfIdentity(event, body);
  const refusals = timing(event, now);
  const ballot = ballotRefusal(
    ballotIssues(event, votes, voter?.groupId ?? null, voter !== undefined),
    spendsCredits(event, votes),
  );
  const credits = creditRefusal(event, votes, '', now, () => true);
  if (!keyFits(voter, body['voterKey'])) {
    const wrong = forbidden('voter_key_invalid', { apply: () => noteWrongKey(event, body, now) });
    const many = wrongKeys(event, body, now) >= 10 ? [refuse(429, 'rate_limited')] : [];
    const rejected = voter?.status === 'rejected' ? [forbidden('voter_rejected')] : [];
    return [...refusals, wrong, ...rejected, ...many, ...ballot, ...credits];
  }
  if (voter === undefined) return [];
  // Keys end with the event; which of the two is told first is open.
  if (statusOf(event, now) === 'closed') refusals.push(forbidden('voter_key_invalid'));
  if (voter.status === 'rejected') refusals.push(forbidden('voter_rejected'));
  if (voter.status === 'pending' && event.voter.approval === 'manual') refusals.push(forbidden('voter_pending'));
  if (voter.hasVoted) refusals.push(conflict('already_voted'));
  refusals.push(...ballot, ...credits);
  if (refusals.length > 0)
    return refusals.map((one) => ({
      ...one,
      apply: () => {
        voter.perhapsUsed = true;
      },
    }));
  const done = ok(201, castResult(votes.length), (answer) => {
    const proven = voter.usedKey;
    useKey(event, voter);
    // Without a confirmed ballot it may be shown as sent.
    Object.assign(voter, { usedKey: proven, perhapsUsed: true });
    event.pendings = event.pendings.filter((one) => one.voter !== voter);
    keep(event, codeOf(answer), now, votes, { voter, country: country(body) });
  });
  return [done];
}

function castPoll(model: Model, context: Context): Expected[] {
  const { body, event, now } = context;
  if (isSecond(body)) return second(model, context, 'vote');
  const issues = [...kit.check(body, pollSpec), ...besides(body)];
  const lacks: string[] = [];
  // Missing in spite of the event's rule: told, and then the history goes on as if the rule weren't there.
  const unasked = event.voter.requireVoterId && body['voterId'] === undefined;
  const paid = event.payToVote !== null;
  if ((event.voter.saveVoterInfo || (paid && event.business?.provider === 'provider_b')) && body['email'] === undefined)
    lacks.push('email');
  if (paid && event.business?.provider === 'provider_a' && body['returnUrl'] === undefined) lacks.push('returnUrl');
  if (issues.length > 0) return [invalid([...issues, ...lacks])];
  if (lacks.length > 0) return [lacking([...lacks, ...(unasked ? ['voterId'] : [])])];
  const votes = body['votes'] as Entry[];
  const identity = identityOf(body);
  const refusals = timing(event, now);
  if (took(event, identity) || paidAndWaits(event, identity, now)) refusals.push(conflict('already_voted'));
  refusals.push(...ballotRefusal(ballotIssues(event, votes, null, false), spendsCredits(event, votes)));
  const grouped = event.positions.some(
    (one) => one.groupId !== null && votes.some((vote) => vote.positionId === one.id),
  );
  const mine = (one: Pending) => one.identity?.visitorId.toLowerCase() === identity.visitorId.toLowerCase();
  const credits = creditRefusal(event, votes, identity.visitorId, now, mine);
  if (refusals.length === 0 || statusOf(event, now) !== 'open' || took(event, identity)) refusals.push(...credits);
  if (unasked) refusals.unshift(lacking(['voterId']));
  const perhaps = grouped ? [refuse(422, 'validation_error')] : [];
  if (!paid && (body['returnUrl'] !== undefined || body['cancelUrl'] !== undefined))
    perhaps.push(unfit(['returnUrl', 'cancelUrl']));
  const first = () =>
    firstCall(model, context, 'vote', event.payToVote as Json, { votes, identity, country: country(body) });
  if (paid) return refusals.length > 0 ? [...refusals, ...first().map(wrongly)] : [...first(), ...perhaps];
  const done = ok(201, castResult(votes.length), (answer) => {
    event.pendings = event.pendings.filter((one) => !mine(one));
    overlap(event, identity);
    keep(event, codeOf(answer), now, votes, { identity, country: country(body) });
  });
  return refusals.length > 0 ? [...refusals, wrongly(done)] : [done, ...perhaps];
}
/** Choices by the names of today. */
function namedVotes(event: Event, votes: readonly Entry[]): Json[] {
  return votes.map((vote) => ({
    positionName: event.positions.find((one) => one.id === vote.positionId)?.title ?? kit.ANY,
    candidateName: event.candidates.find((one) => one.id === vote.candidateId)?.name ?? kit.ANY,
  }));
}
function confirm(model: Model, { body, event, now }: Context): Expected[] {
  const code = kit.clean(String(body['confirmationCode'])).toUpperCase();
  const status = statusOf(event, now);
  const again = event.ballots.find((one) => one.code === code);
  if (again !== undefined) {
    const silent = event.type === 'election' && status === 'closed';
    const first = at(again.answer, 'data') as Json;
    const shown = silent ? [] : kit.oneOf(first['votes'], new kit.Bag(namedVotes(event, again.votes)));
    return [{ status: 200, body: { data: { ...first, votes: shown } } }];
  }
  const pending = event.pendings.find((one) => one.code === code);
  if (status === 'scheduled') return [forbidden('event_not_open')];
  if (pending === undefined || !livePendings(event, now).includes(pending)) {
    const wrong = { ...notFound(), apply: () => void model.wrongCodes.push(now) };
    const many =
      model.wrongCodes.filter((one) => one > now - 2 * MINUTE).length >= 19 ? [refuse(429, 'rate_limited')] : [];
    return [wrong, ...many, ...(frozen(event, now) ? [forbidden('event_closed')] : [])];
  }
  const { voter, identity, votes } = pending;
  const drop = (answers: Expected[]): Expected[] =>
    answers.map((one) => ({
      ...one,
      apply: () => {
        pending.doubtful = true;
      },
    }));
  if (status === 'draft') return [forbidden('event_not_open')];
  const perhaps = pending.doubtful
    ? [notFound(), refuse(403, 'forbidden'), refuse(409, 'conflict'), refuse(422, 'validation_error')]
    : [];
  const named = namedVotes(event, votes);
  const shown = {
    confirmationCode: code,
    confirmedCount: kit.INTEGER,
    totalVotes: kit.INTEGER,
    submittedAt: kit.TIME,
    votes: event.type === 'election' && status === 'closed' ? kit.ANY : new kit.Bag(named),
    logPromise: kit.ANY,
    ...(event.ballot.receipt === 'full' ? { salt: kit.STRING } : {}),
  };
  const done = ok(200, shown, (answer) => {
    event.pendings = event.pendings.filter((one) => one !== pending);
    const weight = voter?.weight ?? 1;
    event.ballots.push({
      code,
      voter,
      identity,
      votes,
      country: pending.country,
      weight,
      attempt: pending.attempt,
      answer: answer as Json,
      voided: false,
    });
    if (voter !== undefined) voter.hasVoted = true;
    noteConfirm(event);
    const visitors = event.ballots.filter(
      (one) => one.identity !== undefined && identity !== undefined && sameParticipant(event, one.identity, identity),
    );
    const parts = ({ visitorId, email, voterId }: Identity) =>
      JSON.stringify([visitorId.toLowerCase(), email === null ? null : emailKey(email), voterId]);
    const kinds = new Set(visitors.flatMap((one) => (one.identity === undefined ? [] : [parts(one.identity)])));
    if (kinds.size > 1) event.looseRoll = true;
    if (
      identity !== undefined &&
      !event.ballots
        .slice(0, -1)
        .some((one) => one.identity !== undefined && sameParticipant(event, one.identity, identity))
    ) {
      const { name, email, voterId, visitorId } = identity;
      const isSaved = event.voter.saveVoterInfo;
      event.voters.push({
        id: '',
        name: isSaved ? (name ?? '') : '',
        email: isSaved ? email : null,
        voterId,
        visitorId,
        groupId: null,
        weight: 1,
        status: 'approved',
        hasVoted: true,
        source: 'poll',
        keys: [],
      });
    }
  });
  if (voter !== undefined && voter.status !== 'approved')
    return [...drop([forbidden(`voter_${voter.status}`)]), ...perhaps, wrongly(done)];
  if (identity !== undefined && took(event, identity))
    return [...drop([conflict('already_voted')]), ...(pending.doubtful ? [notFound()] : []), wrongly(done)];
  return [done, ...perhaps];
}

const gate = (_: Model, { event, body }: Context): Expected[] => {
  // Whatever else stands beside an attempt's ID, it is no first call.
  const paid = event.payToVote !== null && body['paymentAttemptId'] === undefined;
  return paid && !LIMITS[event.account.plan].paid ? [forbidden('plan_feature')] : [];
};
const base = '/public/voting-events/:e';
export const castingRoutes: readonly Route[] = [
  route(
    'POST',
    `${base}/ballot/cast`,
    'vote',
    (model, context) => (context.event.type === 'election' ? castElection(context) : castPoll(model, context)),
    { gate },
  ),
  route('POST', `${base}/ballot/confirm`, 'vote', confirm, { body: { confirmationCode: [kit.str(1, 64)] } }),
  route(
    'GET',
    `${base}/payments/:id`,
    'vote',
    (_, { event, id, now }) =>
      event.attempts
        .filter((one) => one.id === id)
        .map((one) => ok(200, attemptBody(one, attemptStatuses(one, now), true))),
    { exists: ({ event, id }) => event.attempts.some((one) => one.id === id) },
  ),
];
