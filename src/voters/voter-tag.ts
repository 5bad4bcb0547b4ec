import { type SQL, sql } from 'drizzle-orm';
import { type DecidingRow, isTagged, tagOfRow } from '#src/platform/row-tag.ts';
import { equalSecrets, type Secrets } from '#src/platform/secrets.ts';
import { isGenuineEvent } from '#src/voting-events/event-tag.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import type { voters } from './tables.ts';
import type { VoterSource, VoterStatus } from './voter.ts';
import type { Identity } from './voter-identity.ts';

const MAC_BYTES = 16;

/** The columns that a voter's tag (a MAC) covers: who votes, on which positions, with which weight, and where the row came from. */
const DECIDING = [
  ...(['votingEventId', 'id', 'name', 'email', 'emailKey', 'voterId', 'voterIdKey'] as const),
  ...(['groupId', 'weightMicro', 'status', 'source', 'keyGeneration', 'letters'] as const),
] as const;
export type DecidingColumns = Readonly<Pick<typeof voters.$inferSelect, (typeof DECIDING)[number]>>;

export type TaggedVoter = DecidingColumns & Pick<typeof voters.$inferSelect, 'tag'>;

export type TaggedArray = readonly [
  id: string,
  name: string,
  email: string | null,
  emailKey: string | null,
  voterId: string | null,
  voterIdKey: string | null,
  groupId: string | null,
  weightMicro: string,
  status: VoterStatus,
  source: VoterSource,
  keyGeneration: number,
  letters: string | null,
  tag: string | null,
];

/**
 * Joins each row `p` of `participation` to its voter `v`. LATERAL with LIMIT 1 makes the planner find each voter by the primary key. With
 * statistics older than the event's voters, a plain join would read the whole roll for each participant.
 */
export const joinVoters = (eventId: string): SQL => sql`LEFT JOIN LATERAL (
  SELECT * FROM voters w WHERE w.voting_event_id = ${eventId} AND w.id >= p.participant ORDER BY w.id LIMIT 1
) AS v ON v.id = p.participant`;

/** SQL for the `TaggedArray` of a voter `v`; repeated in `judge-cast.sql` and `confirm.sql`. */
export const TAGGED_VOTER = `jsonb_build_array(v.id, v.name, v.email, v.email_key, v.voter_id, v.voter_id_key, v.group_id, v.weight_micro::text,
  v.status, v.source, v.key_generation, v.letters, encode(v.tag, 'hex'))`;

export function taggedVoter(votingEventId: string, row: TaggedArray): TaggedVoter {
  const [id, name, email, emailKey, voterId, voterIdKey, groupId, weight, status, source, keyGeneration, letters, tag] =
    row;
  const named = { votingEventId, id, name, email, emailKey, voterId, voterIdKey };
  const bytes = tag === null ? null : Buffer.from(tag, 'hex');
  return { ...named, groupId, weightMicro: BigInt(weight), status, source, keyGeneration, letters, tag: bytes };
}

export const rowOfVoter = (row: DecidingColumns): DecidingRow => [
  'voters',
  ...DECIDING.map((name) => (name === 'weightMicro' ? row[name].toString() : row[name])),
];

/** Tag input for a voter whom a key approved in a rehearsal. Its end finds these voters by tag, because SQL could forge a column. */
const rowInRehearsal = (row: DecidingColumns): DecidingRow => [...rowOfVoter(row), 'approved in a rehearsal'];

/** @param inRehearsal whether a key approved the voter in the current rehearsal */
export const tagOfVoter = (secrets: Secrets, row: DecidingColumns, inRehearsal = false): Buffer =>
  tagOfRow(secrets, inRehearsal ? rowInRehearsal(row) : rowOfVoter(row));

export const isApprovedInRehearsal = (secrets: Secrets, row: TaggedVoter): boolean =>
  isTagged(secrets, row.tag, rowInRehearsal(row));

/** Whether the service wrote the row. Ignores the event's type, which other SQL can change. Participants of polls have no tag. */
export const isGenuine = (secrets: Secrets, row: TaggedVoter): boolean =>
  isTagged(secrets, row.tag, rowOfVoter(row)) || isApprovedInRehearsal(secrets, row);

