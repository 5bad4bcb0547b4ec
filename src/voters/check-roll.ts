import { setImmediate } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import type { Executor } from '#src/database/client.ts';
import { equalSecrets, type Secrets } from '#src/platform/secrets.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { isGenuine, type TaggedArray, taggedVoter, tagOfParticipation } from './voter-tag.ts';

/** Rows that are held at a time, however long the roll is. */
const PAGE = 1_000;

/** What of an election's roll the service did not write as it stands, in words; undefined for nothing. @param own the election's secrets; undefined where it never had a key, and so no ballot */
export async function findForged(
  executor: Executor,
  secrets: Secrets,
  own: Secrets | undefined,
  event: VotingEvent,
): Promise<string | undefined> {
  let after = '';
  for (let full = true; full; await setImmediate()) {
    const { rows } = await executor.execute<{ tagged: TaggedArray }>(sql`
      SELECT tagged_voter(v) AS tagged FROM voters v
      WHERE v.voting_event_id = ${event.id} AND v.id > ${after} AND v.deleted_at IS NULL ORDER BY v.id LIMIT ${PAGE}`);
    const forged = rows.find(({ tagged }) => !isGenuine(secrets, event, taggedVoter(event.id, tagged)));
    if (forged !== undefined) return `the voter ${forged.tagged[0]} is not as the service wrote it`;
    after = rows.at(-1)?.tagged[0] ?? '';
    full = rows.length === PAGE;
  }
  after = '';
  for (let full = true; full; await setImmediate()) {
    const { rows } = await executor.execute<{ participant: string; tag: Buffer | null }>(sql`
      SELECT participant, tag FROM participation
      WHERE voting_event_id = ${event.id} AND participant > ${after} ORDER BY participant LIMIT ${PAGE}`);
    const genuine = rows.every(
      ({ participant, tag }) =>
        own !== undefined && tag !== null && equalSecrets(tagOfParticipation(own, event.id, participant), tag),
    );
    if (!genuine) return 'somebody took part by a row that the service did not write';
    after = rows.at(-1)?.participant ?? '';
    full = rows.length === PAGE;
  }
  return undefined;
}
