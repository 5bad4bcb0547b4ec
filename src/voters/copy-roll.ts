import { setImmediate } from 'node:timers/promises';
import { and, asc, eq, gt, isNotNull, isNull, lte, ne, or, sql } from 'drizzle-orm';
import { z } from 'zod';
import type { PlanName } from '#src/accounts/plans.ts';
import { findAccount } from '#src/accounts/repository.ts';
import { listGroupIds } from '#src/ballot-definition/ballot-definition.ts';
import { type Database, type Executor, inTransaction, type Transaction } from '#src/database/client.ts';
import { defineJob, type Job } from '#src/jobs/queue.ts';
import { ApiError } from '#src/platform/errors.ts';
import { renewBallotDefinition } from '#src/voting-events/guard-change.ts';
import { lockEvent, updateEvent } from '#src/voting-events/repository.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { newVoter, takeRoomForVoters, tellOfVoters, type VoterDeps } from './create-voters.ts';
import { insertVoters } from './repository.ts';
import { rollCopies, voters } from './tables.ts';

const payload = z.strictObject({ eventId: z.string() });
export const COPY_ROLL = { name: 'copy_roll', maxAttempts: 25, payload } as const;

const CHUNK_ROWS = 500;

/**
 * The voters of an event that go into its copies: approved ones as they are shown, and what else the organizer added. A
 * registrant who waits, or whose approval by a first key is not disclosed, stays behind; so does one of a rehearsal.
 */
const copied = (sourceId: string) =>
  and(
    eq(voters.votingEventId, sourceId),
    isNull(voters.deletedAt),
    isNull(voters.erasedAt),
    ne(voters.source, 'poll'),
    eq(voters.approvedByKey, false),
    or(eq(voters.status, 'approved'), eq(voters.source, 'organizer')),
    or(isNotNull(voters.email), isNotNull(voters.voterId)),
    sql`NOT coalesce(${voters.beforeRehearsal} ? 'new', false)`,
  );

export async function countCopied(executor: Executor, sourceId: string): Promise<number> {
  const [row] = await executor.select({ count: sql<number>`count(*)::int` }).from(voters).where(copied(sourceId));
  return row?.count ?? 0;
}

export async function insertRollCopy(tx: Transaction, row: typeof rollCopies.$inferInsert): Promise<void> {
  await tx.insert(rollCopies).values(row);
}

/** Copies the voters of an event into its copy, chunk by chunk: cut off at any point, it goes on where it was. */
export function copyRollJob(deps: VoterDeps & { readonly db: Database }): Job<z.output<typeof payload>> {
  return defineJob({
    ...COPY_ROLL,
    async work({ eventId }) {
      try {
        while (await inTransaction(deps.db, (tx) => copyChunk(tx, deps, eventId))) await setImmediate();
      } catch (fault) {
        // The organizer has added voters meanwhile, and the plan has no room for the rest.
        if (!(fault instanceof ApiError) || fault.code !== 'plan_limit') throw fault;
        await inTransaction(deps.db, (tx) => endCopy(tx, eventId));
      }
    },
  });
}

/** @returns whether there is more to copy */
async function copyChunk(tx: Transaction, deps: VoterDeps, eventId: string): Promise<boolean> {
  const event = await lockEvent(tx, eventId);
  const [copy] = await tx.select().from(rollCopies).where(eq(rollCopies.votingEventId, eventId));
  if (event === undefined || copy === undefined) return false;
  const page = await tx
    .select()
    .from(voters)
    .where(and(copied(copy.sourceId), gt(voters.id, copy.copiedTo), lte(voters.id, copy.copyUntil)))
    .orderBy(asc(voters.id))
    .limit(CHUNK_ROWS);
  const last = page.at(-1);
  if (last === undefined) {
    await endCopy(tx, eventId);
    return false;
  }
  await insertCopies(tx, deps, event, copy, page);
  await tx.update(rollCopies).set({ copiedTo: last.id }).where(eq(rollCopies.votingEventId, eventId));
  // Voters who were approved meanwhile are copied, too.
  const done = (event.copyDone ?? 0) + page.length;
  await updateEvent(tx, eventId, { copyDone: done, copyTotal: Math.max(event.copyTotal ?? 0, done) });
  return true;
}

async function insertCopies(
  tx: Transaction,
  deps: VoterDeps,
  event: VotingEvent,
  { groups, keyId }: typeof rollCopies.$inferSelect,
  page: readonly (typeof voters.$inferSelect)[],
): Promise<void> {
  const copyOf = new Map(groups);
  const present = await listGroupIds(tx, event.id);
  const rows = page.map(({ name, email, voterId, groupId, weightMicro, status }) => {
    const own = groupId === null ? undefined : copyOf.get(groupId);
    const input = {
      name,
      email,
      voterId,
      weight: weightMicro,
      groupId: own !== undefined && present.has(own) ? own : null,
    };
    const source = { source: 'organizer', status: 'approved' } as const;
    return newVoter(deps, event, { ...input, status: status === 'rejected' ? 'rejected' : 'approved' }, source);
  });
  // Whom the organizer has added meanwhile stays as added.
  const inserted = await insertVoters(tx, rows);
  const ownerPlan = ((await findAccount(tx, event.accountId))?.plan ?? 'free') as PlanName;
  const author = { event, ownerPlan, caller: { keyId } };
  const created = rows.filter(({ id }) => inserted.has(id));
  await tellOfVoters(tx, deps, author, created);
  await takeRoomForVoters(tx, deps, event, ownerPlan, 'organizer', created.length);
}

/** From here on the copy opens like every other event. */
async function endCopy(tx: Transaction, eventId: string): Promise<void> {
  const event = await lockEvent(tx, eventId);
  if (event === undefined) return;
  await tx.delete(rollCopies).where(eq(rollCopies.votingEventId, eventId));
  await updateEvent(tx, eventId, { copyTotal: event.copyDone });
  await renewBallotDefinition(tx, eventId, event.lockedAt);
}
