import type { SendLong } from '#src/database/client.ts';
import { isTagOfPresentKey } from '#src/database/tagged-rows.ts';
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
/** The voters whose tag (a MAC) may still be checked: they are neither deleted nor erased. */
export const TAGGED = 'FROM voters v WHERE v.deleted_at IS NULL AND v.erased_at IS NULL AND v.tag IS NOT NULL';

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
      `SELECT v.voting_event_id AS event, ${TAGGED_VOTER} AS tagged ${TAGGED} AND NOT ${isTagOfPresentKey('v.tag')}
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
