import { setImmediate } from 'node:timers/promises';
import { type SQL, sql } from 'drizzle-orm';
import { listKeptGroupIds } from '#src/ballot-definition/ballot-definition.ts';
import { type Database, inTransaction, type Transaction } from '#src/database/client.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import { type LockedEvent, lockEvent } from '#src/voting-events/repository.ts';
import { aboutOf } from '#src/voting-events/voting-event.ts';
import { publish } from '#src/webhooks/record-event.ts';
import { listTagged, listVotersByIds, storeStandings } from './repository.ts';
import { noteChanges } from './roll-sum.ts';
import type { VoterDeps } from './take-rows.ts';
import { viewVoter } from './voter.ts';
import { type DecidingColumns, isApprovedInRehearsal, isGenuine, type TaggedVoter, tagOfVoter } from './voter-tag.ts';

const PAGE = 1_000;

type Standing = Partial<Pick<DecidingColumns, 'status' | 'groupId'>>;

/**
 * Makes one change to a page of voters, and renews their tags. Skips rows with an invalid tag.
 * @returns the IDs of the changed voters, and the last ID of the page; this is undefined on the last page
 */
async function changePage(
  tx: Transaction,
  secrets: Secrets,
  event: LockedEvent,
  which: SQL,
  standing: Standing,
  after: string,
  isMeant: (row: TaggedVoter) => boolean = () => true,
): Promise<{ readonly changed: readonly string[]; readonly last: string | undefined }> {
  const voters = await listTagged(tx, event.id, sql`v.id > ${after} AND ${which}`, PAGE);
  const changes = voters
    .filter((row) => isGenuine(secrets, row) && isMeant(row))
    .map((before) => ({ before, after: { ...before, ...standing } }));
  await storeStandings(
    tx,
    event.id,
    changes.map(({ before, after: row }) => ({
      ...row,
      tag: tagOfVoter(secrets, row, standing.status === undefined && isApprovedInRehearsal(secrets, before)),
    })),
    // The change at the end of a rehearsal sets no time of change, so that the rehearsal leaves no trace.
    standing.status === undefined ? event.lockedAt : null,
  );
  await noteChanges(tx, secrets, event, changes);
  const changed = changes.map(({ before }) => before.id);
  return { changed, last: voters.length < PAGE ? undefined : voters.at(-1)?.id };
}

/** Changes all matching voters in one transaction. Call with the event locked. @param isMeant a condition that SQL cannot check */
export async function changeInPages(
  tx: Transaction,
  secrets: Secrets,
  event: LockedEvent,
  which: SQL,
  standing: Standing,
  isMeant?: (row: TaggedVoter) => boolean,
): Promise<void> {
  for (let after: string | undefined = ''; after !== undefined; )
    after = (await changePage(tx, secrets, event, which, standing, after, isMeant)).last;
}

/**
 * Clears the group of voters whose group was deleted, and publishes these voters, in one transaction for each page. Each page reads the
 * groups under the event's lock, so that no group is added or deleted meanwhile and every changed genuine row gets a new tag.
 */
export async function leaveDeletedGroups(db: Database, deps: VoterDeps, eventId: string): Promise<void> {
  for (let after: string | undefined = ''; after !== undefined; await setImmediate()) {
    const from: string = after;
    after = await inTransaction(db, async (tx) => {
      const event = await lockEvent(tx, eventId);
      if (event === undefined) return undefined;
      const present = sql.param(await listKeptGroupIds(tx, eventId));
      const isGone = sql`v.group_id IS NOT NULL AND v.group_id <> ALL (${present}::text[])`;
      const { changed, last } = await changePage(tx, deps.secrets, event, isGone, { groupId: null }, from);
      const voters = await listVotersByIds(tx, eventId, changed);
      await publish(tx, deps, aboutOf(event), 'voter.updated', voters.map(viewVoter));
      // The rest of the page are rows that the service did not write.
      const isOfPage = last === undefined ? sql`v.id > ${from}` : sql`v.id > ${from} AND v.id <= ${last}`;
      await tx.execute(sql`
        UPDATE voters v SET group_id = NULL WHERE v.voting_event_id = ${eventId} AND ${isOfPage} AND ${isGone}`);
      return last;
    });
  }
}
