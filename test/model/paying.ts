/** Checkouts: first calls, second calls, and what an attempt can be. */
import {
  type Context,
  conflict,
  type Expected,
  forbidden,
  invalid,
  notFound,
  ok,
  refuse,
  unfit,
  wrongly,
} from './answer.ts';
import { balance, ballotIssues } from './ballot-rules.ts';
import * as kit from './kit.ts';
import { at, type Json } from './kit.ts';
import type { Model } from './model.ts';
import { overlap, paidAndWaits, sameParticipant, took } from './participants.ts';
import {
  type Attempt,
  type Entry,
  type Event,
  frozen,
  HOUR,
  type Identity,
  livePendings,
  MINUTE,
  type Pending,
  registeredBody,
  statusOf,
} from './state.ts';

const CODE = new kit.Match('a confirmation code', (value) => /^[0-9A-HJKMNP-TV-Z]{26}$/.test(String(value)));
export function castResult(count: number) {
  return { confirmationCode: CODE, votesCount: count };
}
export const codeOf = (answer: unknown) => kit.text(at(answer, 'data', 'confirmationCode'));
/** A cast that waits. @param who cast it, and what else is known of it */
export function keep(
  event: Event,
  code: string,
  castAt: number,
  votes: readonly Entry[],
  who: Partial<Pending> & Pick<Pending, 'country'>,
): void {
  const nobody = { voter: undefined, identity: undefined, attempt: undefined, doubtful: false };
  event.pendings.push({ ...nobody, code, castAt, votes, ...who });
  event.everCast = true;
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
export const isSecond = (body: Json): boolean => Object.keys(body).length === 1 && 'paymentAttemptId' in body;
/** A second call's body holds nothing else: which of the two is named first is left open. */
export const besides = (body: Json): string[] => ('paymentAttemptId' in body ? Object.keys(body) : []);
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
          attempt.paidLate === true ||
          ballotIssues(event, attempt.stored['votes'] as Entry[], null, false).exact.length > 0 ||
          took(event, attempt.stored['identity'] as Identity) ||
          paidAndWaits(event, attempt.stored['identity'] as Identity, now)));
    // Ten minutes after the success the service makes the second call itself (completions 7.4).
    const given = attempt.purpose !== 'vote' && now > attempt.createdAt + 10 * MINUTE;
    return [
      'succeeded',
      ...(given ? ['fulfilled'] : []),
      ...(attempt.told ? [] : ['pending', 'failed']),
      ...(lost ? ['cancelled'] : []),
    ];
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
    if (attempt.paidLate === true && statusOf(event, now) === 'closed' && !took(event, identity))
      return lost([gone, forbidden('event_closed')]).concat(unsure);
    if (took(event, identity)) return lost([conflict('already_voted'), gone]).concat(unsure);
    const second = paidAndWaits(event, identity, now);
    if (frozen(event, now)) return lost([forbidden('event_closed'), gone]).concat(unsure);
    const clash = livePendings(event, now).some(
      (one) => one.identity !== undefined && sameParticipant(event, one.identity, identity),
    );
    const perhaps: Expected[] = attempt.paidLate === true ? lost([gone]) : [];
    if (clash) perhaps.push(...lost([conflict('already_voted'), gone]));
    if (ballotIssues(event, votes, null, false).exact.length > 0)
      perhaps.push(...lost([refuse(422, 'validation_error'), refuse(409, 'conflict')]));
    const done = ok(201, castResult(votes.length), (answer) => {
      attempt.code = codeOf(answer);
      attempt.fulfilled = answer as Json;
      overlap(event, identity);
      const country = attempt.stored['country'] as string | null;
      keep(event, codeOf(answer), now, votes, { identity, country, attempt, doubtful: clash });
    });
    if (second) return [...lost([gone, conflict('already_voted')]), ...perhaps, ...unsure, wrongly(done)];
    return [done, ...perhaps, ...unsure];
  }
  if (purpose === 'quadratic_credits') {
    const position = event.positions.find((one) => one.id === attempt.stored['positionId']);
    if (position === undefined)
      return lost([conflict('payment_cancelled'), refuse(404, 'not_found'), refuse(409, 'conflict')]);
    const visitor = String(attempt.stored['visitorId']);
    // Who has voted has no use for credits: the money goes back (completions 7.4).
    if (event.ballots.some((one) => one.identity?.visitorId === visitor) && !event.repeatVotes)
      return lost([conflict('payment_cancelled'), conflict('already_voted')]).concat(unsure);
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
  const done = ok(201, registeredBody(candidate), (answer) => {
    attempt.fulfilled = answer as Json;
    event.candidates.push({ ...candidate, id: kit.text(at(answer, 'data', 'id')) });
  });
  const late =
    statusOf(event, now) === 'closed' || event.everCast
      ? lost([forbidden('event_closed'), conflict('payment_cancelled'), refuse(409, 'conflict')])
      : [];
  return frozen(event, now) ? [...late, ...unsure] : [done, ...late, ...unsure];
}