/** Whether a key may be mailed to a voter. Both tags must be valid: the voter's, and the event's, which covers voting page and rules. */
export const mayBeMailed = (secrets: Secrets, event: VotingEvent, row: TaggedVoter): boolean =>
  isGenuineEvent(secrets, event) && isGenuine(secrets, row);

/** Checks the tag of a voter whom a statement found, if any. If `lacksApproval`, the caller must store the approval with `approveByKey`. */
export function judgeTagged(
  secrets: Secrets,
  eventId: string,
  { tagged, verdict }: { readonly tagged: TaggedArray | null | undefined; readonly verdict: string },
): { readonly voter: TaggedVoter; readonly isForged: boolean; readonly lacksApproval: boolean } | undefined {
  if (tagged == null) return undefined;
  const voter = taggedVoter(eventId, tagged);
  const isForged = !isGenuine(secrets, voter);
  return { voter, isForged, lacksApproval: !isForged && verdict === 'cast' && voter.status === 'pending' };
}

/**
 * Whether an organizer may change the row, which gives it a new tag. The row's tag must be valid, or the row must list a participant of
 * this poll: such a row follows from a ballot, and has no tag.
 */
export const isChangeable = (secrets: Secrets, event: Pick<VotingEvent, 'type'>, row: TaggedVoter): boolean =>
  (event.type === 'poll' && row.source === 'poll' && row.tag === null) || isGenuine(secrets, row);

/** The tag after an organizer's change; null for a participant of a poll. @param keepsStatus whether the change leaves the status alone */
export const renewedTag = (
  secrets: Secrets,
  before: TaggedVoter,
  after: DecidingColumns,
  keepsStatus = false,
): Buffer | null =>
  after.source === 'poll' ? null : tagOfVoter(secrets, after, keepsStatus && isApprovedInRehearsal(secrets, before));

/**
 * A change of address or voter ID raises the key generation to the next multiple of this, and drops the pending ballot. A rejection raises
 * it by 1, so that a later approval makes the ballot valid again. `cast.sql` repeats the figure.
 */
const IDENTITY_STEP = 65_536;

/** How often the address or voter ID was changed. */
export const identityGeneration = (keyGeneration: number): number => Math.floor(keyGeneration / IDENTITY_STEP);

/** The key generation after a change that ends the keys. */
export const nextGeneration = (keyGeneration: number, isRejection: boolean): number =>
  isRejection ? keyGeneration + 1 : (identityGeneration(keyGeneration) + 1) * IDENTITY_STEP;

/**
 * Binds a ballot to a voter, and is encrypted with it: the identity, how often it was changed, and the voter's group if the ballot
 * depends on one. If other SQL restores a ballot that an organizer's change dropped, it matches no voter. @param secrets the election's own
 */
export const tagOfIdentity = (
  secrets: Secrets,
  eventId: string,
  { kind, key }: Identity,
  generation = 0,
  group?: string,
): Buffer =>
  secrets
    .mac('row-tag', JSON.stringify(['cast for', eventId, kind, key, generation, group ?? null]))
    .subarray(0, MAC_BYTES);

/** Whether a ballot was cast for this voter's present identity and group. @param sealed the ballot's `tagOfIdentity` */
export const isCastFor = (
  secrets: Secrets,
  { votingEventId, emailKey, voterIdKey, keyGeneration, groupId }: DecidingColumns,
  sealed: Buffer,
): boolean =>
  (
    [
      ['email', emailKey],
      ['voter_id', voterIdKey],
    ] as const
  ).some(
    ([kind, key]) =>
      key !== null &&
      [undefined, groupId ?? ''].some((group) =>
        equalSecrets(
          tagOfIdentity(secrets, votingEventId, { kind, key }, identityGeneration(keyGeneration), group),
          sealed,
        ),
      ),
  );

/** The MAC of a participation. It covers the voter's weight and status at the confirm. @param secrets the election's own */
export const tagOfParticipation = (
  secrets: Secrets,
  { votingEventId, id, weightMicro, status }: Pick<DecidingColumns, 'votingEventId' | 'id' | 'weightMicro' | 'status'>,
): Buffer =>
  secrets
    .mac('row-tag', JSON.stringify(['participation', votingEventId, id, weightMicro.toString(), status]))
    .subarray(0, MAC_BYTES);
