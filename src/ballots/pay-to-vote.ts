import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { Transaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import type { Answer } from '#src/http/answer.ts';
import type { Claim } from '#src/http/idempotent-request.ts';
import { listGivenTo } from '#src/payments/attempt-repository.ts';
import { confirmationCodeOf, type PaymentAttempt } from '#src/payments/payment.ts';
import type { CheckoutDeps, Fulfilled } from '#src/payments/payment-deps.ts';
import { startCheckout } from '#src/payments/start-checkout.ts';
import { orNotFound } from '#src/platform/errors.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import { checkCast, hasVoted, isRefusal, refusalError } from '#src/voters/eligibility.ts';
import type { VoteCaller } from '#src/voting-events/access.ts';
import { notOpen, statusAt } from '#src/voting-events/lifecycle.ts';
import type { Price } from '#src/voting-events/voting-event.ts';
import type { PaidCastBody } from './ballot.ts';
import { insufficientCredits, type PrepareDeps, prepareBallot } from './prepare-ballot.ts';
import { castPaidBallot, dropPendingBallot, holdForAttempt } from './repository.ts';
import { codeTagOf, generateConfirmationCode } from './waiting-ballot.ts';

type PaidVoteDeps = PrepareDeps & Pick<Deps, 'definitions'>;

/**
 * The first call of a paid cast: validates the whole ballot before asking for money, and stores it with the payment attempt
 * (contract, "Checkout flow").
 * @throws ApiError 422 for invalid entries; 403 and 409 if the voter may not cast; 429 after many checkouts
 */
export async function startPaidVote(
  deps: CheckoutDeps & PaidVoteDeps,
  { caller, event }: VoteCaller,
  price: Price,
  body: PaidCastBody,
  claim: Claim | undefined,
): Promise<Answer> {
  const definition = orNotFound(await deps.definitions.get(event));
  const { returnUrl, cancelUrl, ...ballot } = body;
  const row = await prepareBallot(deps, definition, ballot, generateConfirmationCode(), caller.keyId);
  const { verdict } = await checkCast(deps.db.$client, deps.secrets, event, { identities: row.participants });
  if (isRefusal(verdict)) throw refusalError(verdict);
  return startCheckout(
    deps,
    {
      event,
      purpose: 'vote',
      amountMinor: price.amountMinor,
      currency: price.currency,
      request: ballot,
      terms: {
        title: event.title,
        description: 'Your vote',
        email: body.email ?? null,
        returnUrl: returnUrl ?? null,
        cancelUrl: cancelUrl ?? null,
        credits: null,
        pricingModel: null,
      },
      visitorId: body.visitorId,
      isOffered: async (_tx, now) => {
        const status = statusAt(now, deps.clock.now());
        if (status !== 'open') throw notOpen(status);
        return isDeepStrictEqual(now.payToVote, price);
      },
      ...(row.credits === undefined ? {} : { hold: (tx, attemptId) => holdCredits(tx, row, attemptId) }),
    },
    claim,
  );
}

/** @throws ApiError 422 `insufficient_credits` if the ballot costs more than its visitor has left */
async function holdCredits(
  tx: Transaction,
  row: Parameters<typeof holdForAttempt>[1],
  attemptId: string,
): Promise<void> {
  const shortage = await holdForAttempt(tx, row, attemptId);
  if (shortage !== undefined) throw insufficientCredits(shortage);
}

/** The ballot stored with a payment attempt. The schema checks only its shape: its values are validated again after the payment. */
const storedBallot = z.object({
  visitorId: z.string(),
  voterId: z.string().optional(),
  email: z.string().optional(),
  name: z.string().optional(),
  countryCode: z.string().optional(),
  votes: z.array(
    z.object({
      positionId: z.string(),
      candidateId: z.string(),
      value: z.number().optional(),
      rank: z.number().optional(),
    }),
  ),
});

/** The ballot of a payment attempt, validated against the present definition. @throws ApiError if it would be refused now */
async function judgePaidVote(tx: Transaction, deps: PaidVoteDeps, attempt: PaymentAttempt) {
  const body = storedBallot.parse(attempt.request);
  const definition = orNotFound(await deps.definitions.getForUpdate(tx, attempt.votingEventId));
  const code = generateConfirmationCode();
  return { event: definition.event, body, code, row: await prepareBallot(deps, definition, body, code, '', tx) };
}

/** @throws ApiError if a paid ballot can no longer be cast, for example `already_voted` if its participant has voted meanwhile */
export async function checkPaidVote(tx: Transaction, deps: PaidVoteDeps, attempt: PaymentAttempt): Promise<void> {
  const { event, row } = await judgePaidVote(tx, deps, attempt);
  if (await hasVoted(tx, event.id, row.participants, event.repeatVotes)) throw refusalError('already_voted');
}

/** Casts a paid ballot; its attempt keeps the code, in case the response is lost. @throws ApiError if the payment must be refunded */
export async function fulfilPaidVote(
  tx: Transaction,
  deps: PaidVoteDeps,
  attempt: PaymentAttempt,
  paidAtMs: number,
): Promise<Fulfilled> {
  const { body, code, row } = await judgePaidVote(tx, deps, attempt);
  const { verdict, shortage } = await castPaidBallot(tx, row, { attemptId: attempt.id, paidAtMs });
  if (shortage !== undefined) throw insufficientCredits(shortage);
  if (isRefusal(verdict)) throw refusalError(verdict);
  if (verdict !== 'cast') throw new Error(`cast_paid_ballot answered ${verdict}`);
  return { data: { confirmationCode: code, votesCount: body.votes.length }, confirmationCode: code };
}

/** Drops the unconfirmed ballot of a reversed payment, or voids a confirmed ballot and returns its credits (`voidBallot`). */
export async function reversePaidVote(
  tx: Transaction,
  attempt: PaymentAttempt,
  confirmationCode: string | null,
  voidBallot: (votingEventId: string, codeTag: Buffer, visitorId: string) => Promise<void>,
): Promise<void> {
  if (confirmationCode === null) return;
  const codeTag = codeTagOf(confirmationCode);
  if (await dropPendingBallot(tx, attempt.votingEventId, codeTag)) return;
  await voidBallot(attempt.votingEventId, codeTag, storedBallot.parse(attempt.request).visitorId);
}

/** The payment attempt of a visitor's ballot; undefined for a ballot that was not paid for, or whose payment was refunded. */
export async function findPaidVote(
  tx: Transaction,
  secrets: Secrets,
  ballot: { readonly votingEventId: string; readonly visitorId: string; readonly codeTag: Buffer },
): Promise<PaymentAttempt | undefined> {
  const attempts = await listGivenTo(tx, ballot.votingEventId, ballot.visitorId);
  return attempts.find((attempt) => {
    const code = confirmationCodeOf(secrets, attempt);
    return code !== null && codeTagOf(code).equals(ballot.codeTag);
  });
}

export async function dropPaidVote(
  tx: Transaction,
  attempt: PaymentAttempt,
  confirmationCode: string | null,
): Promise<void> {
  if (confirmationCode !== null) await dropPendingBallot(tx, attempt.votingEventId, codeTagOf(confirmationCode));
}
