import { type Issue, invalidField, validationError } from '#src/platform/errors.ts';
import type { NewEventRow } from './repository.ts';
import type { EventFields } from './schemas.ts';
import type { VotingEvent } from './types.ts';

type Settings = Omit<EventFields, 'status'>;

/** The columns that a body sets; fields that were left out are left alone. */
export function columnsOf(body: Settings): Partial<NewEventRow> {
  const columns: Partial<NewEventRow> = {
    ...(body.code === undefined ? {} : { code: body.code, codeKey: body.code.toLowerCase() }),
    ...(body.results?.visibility === undefined ? {} : { resultsVisibility: body.results.visibility }),
  };
  const { voter, candidate, ballot, payments } = body;
  const values: { [Key in keyof NewEventRow]?: NewEventRow[Key] | undefined } = {
    title: body.title,
    description: body.description,
    type: body.type,
    startsAt: body.startsAt,
    endsAt: body.endsAt,
    timeZone: body.timeZone,
    requireVoterId: voter?.requireVoterId,
    voterSelfRegistration: voter?.selfRegistration,
    voterApproval: voter?.approval,
    saveVoterInfo: voter?.saveVoterInfo,
    candidateSelfRegistration: candidate?.selfRegistration,
    candidateOrder: ballot?.candidateOrder,
    ballotOpening: ballot?.opening,
    ballotReceipt: ballot?.receipt,
    payToVote: payments?.payToVote,
    payToRegisterCandidate: payments?.payToRegisterCandidate,
    repeatVotes: payments?.repeatVotes,
    votingPageUrl: body.votingPageUrl,
    contactEmail: body.contactEmail,
    language: body.language,
    logoUrl: body.logoUrl,
  };
  return Object.assign(columns, Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)));
}

/** The settings that an event would have: those it has, and the changes. */
type Merged = Pick<VotingEvent, 'type' | 'voterSelfRegistration' | 'startsAt' | 'endsAt' | 'payToVote' | 'repeatVotes'>;

/**
 * @param priceIssues what is wrong with the prices that the body sets
 * @throws ApiError `validation_error` with everything that does not go together
 */
export function checkSettings(merged: Merged, body: Settings, priceIssues: readonly Issue[]): void {
  const issues: Issue[] = [...priceIssues];
  if (merged.startsAt !== null && merged.endsAt !== null && merged.endsAt <= merged.startsAt) {
    issues.push({
      field: body.endsAt === undefined ? 'startsAt' : 'endsAt',
      message: 'the end must come after the start',
    });
  }
  if (merged.payToVote !== null && merged.type !== 'poll') {
    issues.push({ field: 'payments.payToVote', message: 'is for polls only' });
  }
  if (merged.voterSelfRegistration && merged.type === 'poll') {
    issues.push({
      field: 'voter.selfRegistration',
      message: 'is for elections only: polls have no roll to register on',
    });
  }
  if (merged.repeatVotes && (merged.type !== 'poll' || merged.payToVote === null)) {
    issues.push({ field: 'payments.repeatVotes', message: 'needs a poll with payToVote' });
  }
  if (issues.length > 0) throw validationError(issues);
}

/** @throws ApiError `validation_error` when an event would be opened that its own end has already closed */
export function checkReopening(endsAt: number | null, nowMs: number): void {
  if (endsAt !== null && endsAt <= nowMs) {
    throw invalidField('endsAt', 'has passed: set it to null or to a later time together with status "open"');
  }
}
