/** Casting, confirming and paying. */
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
  refuse,
  unfit,
  wrongly,
} from './answer.ts';
import * as kit from './kit.ts';
import { at, type Json, type Spec } from './kit.ts';
import type { Model, Route } from './model.ts';
import {
  type Attempt,
  attemptBody,
  type Entry,
  type Event,
  emailKey,
  frozen,
  HOUR,
  type Identity,
  livePendings,
  MINUTE,
  type Pending,
  type Position,
  statusOf,
  useKey,
  type Voter,
} from './state.ts';

const CODE = new kit.Match('a confirmation code', (value) => /^[0-9A-HJKMNP-TV-Z]{26}$/.test(String(value)));
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

/** What is wrong with a ballot that has the right shape. `loose`: the contract doesn't say which entry is named. */
export function ballotIssues(event: Event, votes: readonly Entry[], group: string | null, grouped: boolean) {
  const exact: string[] = [];
  let loose = false;
  let outside = false;
  const seen = new Set<string>();
  const ranks = new Set<string>();
  const byPosition = new Map<Position, number>();
  const points = new Map<Position, number>();
  for (const [index, vote] of votes.entries()) {
    const issue = (field: string) => exact.push(`votes[${index}].${field}`);
    const position = event.positions.find((one) => one.id === vote.positionId);
    if (position === undefined) {
      issue('positionId');
      loose ||= vote.value !== undefined || vote.rank !== undefined;
      // Whether the candidate of an unknown position is named too is open.
      loose = true;
      continue;
    }
    if (grouped && position.groupId !== null && position.groupId !== group) {
      issue('positionId');
      outside = true;
    }
    const candidate = event.candidates.find((one) => one.id === vote.candidateId);
    const good = candidate?.status === 'approved' && candidate.positionIds.includes(position.id);
    if (!good) issue('candidateId');
    const pair = `${vote.positionId} ${vote.candidateId}`;
    if (seen.has(pair)) issue('candidateId');
    seen.add(pair);
    byPosition.set(position, (byPosition.get(position) ?? 0) + 1);
    const { value, rank } = vote;
    const ranked = position.votingMethod === 'ranked_choice';
    if (ranked) {
      if (value !== undefined) issue('value');
      const last = event.candidates.filter(
        (one) => one.positionIds.includes(position.id) && one.status === 'approved',
      ).length;
      if (rank === undefined || !Number.isInteger(rank) || rank < 1 || rank > last) issue('rank');
      else if (ranks.has(`${position.id} ${rank}`)) issue('rank');
      ranks.add(`${position.id} ${rank}`);
      continue;
    }
    if (rank !== undefined) issue('rank');
    if (['plurality', 'approval', 'referendum'].includes(position.votingMethod)) {
      if (value !== undefined && value !== 1) issue('value');
      continue;
    }
    const [low, high] =
      position.votingMethod === 'score'
        ? [position.scoreMin ?? 0, position.scoreMax ?? 5]
        : [1, Number.MAX_SAFE_INTEGER];
    if (value === undefined || !Number.isInteger(value) || value < low || value > high) issue('value');
    points.set(position, (points.get(position) ?? 0) + (value ?? 0));
  }
  for (const [position, count] of byPosition) {
    const max = position.maxSelections ?? Number.MAX_SAFE_INTEGER;
    if (count > max || count < (position.minSelections ?? 0)) {
      exact.push('votes');
      loose = true;
    }
    if (
      position.votingMethod === 'cumulative' &&
      (points.get(position) ?? 0) > (position.cumulativePointBudget ?? 10)
    ) {
      exact.push('votes');
      loose = true;
    }
  }
  return { exact, loose, outside };
}
function ballotRefusal(issues: ReturnType<typeof ballotIssues>, quadratic = false): Expected[] {
  if (issues.exact.length === 0) return [];
  // Whether what cannot be right is charged too is left open.
  if (quadratic) return [refuse(422, 'validation_error', undefined, { store: 'maybe' })];
  const only = issues.outside && issues.exact.every((one) => one.endsWith('positionId')) ? 'not_in_group' : undefined;
  if (issues.loose) return [refuse(422, 'validation_error', undefined, { store: 'maybe' })];
  return [refuse(422, 'validation_error', only, { issues: issues.exact, store: 'maybe' })];
}

