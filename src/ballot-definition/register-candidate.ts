import { z } from 'zod';
import { changeBy } from '#src/accounts/changes.ts';
import { planLimit } from '#src/accounts/plans.ts';
import { inTransaction, type Transaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import type { Deps } from '#src/deps.ts';
import type { Answer } from '#src/http/answer.ts';
import type { AnswerShapes } from '#src/http/answer-shapes.ts';
import type { Claim } from '#src/http/idempotent-request.ts';
import { type RefusalCase, refuse } from '#src/http/refusals.ts';
import { defineJob, enqueue, type Job } from '#src/jobs/queue.ts';
import { orNotFound } from '#src/platform/errors.ts';
import { pick } from '#src/platform/pick.ts';
import type { VoteCaller } from '#src/voting-events/access.ts';
import {
  lockForChange,
  renewBallotDefinition,
  requireNoIssues,
  takeNumber,
  worldChanged,
} from '#src/voting-events/guard-change.ts';
import { isFinalAt, isRehearsalOver, notOpen, statusAt } from '#src/voting-events/lifecycle.ts';
import { REHEARSED_MS, requireSameWorld } from '#src/voting-events/rehearsal.ts';
import { holdEvent, lockEvent } from '#src/voting-events/repository.ts';
import type { Price, VotingEvent } from '#src/voting-events/voting-event.ts';
import { recordEvent } from '#src/webhooks/record-event.ts';
import { type registerCandidateBody, viewCandidate, viewRegisteredCandidate } from './candidate.ts';
import { registrationIssues } from './change-candidate.ts';
import { type BallotChangeDeps, CAPS, newRow, requireRoomForCandidate } from './record-ballot-change.ts';
import { findCandidateOfPayment, insertCandidate, updateCandidate } from './repository.ts';
import type { Candidate } from './types.ts';

export type Registration = Omit<z.output<ReturnType<typeof registerCandidateBody>>, 'returnUrl' | 'cancelUrl'>;

/** Validates a registration before and during its payment; stores nothing. @throws ApiError as `registerCandidate` does */
export async function checkRegistration(
  tx: Transaction,
  votingEventId: string,
  body: Registration,
  rehearsal?: boolean,
): Promise<void> {
  const event = orNotFound(await holdEvent(tx, votingEventId));
  await requireRegistration(tx, event, body, await readNow(tx), rehearsal);
}

/** Most candidates of an event. Rejected registrations count here, not against the cap: they are read with every ballot. */
const MOST_CANDIDATES = 3 * CAPS.candidates;

/** @returns how many candidates there are @throws ApiError 422, 403, 422 `plan_limit` */
async function requireRegistration(
  tx: Transaction,
  event: VotingEvent,
  body: Registration,
  nowMs: number,
  rehearsal: boolean | undefined,
): Promise<number> {
  const { positionIds, groupId } = body;
  requireNoIssues(await registrationIssues(tx, event.id, { positionIds, groupId }));
  if (!event.candidateSelfRegistration) throw refuse('candidate_registration_closed');
  // An event that closed in a rehearsal still accepts a registration that was paid with real money.
  const status = statusAt(event, nowMs);
  if (status === 'closed' && (event.rehearsalSince === null || rehearsal !== false)) throw notOpen(status);
  const count = await requireRoomForCandidate(tx, event.id, { source: 'registration', stands: false });
  if (count >= MOST_CANDIDATES) throw planLimit('candidates_with_rejected_per_event', MOST_CANDIDATES);
  return count;
}

interface RegistrationOrigin {
  readonly keyId?: string;
  readonly paymentAttemptId?: string;
  /** The event as the request read it: if a rehearsal has begun or ended since, the registration is refused. */
  readonly read?: VotingEvent;
  /** Whether the payment belongs to a rehearsal. The end of a rehearsal keeps candidates whose registration cost real money. */
  readonly rehearsal?: boolean;
}

/**
 * Registers a candidate that waits for the organizer's approval (contract, "Candidate registration body").
 * @throws ApiError 403 `registration_closed`, `event_closed`; 422 for unknown positions or group; 422 `plan_limit`
 */
export async function registerCandidate(
  tx: Transaction,
  deps: BallotChangeDeps,
  votingEventId: string,
  body: Registration,
  { keyId, paymentAttemptId, read, rehearsal }: RegistrationOrigin,
): Promise<Candidate> {
  const event = await lockForChange(tx, votingEventId);
  if (read !== undefined) requireSameWorld(read, event);
  // The event asks for a payment since this request read it. The caller has not seen the price and must retry.
  if (read !== undefined && event.payToRegisterCandidate !== null) throw worldChanged();
  const nowMs = event.lockedAt;
  const count = await requireRegistration(tx, event, body, nowMs, rehearsal);
  const candidate = await insertCandidate(tx, {
    ...body,
    ...newRow(deps, event, 'candidates'),
    number: await takeNumber(tx, event.id, 'candidate'),
    status: 'pending',
    source: 'registration',
    sortOrder: count,
    paymentAttemptId: paymentAttemptId ?? null,
    rehearsal: rehearsal ?? event.rehearsalSince !== null,
  });
  await renewBallotDefinition(tx, event.id, nowMs);
  await recordEvent(tx, deps, {
    type: 'candidate.created',
    data: viewCandidate(candidate),
    change: changeBy({ event, caller: { keyId: keyId ?? null } }, 'candidate.registered', candidate.id, {
      after: pick(candidate, ['name', 'positionIds', 'groupId']),
    }),
  });
  return candidate;
}

/** A validated registration that must be paid. */
interface RegistrationOrder {
  readonly caller: VoteCaller;
  readonly price: Price;
  readonly registration: Registration;
  readonly returnUrl: string | undefined;
  readonly cancelUrl: string | undefined;
}

/** The two calls of a checkout. `src/fulfilments.ts` passes an implementation, because this folder may not import src/payments. */
export interface RegistrationCheckout {
  /** Answers and refusals that the checkout adds to the documentation of the route. */
  readonly document: { readonly answers: AnswerShapes; readonly refusals: readonly RefusalCase[] };
  start(order: RegistrationOrder, claim: Claim | undefined): Promise<Answer>;
  finish(caller: VoteCaller, attemptId: string, claim: Claim | undefined): Promise<Answer>;
}

const text = z.string().optional();
const storedRegistration = z.object({
  ...{ name: z.string(), positionIds: z.array(z.string()) },
  ...{ email: text, groupId: text, avatarUrl: text },
});

interface PaidRegistration {
  readonly id: string;
  readonly votingEventId: string;
  readonly request: unknown;
  readonly rehearsal: boolean;
}

/** @throws ApiError if a candidate whose registration was paid cannot be registered any more */
export async function checkPaidCandidate(
  tx: Transaction,
  { votingEventId, request, rehearsal }: PaidRegistration,
): Promise<void> {
  await checkRegistration(tx, votingEventId, storedRegistration.parse(request), rehearsal);
}

/** Registers a candidate whose registration was paid. @throws ApiError if the candidate cannot be registered any more */
export async function registerPaidCandidate(tx: Transaction, deps: BallotChangeDeps, attempt: PaidRegistration) {
  const registration = storedRegistration.parse(attempt.request);
  const origin = { paymentAttemptId: attempt.id, rehearsal: attempt.rehearsal };
  return viewRegisteredCandidate(await registerCandidate(tx, deps, attempt.votingEventId, registration, origin));
}

const payload = z.strictObject({ votingEventId: z.string(), id: z.string() });
const WITHDRAW_PAID_CANDIDATE = {
  name: 'withdraw_paid_candidate',
  maxAttempts: 25,
  group: 'payments',
  payload,
} as const;

export const withdrawPaidCandidateJob = (deps: BallotChangeDeps & Pick<Deps, 'db'>): Job<z.output<typeof payload>> =>
  defineJob({
    ...WITHDRAW_PAID_CANDIDATE,
    work: (attempt) => inTransaction(deps.db, (tx) => withdrawPaidCandidate(tx, deps, attempt)),
  });

/** Rejects a pending candidate, or withdraws an approved one, whose registration was refunded before the final result (completions 7.4). */
export async function withdrawPaidCandidate(
  tx: Transaction,
  deps: BallotChangeDeps,
  { id, votingEventId }: { readonly id: string; readonly votingEventId: string },
): Promise<void> {
  const event = await lockEvent(tx, votingEventId);
  if (event === undefined) return;
  if (isFinalAt(event, event.lockedAt)) {
    // The result of a closed rehearsal round keeps the candidate. A later job withdraws it from the next round and the real ballot.
    const runAtMs = event.lockedAt + REHEARSED_MS;
    if (event.rehearsalSince !== null) await enqueue(tx, WITHDRAW_PAID_CANDIDATE, { votingEventId, id }, { runAtMs });
    return;
  }
  if (isRehearsalOver(event, event.lockedAt)) throw worldChanged();
  const before = await findCandidateOfPayment(tx, votingEventId, id);
  if (before?.status !== 'pending' && before?.status !== 'approved') return;
  const status = before.status === 'pending' ? 'rejected' : 'withdrawn';
  const after = await updateCandidate(tx, event.id, before.id, { status, updatedAt: event.lockedAt });
  await renewBallotDefinition(tx, event.id, event.lockedAt);
  const sides = { before: { status: before.status }, after: { status } };
  const change = changeBy({ event, caller: { keyId: null } }, 'candidate.updated', before.id, sides);
  await recordEvent(tx, deps, { type: 'candidate.updated', data: viewCandidate(after), change });
}
