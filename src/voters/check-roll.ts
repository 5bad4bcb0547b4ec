import { setImmediate } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import type { Executor, Transaction } from '#src/database/client.ts';
import { equalSecrets, type Secrets } from '#src/platform/secrets.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { isGenuine, type TaggedArray, taggedVoter, tagOfParticipation } from './voter-tag.ts';

/** Rows that are held at a time, however long the roll is. */
const PAGE = 1_000;

/** All rows, a page at a time. @param read the rows behind an ID, `PAGE` at most, in the order of their IDs */
async function* inPages<Row>(read: (after: string) => Promise<Row[]>, idOf: (row: Row) => string): AsyncGenerator<Row> {
  for (let after = ''; ; await setImmediate()) {
    const rows = await read(after);
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE) return;
    after = idOf(last);
  }
}

/** The voters of an election as `tagged_voter` gives them, in the order of their IDs. */
const taggedRoll = (executor: Executor, eventId: string): AsyncGenerator<TaggedArray> =>
  inPages<TaggedArray>(
    async (after) => {
      const { rows } = await executor.execute<{ tagged: TaggedArray }>(sql`
        SELECT tagged_voter(v) AS tagged FROM voters v
        WHERE v.voting_event_id = ${eventId} AND v.id > ${after} AND v.deleted_at IS NULL ORDER BY v.id LIMIT ${PAGE}`);
      return rows.map(({ tagged }) => tagged);
    },
    ([id]) => id,
  );

/** Participations of an election that the service did not write. @param own the election's secrets; undefined where it never had a key, and so no ballot */
async function* forgedParticipations(
  executor: Executor,
  own: Secrets | undefined,
  eventId: string,
): AsyncGenerator<string> {
  const all = inPages<{ participant: string; tag: Buffer | null }>(
    async (after) => {
      const { rows } = await executor.execute<{ participant: string; tag: Buffer | null }>(sql`
        SELECT participant, tag FROM participation
        WHERE voting_event_id = ${eventId} AND participant > ${after} ORDER BY participant LIMIT ${PAGE}`);
      return rows;
    },
    ({ participant }) => participant,
  );
  for await (const { participant, tag } of all) {
    const isGenuine =
      own !== undefined && tag !== null && equalSecrets(tagOfParticipation(own, eventId, participant), tag);
    if (!isGenuine) yield participant;
  }
}

/** What of an election's roll the service did not write as it stands, in words; undefined for nothing. @param own as `forgedParticipations` takes it */
export async function findForged(
  executor: Executor,
  secrets: Secrets,
  own: Secrets | undefined,
  event: VotingEvent,
): Promise<string | undefined> {
  for await (const tagged of taggedRoll(executor, event.id))
    if (!isGenuine(secrets, event, taggedVoter(event.id, tagged)))
      return `the voter ${tagged[0]} is not as the service wrote it`;
  for await (const _ of forgedParticipations(executor, own, event.id))
    return 'somebody took part by a row that the service did not write';
  return undefined;
}

/** @returns how many there were */
export async function dropForgedParticipations(
  tx: Transaction,
  own: Secrets | undefined,
  eventId: string,
): Promise<number> {
  const forged = await Array.fromAsync(forgedParticipations(tx, own, eventId));
  await tx.execute(sql`
    DELETE FROM participation WHERE voting_event_id = ${eventId} AND participant = ANY (${sql.param(forged)}::text[])`);
  return forged.length;
}
