import { listPrices } from '#src/ballot-definition/ballot-definition.ts';
import type { Executor, Transaction } from '#src/database/client.ts';
import { refuse } from '#src/http/refusals.ts';
import { providerKind } from '#src/payment-providers/registered.ts';
import { invalidField, orNotFound } from '#src/platform/errors.ts';
import type { Organizer } from '#src/voting-events/access.ts';
import { lockForChange, renewMissing } from '#src/voting-events/guard-change.ts';
import type { PriceFault, Pricing } from '#src/voting-events/pricing.ts';
import { findEventById, updateTaggedEvent } from '#src/voting-events/repository.ts';
import { tellEvent } from '#src/voting-events/show-event.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { recordEvent } from '#src/webhooks/record-event.ts';
import { findBusiness, holdBusiness } from './business-repository.ts';
import type { PaymentBusiness } from './payment.ts';
import type { PaymentDeps } from './payment-deps.ts';

/** Why a business cannot take a price; undefined if it can (completions 3, rule 5). */
function priceFault(
  business: PaymentBusiness | undefined,
  price: { readonly amountMinor: number; readonly currency: string },
): PriceFault | undefined {
  if (business === undefined || !business.ready)
    return { about: 'business', message: 'needs a linked, ready payment business' };
  if (!business.supportedCurrencies.includes(price.currency)) {
    const known = business.supportedCurrencies.join(', ');
    return { about: 'currency', message: `must be in a currency of the linked payment business: ${known}` };
  }
  const message = providerKind(business.provider).money.checkPrice(price.currency, price.amountMinor);
  return message === null ? undefined : { about: 'amount', message };
}

/** Implements `Pricing` of `voting-events` with the payment businesses. */
export const pricing: Pricing = {
  fault: async (executor, event, price) => priceFault(await findLinked(executor, event), price),
};

/** The connected business that takes the payments of an event, if there is one. */
export const findLinked = async (
  executor: Executor,
  { accountId, paymentBusinessId }: Pick<VotingEvent, 'accountId' | 'paymentBusinessId'>,
): Promise<PaymentBusiness | undefined> =>
  paymentBusinessId === null ? undefined : findBusiness(executor, accountId, paymentBusinessId);

type LinkDeps = Pick<PaymentDeps, 'secrets' | 'ids' | 'clock'>;

/** @throws ApiError 404 for a business of another account; 422 if it cannot take a price of the event */
export async function linkBusiness(
  tx: Transaction,
  deps: LinkDeps,
  organizer: Organizer,
  paymentBusinessId: string,
): Promise<PaymentBusiness> {
  const event = await lockForChange(tx, organizer.event.id);
  const business = orNotFound(await holdBusiness(tx, event.accountId, paymentBusinessId));
  if (event.paymentBusinessId === business.id) return business;
  for (const price of await listPrices(tx, event)) {
    const fault = priceFault(business, price);
    if (fault !== undefined)
      throw invalidField('paymentBusinessId', `cannot take a price of this event: ${fault.message}`);
  }
  await save(tx, deps, organizer, event, {
    paymentBusinessId: business.id,
    paymentProvider: business.provider,
    paymentLivemode: business.livemode,
  });
  return business;
}

/** Unlinks the business of an event, if one is linked. @throws ApiError 409 `paid_pricing_set` while a price is set */
export async function unlinkBusiness(tx: Transaction, deps: LinkDeps, organizer: Organizer): Promise<void> {
  const event = await lockForChange(tx, organizer.event.id);
  if (event.paymentBusinessId === null) return;
  if ((await listPrices(tx, event)).length > 0) throw refuse('paid_pricing_set');
  await save(tx, deps, organizer, event, { paymentBusinessId: null, paymentProvider: null, paymentLivemode: null });
}

async function save(
  tx: Transaction,
  deps: LinkDeps,
  organizer: Organizer,
  before: VotingEvent,
  link: Pick<VotingEvent, 'paymentBusinessId' | 'paymentProvider' | 'paymentLivemode'>,
): Promise<void> {
  const nowMs = deps.clock.now();
  await updateTaggedEvent(tx, deps.secrets, before, { ...link, updatedAt: nowMs });
  // The previous business may have prevented the opening. The message shows what is missing now.
  await renewMissing(tx, before.id);
  const after = orNotFound(await findEventById(tx, before.id));
  const change = {
    accountId: before.accountId,
    votingEventId: before.id,
    keyId: organizer.caller.keyId,
    action: 'voting_event.updated',
    resource: before.id,
    before: { paymentBusinessId: before.paymentBusinessId },
    after: { paymentBusinessId: link.paymentBusinessId },
  };
  await recordEvent(tx, deps, { type: 'voting_event.updated', data: await tellEvent(tx, after, nowMs), change });
}
