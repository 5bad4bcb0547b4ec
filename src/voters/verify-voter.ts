import type { Pool } from 'pg';
import { runNamed } from '#src/database/client.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { callerHash, type Identity, identityHash } from './voter-identity.ts';
import { hashSentKey } from './voter-key.ts';

interface VoterVerdict {
  /** `eligible`, or the reason why not. */
  readonly verdict: string;
  readonly groupId: string | null;
}

/** Judges a voter key in one statement: an unknown voter and a wrong key take the same path. */
export async function verifyVoter(
  pool: Pool,
  secrets: Secrets,
  event: VotingEvent,
  identity: Identity,
  voterKey: string,
): Promise<VoterVerdict> {
  const [row] = await runNamed<{ verdict: string; group_id: string | null }>(
    pool,
    'verify_voter',
    'SELECT verdict, group_id FROM verify_voter($1, $2, $3, $4, $5)',
    [event.id, identity.kind, identity.key, hashSentKey(secrets, event.id, voterKey), event.voterApproval],
  );
  if (row === undefined) throw new Error('verify_voter answers with one row');
  return { verdict: row.verdict, groupId: row.group_id };
}

interface WrongKeys {
  /** Wrong keys for this identity within 15 minutes, this one included. */
  readonly wrong: number;
  /** How long a cast has to wait; 0 below the limits. */
  readonly retryAfterMs: number;
}

/**
 * Counts a wrong key for the identity as it was sent and for the API key (completions 4.5). Only wrong keys are ever held up:
 * 80 bits cannot be guessed, and locking voters out after wrong keys would let attackers do harm without a right one.
 */
export async function countWrongKey(
  pool: Pool,
  secrets: Secrets,
  eventId: string,
  identity: Identity,
  apiKeyId: string,
): Promise<WrongKeys> {
  const [row] = await runNamed<{ wrong: number; retry_after_ms: string }>(
    pool,
    'count_wrong_key',
    'SELECT wrong, retry_after_ms FROM count_wrong_key($1, $2, $3)',
    [eventId, identityHash(secrets, eventId, identity), callerHash(secrets, eventId, apiKeyId)],
  );
  return { wrong: row?.wrong ?? 1, retryAfterMs: Number(row?.retry_after_ms ?? 0) };
}
