import { randomBytes } from 'node:crypto';
import type { z } from 'zod';
import { changeBy } from '#src/accounts/changes.ts';
import { type Plans, planLimit } from '#src/accounts/plans.ts';
import { hasRoomForEvent, takeEventFromPlan } from '#src/accounts/repository.ts';
import type { Executor, Transaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import type { Caller } from '#src/http/caller.ts';
import { type IsFaulty, NOTHING_FAULTY, type SoundParts } from '#src/http/sound-parts.ts';
import { type Issue, validationError } from '#src/platform/errors.ts';
import { base32 } from '#src/platform/ids.ts';
import { recordEvent } from '#src/webhooks/record-event.ts';
import {
  columnsOf,
  missedIssues,
  type Settings,
  settingsIssues,
  soundSettings,
  withoutFaulty,
} from './change-fields.ts';
import type { createEventBody } from './event-body.ts';
import { pageIssues } from './event-mail.ts';
import { priceIssues, requirePricing } from './pricing.ts';
import { scheduleClosing, schedulePublishing } from './publish-status.ts';
import type { RehearsalDeps } from './rehearsal.ts';
import { insertEvent, type NewEventRow } from './repository.ts';
import { type VotingEvent, viewEvent } from './voting-event.ts';

const CODE_CHARACTERS = 8;

/** What the ballot log does where what it commits to changes: `voting-events` declares it, the log brings it. */
export interface LogRecorder {
  /** Keeps everybody else from appending to the log until the transaction ends. Before the event's row is locked. @throws ApiError 409 `busy` */
  hold(tx: Transaction, eventId: string): Promise<void>;
  /** Writes the configuration and the end of an event to its log as they are now. False where the log is disputed, and nothing is written. */
  record(tx: Transaction, event: VotingEvent): Promise<boolean>;
}

export type EventDeps = RehearsalDeps &
  Pick<Deps, 'ids' | 'clock' | 'plans' | 'pricing' | 'config' | 'logRecorder' | 'giveOptions'>;

/** Whether this is somebody's own machine, with the database that comes along. */
export const isEmbedded = ({ config }: Pick<EventDeps, 'config'>): boolean => config.databaseUrl === undefined;

type Body = z.output<typeof createEventBody>;

/** What does not go together in a new event. @param isFaulty names what was sent in a wrong form: it contradicts nothing */
async function creationIssues(
  executor: Executor,
  deps: Pick<EventDeps, 'pricing' | 'config'>,
  caller: Caller,
  body: Settings,
  nowMs: number,
  isFaulty: IsFaulty,
): Promise<Issue[]> {
  const owner = { accountId: caller.accountId, paymentBusinessId: null };
  const merged = {
    type: body.type ?? 'poll',
    voterSelfRegistration: body.voter?.selfRegistration ?? false,
    startsAt: body.startsAt ?? null,
    endsAt: body.endsAt ?? null,
    payToVote: body.payments?.payToVote ?? null,
    repeatVotes: body.payments?.repeatVotes ?? false,
  };
  return [
    ...(await priceIssues(executor, deps.pricing, owner, body.payments ?? {})),
    ...pageIssues(isEmbedded(deps), { votingPageUrl: body.votingPageUrl ?? null, paymentLivemode: null }),
    ...settingsIssues(withoutFaulty(merged, isFaulty), body),
    ...missedIssues(withoutFaulty(merged, isFaulty), body, nowMs),
  ];
}

/** Also judges the values of a new event whose shape was refused, so that one answer names all faults. */
export const judgeEventParts = (
  deps: Pick<Deps, 'pricing' | 'config' | 'clock' | 'db'>,
  caller: Caller,
  sent: SoundParts<Body>,
  isFaulty: IsFaulty,
): Promise<Issue[]> => creationIssues(deps.db, deps, caller, soundSettings(sent), deps.clock.now(), isFaulty);

/**
 * Creates a voting event (completions 3).
 * @param fill gives the event what else belongs to it
 * @throws ApiError 422 `plan_limit`, 409 `conflict` for a code in use, 422 for settings that do not go together
 */
export async function createEvent(
  tx: Transaction,
  deps: EventDeps,
  caller: Caller,
  body: Body,
  fill = async (event: VotingEvent): Promise<VotingEvent> => event,
): Promise<VotingEvent> {
  const nowMs = deps.clock.now();
  const id = deps.ids.sortable('evt');
  const code = base32(randomBytes(8), CODE_CHARACTERS).toUpperCase();
  const row: NewEventRow = {
    id,
    accountId: caller.accountId,
    code,
    codeKey: code.toLowerCase(),
    title: body.title,
    type: body.type,
    timeZone: 'UTC',
    requireVoterId: false,
    voterSelfRegistration: false,
    voterApproval: 'automatic',
    saveVoterInfo: false,
    candidateSelfRegistration: false,
    candidateOrder: 'fixed',
    ballotOpening: 'observer',
    // A poll's ballots carry their voter anyway: its voters can check what was counted.
    ballotReceipt: body.type === 'poll' ? 'full' : 'inclusion',
    resultsVisibility: 'hidden',
    repeatVotes: false,
    createdAt: nowMs,
    updatedAt: nowMs,
    ...columnsOf(body),
  };
  const plan = deps.plans[caller.plan as keyof Plans];
  requirePricing(plan, body.payments ?? {});
  const issues = await creationIssues(tx, deps, caller, body, nowMs, NOTHING_FAULTY);
  if (issues.length > 0) throw validationError(issues);
  const event = await insertEvent(tx, deps.secrets, {
    ...row,
    ...(await deps.ballotKeys.prepare(tx, undefined, { id, type: row.type, startsAt: row.startsAt ?? null })),
  });
  await recordEvent(tx, deps, {
    type: 'voting_event.created',
    data: viewEvent(event, nowMs),
    change: changeBy({ event, caller }, 'voting_event.created', id, {
      after: { title: event.title, type: event.type, code: event.code },
    }),
  });
  await schedulePublishing(tx, event);
  await scheduleClosing(tx, undefined, event, nowMs);
  const limit = plan.votingEvents;
  if (!(await hasRoomForEvent(tx, caller.accountId, limit))) throw planLimit('voting_events', limit);
  const filled = await fill(event);
  // Last: another creation in the same account waits from here to the commit.
  if (!(await takeEventFromPlan(tx, caller.accountId, limit))) throw planLimit('voting_events', limit);
  return filled;
}
