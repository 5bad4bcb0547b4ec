import type { z } from 'zod';
import { differenceOf } from '#src/accounts/record-change.ts';
import { type Transaction, violatedConstraint } from '#src/database/client.ts';
import { refuse } from '#src/http/refusals.ts';
import { invalidField } from '#src/platform/errors.ts';
import { recordEvent } from '#src/webhooks/record-event.ts';
import type { Organizer } from './access.ts';
import { announceResults, announceStatus, scheduleAnnouncements } from './announce-status.ts';
import { checkReopening, checkSettings, columnsOf } from './change-fields.ts';
import { codeInUse, type EventDeps, isEmbedded } from './create-event.ts';
import { changedFields, guardChange, lockForChange } from './guard-change.ts';
import { type LifeAction, phaseAt } from './life.ts';
import { isFinalAt, pollIdentityOf, publishedTime, statusAt } from './lifecycle.ts';
import { missingForOpening } from './opening.ts';
import { priceIssues } from './pricing.ts';
import {
  dropUnpaidBallots,
  hasPaidVotes,
  type LockedEvent,
  type NewEventRow,
  readOpening,
  updateEvent,
} from './repository.ts';
import type { updateEventBody } from './schemas.ts';
import type { VotingEvent } from './types.ts';
import { viewEvent } from './views.ts';
import { pageIssues } from './voting-page.ts';

type Body = z.output<typeof updateEventBody>;
type Columns = Partial<NewEventRow>;

/** What a column belongs to in the life of an event; every other one is a setting. */
const ACTION_BY_COLUMN: { readonly [Column in keyof NewEventRow]?: LifeAction } = {
  type: 'change_identity_rules',
  requireVoterId: 'change_identity_rules',
  saveVoterInfo: 'change_identity_rules',
  description: 'change_words',
  code: 'change_words',
  codeKey: 'change_words',
  resultsVisibility: 'change_words',
  votingPageUrl: 'change_words',
  contactEmail: 'change_words',
  language: 'change_words',
  logoUrl: 'change_words',
};

/** Changes an event, opens or closes it (completions 3, rules 1 to 4). @throws ApiError 409 as `LIFE` says, 409 `not_ready`; 422 */
export async function updateVotingEvent(
  tx: Transaction,
  deps: EventDeps,
  organizer: Organizer,
  body: Body,
): Promise<VotingEvent> {
  const before = await lockForChange(tx, organizer.event.id);
  const nowMs = before.lockedAt;
  const columns = columnsOf(body);
  const plan = deps.plans[organizer.ownerPlan];
  const changed = changedFields(columns, before);
  // A price that is sent back as it is was judged when it was set, whatever became of the plan and the business.
  const issues = await priceIssues(tx, deps.pricing, plan, before, changed);
  if (changed.votingPageUrl !== undefined)
    issues.push(...pageIssues(isEmbedded(deps), { ...before, votingPageUrl: changed.votingPageUrl }));
  checkStatus(before, body);
  checkDerived(before, { ...before, ...definedOnly(columns) }, body);
  checkEnd(before, changed);
  checkSettings({ ...before, ...definedOnly(columns) }, body, issues);
  // A code is the event's name on printed invitations: those it is shared with cannot take it away.
  if (changed.code !== undefined && organizer.role !== 'owner')
    throw refuse('owner_changes_code', { required: 'owner', granted: organizer.role });
  await guardColumns(tx, before, changed);
  const changes: Columns = { ...changed, ...(await statusChange(tx, before, changed, body.status)) };
  if (Object.keys(changes).length === 0) return before;
  await prepareChange(tx, before, changes);
  const after = await save(tx, before.id, { ...changes, updatedAt: nowMs });
  await recordEvent(tx, deps, {
    type: 'voting_event.updated',
    data: viewEvent(after, nowMs),
    change: {
      accountId: before.accountId,
      votingEventId: before.id,
      keyId: organizer.caller.keyId,
      action: 'voting_event.updated',
      resource: before.id,
      ...differenceOf(before, after),
    },
  });
  await scheduleAnnouncements(tx, after);
  const told = (await announceStatus(tx, deps, after, nowMs)) ?? after;
  return (await announceResults(tx, deps, told, nowMs)) ?? told;
}

/**
 * The end of an event that takes ballots, or still confirms them, lies ahead: an earlier one would take the 15 minutes from
 * ballots that were cast. @throws ApiError 422
 */
