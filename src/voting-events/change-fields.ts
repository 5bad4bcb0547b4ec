import type { IsFaulty, SoundParts } from '#src/http/sound-parts.ts';
import type { Issue } from '#src/platform/errors.ts';
import { pick } from '#src/platform/pick.ts';
import type { EventFields } from './event-body.ts';
import { givenOf, type NewEventRow } from './repository.ts';
import type { Price, VotingEvent } from './voting-event.ts';

export type Settings = Omit<EventFields, 'status'>;

/** The columns that a body sets. A field that is left out changes no column. */
export function columnsOf(body: Settings): Partial<NewEventRow> {
  const { voter, candidate, ballot, payments } = body;
  return givenOf({
    code: body.code,
    codeKey: body.code?.toLowerCase(),
    resultsVisibility: body.results?.visibility,
    ...pick(body, ['title', 'description', 'type', 'startsAt', 'endsAt', 'timeZone']),
    ...pick(body, ['votingPageUrl', 'contactEmail', 'language', 'logoUrl']),
    requireVoterId: voter?.requireVoterId,
    voterSelfRegistration: voter?.selfRegistration,
    voterApproval: voter?.approval,
    saveVoterInfo: voter?.saveVoterInfo,
    candidateSelfRegistration: candidate?.selfRegistration,
    candidateOrder: ballot?.candidateOrder,
    ballotOpening: ballot?.opening,
    ballotReceipt: ballot?.receipt,
    logOpen: body.log?.open,
    payToVote: payments?.payToVote,
    payToRegisterCandidate: payments?.payToRegisterCandidate,
    repeatVotes: payments?.repeatVotes,
  });
}

const wholePrice = (price: SoundParts<Price> | null | undefined): Price | null | undefined => {
  if (price == null) return price;
  const { amountMinor, currency } = price;
  return amountMinor === undefined || currency === undefined ? undefined : { amountMinor, currency };
};

/** The settings that can be validated although the body's shape was refused. An incomplete price is left out. */
export function soundSettings(sent: SoundParts<Settings>): Settings {
  const { payments } = sent;
  if (payments === undefined) return { ...sent, payments };
  const payToVote = wholePrice(payments.payToVote);
  const payToRegisterCandidate = wholePrice(payments.payToRegisterCandidate);
  return { ...sent, payments: { ...payments, payToVote, payToRegisterCandidate } };
}

type Merged = Pick<VotingEvent, 'type' | 'voterSelfRegistration' | 'startsAt' | 'endsAt' | 'payToVote' | 'repeatVotes'>;

/** Contradictions between the settings after a change. @param sent the changes, whose fields the issues name */
export function settingsIssues(merged: Partial<Merged>, sent: Pick<Settings, 'endsAt'>): Issue[] {
  const { type, startsAt, endsAt, payToVote, voterSelfRegistration, repeatVotes } = merged;
  const issues: Issue[] = [];
  if (startsAt != null && endsAt != null && endsAt <= startsAt) {
    const field = sent.endsAt === undefined ? 'startsAt' : 'endsAt';
    issues.push({ field, message: 'the end must come after the start' });
  }
  if (payToVote != null && type === 'election')
    issues.push({ field: 'payments.payToVote', message: 'is for polls only' });
  if (voterSelfRegistration === true && type === 'poll') {
    issues.push({
      field: 'voter.selfRegistration',
      message: 'is for elections only: polls have no roll to register on',
    });
  }
  if (repeatVotes === true && (type === 'election' || payToVote === null))
    issues.push({ field: 'payments.repeatVotes', message: 'needs a poll with payToVote' });
  return issues;
}

/**
 * Refuses a start and an end that have both passed, for an event that was never open: it would be closed, and soon final, without
 * having accepted a ballot. The usual cause is times in seconds instead of milliseconds, which are in 1970.
 */
export function missedIssues(
  { startsAt, endsAt }: Partial<Pick<Merged, 'startsAt' | 'endsAt'>>,
  sent: Pick<Settings, 'endsAt'>,
  nowMs: number,
): Issue[] {
  if (startsAt == null || endsAt == null || startsAt >= endsAt || endsAt > nowMs) return [];
  const field = sent.endsAt === undefined ? 'startsAt' : 'endsAt';
  return [{ field, message: 'the end must lie ahead: times are milliseconds since 1970' }];
}

/** Leaves out fields with a wrong shape, so that they cause no further issues. */
export const withoutFaulty = (merged: Merged, isFaulty: IsFaulty): Partial<Merged> =>
  Object.fromEntries(
    Object.entries(merged).filter(([name]) => !isFaulty(name === 'payToVote' ? 'payments.payToVote' : name)),
  );

export function reopeningIssue(endsAt: number | null, nowMs: number): Issue | undefined {
  if (endsAt === null || endsAt > nowMs) return undefined;
  return { field: 'endsAt', message: 'has passed: set it to null or to a later time together with status "open"' };
}
