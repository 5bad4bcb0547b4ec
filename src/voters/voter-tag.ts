import { type DecidingRow, isTagged, tagOfRow } from '#src/platform/row-tag.ts';
import { equalSecrets, type Secrets } from '#src/platform/secrets.ts';
import { isGenuineEvent } from '#src/voting-events/event-tag.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import type { voters } from './tables.ts';
import type { VoterSource, VoterStatus } from './voter.ts';
import type { Identity } from './voter-identity.ts';

const MAC_BYTES = 16;

/** The columns of a voter that say who votes, on which positions, with what weight, and how the row came about. */
export type DecidingColumns = Readonly<
  Pick<
    typeof voters.$inferSelect,
    | 'votingEventId'
    | 'id'
    | 'name'
    | 'email'
    | 'emailKey'
    | 'voterId'
    | 'voterIdKey'
    | 'groupId'
    | 'weightMicro'
    | 'status'
    | 'source'
    | 'keyGeneration'
    | 'letters'
  >
>;

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

/** SQL. The same of a voter `v`; `judge-cast.sql` and `confirm.sql` have it, too. */
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
  ...(['voters', row.votingEventId, row.id, row.name, row.email, row.emailKey, row.voterId, row.voterIdKey] as const),
  ...[row.groupId, row.weightMicro.toString(), row.status, row.source, row.keyGeneration, row.letters],
];

/** The row of a voter whom a key approved in a rehearsal. Its end takes that back by this tag: what SQL says of it in a column has no say. */
const rowInRehearsal = (row: DecidingColumns): DecidingRow => [...rowOfVoter(row), 'approved in a rehearsal'];

/** @param inRehearsal whether a key approved the voter in the rehearsal that is under way */
export const tagOfVoter = (secrets: Secrets, row: DecidingColumns, inRehearsal = false): Buffer =>
  tagOfRow(secrets, inRehearsal ? rowInRehearsal(row) : rowOfVoter(row));

export const isApprovedInRehearsal = (secrets: Secrets, row: TaggedVoter): boolean =>
  isTagged(secrets, row.tag, rowInRehearsal(row));

/**
 * Whether the service wrote a voter's row as it stands. Never asks for the type of the event, which SQL can change for a moment:
 * participants of polls, which bear no tag, are known by the callers.
 */
export const isGenuine = (secrets: Secrets, row: TaggedVoter): boolean =>
  isTagged(secrets, row.tag, rowOfVoter(row)) || isApprovedInRehearsal(secrets, row);

/** Whether a mail with a key may go to a voter: neither its row nor what the event says of the page and of who may vote is SQL's. */
export const mayBeMailed = (secrets: Secrets, event: VotingEvent, row: TaggedVoter): boolean =>
  isGenuineEvent(secrets, event) && isGenuine(secrets, row);

/**
 * What the tag says of a row that a statement gave, undefined where it gave none: whether SQL wrote it, or whether the verdict on its key
 * approves the voter, which `approveByKey` writes.
 */
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

/** The bare listing of a poll's participant: it follows from a ballot, and bears no tag. */
const isParticipant = ({ source, tag }: TaggedVoter): boolean => source === 'poll' && tag === null;

/** Whether an organizer's change may make the row the service's own word: it is genuine, or lists a participant of this poll. */
export const isChangeable = (secrets: Secrets, event: Pick<VotingEvent, 'type'>, row: TaggedVoter): boolean =>
  (event.type === 'poll' && isParticipant(row)) || isGenuine(secrets, row);

/** The tag after such a change: a participant of a poll gets none. @param keepsStatus whether the change leaves the status as it came about */
export const renewedTag = (
  secrets: Secrets,
  before: TaggedVoter,
  after: DecidingColumns,
  keepsStatus = false,
): Buffer | null =>
  after.source === 'poll' ? null : tagOfVoter(secrets, after, keepsStatus && isApprovedInRehearsal(secrets, before));

/**
 * A change of the address or voter ID takes such a step in the generation of keys, and drops the ballot that waits; a rejection takes one,
 * and an approval after it finds the ballot again. `cast.sql` knows the step too.
 */
const IDENTITY_STEP = 65_536;

/** How often the address or voter ID was changed. */
export const identityGeneration = (keyGeneration: number): number => Math.floor(keyGeneration / IDENTITY_STEP);

/** The generation of keys after a change that drops them. */
export const nextGeneration = (keyGeneration: number, isRejection: boolean): number =>
  isRejection ? keyGeneration + 1 : (identityGeneration(keyGeneration) + 1) * IDENTITY_STEP;

/**
 * What is sealed with a ballot of whom it was cast for: an identity, how often it was changed, and the voter's group where the
 * ballot asks for one. A ballot that a change of the organizer dropped is no voter's when SQL puts it back. @param secrets the election's
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

/** Whether a ballot was cast for this voter as the voter stands. @param sealed what was sealed with it */
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

/** Binds a participation to the key of its election, and to how the voter stood at the confirm. @param secrets the election's */
export const tagOfParticipation = (
  secrets: Secrets,
  { votingEventId, id, weightMicro, status }: Pick<DecidingColumns, 'votingEventId' | 'id' | 'weightMicro' | 'status'>,
): Buffer =>
  secrets
    .mac('row-tag', JSON.stringify(['participation', votingEventId, id, weightMicro.toString(), status]))
    .subarray(0, MAC_BYTES);
