import { type SQL, sql } from 'drizzle-orm';
import { readNumber, type Transaction } from '#src/database/client.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import type { LockedEvent } from '#src/voting-events/repository.ts';
import { MAY_VOTE } from './notification.ts';
import { listTagged } from './repository.ts';
import { noteChanges } from './roll-sum.ts';
import { hashPrintedKey, makeVoterKey } from './voter-key.ts';
import { isGenuine, type TaggedVoter, tagOfVoter } from './voter-tag.ts';

/** Audiences of printed letters: approved voters without an e-mail address, or all approved voters. */
export const LETTER_AUDIENCES = ['without_email', 'all'] as const;
export type LetterAudience = (typeof LETTER_AUDIENCES)[number];

const inAudience = (audience: LetterAudience): SQL =>
  audience === 'all' ? MAY_VOTE : sql`v.email IS NULL AND ${MAY_VOTE}`;

export const countLetters = (tx: Transaction, eventId: string, audience: LetterAudience): Promise<number> =>
  readNumber(tx, sql`SELECT count(*) FROM voters v WHERE v.voting_event_id = ${eventId} AND ${inAudience(audience)}`);

interface Run {
  readonly id: string;
  readonly audience: LetterAudience;
  /** Upper bound of the audience's voter IDs. Voters who are added later have greater IDs. */
  readonly listUntil: string;
}

export interface PrintedKey extends Pick<TaggedVoter, 'name' | 'email' | 'voterId'> {
  readonly key: string;
}

/**
 * Makes a printed key for each of the next voters after an ID, stores only its hash, and ends the voter's earlier printed keys. A repeated
 * call for the same run makes the same keys. Call with the event locked.
 * @param ownSecrets the event's own secrets, from which the keys are derived
 * @returns `looked`: number of voters that were read, including `forged`
 */
export async function printKeys(
  tx: Transaction,
  { secrets, ownSecrets }: { readonly secrets: Secrets; readonly ownSecrets: Secrets },
  event: LockedEvent,
  run: Run,
  after: string,
  limit: number,
) {
  const which = sql`v.id > ${after} AND v.id <= ${run.listUntil} AND ${inAudience(run.audience)}`;
  const listed = await listTagged(tx, event.id, which, limit);
  const voters = listed.filter((row) => isGenuine(secrets, row));
  const keys = voters.map((voter) => ({ ...voter, key: makeVoterKey(ownSecrets, voter, run.id) }));
  const ids = sql`${sql.param(voters.map(({ id }) => id))}::text[]`;
  const isRehearsed = event.rehearsalSince !== null;
  if (isRehearsed) {
    await tx.execute(sql`SELECT note_before_rehearsal(${event.id}, id) FROM unnest(${ids}) AS id`);
    await tx.execute(
      sql`UPDATE voters v SET key_status = 'printed' WHERE v.voting_event_id = ${event.id} AND v.id = ANY (${ids})`,
    );
  } else {
    const changes = voters.map((before) => ({ before, after: { ...before, letters: run.id } }));
    const tags = sql.param(changes.map(({ after: row }) => tagOfVoter(secrets, row)));
    await tx.execute(sql`
      UPDATE voters v SET letters = ${run.id}, key_status = 'printed', tag = r.tag
      FROM unnest(${ids}, ${tags}::bytea[]) AS r (id, tag) WHERE v.voting_event_id = ${event.id} AND v.id = r.id`);
    await noteChanges(tx, secrets, event, changes);
  }
  const hashes = keys.map((voter) => hashPrintedKey(secrets, event, voter, voter.key, run.id));
  await tx.execute(sql`
    DELETE FROM voter_keys k WHERE k.voting_event_id = ${event.id} AND k.voter_id = ANY (${ids}) AND k.printed AND k.rehearsal = ${isRehearsed}`);
  await tx.execute(sql`
    INSERT INTO voter_keys (voting_event_id, voter_id, key_hash, rehearsal, printed, number)
    SELECT ${event.id}, r.id, r.hash, ${isRehearsed}, true, (SELECT coalesce(max(k.number), 0) + 1 FROM voter_keys k
      WHERE k.voting_event_id = ${event.id} AND k.voter_id = r.id)
    FROM unnest(${ids}, ${sql.param(hashes)}::bytea[]) AS r (id, hash)`);
  const forged = listed.filter((row) => !voters.includes(row)).map(({ id }) => id);
  return { keys, looked: listed.length, last: listed.at(-1)?.id, forged };
}

/** Voters whose keys are ended in one statement. */
const ENDED_TOGETHER = 1_000;

/**
 * Ends the keys that a run printed for the next voters after `run.listedTo`. The run was ended early, so none of its letters can be read.
 * A voter without another key counts as not invited again (completions 10.2). Call with the event locked, until `run.listUntil` is reached.
 * @returns the last of these voters
 */
export async function endPrintedKeys(
  tx: Transaction,
  eventId: string,
  run: Run & { readonly listedTo: string },
): Promise<string> {
  const { rows } = await tx.execute<{ last: string | null }>(sql`
    WITH page AS MATERIALIZED (
      SELECT v.id, v.letters FROM voters v WHERE v.voting_event_id = ${eventId} AND v.id > ${run.listedTo} AND v.id <= ${run.listUntil}
      ORDER BY v.id LIMIT ${ENDED_TOGETHER}
    ), own AS (SELECT id FROM page WHERE letters = ${run.id}), gone AS (
      DELETE FROM voter_keys k USING own WHERE k.voting_event_id = ${eventId} AND k.voter_id = own.id AND k.printed AND NOT k.rehearsal
    ), back AS (
      UPDATE voters v SET key_status = CASE WHEN EXISTS (SELECT 1 FROM voter_keys k WHERE k.voting_event_id = ${eventId}
        AND k.voter_id = v.id AND NOT k.printed AND NOT k.rehearsal) THEN 'sent' ELSE 'none' END
      FROM own WHERE v.voting_event_id = ${eventId} AND v.id = own.id AND v.key_status = 'printed'
    )
    SELECT max(id) AS last FROM page`);
  return rows[0]?.last ?? run.listUntil;
}
