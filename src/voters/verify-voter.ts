import type { Pool } from 'pg';
import { runNamed } from '#src/database/client.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import type { VotingEvent } from '#src/voting-events/types.ts';
import type { Identity } from './identity.ts';
import { identityHash } from './voter-identity.ts';
import { hashVoterKey } from './voter-key.ts';

export interface VoterVerdict {
  /** `eligible`, or the reason why not. */
  readonly verdict: string;
  readonly retryAfterMs: number;
  readonly groupId: string | null;
}

/** Judges a voter key in one statement; a wrong one is counted, and ten of them lock the voter for a while (completions 4.5). */
export async function verifyVoter(
  pool: Pool,
  secrets: Secrets,
  event: VotingEvent,
  identity: Identity,
  voterKey: string,
): Promise<VoterVerdict> {
  const [row] = await runNamed<{ verdict: string; retry_after_ms: string | null; group_id: string | null }>(
    pool,
    'verify_voter',
    'SELECT verdict, retry_after_ms, group_id FROM verify_voter($1, $2, $3, $4, $5, $6)',
    [
      event.id,
      identity.kind,
      identity.key,
      hashVoterKey(secrets, event.id, voterKey),
      identityHash(secrets, event.id, identity),
      event.voterApproval,
    ],
  );
  if (row === undefined) throw new Error('verify_voter answers with one row');
  return { verdict: row.verdict, retryAfterMs: Number(row.retry_after_ms ?? 0), groupId: row.group_id };
}
