import type { Pool } from 'pg';
import { runNamed } from '#src/database/client.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import type { Identity } from './voter-identity.ts';
import { hashSentKey } from './voter-key.ts';
import type { TaggedArray } from './voter-tag.ts';

/** The participant who asks to cast: a voter of an election by its key, or a participant of a poll by all its identities. */
export type Participant =
  | { readonly identity: Identity; readonly voterKey: string }
  | { readonly identities: readonly string[] };

/**
 * Whether a participant could cast a ballot now: `cast`, or what stands against it. The database decides by the rule that
 * casts go by (`judge_cast`); a voter key that is used for the first time counts as used.
 * @param participant undefined where the request names none: the state of the event is answered all the same
 */
export async function checkCast(
  pool: Pool,
  secrets: Secrets,
  event: Pick<VotingEvent, 'id' | 'rehearsalSince'>,
  participant: Participant | undefined,
): Promise<{ readonly verdict: string; readonly tagged: TaggedArray | null }> {
  const voter = participant !== undefined && 'identity' in participant ? participant : undefined;
  const identities = participant !== undefined && 'identities' in participant ? participant.identities : null;
  const [row] = await runNamed<{ verdict: string; tagged: TaggedArray | null }>(
    pool,
    'check_cast',
    'SELECT * FROM check_cast($1, $2, $3, $4)',
    [
      event.id,
      voter === undefined ? null : JSON.stringify({ kind: voter.identity.kind, identity: voter.identity.key }),
      voter === undefined ? null : hashSentKey(secrets, event, voter.voterKey),
      identities,
    ],
  );
  if (row === undefined) throw new Error('check_cast answers with one row');
  return row;
}
