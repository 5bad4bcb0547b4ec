import type { z } from 'zod';
import { changeBy, differenceOf } from '#src/accounts/changes.ts';
import type { Executor, Transaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import type { Deps } from '#src/deps.ts';
import { refuse } from '#src/http/refusals.ts';
import { type IsFaulty, type Judge, NOTHING_FAULTY } from '#src/http/sound-parts.ts';
import { type Issue, validationError } from '#src/platform/errors.ts';
import { recordEvent } from '#src/webhooks/record-event.ts';
import type { Organizer } from './access.ts';
import {
  columnsOf,
  missedIssues,
  reopeningIssue,
  settingsIssues,
  soundSettings,
  withoutFaulty,
} from './change-fields.ts';
import { claimCode } from './code-claims.ts';
import { type EventDeps, isEmbedded } from './create-event.ts';
import type { EventFields, updateEventBody } from './event-body.ts';
import { pageIssues } from './event-mail.ts';
import { changedFields, guardChange, missingAfter, requireNoIssues } from './guard-change.ts';
import {
  closeTime,
  finalTime,
  isFinalAt,
  isRehearsalOver,
  type LifeAction,
  phaseAt,
  pollIdentityOf,
  publishedTime,
  shownStatusAt,
  statusAt,
  wasOpened,
} from './lifecycle.ts';
import type { OpeningFacts } from './opening.ts';
import { priceIssues, requirePricing } from './pricing.ts';
import { publishResults, publishStatus, scheduleClosing, schedulePublishing } from './publish-status.ts';
import { beginRehearsal, endRehearsal, lockForEnd } from './rehearsal.ts';
import {
  dropUnpaidBallots,
  hasPaidVotes,
  type LockedEvent,
  type NewEventRow,
  readOpening,
  updateTaggedEvent,
} from './repository.ts';
import { tellEvent } from './show-event.ts';
import type { VotingEvent } from './voting-event.ts';

type Body = z.output<typeof updateEventBody>;
type Columns = Partial<NewEventRow>;
const definedOnly = (columns: Columns) => columns as Partial<VotingEvent>;

/** The row of `LIFE` that guards a change of a column. For any other column it is `change_settings`. */
const ACTION_BY_COLUMN: { readonly [Column in keyof NewEventRow]?: LifeAction } = {
  type: 'change_identity_rules',
  requireVoterId: 'change_identity_rules',
  saveVoterInfo: 'change_identity_rules',
  description: 'change_words',
  code: 'change_words',
  codeKey: 'change_words',
  resultsVisibility: 'change_words',
  // Not part of the configuration to which the log commits, because no count depends on it.
  logOpen: 'change_words',
  votingPageUrl: 'change_words',
  contactEmail: 'change_words',
  language: 'change_words',
  logoUrl: 'change_words',
};

/**
 * Changes an event, opens or closes it (completions 3, rules 1 to 4).
 * @param fill changes rows of other tables, which decide whether the event may open; called with the event as it will be
 * @throws ApiError 409 as `LIFE` says, 409 `not_ready`; 422
 */
export async function updateVotingEvent(
  tx: Transaction,
  deps: EventDeps,
  organizer: Organizer,
  body: Body,
  fill: (event: VotingEvent) => Promise<void> = async () => undefined,
): Promise<VotingEvent> {
  if (body.endsAt !== undefined || body.status !== undefined) await deps.logRecorder.hold(tx, organizer.event.id);
  const before = await lockForEnd(tx, organizer.event);
  const nowMs = before.lockedAt;
  const columns = columnsOf(body);
  const plan = deps.plans[organizer.ownerPlan];
  const changed = changedFields(columns, before);
  // Check changed prices only: an unchanged price may stay even if plan and business no longer permit it.
  requirePricing(plan, changed);
  requireNoIssues(await changeIssues(tx, deps, before, nowMs, body, NOTHING_FAULTY));
  // Printed invitations contain the event's code, so only the owner may change it, not an invited account.
  if (changed.code !== undefined && organizer.role !== 'owner')
    throw refuse('owner_changes_code', { required: 'owner', granted: organizer.role });
  // A program may send back all that it read, with one field changed. Then `rehearsal` does not ask for the next round.
  const isSentBack = Object.keys(definedOnly(columns)).length > Object.keys(changed).length;
  const ends = endsRehearsal(
    before,
    nowMs,
    changed,
    isSentBack && body.status === 'rehearsal' ? undefined : body.status,
  );
  // The checks below need the event after the wipe of its rehearsal. A refusal also rolls the wipe back.
  const from = ends ? await endRehearsal(tx, deps, before) : before;
  await guardColumns(tx, from, changed);
  if (typeof changed.codeKey === 'string') await claimCode(tx, deps, changed.codeKey);
  await fill({ ...from, ...definedOnly(changed) });
  const phase = phaseAt(from, nowMs);
  const mayOpen = body.status === 'open' || body.status === 'rehearsal' || changed.startsAt != null;
  let found: Partial<OpeningFacts> = {};
  if (mayOpen && (phase === 'draft' || phase === 'scheduled')) {
    await deps.giveOptions(tx, { ...organizer, event: { ...from, ...definedOnly(changed) } });
    await deps.ballotKeys.requirePlaces();
    found = { isKeyless: !(await deps.ballotKeys.isReadable(from)) };
  }
  const changes: Columns = { ...changed, ...(await statusChange(tx, from, changed, body.status, found)) };
  if (Object.keys(changes).length === 0 && !ends) return before;
  await prepareChange(tx, from, changes, found);
  // Make the key last, so that a refusal leaves no key file behind.
  const key = await deps.ballotKeys.prepare(
    tx,
    { ...before, ballotKey: from.ballotKey },
    { ...from, ...definedOnly(changes) },
  );
  const after = await updateTaggedEvent(tx, deps.secrets, from, { ...changes, ...key, updatedAt: nowMs });
  await recordEvent(tx, deps, {
    type: 'voting_event.updated',
    data: await tellEvent(tx, after, nowMs),
    change: changeBy(organizer, 'voting_event.updated', before.id, differenceOf(before, after)),
  });
  // A new end is valid only if the log contains it, so refuse the change if the log is disputed.
  if (closeTime(after) !== closeTime(before) && !(await deps.logRecorder.record(tx, after)))
    throw refuse('log_disputed');
  await schedulePublishing(tx, after);
  await scheduleClosing(tx, from, after, nowMs);
  const told = (await publishStatus(tx, deps, after, nowMs)) ?? after;
  const changedEvent = (await publishResults(tx, deps, told, nowMs)) ?? told;
  await requireBeforeFinal(tx, from, after);
  return changedEvent;
}

/** Longer than a commit takes, and than a process uses an event that it read before the commit. */
const BEFORE_FINAL_MS = 2_000;

/**
 * Refuses to reopen a closed event so late that it could be read as final before the commit: that would show who has voted, and publish
 * results. Call last in the transaction. @throws ApiError 409 `results_final`
 */
async function requireBeforeFinal(tx: Transaction, before: LockedEvent, after: VotingEvent): Promise<void> {
  const final = finalTime(before);
  if (final === null || finalTime(after) === final || phaseAt(before, before.lockedAt) !== 'confirming') return;
  if ((await readNow(tx)) > final - BEFORE_FINAL_MS) throw refuse('results_final');
}

/** Contradictions between fields after a change. @param isFaulty whether a field has a wrong shape, and so is not compared */
async function changeIssues(
  executor: Executor,
  deps: Pick<EventDeps, 'pricing' | 'config'>,
  before: VotingEvent,
  nowMs: number,
  body: EventFields,
  isFaulty: IsFaulty,
): Promise<Issue[]> {
  const columns = columnsOf(body);
  const changed = changedFields(columns, before);
  const after = { ...before, ...definedOnly(columns) };
  const openedAt = before.openedAt ?? (body.status === 'open' ? nowMs : null);
  // An event that was opened before its start may also end before its start.
  if (openedAt !== null && after.startsAt !== null && changed.startsAt === undefined)
    after.startsAt = Math.min(after.startsAt, openedAt);
  const page = changed.votingPageUrl === undefined ? undefined : { ...before, votingPageUrl: changed.votingPageUrl };
  const issues = [
    ...(await priceIssues(executor, deps.pricing, before, changed)),
    ...(page === undefined ? [] : pageIssues(isEmbedded(deps), page)),
    ...statusIssues(before, nowMs, body),
    ...derivedIssues(before, after, nowMs, body),
    ...endIssues(before, nowMs, changed, withoutFaulty(after, isFaulty)),
    ...settingsIssues(withoutFaulty(after, isFaulty), body),
  ];
  const opens = body.status === 'open' && shownStatusAt(before, nowMs) !== 'open' && !isFinalAt(before, nowMs);
  const late = opens && !isFaulty('endsAt') ? reopeningIssue(after.endsAt, nowMs) : undefined;
  // If a passed end is the only issue, `statusChange` reports it, after it has checked the phase.
  return late === undefined || issues.length === 0 ? issues : [...issues, late];
}

/** Validates the well-formed fields of a change although its shape is refused, so that one answer names all faults. */
export const judgeChangeParts =
  (deps: Pick<Deps, 'pricing' | 'config' | 'clock' | 'db'>): Judge<Organizer, Body> =>
  ({ event }, { status, ...sent }, isFaulty) =>
    changeIssues(deps.db, deps, event, deps.clock.now(), { ...soundSettings(sent), status }, isFaulty);

/** Until the final result, a new `endsAt` must be in the future: a past one would shorten the time for late confirmations. */
function endIssues(
  before: VotingEvent,
  nowMs: number,
  { endsAt }: Columns,
  after: Parameters<typeof missedIssues>[0],
): Issue[] {
  const phase = phaseAt(before, nowMs);
  if (phase === 'draft') return missedIssues(after, { endsAt }, nowMs);
  if (endsAt == null || endsAt > nowMs || phase === 'final') return [];
  return [{ field: 'endsAt', message: 'must lie ahead: to close the event now, send `status: "closed"`' }];
}

/** Whether a change ends the rehearsal of an event, by its `status` or because the start has come (completions 10.5). */
function endsRehearsal(before: VotingEvent, nowMs: number, changed: Columns, wanted: Body['status']): boolean {
  if (before.rehearsalSince === null) return false;
  // After a closed round, `rehearsal` begins the next round.
  const isNext = wanted === 'rehearsal' && before.closedAt !== null;
  const isWanted = isNext || wanted === 'open' || wanted === 'draft' || wanted === 'scheduled';
  const after = { ...before, ...definedOnly(changed) };
  return isWanted || isRehearsalOver(before, nowMs) || isRehearsalOver(after, nowMs);
}

/** Accepts `draft` and `scheduled` only if they are sent back unchanged, or end a rehearsal. */
function statusIssues(before: VotingEvent, nowMs: number, { status, startsAt }: EventFields): Issue[] {
  const isPast = startsAt != null && startsAt !== before.startsAt && startsAt <= nowMs;
  const rehearses =
    status === 'rehearsal' || (before.rehearsalSince !== null && (status === 'draft' || status === 'scheduled'));
  if (isPast && rehearses)
    return [{ field: 'startsAt', message: 'must be later than now, or null: a start that has come opens the event' }];
  if (status === undefined || status === 'open' || status === 'closed' || status === 'rehearsal') return [];
  return status === shownStatusAt(before, nowMs) || before.rehearsalSince !== null
    ? []
    : [{ field: 'status', message: 'must be "open", "closed" or "rehearsal"' }];
}

/** Accepts derived fields only if they are sent back unchanged; `pollIdentity` also with its value after the change. */
function derivedIssues(
  before: VotingEvent,
  after: VotingEvent,
  nowMs: number,
  { voter, results }: EventFields,
): Issue[] {
  const issues: Issue[] = [];
  const identities = [pollIdentityOf(before), pollIdentityOf(after)];
  if (voter?.pollIdentity !== undefined && !identities.includes(voter.pollIdentity)) {
    const message = 'follows from requireVoterId and saveVoterInfo, and cannot be set';
    issues.push({ field: 'voter.pollIdentity', message });
  }
  const published = publishedTime(before, nowMs);
  if (results?.publishedAt !== undefined && results.publishedAt !== published)
    issues.push({ field: 'results.publishedAt', message: 'is when the results became public, and cannot be set' });
  return issues;
}

async function guardColumns(tx: Transaction, before: LockedEvent, changed: Columns): Promise<void> {
  const names = Object.keys(changed) as (keyof NewEventRow)[];
  const actions = new Set(names.map((name) => ACTION_BY_COLUMN[name] ?? 'change_settings'));
  for (const action of actions) await guardChange(tx, before, action);
  const after = statusAt({ ...before, ...definedOnly(changed) }, before.lockedAt);
  // An event that was opened by hand stays open, but a removed or future start would contradict its ballots.
  const isBeforeStart = changed.startsAt !== undefined && (changed.startsAt ?? Infinity) > before.lockedAt;
  if (isBeforeStart || after === 'draft' || after === 'scheduled') await guardChange(tx, before, 'take_back');
}

const DECIDE_OPENING: readonly (keyof Columns)[] = [
  ...(['startsAt', 'type', 'voterSelfRegistration', 'payToVote', 'payToRegisterCandidate'] as const),
];

/** Adds consequences to `changes`: publication, missed start, readiness, paid votes. A new price deletes pending unpaid ballots. */
async function prepareChange(
  tx: Transaction,
  before: LockedEvent,
  changes: Columns,
  found: Partial<OpeningFacts>,
): Promise<void> {
  const after = { ...before, ...definedOnly(changes) };
  if (changes.resultsVisibility === 'published' && before.resultsPublishedAt === null) {
    if (isFinalAt(after, before.lockedAt)) changes.resultsPublishedAt = before.lockedAt;
  }
  if (changes.startsAt != null || changes.openedAt != null) changes.missedStartAt = null;
  // The announced status no longer holds, so the next opening is announced again.
  const opens = changes.startsAt !== undefined || changes.openedAt != null;
  if (opens && statusAt(after, before.lockedAt) !== before.announcedStatus) changes.announcedStatus = null;
  if (DECIDE_OPENING.some((name) => changes[name] !== undefined)) {
    if (changes.type === 'election' && (await readOpening(tx, before.id)).hasTopUps)
      throw validationError([{ field: 'type', message: 'a position sells credits, which is for polls only' }]);
    changes.missing = await missingAfter(tx, after, found);
    changes.ready = changes.missing.length === 0;
    // As in `storeMissing`: an event that has opened at its start stays open.
    if (!changes.ready && changes.openedAt === undefined && wasOpened(before, before.lockedAt))
      changes.openedAt = before.openedAt ?? before.startsAt;
  }
  if (changes.payToVote === undefined) return;
  if (changes.payToVote !== null) await dropUnpaidBallots(tx, before.id);
  if (before.payToVote !== null && (await hasPaidVotes(tx, before.id))) changes.paidVotes = true;
}

async function statusChange(
  tx: Transaction,
  before: LockedEvent,
  changed: Columns,
  wanted: Body['status'],
  found: Partial<OpeningFacts>,
): Promise<Columns> {
  const nowMs = before.lockedAt;
  const phase = phaseAt(before, nowMs);
  const isClosed = phase === 'confirming' || phase === 'final';
  if (wanted === undefined || wanted === 'draft' || wanted === 'scheduled') return {};
  if (wanted === shownStatusAt(before, nowMs)) {
    // Store the close: otherwise a later end in the same request would open the event again.
    const keepsClosed = wanted === 'closed' && phase === 'confirming' && before.closedAt === null;
    return keepsClosed && changed.endsAt !== undefined
      ? { closedAt: before.endsAt, openedAt: before.openedAt ?? before.startsAt }
      : {};
  }
  const after = { ...before, ...definedOnly(changed) };
  if (wanted === 'rehearsal') return beginRehearsal(tx, before, after, found);
  if (wanted === 'closed') {
    await guardChange(tx, before, 'close');
    if (before.rehearsalSince !== null) return before.closedAt === null ? { closedAt: nowMs } : {};
    // Store an opening by the clock, so that a later change of `startsAt` does not undo it.
    return isClosed
      ? {}
      : { closedAt: nowMs, openedAt: before.openedAt ?? (phase === 'open' ? before.startsAt : nowMs) };
  }
  await guardChange(tx, before, 'open');
  if (phase === 'open') return {};
  const late = reopeningIssue(after.endsAt, nowMs);
  if (late !== undefined) throw validationError([late]);
  const missing = await missingAfter(tx, after, found);
  if (missing.length > 0) throw refuse('not_ready', { missing });
  // This reopens an event that had opened at its start: it counts as open since then.
  return { openedAt: before.openedAt ?? (phase === 'confirming' ? before.startsAt : nowMs), closedAt: null };
}