export function balance(
  event: Event,
  position: Position,
  visitor: string,
  now: number,
  except?: (one: Pending) => boolean,
) {
  const cost = (votes: readonly Entry[]) =>
    votes.filter((one) => one.positionId === position.id).reduce((sum, one) => sum + (one.value ?? 0) ** 2, 0);
  const base = position.quadraticBaseCreditBudget ?? 100;
  const purchased = event.purchased.get(`${position.id}|${visitor}`) ?? 0;
  const mine = (one: { readonly identity: Identity | undefined }) => one.identity?.visitorId === visitor;
  const spent = event.ballots.filter(mine).reduce((sum, one) => sum + cost(one.votes), 0);
  const held = livePendings(event, now)
    .filter((one) => mine(one) && except?.(one) !== true)
    .reduce((sum, one) => sum + cost(one.votes), 0);
  return {
    positionId: position.id,
    visitorId: visitor,
    baseCredits: base,
    purchasedCredits: purchased,
    spentCredits: spent,
    heldCredits: held,
    availableCredits: base + purchased - spent - held,
  };
}
function creditRefusal(
  event: Event,
  votes: readonly Entry[],
  visitor: string,
  now: number,
  except: (one: Pending) => boolean,
): Expected[] {
  for (const position of event.positions) {
    if (position.votingMethod !== 'quadratic') continue;
    const required = votes
      .filter((one) => one.positionId === position.id)
      .reduce((sum, one) => sum + (one.value ?? 0) ** 2, 0);
    const available = balance(event, position, visitor, now, except).availableCredits;
    if (required > available)
      return [
        refuse(422, 'validation_error', 'insufficient_credits', {
          fields: ['votes'],
          details: { positionId: position.id, required, available },
          store: 'maybe',
        }),
      ];
  }
  return [];
}

const spendsCredits = (event: Event, votes: readonly Entry[]): boolean =>
  event.positions.some(
    (one) => one.votingMethod === 'quadratic' && votes.some((vote) => vote.positionId === one.id && vote.value),
  );
const timing = (event: Event, now: number): Expected[] => {
  const status = statusOf(event, now);
  if (status === 'open') return [];
  return [forbidden(status === 'closed' ? 'event_closed' : 'event_not_open')];
};
function castResult(count: number) {
  return { confirmationCode: CODE, votesCount: count };
}
const country = (body: Json) =>
  typeof body['countryCode'] === 'string' ? body['countryCode'].trim().toUpperCase() : null;

/** Who a voter key with an identifier belongs to. */
export function voterOfIdentity(event: Event, body: Json): Voter | undefined {
  const { email, voterId } = body;
  return event.voters.find((one) => {
    if (one.source === 'poll' || one.erased) return false;
    if (typeof voterId === 'string' && one.voterId !== kit.clean(voterId)) return false;
    if (typeof email === 'string' && (one.email === null || emailKey(one.email) !== emailKey(email))) return false;
    return typeof voterId === 'string' || typeof email === 'string';
  });
}
export const plainKey = (key: string): string => key.replace(/-/g, '').trim().toUpperCase();
export function keyFits(voter: Voter | undefined, key: unknown): boolean {
  return voter?.keys.some((one) => plainKey(one) === plainKey(String(key))) === true;
}
export function wrongKeys(event: Event, body: Json, now: number): number {
  const who = String(body['voterId'] ?? body['email'] ?? '').toLowerCase();
  return event.wrongKeys.filter((one) => one.who === who && one.at > now - 15 * MINUTE).length;
}
export function noteWrongKey(event: Event, body: Json, now: number): void {
  event.wrongKeys.push({ at: now, who: String(body['voterId'] ?? body['email'] ?? '').toLowerCase() });
}

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
  if (!keyFits(voter, body['voterKey'])) {
    const wrong = forbidden('voter_key_invalid', { apply: () => noteWrongKey(event, body, now) });
    const many = wrongKeys(event, body, now) >= 10 ? [refuse(429, 'rate_limited')] : [];
    const rejected = voter?.status === 'rejected' ? [forbidden('voter_rejected')] : [];
    return [...refusals, wrong, ...rejected, ...many, ...ballot];
  }
  if (voter === undefined) return [];
  // Keys end with the event; which of the two is told first is open.
  if (statusOf(event, now) === 'closed') refusals.push(forbidden('voter_key_invalid'));
  if (voter.status === 'rejected') refusals.push(forbidden('voter_rejected'));
  if (voter.status === 'pending' && event.voter.approval === 'manual') refusals.push(forbidden('voter_pending'));
  if (voter.hasVoted) refusals.push(conflict('already_voted'));
  refusals.push(...ballot);
  const credits = creditRefusal(event, votes, '', now, () => true);
  refusals.push(...credits);
  if (refusals.length > 0)
    return refusals.map((one) => ({
      ...one,
      apply: () => {
        voter.perhapsUsed = true;
      },
    }));
  const done = ok(201, castResult(votes.length), (answer) => {
    useKey(event, voter);
    event.pendings = event.pendings.filter((one) => one.voter !== voter);
    keep(event, {
      code: codeOf(answer),
      voter,
      identity: undefined,
      votes,
      country: country(body),
      castAt: now,
      attempt: undefined,
      doubtful: false,
    });
  });
  return [done];
}
const codeOf = (answer: unknown) => kit.text(at(answer, 'data', 'confirmationCode'));
function keep(event: Event, pending: Pending): void {
  event.pendings.push(pending);
  event.everCast = true;
}

