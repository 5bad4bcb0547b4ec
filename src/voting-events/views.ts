import { pollIdentityOf, publishedTime, secrecyOf, shownStatusAt, statusAt } from './lifecycle.ts';
import type { VotingEvent } from './types.ts';
import type { ContextView, VotingEventView } from './view-schemas.ts';

/** Voters of a secret event are disclosed at least so many at a time (completions 5.6). */
export const DISCLOSED_TOGETHER = 5;

/** What an event keeps back of who voted; null where it keeps nothing back. */
export function disclosureOf(event: VotingEvent, waiting: boolean): VotingEventView['disclosure'] {
  return secrecyOf(event) === 'secret' ? { everyBallots: DISCLOSED_TOGETHER, waiting } : null;
}

/**
 * The organizer's shape of a voting event (completions 3).
 * @param waiting whether somebody voted who is not disclosed yet
 */
export function viewEvent(event: VotingEvent, nowMs: number, waiting = false): VotingEventView {
  return {
    id: event.id,
    code: event.code,
    title: event.title,
    description: event.description,
    type: event.type,
    status: shownStatusAt(event, nowMs),
    startsAt: event.startsAt,
    endsAt: event.endsAt,
    timeZone: event.timeZone,
    voter: {
      requireVoterId: event.requireVoterId,
      selfRegistration: event.voterSelfRegistration,
      approval: event.voterApproval,
      saveVoterInfo: event.saveVoterInfo,
      pollIdentity: pollIdentityOf(event),
    },
    candidate: { selfRegistration: event.candidateSelfRegistration },
    ballot: { candidateOrder: event.candidateOrder, opening: event.ballotOpening, receipt: event.ballotReceipt },
    results: { visibility: event.resultsVisibility, publishedAt: publishedTime(event, nowMs) },
    log: { open: event.logOpen },
    votingPageUrl: event.votingPageUrl,
    contactEmail: event.contactEmail,
    language: event.language,
    logoUrl: event.logoUrl,
    finalAt: event.finalAt,
    payments: {
      payToVote: event.payToVote,
      payToRegisterCandidate: event.payToRegisterCandidate,
      repeatVotes: event.repeatVotes,
    },
    paymentBusinessId: event.paymentBusinessId,
    secrecy: secrecyOf(event),
    disclosure: disclosureOf(event, waiting),
    copy: event.copyTotal === null ? null : { total: event.copyTotal, done: event.copyDone ?? 0 },
    createdAt: event.createdAt,
    updatedAt: event.updatedAt,
  };
}

/** Whether a vote key may read the results now (completions 5.6). */
export function publicResultsAvailable(event: VotingEvent, nowMs: number): boolean {
  return event.resultsVisibility === 'live' || publishedTime(event, nowMs) !== null;
}

/** The context that a voting page is built from (completions 4.1). */
export function viewContext(
  event: VotingEvent,
  nowMs: number,
  extra: {
    readonly votingMethods: readonly string[];
    readonly quadraticCredits: boolean;
  },
): ContextView {
  const view = viewEvent(event, nowMs);
  return {
    id: view.id,
    code: view.code,
    title: view.title,
    description: view.description,
    type: view.type,
    status: statusAt(event, nowMs),
    startsAt: view.startsAt,
    endsAt: view.endsAt,
    timeZone: view.timeZone,
    votingMethods: extra.votingMethods,
    voter: {
      requireVoterId: view.voter.requireVoterId,
      selfRegistration: view.voter.selfRegistration,
      saveVoterInfo: view.voter.saveVoterInfo,
      pollIdentity: view.voter.pollIdentity,
      identity: view.type === 'election' ? 'voter_key' : 'visitor_id',
    },
    candidate: view.candidate,
    results: { visibility: view.results.visibility, available: publicResultsAvailable(event, nowMs) },
    payments: {
      required: event.payToVote !== null,
      provider: event.paymentProvider,
      livemode: event.paymentLivemode,
      ...view.payments,
      quadraticCredits: extra.quadraticCredits,
    },
    secrecy: view.secrecy,
    ballot: view.ballot,
  };
}
