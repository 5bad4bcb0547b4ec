import { z } from 'zod';
import type { Transaction } from '#src/database/client.ts';
import type { Answer } from '#src/http/answer.ts';
import type { AnswerShapes } from '#src/http/answer-shapes.ts';
import type { Claim } from '#src/http/claim.ts';
import type { RefusalCase } from '#src/http/refusals.ts';
import type { VoteCaller } from '#src/voting-events/access.ts';
import type { Price } from '#src/voting-events/voting-event.ts';
import { viewRegisteredCandidate } from './candidate.ts';
import type { BallotChangeDeps } from './record-ballot-change.ts';
import { checkRegistration, type Registration, registerCandidate } from './register-candidate.ts';

/** A registration that was judged and is to be paid for. */
interface RegistrationOrder {
  readonly caller: VoteCaller;
  readonly price: Price;
  readonly registration: Registration;
  readonly returnUrl: string | undefined;
  readonly cancelUrl: string | undefined;
}

/** The two calls of a checkout. Payments are further down the house, and hand this in. */
export interface RegistrationCheckout {
  /** What the checkout adds to the answers of the route. */
  readonly document: { readonly answers: AnswerShapes; readonly refusals: readonly RefusalCase[] };
  start(order: RegistrationOrder, claim: Claim | undefined): Promise<Answer>;
  finish(caller: VoteCaller, attemptId: string, claim: Claim | undefined): Promise<Answer>;
}

const storedRegistration = z.object({
  name: z.string(),
  positionIds: z.array(z.string()),
  email: z.string().optional(),
  groupId: z.string().optional(),
  avatarUrl: z.string().optional(),
});

/** @throws ApiError when a candidate that was paid for cannot be registered any more */
export async function checkPaidCandidate(
  tx: Transaction,
  attempt: { readonly votingEventId: string; readonly request: unknown },
): Promise<void> {
  await checkRegistration(tx, attempt.votingEventId, storedRegistration.parse(attempt.request));
}

/** Registers a candidate that was paid for. @throws ApiError when that is not possible any more */
export async function registerPaidCandidate(
  tx: Transaction,
  deps: BallotChangeDeps,
  attempt: {
    readonly id: string;
    readonly votingEventId: string;
    readonly request: unknown;
    readonly rehearsal: boolean;
  },
) {
  const registration = storedRegistration.parse(attempt.request);
  const origin = { paymentAttemptId: attempt.id, rehearsal: attempt.rehearsal };
  return viewRegisteredCandidate(await registerCandidate(tx, deps, attempt.votingEventId, registration, origin));
}
