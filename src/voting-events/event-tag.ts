import { canonicalJson } from '#src/platform/canonical-json.ts';
import { type DecidingRow, isTagged, tagOfRow } from '#src/platform/row-tag.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import type { eventInvites, votingEvents } from './tables.ts';

/**
 * The columns of an event that say what it is called by, whose it is and who else works on it, who becomes a voter, what is shown to whom, who is paid, where
 * mails lead, what was changed of the roll, when it ends, that it is final, and which key its ballots wait under. What a ballot shows stands in the log.
 */
export const DECIDING_COLUMNS = [
  ...(['id', 'code', 'accountId', 'inviteGeneration', 'copyUntil', 'type'] as const),
  ...(['rehearsalSince', 'rehearsalNumber', 'rehearsalVisibility'] as const),
  ...(['requireVoterId', 'voterSelfRegistration', 'voterApproval', 'saveVoterInfo'] as const),
  ...([
    'candidateSelfRegistration',
    'candidateOrder',
    'ballotOpening',
    'ballotReceipt',
    'logOpen',
    'resultsVisibility',
  ] as const),
  ...([
    'payToVote',
    'payToRegisterCandidate',
    'repeatVotes',
    'paymentBusinessId',
    'paymentProvider',
    'paymentLivemode',
  ] as const),
  ...(['votingPageUrl', 'contactEmail', 'language', 'logoUrl', 'identityChanges', 'rollChanges'] as const),
  ...(['lettersPrinted', 'rehearsalLetters'] as const),
  ...(['endsAt', 'closedAt', 'finalAt', 'ballotKey'] as const),
] as const;

type EventRow = typeof votingEvents.$inferSelect;
type Deciding = Pick<EventRow, (typeof DECIDING_COLUMNS)[number]>;

/** What the database writes into columns that a new event says nothing of. */
export const UNSET = {
  ...{
    inviteGeneration: 0,
    copyUntil: null,
    rehearsalSince: null,
    rehearsalNumber: 0,
    rehearsalVisibility: null,
    logOpen: false,
    identityChanges: 0,
    rollChanges: 0,
    lettersPrinted: 0,
    rehearsalLetters: 0,
  },
  ...{
    payToVote: null,
    payToRegisterCandidate: null,
    paymentBusinessId: null,
    paymentProvider: null,
    paymentLivemode: null,
  },
  ...({
    votingPageUrl: null,
    contactEmail: null,
    language: 'en',
    logoUrl: null,
    endsAt: null,
    closedAt: null,
    finalAt: null,
    ballotKey: null,
  } as const),
} satisfies Partial<Deciding>;

export const rowOfEvent = (event: Deciding): DecidingRow => [
  'voting_events',
  ...DECIDING_COLUMNS.map((column) => {
    const value = event[column];
    // A price, whose members the database puts into an order of its own.
    return typeof value === 'object' && value !== null ? canonicalJson(value) : value;
  }),
];

export const tagOfEvent = (secrets: Secrets, event: Deciding): Buffer => tagOfRow(secrets, rowOfEvent(event));

/** Whether the service wrote what decides of an event as it stands. */
export const isGenuineEvent = (secrets: Secrets, event: Deciding & Pick<EventRow, 'tag'>): boolean =>
  isTagged(secrets, event.tag, rowOfEvent(event));

/** As the service wrote it; what SQL changed is final by no column. */
export const withoutForgedEnd = <Row extends Deciding & Pick<EventRow, 'tag'>>(secrets: Secrets, event: Row): Row =>
  isGenuineEvent(secrets, event) ? event : { ...event, finalAt: null };

type Invite = Omit<typeof eventInvites.$inferSelect, 'tag' | 'sealedToken' | 'acceptedAt' | 'createdAt'>;
type Generation = Pick<EventRow, 'inviteGeneration'>;

export const rowOfInvite = (invite: Invite, { inviteGeneration }: Generation): DecidingRow => {
  const { votingEventId, id, email, emailKey, role, tokenHash, accountId, expiresAt } = invite;
  const who = [votingEventId, id, email, emailKey, role, tokenHash.toString('hex'), accountId, expiresAt];
  return ['event_invites', ...who, inviteGeneration];
};

/** Binds an invite to its event's generation of invites: one that was withdrawn, or stood otherwise, opens nothing when SQL puts it back. */
export const tagOfInvite = (secrets: Secrets, invite: Invite, event: Generation): Buffer =>
  tagOfRow(secrets, rowOfInvite(invite, event));

/** Whether the service wrote an invite as it stands, and has withdrawn or changed none of the event's since. @param event genuine itself */
export const isGenuineInvite = (
  secrets: Secrets,
  invite: Invite & { readonly tag: Buffer },
  event: Generation,
): boolean => isTagged(secrets, invite.tag, rowOfInvite(invite, event));