/** Whether two participants of a poll are one. */
export function sameParticipant(event: Event, a: Identity, b: Identity): boolean {
  if (a.visitorId.toLowerCase() === b.visitorId.toLowerCase()) return true;
  if (event.voter.saveVoterInfo && a.email !== null && b.email !== null && emailKey(a.email) === emailKey(b.email))
    return true;
  return event.voter.requireVoterId && a.voterId !== null && a.voterId === b.voterId;
}
const took = (event: Event, identity: Identity): boolean =>
  !event.repeatVotes &&
  event.ballots.some((one) => one.identity !== undefined && sameParticipant(event, one.identity, identity));

/** A paid ballot that waits to be confirmed is its participant's one vote already, for cast and check alike. */
export const paidAndWaits = (event: Event, identity: Identity, now: number): boolean =>
  !event.repeatVotes &&
  livePendings(event, now).some(
    (one) => one.attempt !== undefined && one.identity !== undefined && sameParticipant(event, one.identity, identity),
  );

function identityOf(body: Json): Identity {
  const part = (name: string) => (typeof body[name] === 'string' ? kit.clean(body[name] as string) : null);
  return { visitorId: part('visitorId') ?? '', email: part('email'), voterId: part('voterId'), name: part('name') };
}
const isSecond = (body: Json): boolean => Object.keys(body).length === 1 && 'paymentAttemptId' in body;

function castPoll(model: Model, context: Context): Expected[] {
  const { body, event, now } = context;
  if (isSecond(body)) return second(model, context, 'vote');
  const issues = kit.check(body, pollSpec);
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
    keep(event, {
      code: codeOf(answer),
      voter: undefined,
      identity,
      votes,
      country: country(body),
      castAt: now,
      attempt: undefined,
      doubtful: false,
    });
  });
  return refusals.length > 0 ? [...refusals, wrongly(done)] : [done, ...perhaps];
}
/** Somebody with a part of the same identity has a ballot that waits: whether that is replaced is left open. */
function overlap(event: Event, identity: Identity): void {
  for (const one of event.pendings)
    if (one.identity !== undefined && sameParticipant(event, one.identity, identity)) one.doubtful = true;
}

