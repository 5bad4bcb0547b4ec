import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { changeBy, recordChange } from '#src/accounts/changes.ts';
import { type Database, inTransaction, type Transaction, valuesOf } from '#src/database/client.ts';
import { inChunks } from '#src/database/in-chunks.ts';
import { defineJob, endJob, enqueue, type Job } from '#src/jobs/queue.ts';
import { emailKey } from '#src/platform/email-address.ts';
import { orNotFound } from '#src/platform/errors.ts';
import { placesIn, type Secrets } from '#src/platform/secrets.ts';
import type { Organizer } from '#src/voting-events/access.ts';
import { type BulkChange, lockForChange, requireOwn } from '#src/voting-events/guard-change.ts';
import { lifeRefusal, phaseAt, requirePhase } from '#src/voting-events/lifecycle.ts';
import { countRollChanges, type LockedEvent } from '#src/voting-events/repository.ts';
import { aboutOf } from '#src/voting-events/voting-event.ts';
import { publish } from '#src/webhooks/record-event.ts';
import { findVoter, hasBallot, listVotersByIds, removeDeletedVoters, updateVoters } from './repository.ts';
import { noteChanges } from './roll-sum.ts';
import type { VoterDeps } from './take-rows.ts';
import type { Voter } from './voter.ts';
import { visitorKey } from './voter-identity.ts';

const ERASED = { name: '', email: null, emailKey: null, voterId: null, voterIdKey: null } as const;

/** Time limit of one run. After it, the job queues itself again behind other deletions. */
const REMOVING_MS = 1_000;

const payload = z.strictObject({ eventId: z.string() });
export const REMOVE_DELETED_VOTERS = {
  name: 'remove_deleted_voters',
  maxAttempts: 25,
  group: 'deletions',
  payload,
} as const;

/** Removes the rows and keys of voters whose deletion was queued (202). */
export const removeDeletedVotersJob = (db: Database): Job<z.output<typeof payload>> =>
  defineJob({
    ...REMOVE_DELETED_VOTERS,
    async work({ eventId }) {
      const remove = (maxRows: number) => inTransaction(db, (tx) => removeDeletedVoters(tx, eventId, maxRows));
      if (await inChunks(remove, REMOVING_MS)) await enqueue(db, REMOVE_DELETED_VOTERS, { eventId });
    },
  });

/** Blocks of logged ballots, or payments, per statement. A block has up to 256 ballots. */
const ERASED_TOGETHER = 200;

const erasing = z.strictObject({ eventId: z.string(), sealed: z.string() });
const ERASE_PARTICIPANTS = {
  name: 'erase_participants',
  maxAttempts: 25,
  group: 'deletions',
  payload: erasing,
} as const;
const erasedPlace = placesIn('jobs', 'erased_participants');

/** Removes a poll's erased participants from ballots and payments, in steps: a poll may have a million ballots. */
export const eraseParticipantsJob = (db: Database, secrets: Secrets): Job<z.output<typeof erasing>> =>
  defineJob({
    ...ERASE_PARTICIPANTS,
    // One transaction with the end of the job: a repeated run would not find addresses that a committed step has erased.
    work: ({ eventId, sealed }, run) =>
      inTransaction(db, async (tx) => {
        if (!(await endJob(tx, run))) return;
        let erasure = secrets.open(sealed, erasedPlace(eventId)).toString('utf8');
        const erase = async (maxRows: number): Promise<number> => {
          const { rows } = await tx.execute<{ erasure: string; seen: number }>(sql`
            SELECT e.p_erasure::text AS erasure, e.seen FROM erase_participants(${eventId}, ${erasure}::jsonb, ${maxRows}) AS e`);
          erasure = rows[0]?.erasure ?? erasure;
          return rows[0]?.seen ?? 0;
        };
        if (await inChunks(erase, REMOVING_MS, ERASED_TOGETHER)) await enqueueErasure(tx, secrets, eventId, erasure);
      }),
  });

/** Encrypts the identities in the job: the roll has erased them, so no row may show them. */
const enqueueErasure = (tx: Transaction, secrets: Secrets, eventId: string, erasure: string): Promise<void> =>
  enqueue(tx, ERASE_PARTICIPANTS, { eventId, sealed: secrets.seal(erasure, erasedPlace(eventId)) });

