import type { votingEvents } from './tables.ts';

/** An amount in the currency's smallest unit. */
export interface Price {
  readonly amountMinor: number;
  readonly currency: string;
}

export type EventType = 'election' | 'poll';
export type EventStatus = 'draft' | 'scheduled' | 'open' | 'closed';
/** With what organizers alone see. */
export type ShownStatus = EventStatus | 'rehearsal';
export type PollIdentity = 'visitor_id' | 'email' | 'voter_id';
/** What an event can be shared as; its own account is the owner. */
export type InviteRole = 'viewer' | 'editor';
export type Secrecy = 'secret' | 'pseudonymous' | 'identified';

/** What is stored of a voting event, with names as the API has them; `status` and other derived facts are functions of it. */
export type VotingEvent = Readonly<
  Omit<
    typeof votingEvents.$inferSelect,
    'codeKey' | 'deletedAt' | 'lastPositionNumber' | 'lastCandidateNumber' | Counted
  >
>;
/** What plan limits count: read by the statements that count alone. */
type Counted = 'voterCount' | 'registrationCount' | 'rejectedRegistrationCount';

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
