import { type Change, changeBy, recordChange } from '#src/accounts/changes.ts';
import { planLimit, requireFeature } from '#src/accounts/plans.ts';
import type { Executor, Transaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import type { Issue } from '#src/platform/errors.ts';
import type { Organizer } from '#src/voting-events/access.ts';
import type { LockedEvent } from '#src/voting-events/repository.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { type EventType, recordEvent } from '#src/webhooks/record-event.ts';
import { countCandidates, countRows, findGroup } from './repository.ts';
import type { CandidateSource, CandidateStatus, QuadraticTopUp } from './types.ts';

export type BallotChangeDeps = Pick<Deps, 'ids' | 'clock'>;
export type TopUpDeps = Pick<Deps, 'ids' | 'clock' | 'plans' | 'pricing'>;

export type CreatePart<Row, Body, Needs = BallotChangeDeps> = (
  tx: Transaction,
  deps: Needs,
  organizer: Organizer,
  body: Body,
) => Promise<Row>;
export type ChangePart<Row, Body, Needs = BallotChangeDeps> = (
  tx: Transaction,
  deps: Needs,
  organizer: Organizer,
  id: string,
  body: Body,
) => Promise<Row>;

/** Rows of each kind that one event may have (contract, "Limits"). */
export const CAPS = { positions: 100, candidates: 1_000, groups: 200, sponsors: 1_000 } as const;

export const PREFIXES = { groups: 'grp', positions: 'pos', candidates: 'cnd', sponsors: 'spn' } as const;

/** The columns that every kind of row has. @param event locked */
export const newRow = ({ ids }: Pick<Deps, 'ids'>, { id, lockedAt }: LockedEvent, kind: keyof typeof PREFIXES) => ({
  votingEventId: id,
  id: ids.sortable(PREFIXES[kind]),
  createdAt: lockedAt,
  updatedAt: lockedAt,
});

/** Requires room for one more row; returns the count. The event must be locked against races. @throws ApiError 422 `plan_limit` */
export async function requireRoom(
  tx: Transaction,
  kind: Exclude<keyof typeof CAPS, 'candidates'>,
  eventId: string,
): Promise<number> {
  const count = await countRows(tx, kind, eventId);
  if (count >= CAPS[kind]) throw planLimit(`${kind}_per_event`, CAPS[kind]);
  return count;
}

/** Whether a candidate counts against the cap: approved, or withdrawn, because a withdrawn candidate may return to the ballot. */
export const isStanding = (status: CandidateStatus): boolean => status === 'approved' || status === 'withdrawn';

/**
 * Requires room for a candidate. Self-registered candidates have a separate limit, equal to the cap, so that they never use up
 * the organizer's; rejected registrations do not count. All candidates on the ballot share the cap, whatever their source. Call
 * with the event locked.
 * @param wanted where the candidate comes from, and whether it now comes onto the ballot
 * @returns how many candidates there are
 * @throws ApiError 422 `plan_limit`
 */
export async function requireRoomForCandidate(
  tx: Transaction,
  eventId: string,
  { source, stands }: { readonly source?: CandidateSource; readonly stands: boolean },
): Promise<number> {
  const { all, organizers, registrations, standing } = await countCandidates(tx, eventId);
  const max = CAPS.candidates;
  if (source === 'registration' && registrations >= max) throw planLimit('candidate_registrations_per_event', max);
  if ((source === 'organizer' && organizers >= max) || (stands && standing >= max))
    throw planLimit('candidates_per_event', max);
  return all;
}

export async function groupIssues(
  executor: Executor,
  eventId: string,
  groupId: string | null | undefined,
): Promise<Issue[]> {
  if (groupId == null || (await findGroup(executor, eventId, groupId)) !== undefined) return [];
  return [{ field: 'groupId', message: 'is not a group of this event' }];
}

/** Writes a change of the ballot definition into the audit trail; changed candidates are published as webhooks too. */
export async function recordBallotChange(
  tx: Transaction,
  deps: BallotChangeDeps,
  organizer: Organizer,
  action: string,
  resource: string,
  change: Pick<Change, 'before' | 'after'>,
  told?: { readonly type: EventType; readonly data: unknown },
): Promise<void> {
  const entry = changeBy(organizer, action, resource, change);
  if (told === undefined) await recordChange(tx, deps, entry);
  else await recordEvent(tx, deps, { ...told, change: entry });
}

/** Prices to check with the payment business. If it accepts them, it accepts every price of the offer: bounds and step fit all prices. */
export function topUpPrices(topUp: QuadraticTopUp): { field: string; amountMinor: number }[] {
  if (topUp.pricingModel === 'tiered')
    return topUp.tiers.map(({ amountMinor }, index) => ({ field: `tiers[${index}].amountMinor`, amountMinor }));
  const { pricePerCreditMinor, minCredits, maxCredits } = topUp;
  return [
    { field: 'minCredits', amountMinor: pricePerCreditMinor * minCredits },
    { field: 'pricePerCreditMinor', amountMinor: pricePerCreditMinor * Math.min(minCredits + 1, maxCredits) },
    { field: 'maxCredits', amountMinor: pricePerCreditMinor * maxCredits },
  ];
}

/** @throws ApiError 403 `plan_feature` if the position would sell credits, but the plan has no paid features */
export function requireTopUp({ plans }: TopUpDeps, { ownerPlan }: Organizer, topUp: object | null | undefined): void {
  if (topUp != null) requireFeature(plans[ownerPlan], 'paid_features');
}

/** Issues of a credit offer: it requires a poll, and prices that the linked payment business accepts. */
export async function topUpIssues(
  executor: Executor,
  { pricing }: Pick<TopUpDeps, 'pricing'>,
  event: VotingEvent,
  topUp: QuadraticTopUp | null | undefined,
): Promise<Issue[]> {
  if (topUp == null) return [];
  // Only visitors of polls can buy credits, not the voters of an election.
  if (event.type !== 'poll') return [{ field: 'quadraticTopUp', message: 'is for polls only' }];
  const issues = new Map<string, Issue>();
  for (const { field, amountMinor } of topUpPrices(topUp)) {
    const fault = await pricing.fault(executor, event, { amountMinor, currency: topUp.currency });
    if (fault === undefined) continue;
    const path = `quadraticTopUp${{ business: '', currency: '.currency', amount: `.${field}` }[fault.about]}`;
    // In a `ratio` offer the field is a number of credits, but the limit applies to their price.
    const isCost = fault.about === 'amount' && topUp.pricingModel === 'ratio';
    const message = isCost ? `makes a price of ${amountMinor}, which ${fault.message}` : fault.message;
    issues.set(path, { field: path, message });
  }
  return [...issues.values()];
}
