import type { SendLong } from '#src/database/client.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import {
  isApprovedInRehearsal,
  isGenuine,
  TAGGED_VOTER,
  type TaggedArray,
  taggedVoter,
  tagOfVoter,
} from './voter-tag.ts';

const PAGE = 500;
/**
 * Selects voters whose tag (a MAC) may still be checked: they are neither deleted nor erased. Their tag's key ID is compared by the caller.
 * $1: the ID of the present secret key.
 */
const TAGGED = `FROM voters v
  WHERE v.deleted_at IS NULL AND v.erased_at IS NULL AND substring(v.tag FROM 1 FOR 4)`;

/** Counts the voters whose tag was made with the present secret key, and with an earlier key. */
export async function countTagged(send: SendLong, secrets: Secrets): Promise<{ present: number; earlier: number }> {
  const count = async (compared: string): Promise<number> => {
    const text = `SELECT count(*) ${TAGGED} ${compared} decode($1, 'hex')`;
    return Number((await send<{ count: string }>(text, [secrets.id])).rows[0]?.count ?? 0);
  };
  return { present: await count('='), earlier: await count('<>') };
}

/** Renews tags that an earlier secret key made. @returns the number of voters whose tag is valid under no listed key */
export async function retagVoters(
  send: SendLong,
  secrets: Secrets,
  onProgress: (resealed: number) => void,
): Promise<number> {
  let after: readonly string[] = ['', ''];
  let foreign = 0;
  for (;;) {
    const { rows } = await send<{ event: string; tagged: TaggedArray }>(
      `SELECT v.voting_event_id AS event, ${TAGGED_VOTER} AS tagged ${TAGGED} <> decode($1, 'hex')
         AND (v.voting_event_id, v.id) > ($2, $3) ORDER BY v.voting_event_id, v.id LIMIT ${PAGE}`,
      [secrets.id, ...after],
    );
    for (const { event, tagged } of rows) {
      const row = taggedVoter(event, tagged);
      after = [event, row.id];
      if (!isGenuine(secrets, row)) {
        foreign += 1;
        continue;
      }
      // The condition on the old tag skips a row whose tag was replaced meanwhile.
      const { rowCount } = await send(
        'UPDATE voters SET tag = $1 WHERE voting_event_id = $2 AND id = $3 AND tag = $4',
        [tagOfVoter(secrets, row, isApprovedInRehearsal(secrets, row)), event, row.id, row.tag],
      );
      onProgress(rowCount ?? 0);
    }
    if (rows.length < PAGE) return foreign;
  }
}
