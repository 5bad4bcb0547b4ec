import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { BallotDefinition, BallotDefinitionCache } from '#src/ballot-definition/ballot-definition.ts';
import type { Transaction } from '#src/database/client.ts';
import type { Answer } from '#src/http/answer.ts';
import type { Claim } from '#src/http/idempotent-request.ts';
import type { PaymentAttempt } from '#src/payments/payment.ts';
import type { CheckoutDeps, Fulfilled } from '#src/payments/payment-deps.ts';
import { startCheckout } from '#src/payments/start-checkout.ts';
import type { Clock } from '#src/platform/clock.ts';
import { notFound, validationError } from '#src/platform/errors.ts';
import { pick } from '#src/platform/pick.ts';
import { hasVoted, refusalError } from '#src/voters/eligibility.ts';
import { participantsOf, visitorKey } from '#src/voters/voter-identity.ts';
import { notOpen, statusAt } from '#src/voting-events/lifecycle.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { listBalances } from './list-balances.ts';
import { findQuadraticPosition, NO_OFFER, priceOf } from './offer.ts';
import { type CreditCheckout, viewBalance } from './quadratic-credits.ts';

/**
 * The first call of a credit purchase (contract, "Quadratic credit checkout body").
 * @throws ApiError 422 for a position that sells none, credits or a tier that are not on offer; 403 outside of the event's time
 */
export async function startCreditPurchase(
  deps: CheckoutDeps,
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
    },
    claim,
  );
}

/** By what is known of the buyer: who has voted has no use for credits. */
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

interface PurchaseDeps {
  readonly definitions: BallotDefinitionCache;
  readonly clock: Clock;
}

/** @throws ApiError when bought credits are of no use any more: the event is closed, the position gone, the visitor has voted */
export async function requirePurchase(tx: Transaction, deps: PurchaseDeps, attempt: PaymentAttempt) {
  const purchase = storedPurchase.parse(attempt.request);
  const { positionId } = purchase;
  const definition = await deps.definitions.getForUpdate(tx, attempt.votingEventId);
  const found = definition === undefined ? undefined : findQuadraticPosition(definition, positionId);
  if (definition === undefined || found === undefined) throw notFound();
  const { event } = definition;
  // Credits that can no longer be spent are not worth their money.
  const status = statusAt(event, deps.clock.now());
  if (status === 'closed') throw notOpen(status);
  if (await hasVoted(tx, event.id, participantOf(event, purchase), event.repeatVotes))
    throw refusalError('already_voted');
  return { ...purchase, baseCredits: found.baseCredits };
}

/** Puts bought credits into the ledger. @throws ApiError as `requirePurchase` does: the money then goes back */
export async function fulfilCreditPurchase(
  tx: Transaction,
  deps: PurchaseDeps,
  attempt: PaymentAttempt,
): Promise<Fulfilled> {
  const { positionId, visitorId, credits, baseCredits } = await requirePurchase(tx, deps, attempt);
  const { id, votingEventId } = attempt;
  const visitor = visitorKey(visitorId);
  await tx.execute(
    sql`SELECT add_credits(${votingEventId}, ${positionId}, ${visitor}, ${baseCredits}, ${credits}, ${id})`,
  );
  const balance = (await listBalances(tx, votingEventId, visitorId)).get(positionId);
  return { data: viewBalance(positionId, visitorId, baseCredits, balance) };
}

/**
 * Takes bought credits back after their money went back. A confirmed ballot that could not have been cast without them becomes
 * void, and what it spent is there again (completions 7.4).
 * @param voidBallot what makes a confirmed ballot of a visitor void, in the log, and gives back what was paid for it
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
  // A refund that failed after it had succeeded may be made again.
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

/** Gives back what a void ballot of a visitor spent, once. */
export async function returnSpentCredits(
  tx: Transaction,
  votingEventId: string,
  visitorId: string,
  codeTag: Buffer,
): Promise<void> {
  await tx.execute(sql`SELECT return_spent_credits(${votingEventId}, ${visitorKey(visitorId)}, ${codeTag})`);
}
