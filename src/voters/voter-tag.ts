import { equalSecrets, type Secrets } from '#src/platform/secrets.ts';
import { isGenuineEvent } from '#src/voting-events/event-tag.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import type { voters } from './tables.ts';
import type { VoterStatus } from './voter.ts';
import type { Identity } from './voter-identity.ts';

const KEY_ID_BYTES = 4;
const MAC_BYTES = 16;

/** The columns of a voter that decide who votes, on which positions and with what weight. */
export type DecidingColumns = Readonly<
  Pick<
    typeof voters.$inferSelect,
    | 'votingEventId'
    | 'id'
    | 'email'
    | 'emailKey'
    | 'voterIdKey'
    | 'groupId'
    | 'weightMicro'
    | 'status'
    | 'keyGeneration'
  >
>;

export type TaggedVoter = DecidingColumns & Pick<typeof voters.$inferSelect, 'tag'>;

/** What `tagged_voter` gives of a row. */
export type TaggedArray = readonly [
  id: string,
  email: string | null,
  emailKey: string | null,
  voterIdKey: string | null,
  groupId: string | null,
  weightMicro: string,
  status: VoterStatus,
  keyGeneration: number,
  tag: string | null,
];

export function taggedVoter(votingEventId: string, row: TaggedArray): TaggedVoter {
  const [id, email, emailKey, voterIdKey, groupId, weight, status, keyGeneration, tag] = row;
  const weightMicro = BigInt(weight);
  const bytes = tag === null ? null : Buffer.from(tag, 'hex');
  return { votingEventId, id, email, emailKey, voterIdKey, groupId, weightMicro, status, keyGeneration, tag: bytes };
}

/** All that decides of a voter but its group, in one text. */
export const standingOf = ({ votingEventId, id, ...row }: DecidingColumns, status: string): string =>
  JSON.stringify([
    ...['voter', votingEventId, id, row.email, row.emailKey, row.voterIdKey],
    ...[row.weightMicro.toString(), status, row.keyGeneration],
  ]);

const groupOf = ({ votingEventId, id, groupId }: DecidingColumns): string =>
  JSON.stringify(['voter group', votingEventId, id, groupId]);

/**
 * Binds a voter's row to the service's secret key, which is not in the database: a row that SQL made or changed has no right tag, and so
 * no effect (completions 6.7). 4 bytes of the key's ID; 16 of a keyed hash over event, voter and what decides; 16 over its group. The
 * last are not looked at where the row has no group: the database takes it away with a deleted group.
 */
export function tagOfVoter(secrets: Secrets, row: DecidingColumns): Buffer {
  const macOf = (text: string): Buffer => secrets.mac('row-tag', text).subarray(0, MAC_BYTES);
  const group = row.groupId === null ? Buffer.alloc(MAC_BYTES) : macOf(groupOf(row));
  return Buffer.concat([Buffer.from(secrets.id, 'hex'), macOf(standingOf(row, row.status)), group]);
}

/** What a tag may say of a row that shows a status. Who waits has no vote, and the end of a rehearsal takes approvals back. */
function statusesOf(shown: VoterStatus, approval: VotingEvent['voterApproval']): readonly VoterStatus[] {
  if (shown === 'pending') return ['pending', 'approved'];
  // The first use of a key approves a voter where approval is automatic; then the tag is written again.
  if (shown === 'approved') return approval === 'automatic' ? ['approved', 'pending'] : ['approved'];
  // Whatever else SQL writes is no status.
  return shown === 'rejected' ? ['rejected'] : [];
}

/**
 * The status that the tag of a voter's row says, under any of the listed secret keys; undefined where the service did not write the row
 * as it stands. Never asks for the type of the event, which SQL can change for a moment: participants of polls, which bear no tag, are
 * known by the callers.
 */
export function taggedStatus(
  secrets: Secrets,
  { voterApproval }: Pick<VotingEvent, 'voterApproval'>,
  row: TaggedVoter,
): VoterStatus | undefined {
  const { tag } = row;
  if (tag?.length !== KEY_ID_BYTES + 2 * MAC_BYTES) return undefined;
  const bears = (text: string, at: number): boolean =>
    secrets
      .macs('row-tag', text)
      .some((mac) => equalSecrets(mac.subarray(0, MAC_BYTES), tag.subarray(at, at + MAC_BYTES)));
  if (row.groupId !== null && !bears(groupOf(row), KEY_ID_BYTES + MAC_BYTES)) return undefined;
  return statusesOf(row.status, voterApproval).find((status) => bears(standingOf(row, status), KEY_ID_BYTES));
}

export const isGenuine = (...of: Parameters<typeof taggedStatus>): boolean => taggedStatus(...of) !== undefined;

/** Whether a mail with a key may go to a voter: neither its row nor what the event says of the page and of who may vote is SQL's. */
export const mayBeMailed = (secrets: Secrets, event: VotingEvent, row: TaggedVoter): boolean =>
  isGenuineEvent(secrets, event) && isGenuine(secrets, event, row);

/** What the tag says of a row that a statement gave, undefined where it gave none: whether SQL wrote it, or the tag lacks an approval by a key. */
export function judgeTagged(
  secrets: Secrets,
  event: Pick<VotingEvent, 'id' | 'voterApproval'>,
  tagged: TaggedArray | null | undefined,
): { readonly voter: TaggedVoter; readonly isForged: boolean; readonly lacksApproval: boolean } | undefined {
  if (tagged == null) return undefined;
  const voter = taggedVoter(event.id, tagged);
  const status = taggedStatus(secrets, event, voter);
  return { voter, isForged: status === undefined, lacksApproval: status === 'pending' };
}

/** Whether an organizer's change may make the row the service's own word: it is genuine, or the bare listing of a poll's participant. */
export const isChangeable = (
  secrets: Secrets,
  event: Pick<VotingEvent, 'voterApproval'>,
  row: TaggedVoter & Pick<typeof voters.$inferSelect, 'source'>,
): boolean => (row.source === 'poll' && row.tag === null) || isGenuine(secrets, event, row);

/** The tag after such a change: a participant of a poll gets none. */
export const renewedTag = (
  secrets: Secrets,
  row: DecidingColumns & Pick<typeof voters.$inferSelect, 'source'>,
): Buffer | null => (row.source === 'poll' ? null : tagOfVoter(secrets, row));

/** What is sealed with a ballot of whom it was cast for. @param secrets the election's */
export const tagOfIdentity = (secrets: Secrets, eventId: string, { kind, key }: Identity): Buffer =>
  secrets.mac('row-tag', JSON.stringify(['cast for', eventId, kind, key])).subarray(0, MAC_BYTES);

/** Whether a ballot was cast for this voter. @param sealed what was sealed with it */
export const isCastFor = (
  secrets: Secrets,
  { votingEventId, emailKey, voterIdKey }: DecidingColumns,
  sealed: Buffer,
): boolean =>
  (
    [
      ['email', emailKey],
      ['voter_id', voterIdKey],
    ] as const
  ).some(([kind, key]) => key !== null && equalSecrets(tagOfIdentity(secrets, votingEventId, { kind, key }), sealed));

/** Binds a participation to the key of its election. @param secrets the election's */
export const tagOfParticipation = (secrets: Secrets, eventId: string, voterId: string): Buffer =>
  secrets.mac('row-tag', JSON.stringify(['participation', eventId, voterId])).subarray(0, MAC_BYTES);