/** Removes erased voters from a poll's participation. For participants among them, queues the erasure from ballots and payments. */
async function eraseParticipants(
  tx: Transaction,
  secrets: Secrets,
  { id: eventId, requireVoterId }: LockedEvent,
  rows: readonly Voter[],
  earlierAddresses: readonly string[],
): Promise<void> {
  const idsOf = (some: readonly Voter[]): string[] =>
    some.flatMap(({ voterId }) => (voterId === null ? [] : requireVoterId ? voterId : visitorKey(voterId)));
  const addresses = [...rows.flatMap(({ email }) => email ?? []), ...earlierAddresses].map(emailKey);
  const erased = await valuesOf<string | null>(
    tx,
    sql`SELECT erase_participation(${eventId}, ${requireVoterId ? 'i:' : 'v:'}, ${sql.param(idsOf(rows))}::text[], ${sql.param(addresses)}::text[])`,
  );
  const ids = idsOf(rows.filter(({ source }) => source === 'poll'));
  const emails = erased.filter((address) => address !== null);
  const erasure = { ids, emails, visitors: [], block: -1, payment: '', searched: false };
  if (ids.length > 0) await enqueueErasure(tx, secrets, eventId, JSON.stringify(erasure));
}

/**
 * Queues the deletion of a voter (202), and hides the voter from all readers at once. After the final result, only erases the personal
 * data (completions 3, rule 2): weight, group and participation stay, so that no figure changes.
 * @throws ApiError 404; 409 `event_has_ballots` for a voter who has voted, `event_closed` between the close and the final result
 */
export async function deleteVoter(tx: Transaction, deps: VoterDeps, organizer: Organizer, id: string): Promise<void> {
  const event = await lockForChange(tx, organizer.event.id);
  const voter = orNotFound(await findVoter(tx, event.id, id));
  await takeOffRoll(tx, deps, event, [voter]);
  const erased = phaseAt(event, event.lockedAt) === 'final';
  const before = { name: voter.name, email: voter.email, voterId: voter.voterId };
  await recordChange(tx, deps, changeBy(organizer, 'voter.deleted', id, erased ? {} : { before }));
}

/** Deletes voters, all or none. @throws ApiError as `deleteVoter` for any of these; 422 naming each unknown ID */
export const deleteVoters: BulkChange<VoterDeps> = async (tx, deps, organizer, ids) => {
  const event = await lockForChange(tx, organizer.event.id);
  const rows = requireOwn('voter', ids, await listVotersByIds(tx, event.id, ids));
  await takeOffRoll(tx, deps, event, rows);
  const before = { count: rows.length, voterIds: rows.map(({ id }) => id) };
  await recordChange(tx, deps, changeBy(organizer, 'voters.deleted', event.id, { before }));
  return rows.length;
};

/** Marks voters as deleted, or erases them after the final result, and sends the webhook. Call with the event locked. */
async function takeOffRoll(
  tx: Transaction,
  deps: VoterDeps,
  event: LockedEvent,
  rows: readonly Voter[],
): Promise<void> {
  const ids = rows.map(({ id }) => id);
  await requirePhase('delete_voter', event, event.lockedAt, () => hasBallot(tx, event.id, ids));
  if (phaseAt(event, event.lockedAt) === 'final') {
    // The log closes up to a minute after the last confirm, and commits to the roll of that moment.
    if (event.finalAt === null) throw lifeRefusal('event_closed', event);
    await updateVoters(tx, event.id, ids, { ...ERASED, erasedAt: event.lockedAt });
    const earlier = await valuesOf<string>(tx, sql`SELECT erase_from_trail(${event.id}, ${sql.param(ids)}::text[])`);
    if (event.type === 'poll') await eraseParticipants(tx, deps.secrets, event, rows, earlier);
  } else {
    const changes = rows.map((before) => ({ before }));
    await noteChanges(tx, deps.secrets, event, changes);
    await updateVoters(tx, event.id, ids, { deletedAt: event.lockedAt, emailKey: null, voterIdKey: null });
    await enqueue(tx, REMOVE_DELETED_VOTERS, { eventId: event.id });
    // An erasure changes no figure of the roll, so only a deletion is counted.
    await countRollChanges(tx, deps.secrets, event, { roll: rows.length });
  }
  const facts = ids.map((id) => ({ id }));
  await publish(tx, deps, aboutOf(event), 'voter.deleted', facts);
}
