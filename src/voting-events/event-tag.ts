import { getTableColumns } from 'drizzle-orm';
import { canonicalJson } from '#src/platform/canonical-json.ts';
import { type DecidingRow, isTagged, tagOfRow } from '#src/platform/row-tag.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import { type eventInvites, votingEvents } from './tables.ts';

/**
 * The columns that an event's tag (a MAC) covers. They decide its code, owner and sharing, who becomes a voter, what is shown to whom, who
 * is paid, where mails lead, changes of the roll, its end and its key. The log protects the other columns that a ballot shows.
 */
export const DECIDING_COLUMNS = [
  ...(['id', 'code', 'accountId', 'inviteGeneration', 'copyUntil', 'type'] as const),
  ...(['rehearsalSince', 'rehearsalNumber', 'rehearsalVisibility'] as const),
  ...(['requireVoterId', 'voterSelfRegistration', 'voterApproval', 'saveVoterInfo'] as const),
  ...(['candidateSelfRegistration', 'candidateOrder'] as const),
  ...(['ballotOpening', 'ballotReceipt', 'logOpen', 'resultsVisibility'] as const),
  ...(['payToVote', 'payToRegisterCandidate', 'repeatVotes'] as const),
  ...(['paymentBusinessId', 'paymentProvider', 'paymentLivemode'] as const),
  ...(['votingPageUrl', 'contactEmail', 'language', 'logoUrl', 'identityChanges', 'rollChanges'] as const),
  ...(['lettersPrinted', 'rehearsalLetters'] as const),
  ...(['endsAt', 'closedAt', 'finalAt', 'ballotKey', 'realKey'] as const),
] as const;

type EventRow = typeof votingEvents.$inferSelect;
type Deciding = Pick<EventRow, (typeof DECIDING_COLUMNS)[number]>;

type DefaultColumn = {
  [Column in keyof Deciding]: undefined extends (typeof votingEvents.$inferInsert)[Column] ? Column : never;
}[keyof Deciding];

const columns = getTableColumns(votingEvents);
/** The database's defaults for columns that an insert leaves out. */
export const UNSET = Object.fromEntries(DECIDING_COLUMNS.map((name) => [name, columns[name].default ?? null])) as Pick<
  Deciding,
  DefaultColumn
>;

export const rowOfEvent = (event: Deciding): DecidingRow => [
  'voting_events',
  ...DECIDING_COLUMNS.map((column) => {
    const value = event[column];
    // Prices are the only objects. Make their JSON canonical, because jsonb may reorder members.
    return typeof value === 'object' && value !== null ? canonicalJson(value) : value;
  }),
];

export const tagOfEvent = (secrets: Secrets, event: Deciding): Buffer => tagOfRow(secrets, rowOfEvent(event));

/** Whether the service wrote the present values of an event's tagged columns. Otherwise the event is forged. */
export const isGenuineEvent = (secrets: Secrets, event: Deciding & Pick<EventRow, 'tag'>): boolean =>
  isTagged(secrets, event.tag, rowOfEvent(event));

/** The event; without `finalAt` if the event is forged, so that other SQL cannot make a result final. */
export const withoutForgedEnd = <Row extends Deciding & Pick<EventRow, 'tag'>>(secrets: Secrets, event: Row): Row =>
  isGenuineEvent(secrets, event) ? event : { ...event, finalAt: null };

type Invite = Omit<typeof eventInvites.$inferSelect, 'tag' | 'sealedToken' | 'acceptedAt' | 'createdAt'>;
type Generation = Pick<EventRow, 'inviteGeneration'>;

export const rowOfInvite = (invite: Invite, { inviteGeneration }: Generation): DecidingRow => {
  const { votingEventId, id, email, emailKey, role, tokenHash, accountId, expiresAt } = invite;
  const who = [votingEventId, id, email, emailKey, role, tokenHash.toString('hex'), accountId, expiresAt];
  return ['event_invites', ...who, inviteGeneration];
};

/** Also covers the event's `inviteGeneration`, so that a withdrawn or older row of an invite is invalid if other SQL restores it. */
export const tagOfInvite = (secrets: Secrets, invite: Invite, event: Generation): Buffer =>
  tagOfRow(secrets, rowOfInvite(invite, event));

/** Whether the service wrote this row of an invite, in the present generation of invites. @param event must be genuine itself */
export const isGenuineInvite = (
  secrets: Secrets,
  invite: Invite & { readonly tag: Buffer },
  event: Generation,
): boolean => isTagged(secrets, invite.tag, rowOfInvite(invite, event));
