import { isDeepStrictEqual } from 'node:util';
import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { BallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import type { Transaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import type { Answer } from '#src/http/answer.ts';
import type { Claim } from '#src/http/idempotent-request.ts';
import type { PaymentAttempt } from '#src/payments/payment.ts';
import type { CheckoutDeps, Fulfilled } from '#src/payments/payment-deps.ts';
import { startCheckout } from '#src/payments/start-checkout.ts';
import { orNotFound, validationError } from '#src/platform/errors.ts';
import { pick } from '#src/platform/pick.ts';
import { hasVoted, refusalError } from '#src/voters/eligibility.ts';
import { participantsOf, visitorKey } from '#src/voters/voter-identity.ts';
import { notOpen, statusAt } from '#src/voting-events/lifecycle.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { findQuadraticPosition, NO_OFFER, priceOf } from './offer.ts';
import { type CreditCheckout, listBalances, viewBalance } from './quadratic-credits.ts';

/** @throws ApiError 422 for a position, credits or tier that is not offered; 403 outside of the event's time */
export async function startCreditPurchase(
  deps: CheckoutDeps & Pick<Deps, 'definitions'>,
  definition: BallotDefinition,
  body: CreditCheckout,
  claim: Claim | undefined,
): Promise<Answer> {
  const { event } = definition;
  const found = findQuadraticPosition(definition, body.positionId);
  const offer = found?.position.quadraticTopUp;
  if (found === undefined || offer == null) throw validationError([NO_OFFER]);
  const purchase = priceOf(offer, body);
  if ('field' in purchase) throw validationError([purchase]);
  const status = statusAt(event, deps.clock.now());
  if (status !== 'open' && status !== 'scheduled') throw notOpen(status);
  if (await hasVoted(deps.db, event.id, participantOf(event, body), event.repeatVotes))
    throw refusalError('already_voted');
  const { credits, pricingModel, amountMinor, currency } = purchase;
  return startCheckout(
    deps,
    {
      event,
      purpose: 'quadratic_credits',
      amountMinor,
      currency,
      request: { credits, ...pick(body, ['positionId', 'visitorId', 'email', 'voterId', 'name']) },
      terms: {
        title: `${credits} credits: ${found.position.title}`,
        description: event.title,
        email: body.email ?? null,
        returnUrl: body.returnUrl ?? null,
        cancelUrl: body.cancelUrl ?? null,
        credits,
        pricingModel,
      },
      visitorId: body.visitorId,
      async isOffered(tx) {
        const now = await deps.definitions.getForUpdate(tx, event.id);
        const present = now && findQuadraticPosition(now, body.positionId)?.position.quadraticTopUp;
        return isDeepStrictEqual(present, offer);
      },
    },
    claim,
  );
}

/** The buyer's identities that the request contains, to check whether the buyer has voted and so cannot use credits any more. */
function participantOf(
  event: VotingEvent,
  { visitorId, email, voterId }: { visitorId: string; email?: string | undefined; voterId?: string | undefined },
): string[] {
  return participantsOf(event, { visitorId, email, voterId }) ?? [`v:${visitorKey(visitorId)}`];
}

const storedPurchase = z.object({
  positionId: z.string(),
  visitorId: z.string(),
  credits: z.int().min(1),
  email: z.string().optional(),
  voterId: z.string().optional(),
});

type PurchaseDeps = Pick<Deps, 'definitions' | 'clock'>;

/** @throws ApiError if bought credits can no longer be used: the event is closed, the position deleted, or the visitor has voted */
export async function requirePurchase(tx: Transaction, deps: PurchaseDeps, attempt: PaymentAttempt) {
  const purchase = storedPurchase.parse(attempt.request);
  const { positionId } = purchase;
  const definition = orNotFound(await deps.definitions.getForUpdate(tx, attempt.votingEventId));
  const found = orNotFound(findQuadraticPosition(definition, positionId));
  const { event } = definition;
  // Credits cannot be spent after the close, so a purchase is refused then.
  const status = statusAt(event, deps.clock.now());
  if (status === 'closed') throw notOpen(status);
  if (await hasVoted(tx, event.id, participantOf(event, purchase), event.repeatVotes))
    throw refusalError('already_voted');
  return { ...purchase, baseCredits: found.baseCredits };
}

/** Adds bought credits to the balance. @throws ApiError as `requirePurchase`: the payment is then refunded */
export async function fulfilCreditPurchase(
  tx: Transaction,
  deps: PurchaseDeps,
  attempt: PaymentAttempt,
): Promise<Fulfilled> {
  const { positionId, visitorId, credits, baseCredits } = await requirePurchase(tx, deps, attempt);
  const { id, votingEventId } = attempt;
  const visitor = visitorKey(visitorId);
  const bought = JSON.stringify([{ position: positionId, credits, base: baseCredits }]);
  await tx.execute(sql`SELECT lock_credits(${votingEventId}, ${visitor})`);
  await tx.execute(sql`SELECT move_credits(${votingEventId}, ${visitor}, 'purchase', ${id}, ${bought})`);
  const balance = (await listBalances(tx, votingEventId, visitorId)).get(positionId);
  return { data: viewBalance(positionId, visitorId, baseCredits, balance) };
}

/**
 * Takes bought credits back after a refund. Confirmed ballots that could not have been cast without them become void, and return
 * their spent credits (completions 7.4).
 * @param voidBallot records in the log that a visitor's confirmed ballot is void, and refunds what was paid for it
 */
export async function reverseCreditPurchase(
  tx: Transaction,
  attempt: PaymentAttempt,
  voidBallot: (votingEventId: string, codeTag: Buffer, visitorId: string) => Promise<void>,
): Promise<void> {
  const { votingEventId } = attempt;
  const { positionId, visitorId, credits } = storedPurchase.parse(attempt.request);
  const visitor = visitorKey(visitorId);
  const bought = sql`${votingEventId}, ${positionId}, ${visitor}, ${credits}`;
  // A refund may be reported as succeeded twice, with a failure in between: the credits are taken back only once.
  const { rowCount } = await tx.execute(sql`
    SELECT 1 FROM credit_entries WHERE voting_event_id = ${votingEventId} AND position_id = ${positionId}
      AND visitor_id = ${visitor} AND kind = 'refund' AND reason = ${attempt.id}`);
  if (rowCount !== 0) return;
  await tx.execute(sql`SELECT free_held_credits(${bought})`);
  const { rows } = await tx.execute<{ tag: Buffer }>(sql`SELECT tag FROM ballots_beyond_credits(${bought}) AS tag`);
  for (const { tag } of rows) {
    await voidBallot(votingEventId, tag, visitorId);
    await returnSpentCredits(tx, votingEventId, visitorId, tag);
  }
  await tx.execute(sql`SELECT take_free_credits(${bought}, ${attempt.id})`);
}

/** Returns the credits that a visitor's void ballot spent. Idempotent. */
export async function returnSpentCredits(
  tx: Transaction,
  votingEventId: string,
  visitorId: string,
  codeTag: Buffer,
): Promise<void> {
  await tx.execute(sql`SELECT return_spent_credits(${votingEventId}, ${visitorKey(visitorId)}, ${codeTag})`);
}
