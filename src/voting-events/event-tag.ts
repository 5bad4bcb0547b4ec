import { type DecidingRow, isTagged, tagOfRow } from '#src/platform/row-tag.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import type { eventInvites, votingEvents } from './tables.ts';

/** The columns of an event that say whose it is, who becomes a voter, and where mails lead. What a ballot shows stands in the log. */
export const DECIDING_COLUMNS = [
  ...(['id', 'accountId', 'type', 'requireVoterId', 'voterSelfRegistration', 'voterApproval'] as const),
  ...(['saveVoterInfo', 'repeatVotes', 'votingPageUrl'] as const),
] as const;

type EventRow = typeof votingEvents.$inferSelect;
type Deciding = Pick<EventRow, (typeof DECIDING_COLUMNS)[number]>;

export const rowOfEvent = (event: Deciding): DecidingRow => [
  'voting_events',
  ...DECIDING_COLUMNS.map((column) => event[column]),
];

export const tagOfEvent = (secrets: Secrets, event: Deciding): Buffer => tagOfRow(secrets, rowOfEvent(event));

/** Whether the service wrote what decides of an event as it stands. */
export const isGenuineEvent = (secrets: Secrets, event: Deciding & Pick<EventRow, 'tag'>): boolean =>
  isTagged(secrets, event.tag, rowOfEvent(event));

type Invite = Pick<typeof eventInvites.$inferSelect, 'votingEventId' | 'id' | 'emailKey' | 'role' | 'accountId'> & {
  readonly tokenHash: Buffer;
};

export const rowOfInvite = ({ votingEventId, id, emailKey, role, tokenHash, accountId }: Invite): DecidingRow => [
  'event_invites',
  ...[votingEventId, id, emailKey, role, tokenHash.toString('hex'), accountId],
];