function checkEnd(before: LockedEvent, { endsAt }: Columns): void {
  if (endsAt == null || endsAt > before.lockedAt) return;
  const phase = phaseAt(before, before.lockedAt);
  if (phase === 'draft' || phase === 'final') return;
  throw invalidField('endsAt', 'must lie ahead: to close the event now, send `status: "closed"`');
}

/** `draft` and `scheduled` are accepted as they are shown; no event is set to them. @throws ApiError 422 */
function checkStatus(before: LockedEvent, { status }: Body): void {
  if (status === undefined || status === 'open' || status === 'closed') return;
  if (status !== statusAt(before, before.lockedAt)) throw invalidField('status', 'must be "open" or "closed"');
}

/** What follows from other fields is taken as it is shown, before the change or after it. @throws ApiError 422 */
function checkDerived(before: LockedEvent, after: VotingEvent, { voter, results }: Body): void {
  const identities = [pollIdentityOf(before), pollIdentityOf(after)];
  if (voter?.pollIdentity !== undefined && !identities.includes(voter.pollIdentity))
    throw invalidField('voter.pollIdentity', 'follows from requireVoterId and saveVoterInfo, and cannot be set');
  const published = publishedTime(before, before.lockedAt);
  if (results?.publishedAt !== undefined && results.publishedAt !== published)
    throw invalidField('results.publishedAt', 'is when the results became public, and cannot be set');
}

function definedOnly(columns: Columns): Partial<VotingEvent> {
  return columns as Partial<VotingEvent>;
}

async function guardColumns(tx: Transaction, before: LockedEvent, changed: Columns): Promise<void> {
  const names = Object.keys(changed) as (keyof NewEventRow)[];
  const actions = new Set(names.map((name) => ACTION_BY_COLUMN[name] ?? 'change_settings'));
  for (const action of actions) await guardChange(tx, before, action);
  const after = statusAt({ ...before, ...definedOnly(changed) }, before.lockedAt);
  // Opened by hand it stays open; a start that is taken away or lies ahead contradicts its ballots all the same.
  const isBeforeStart = changed.startsAt !== undefined && (changed.startsAt ?? Infinity) > before.lockedAt;
  if (isBeforeStart || after === 'draft' || after === 'scheduled') await guardChange(tx, before, 'take_back');
}

/** What else changes with a change: when results become public, ballots that a new price asks for, what a price leaves behind. */
async function prepareChange(tx: Transaction, before: LockedEvent, changes: Columns): Promise<void> {
  const after = { ...before, ...definedOnly(changes) };
  if (changes.resultsVisibility === 'published' && before.resultsPublishedAt === null) {
    if (isFinalAt(after, before.lockedAt)) changes.resultsPublishedAt = before.lockedAt;
  }
  if (changes.payToVote === undefined) return;
  if (before.payToVote === null) await dropUnpaidBallots(tx, before.id);
  else if (await hasPaidVotes(tx, before.id)) changes.paidVotes = true;
}

async function save(tx: Transaction, id: string, changes: Partial<NewEventRow>): Promise<VotingEvent> {
  try {
    return await updateEvent(tx, id, changes);
  } catch (fault) {
    if (violatedConstraint(fault) === 'voting_events_code') throw codeInUse();
    throw fault;
  }
}

async function statusChange(
  tx: Transaction,
  before: LockedEvent,
  changed: Columns,
  wanted: Body['status'],
): Promise<Columns> {
  const nowMs = before.lockedAt;
  const phase = phaseAt(before, nowMs);
  const isClosed = phase === 'confirming' || phase === 'final';
  if (wanted === undefined || wanted === statusAt(before, nowMs)) return {};
  if (wanted === 'closed') {
    await guardChange(tx, before, 'close');
    // Opened by the clock, it stays opened whatever becomes of `startsAt`.
    return isClosed
      ? {}
      : { closedAt: nowMs, openedAt: before.openedAt ?? (phase === 'open' ? before.startsAt : nowMs) };
  }
  await guardChange(tx, before, 'open');
  const endsAt = changed.endsAt === undefined ? before.endsAt : changed.endsAt;
  if (phase === 'open') return {};
  checkReopening(endsAt, nowMs);
  const missing = missingForOpening(await readOpening(tx, before.id));
  if (missing.length > 0) {
    throw refuse('not_ready', { missing });
  }
  return { openedAt: before.openedAt ?? nowMs, closedAt: null };
}
