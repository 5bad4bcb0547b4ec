import type { z } from 'zod';
import { differenceOf } from '#src/accounts/record-change.ts';
import { type Transaction, violatedConstraint } from '#src/database/client.ts';
import { conflict } from '#src/platform/errors.ts';
import { recordEvent } from '#src/webhooks/record-event.ts';
import type { Organizer } from './access.ts';
import { announceResults, announceStatus, scheduleAnnouncements } from './announce-status.ts';
import { checkReopening, checkSettings, columnsOf } from './change-fields.ts';
import { codeInUse, type EventDeps } from './create-event.ts';
import { lockForChange, requireNoBallots } from './guard-change.ts';
import { publishedTime, statusAt } from './lifecycle.ts';
import { priceIssues } from './pricing.ts';
import { missingForOpening, type NewEventRow, updateEvent } from './repository.ts';
import type { updateEventBody } from './schemas.ts';
import type { VotingEvent } from './types.ts';
import { viewEvent } from './views.ts';

type Body = z.output<typeof updateEventBody>;

/** What ballots that were cast depend on. */
const FROZEN = ['type', 'requireVoterId', 'saveVoterInfo'] as const;

/** Changes an event, opens or closes it (completions 3, rules 1 to 4). @throws ApiError 409 `event_has_ballots`, `not_ready`, `results_published`; 422 */
export async function updateVotingEvent(
  tx: Transaction,
  deps: EventDeps,
  organizer: Organizer,
  body: Body,
): Promise<VotingEvent> {
  const nowMs = deps.clock.now();
  const before = await lockForChange(tx, organizer.event.id);
  const columns = columnsOf(body);
  const plan = deps.plans[organizer.ownerPlan];
  const issues = await priceIssues(tx, deps.pricing, plan, before, body);
  checkSettings({ ...before, ...definedOnly(columns) }, body, issues);
  if (FROZEN.some((name) => columns[name] !== undefined && columns[name] !== before[name])) {
    await requireNoBallots(tx, before.id);
  }
  const changes = { ...columns, ...(await statusChange(tx, before, columns, body.status, nowMs)) };
  if (body.results?.visibility === 'published' && before.resultsPublishedAt === null) {
    const closed = statusAt({ ...before, ...definedOnly(changes) }, nowMs) === 'closed';
    if (closed) changes.resultsPublishedAt = nowMs;
  }
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
  if (before.resultsPublishedAt === null && after.resultsPublishedAt !== null)
    await announceResults(tx, deps, after, nowMs);
  await scheduleAnnouncements(tx, after);
  return (await announceStatus(tx, deps, after, nowMs)) ?? after;
}

function definedOnly(columns: Partial<NewEventRow>): Partial<VotingEvent> {
  return columns as Partial<VotingEvent>;
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
  before: VotingEvent,
  columns: Partial<NewEventRow>,
  wanted: Body['status'],
  nowMs: number,
): Promise<Partial<NewEventRow>> {
  const status = statusAt(before, nowMs);
  if (wanted === 'closed') {
    if (status === 'closed') return {};
    if (status === 'draft') throw conflict('not_open', 'A draft cannot be closed: it was never open.');
    return { closedAt: nowMs };
  }
  if (wanted === undefined || status === 'open') return {};
  if (status === 'closed' && publishedTime(before, nowMs) !== null) {
    throw conflict('results_published', 'The results were published: the event cannot be opened again.');
  }
  checkReopening(columns.endsAt === undefined ? before.endsAt : columns.endsAt, nowMs);
  const missing = await missingForOpening(tx, before.id);
  if (missing.position || missing.candidatesFor.length > 0) {
    throw conflict('not_ready', 'The event needs at least one position, and a candidate in every position.', {
      missing: [
        ...(missing.position ? [{ what: 'position' }] : []),
        ...missing.candidatesFor.map((positionId) => ({ what: 'candidate', positionId })),
      ],
    });
  }
  return { openedAt: before.openedAt ?? nowMs, closedAt: null };
}