/** Prices in the currency's main unit. */
export function mainUnit(amountMinor: number, currency: string): number {
  return currency === 'jpy' ? amountMinor : amountMinor / 100;
}
export function firstCall(
  model: Model,
  context: Context,
  purpose: Attempt['purpose'],
  price: Json,
  stored: Json,
  more: Json = {},
): Expected[] {
  const { event, now } = context;
  const provider = event.business?.provider ?? 'provider_a';
  const [amountMinor, currency] = [Number(price['amountMinor']), String(price['currency'])];
  const page =
    provider === 'provider_a'
      ? { checkoutUrl: kit.STRING, checkoutSessionId: kit.STRING }
      : { checkoutUrl: kit.STRING, accessCode: kit.STRING, reference: kit.STRING };
  const body = {
    paymentRequired: true,
    paymentAttemptId: kit.prefixed('pay_'),
    amount: mainUnit(amountMinor, currency),
    currency,
    provider,
    [provider]: page,
    ...more,
    next: kit.STRING,
  };
  const visitor = (stored['identity'] as Identity | undefined)?.visitorId ?? stored['visitorId'];
  const recent = event.attempts.filter((one) => {
    const who = (one.stored['identity'] as Identity | undefined)?.visitorId ?? one.stored['visitorId'];
    return who === visitor && one.createdAt > now - HOUR;
  });
  return [
    ok(402, body, (answer) => {
      const required = at(answer, 'data') as Json;
      const id = kit.text(at(required, 'paymentAttemptId'));
      if (model.attempts.has(id)) return;
      const attempt: Attempt = {
        id,
        event,
        purpose,
        provider,
        amountMinor,
        currency,
        stored,
        required,
        createdAt: now,
        checkoutUrl: kit.text(at(required, provider, 'checkoutUrl')),
        paid: false,
        told: false,
        refused: false,
        fulfilled: undefined,
        ended: false,
        code: null,
      };
      model.attempts.set(id, attempt);
      event.attempts.push(attempt);
    }),
    ...(recent.length >= 10 ? [refuse(429, 'rate_limited')] : []),
  ];
}
const pageOver = (attempt: Attempt, now: number) => now > attempt.createdAt + HOUR;
export function attemptStatuses(attempt: Attempt, now: number): string[] {
  if (attempt.fulfilled !== undefined) return ['fulfilled'];
  if (attempt.ended) return ['succeeded', 'cancelled'];
  if (attempt.paid) {
    const { event } = attempt;
    const lost =
      event.deleted ||
      (attempt.purpose !== 'vote' && (statusOf(event, now) !== 'open' || event.everCast)) ||
      (attempt.purpose === 'vote' &&
        (frozen(event, now) ||
          took(event, attempt.stored['identity'] as Identity) ||
          paidAndWaits(event, attempt.stored['identity'] as Identity, now)));
    return ['succeeded', ...(attempt.told ? [] : ['pending', 'failed']), ...(lost ? ['cancelled'] : [])];
  }
  if (pageOver(attempt, now))
    return attempt.provider === 'provider_a'
      ? attempt.refused
        ? ['failed', 'cancelled']
        : ['cancelled']
      : ['pending', 'failed', 'cancelled'];
  return attempt.refused ? ['pending', 'failed', 'cancelled'] : ['created', 'pending', 'cancelled'];
}
/** The second call of a checkout. */
export function second(_: Model, { body, event, now }: Context, purpose: Attempt['purpose']): Expected[] {
  if (typeof body['paymentAttemptId'] !== 'string') return [invalid(['paymentAttemptId'])];
  const attempt = event.attempts.find((one) => one.id === body['paymentAttemptId']);
  if (attempt === undefined || attempt.purpose !== purpose) return [notFound(), unfit(['paymentAttemptId'])];
  if (attempt.fulfilled !== undefined) return [{ status: 200, body: attempt.fulfilled }];
  const ended = ['payment_failed', 'payment_cancelled', 'payment_expired'].map((one) => conflict(one));
  const waits: Expected = {
    status: 402,
    body: { data: { ...attempt.required, status: kit.oneOf('created', 'pending', 'succeeded', 'failed') } },
    store: 'no',
  };
  if (attempt.ended) return ended;
  if (!attempt.paid) {
    if (pageOver(attempt, now)) return attempt.provider === 'provider_a' ? ended : [waits, ...ended];
    return [waits, ...(attempt.refused ? ended : [])];
  }
  const lost = (answers: Expected[]): Expected[] =>
    answers.map((one) => ({
      ...one,
      apply: () => {
        attempt.ended = true;
      },
    }));
  const unsure = attempt.told ? [] : [waits];
  if (purpose === 'vote') {
    const identity = attempt.stored['identity'] as Identity;
    const votes = attempt.stored['votes'] as Entry[];
    const gone = conflict('payment_cancelled');
    if (took(event, identity)) return lost([conflict('already_voted'), gone]).concat(unsure);
    const second = paidAndWaits(event, identity, now);
    if (frozen(event, now)) return lost([forbidden('event_closed'), gone]).concat(unsure);
    const clash = livePendings(event, now).some(
      (one) => one.identity !== undefined && sameParticipant(event, one.identity, identity),
    );
    const perhaps: Expected[] = [];
    if (clash) perhaps.push(...lost([conflict('already_voted'), gone]));
    if (ballotIssues(event, votes, null, false).exact.length > 0)
      perhaps.push(...lost([refuse(422, 'validation_error'), refuse(409, 'conflict')]));
    const done = ok(201, castResult(votes.length), (answer) => {
      attempt.code = codeOf(answer);
      attempt.fulfilled = answer as Json;
      overlap(event, identity);
      const country = attempt.stored['country'] as string | null;
      keep(event, {
        code: codeOf(answer),
        voter: undefined,
        identity,
        votes,
        country,
        castAt: now,
        attempt,
        doubtful: clash,
      });
    });
    if (second) return [...lost([conflict('already_voted'), gone]), ...perhaps, ...unsure, wrongly(done)];
    return [done, ...perhaps, ...unsure];
  }
  if (purpose === 'quadratic_credits') {
    const position = event.positions.find((one) => one.id === attempt.stored['positionId']);
    if (position === undefined)
      return lost([conflict('payment_cancelled'), refuse(404, 'not_found'), refuse(409, 'conflict')]);
    const visitor = String(attempt.stored['visitorId']);
    const before = balance(event, position, visitor, now);
    const credits = Number(attempt.stored['credits']);
    const after = {
      ...before,
      purchasedCredits: before.purchasedCredits + credits,
      availableCredits: before.availableCredits + credits,
    };
    const done = ok(200, after, (answer) => {
      attempt.fulfilled = answer as Json;
      event.purchased.set(`${position.id}|${visitor}`, after.purchasedCredits);
    });
    const late =
      statusOf(event, now) === 'open' ? [] : lost([forbidden('event_closed'), conflict('payment_cancelled')]);
    return [done, ...late, ...unsure];
  }
  const candidate = attempt.stored['candidate'] as Event['candidates'][number];
  const shown = {
    id: kit.prefixed('cnd_'),
    name: candidate.name,
    positionIds: kit.ANY,
    avatarUrl: candidate.avatarUrl,
    status: 'pending',
  };
  const done = ok(201, shown, (answer) => {
    attempt.fulfilled = answer as Json;
    event.candidates.push({ ...candidate, id: kit.text(at(answer, 'data', 'id')) });
  });
  const late =
    statusOf(event, now) === 'closed' || event.everCast
      ? lost([forbidden('event_closed'), conflict('payment_cancelled'), refuse(409, 'conflict')])
      : [];
  return frozen(event, now) ? [...late, ...unsure] : [done, ...late, ...unsure];
}

