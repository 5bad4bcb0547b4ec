/** An amount in the currency's smallest unit. */
export interface Price {
  readonly amountMinor: number;
  readonly currency: string;
}

export type EventType = 'election' | 'poll';
export type EventStatus = 'draft' | 'scheduled' | 'open' | 'closed';
export type PollIdentity = 'visitor_id' | 'email' | 'voter_id';
/** What an event can be shared as; its own account is the owner. */
export type InviteRole = 'viewer' | 'editor';
export type Secrecy = 'secret' | 'pseudonymous' | 'identified';

/** What is stored of a voting event, with names as the API has them; `status` and other derived facts are functions of it. */
export interface VotingEvent {
  readonly id: string;
  readonly accountId: string;
  readonly code: string;
  readonly title: string;
  readonly description: string | null;
  readonly type: EventType;
  readonly startsAt: number | null;
  readonly endsAt: number | null;
  readonly openedAt: number | null;
  readonly closedAt: number | null;
  /** When the result became final: the moment of the first close leaf. */
  readonly finalAt: number | null;
  readonly ready: boolean;
  readonly timeZone: string;
  readonly requireVoterId: boolean;
  readonly voterSelfRegistration: boolean;
  readonly voterApproval: 'automatic' | 'manual';
  readonly saveVoterInfo: boolean;
  readonly candidateSelfRegistration: boolean;
  readonly candidateOrder: 'fixed' | 'shuffled';
  readonly ballotOpening: 'none' | 'observer' | 'public';
  readonly ballotReceipt: 'inclusion' | 'full';
  readonly resultsVisibility: 'hidden' | 'live' | 'published';
  readonly resultsPublishedAt: number | null;
  readonly payToVote: Price | null;
  readonly payToRegisterCandidate: Price | null;
  readonly repeatVotes: boolean;
  /** Somebody has begun to pay for a vote: the poll stays `identified`. */
  readonly paidVotes: boolean;
  /** Whether receivers were told that the results are public. */
  readonly resultsAnnounced: boolean;
  readonly paymentBusinessId: string | null;
  readonly paymentProvider: 'provider_a' | 'provider_b' | null;
  readonly tieSeed: string | null;
  readonly announcedStatus: 'open' | 'closed' | null;
  readonly paperVersion: number;
  readonly identityChanges: number;
  readonly rollChanges: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface Invite {
  readonly id: string;
  readonly votingEventId: string;
  readonly email: string;
  readonly role: InviteRole;
  /** The account that accepted, with its name; null before. */
  readonly accountId: string | null;
  readonly accountName: string | null;
  readonly acceptedAt: number | null;
  readonly expiresAt: number;
  readonly createdAt: number;
}
