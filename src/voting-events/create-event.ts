import { randomBytes } from 'node:crypto';
import type { z } from 'zod';
import { changeBy, recordChange } from '#src/accounts/changes.ts';
import { type Plans, planLimit } from '#src/accounts/plans.ts';
import { hasRoomForEvent, takeEventFromPlan } from '#src/accounts/repository.ts';
import type { Executor, Transaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import type { Caller } from '#src/http/caller.ts';
import { type IsFaulty, type Judge, NOTHING_FAULTY } from '#src/http/sound-parts.ts';
import type { Issue } from '#src/platform/errors.ts';
import { base32 } from '#src/platform/ids.ts';
import { pick } from '#src/platform/pick.ts';
import { publish } from '#src/webhooks/record-event.ts';
import {
  columnsOf,
  missedIssues,
  type Settings,
  settingsIssues,
  soundSettings,
  withoutFaulty,
} from './change-fields.ts';
import { claimCode, isCodeElsewhere } from './code-claims.ts';
import type { createEventBody } from './event-body.ts';
import { pageIssues } from './event-mail.ts';
import { requireNoIssues } from './guard-change.ts';
import { priceIssues, requirePricing } from './pricing.ts';
import { scheduleClosing, schedulePublishing } from './publish-status.ts';
import type { RehearsalDeps } from './rehearsal.ts';
import { insertEvent, type NewEventRow } from './repository.ts';
import { tellEvent } from './show-event.ts';
import { aboutOf, type VotingEvent } from './voting-event.ts';

const CODE_CHARACTERS = 8;

/** Records changes of an event in its log. `ballot-log` implements it, because this folder may not import that folder. */
export interface LogRecorder {
  /** Locks the log against other writers until the transaction ends. Call before locking the event. @throws ApiError 409 `busy` */
  hold(tx: Transaction, eventId: string): Promise<void>;
  /** Appends the event's present configuration and end to its log. @returns false, with nothing written, if the log is disputed */
  record(tx: Transaction, event: VotingEvent): Promise<boolean>;
  /**
   * Records a change that still waits for its leaf, if a ballot may have been cast since. Call before a change that raises the
   * number of candidates who stand: one leaf for both would hide that fewer stood, and such a ballot would seem to name too few.
   */
  recordWaiting(tx: Transaction, event: VotingEvent): Promise<void>;
}

export type EventDeps = RehearsalDeps &
  Pick<
    Deps,
    'ids' | 'clock' | 'plans' | 'pricing' | 'config' | 'logRecorder' | 'giveOptions' | 'db' | 'cell' | 'cells'
  >;

/** Whether the service runs with the embedded database, as on a developer's machine. */
export const isEmbedded = ({ config }: Pick<EventDeps, 'config'>): boolean => config.databaseUrl === undefined;

type Body = z.output<typeof createEventBody>;

/** Fills settings that a body leaves out with the defaults of a new event. */
export const withDefaults = (body: Body) => ({
  description: null,
  startsAt: null,
  endsAt: null,
  timeZone: 'UTC',
  votingPageUrl: null,
  contactEmail: null,
  language: 'en' as const,
  logoUrl: null,
  ...body,
  voter: {
    requireVoterId: false,
    selfRegistration: false,
    approval: 'automatic' as const,
    saveVoterInfo: false,
    ...body.voter,
  },
  candidate: { selfRegistration: false, ...body.candidate },
  ballot: {
    candidateOrder: 'fixed' as const,
    opening: 'observer' as const,
    // Ballots of a poll are linked to their voters anyway. So receipts show what was counted, and voters can check it.
    receipt: body.type === 'poll' ? ('full' as const) : ('inclusion' as const),
    ...body.ballot,
  },
  results: { visibility: 'hidden' as const, ...body.results },
  log: { open: false, ...body.log },
  payments: { payToVote: null, payToRegisterCandidate: null, repeatVotes: false, ...body.payments },
});

/** Contradictions between fields of a new event. @param isFaulty whether a field has a wrong shape, and so is not compared */
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

/** Validates the well-formed fields of a new event although its shape is refused, so that one answer names all faults. */
export const judgeEventParts =
  (deps: Pick<Deps, 'pricing' | 'config' | 'clock' | 'db'>): Judge<unknown, Body> =>
  (_target, sent, isFaulty, caller) =>
    creationIssues(deps.db, deps, caller, soundSettings(sent), deps.clock.now(), isFaulty);

async function randomCode(deps: Pick<Deps, 'db' | 'cell' | 'cells'>): Promise<string> {
  const code = base32(randomBytes(8), CODE_CHARACTERS);
  return (await isCodeElsewhere(deps, code.toLowerCase())) ? randomCode(deps) : code.toUpperCase();
}

/** Creates an event (completions 3). @param fill adds rows of other tables @throws ApiError 422 `plan_limit`, 409 `code_in_use`, 422 */
export async function createEvent(
  tx: Transaction,
  deps: EventDeps,
  caller: Caller,
  body: Body,
  fill = async (event: VotingEvent): Promise<VotingEvent> => event,
): Promise<VotingEvent> {
  const nowMs = deps.clock.now();
  const id = deps.ids.sortable('evt');
  const code = await randomCode(deps);
  const made = {
    id,
    accountId: caller.accountId,
    code,
    codeKey: code.toLowerCase(),
    createdAt: nowMs,
    updatedAt: nowMs,
  };
  // With the defaults, no required column is missing.
  const row = { ...made, ...columnsOf(withDefaults(body)) } as NewEventRow;
  const plan = deps.plans[caller.plan as keyof Plans];
  requirePricing(plan, body.payments ?? {});
  requireNoIssues(await creationIssues(tx, deps, caller, body, nowMs, NOTHING_FAULTY));
  if (body.code !== undefined) await claimCode(tx, deps, body.code.toLowerCase());
  const event = await insertEvent(tx, deps.secrets, {
    ...row,
    ...(await deps.ballotKeys.prepare(tx, undefined, { id, type: row.type, startsAt: row.startsAt ?? null })),
  });
  const after = pick(event, ['title', 'type', 'code']);
  await recordChange(tx, deps, changeBy({ event, caller }, 'voting_event.created', id, { after }));
  await schedulePublishing(tx, event);
  const limit = plan.votingEvents;
  if (!(await hasRoomForEvent(tx, caller.accountId, limit))) throw planLimit('voting_events', limit);
  const filled = await fill(event);
  // Without its rows, an event whose start has come counts as a draft, whose end is not announced.
  await scheduleClosing(tx, undefined, filled, nowMs);
  // Publish one message for the event and all rows in it.
  await publish(tx, deps, aboutOf(filled), 'voting_event.created', [await tellEvent(tx, filled, nowMs)]);
  // Do this last, because it locks the account's row: other creations in the account wait for the commit.
  if (!(await takeEventFromPlan(tx, caller.accountId, limit))) throw planLimit('voting_events', limit);
  return filled;
}