/** Choices by the names of today. */
function namedVotes(event: Event, votes: readonly Entry[]): Json[] {
  return votes.map((vote) => ({
    positionName: event.positions.find((one) => one.id === vote.positionId)?.title ?? kit.ANY,
    candidateName: event.candidates.find((one) => one.id === vote.candidateId)?.name ?? kit.ANY,
  }));
}
function confirm(model: Model, { body, event, now }: Context): Expected[] {
  const issues = kit.check(body, { confirmationCode: [kit.str(1, 64)] });
  if (issues.length > 0) return [invalid(issues)];
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
  if (status === 'draft' || status === 'scheduled') return [forbidden('event_not_open')];
  const perhaps = pending.doubtful
    ? [notFound(), refuse(403, 'forbidden'), refuse(409, 'conflict'), refuse(422, 'validation_error')]
    : [];
  if (event.payToVote !== null && pending.attempt === undefined)
    perhaps.push(refuse(409, 'conflict'), refuse(403, 'forbidden'), notFound());
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
    const visitors = event.ballots.filter(
      (one) => one.identity !== undefined && identity !== undefined && sameParticipant(event, one.identity, identity),
    );
    if (new Set(visitors.map((one) => one.identity?.visitorId.toLowerCase())).size > 1) event.looseRoll = true;
    if (
      identity !== undefined &&
      !event.ballots
        .slice(0, -1)
        .some((one) => one.identity !== undefined && sameParticipant(event, one.identity, identity))
    ) {
      const { name, email, voterId, visitorId } = identity;
      event.voters.push({
        id: '',
        name: name ?? '',
        email,
        voterId,
        visitorId,
        groupId: null,
        weight: 1,
        status: 'approved',
        hasVoted: true,
        source: 'poll',
        keys: [],
        mailsAt: [],
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
  const paid = event.payToVote !== null && !isSecond(body);
  return paid && !LIMITS[event.account.plan].paid ? [forbidden('plan_feature')] : [];
};
const base = '/public/voting-events/:e';
export const castingRoutes: readonly Route[] = [
  {
    method: 'POST',
    path: `${base}/ballot/cast`,
    scope: 'vote',
    gate,
    handle: (model, context) => (context.event.type === 'election' ? castElection(context) : castPoll(model, context)),
  },
  { method: 'POST', path: `${base}/ballot/confirm`, scope: 'vote', handle: confirm },
  {
    method: 'GET',
    path: `${base}/payments/:id`,
    scope: 'vote',
    exists: ({ event, id }) => event.attempts.some((one) => one.id === id),
    handle: (_, { event, id, now }) =>
      event.attempts
        .filter((one) => one.id === id)
        .map((one) => ok(200, attemptBody(one, attemptStatuses(one, now), true))),
  },
];
