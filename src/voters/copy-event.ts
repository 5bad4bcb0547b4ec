import type { z } from 'zod';
import { type Plans, planLimit } from '#src/accounts/plans.ts';
import { copyPaper } from '#src/ballot-paper/copy-paper.ts';
import { listTopUps } from '#src/ballot-paper/list-top-ups.ts';
import type { Transaction } from '#src/database/client.ts';
import { enqueue } from '#src/jobs/queue.ts';
import type { Organizer } from '#src/voting-events/access.ts';
import { createEvent, type EventDeps } from '#src/voting-events/create-event.ts';
import { lockForChange, renewPaper } from '#src/voting-events/guard-change.ts';
import { updateEvent } from '#src/voting-events/repository.ts';
import type { VotingEvent } from '#src/voting-events/types.ts';
import { viewEvent } from '#src/voting-events/views.ts';
import { COPY_ROLL, countCopied, insertRollCopy } from './copy-roll.ts';
import type { copyEventBody } from './schemas.ts';

/**
 * Makes a draft of the same settings, groups, positions, candidates and sponsors in the caller's own account (completions 10.4).
 * Voters follow as a job. Prices are taken along within an account alone: a payment business belongs to one.
 * @throws ApiError 422 `plan_limit` for events, or for the voters to copy
 */
export async function copyEvent(
  tx: Transaction,
  deps: EventDeps,
  organizer: Organizer,
  { title, withVoters }: z.output<typeof copyEventBody>,
): Promise<VotingEvent> {
  const { caller } = organizer;
  const source = await lockForChange(tx, organizer.event.id);
  const { voter, candidate, ballot, results, ...shown } = viewEvent(source, source.lockedAt);
  const made = await createEvent(tx, deps, caller, {
    ...{ title, type: source.type, description: source.description, timeZone: source.timeZone },
    voter: {
      requireVoterId: voter.requireVoterId,
      selfRegistration: voter.selfRegistration,
      approval: voter.approval,
      saveVoterInfo: voter.saveVoterInfo,
    },
    ...{ candidate, ballot, results: { visibility: results.visibility }, log: shown.log },
    ...{ contactEmail: shown.contactEmail, language: shown.language, logoUrl: shown.logoUrl },
  });
  const withPrices = await keepsPrices(tx, deps, organizer, source);
  const nowMs = source.lockedAt;
  const groups = await copyPaper(tx, deps.ids, { sourceId: source.id, eventId: made.id, nowMs, withPrices });
  await updateEvent(tx, made.id, {
    // Judged when it was set, for the same business or the same machine.
    votingPageUrl: source.votingPageUrl,
    ...(withPrices ? pricesOf(source) : {}),
  });
  if (withVoters) {
    const limit = deps.plans[caller.plan as keyof Plans].votersPerEvent;
    const total = await countCopied(tx, source.id);
    if (total > limit) throw planLimit('voters_per_event', limit);
    const copyUntil = deps.ids.sortable('vtr');
    await updateEvent(tx, made.id, { copyTotal: total, copyDone: 0 });
    if (total > 0) {
      await insertRollCopy(tx, { votingEventId: made.id, sourceId: source.id, groups, copyUntil, keyId: caller.keyId });
      await enqueue(tx, COPY_ROLL, { eventId: made.id }, { key: made.id });
    }
  }
  return renewPaper(tx, made.id, nowMs);
}

const pricesOf = (source: VotingEvent) => ({
  paymentBusinessId: source.paymentBusinessId,
  paymentProvider: source.paymentProvider,
  paymentLivemode: source.paymentLivemode,
  payToVote: source.payToVote,
  payToRegisterCandidate: source.payToRegisterCandidate,
  repeatVotes: source.repeatVotes,
});

/** Whether prices and their business may be taken along: the same account, whose plan has them, and a business that takes them. */
async function keepsPrices(
  tx: Transaction,
  deps: EventDeps,
  { caller }: Organizer,
  source: VotingEvent,
): Promise<boolean> {
  if (source.accountId !== caller.accountId || source.paymentBusinessId === null) return false;
  if (!deps.plans[caller.plan as keyof Plans].paidFeatures) return false;
  const topUps = (await listTopUps(tx, source.id)).flatMap((topUp) =>
    topUp.pricingModel === 'ratio'
      ? [{ currency: topUp.currency, amountMinor: topUp.pricePerCreditMinor * topUp.minCredits }]
      : topUp.tiers.map(({ amountMinor }) => ({ currency: topUp.currency, amountMinor })),
  );
  for (const price of [source.payToVote, source.payToRegisterCandidate, ...topUps]) {
    if (price !== null && (await deps.pricing.fault(tx, source, price)) !== undefined) return false;
  }
  return true;
}
