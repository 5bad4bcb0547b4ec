import { sql } from 'drizzle-orm';
import type { Pool } from 'pg';
import { type Executor, isTrue, runNamed } from '#src/database/client.ts';
import { tooManyRequests } from '#src/http/rate-limit.ts';
import { refuse } from '#src/http/refusals.ts';
import { SECOND_MS } from '#src/platform/clock.ts';
import { type ApiError, notFound } from '#src/platform/errors.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import { notOpen } from '#src/voting-events/lifecycle.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import type { Identity } from './voter-identity.ts';
import { hashSentKey } from './voter-key.ts';
import type { TaggedArray } from './voter-tag.ts';

const CLOSED = ['draft', 'scheduled', 'closed'] as const;
const REASONS = ['voter_key_invalid', 'voter_pending', 'voter_rejected', 'already_voted'] as const;
const REFUSALS = [...CLOSED, ...REASONS, 'locked', 'event_gone'] as const;
/** Verdicts that refuse a cast, as SQL functions in `src/ballots/*.sql` and `src/voters/*.sql` return them. */
export type Refusal = (typeof REFUSALS)[number];

const isOneOf = <Word extends string>(words: readonly Word[], text: string): text is Word =>
  words.some((word) => word === text);

export const isRefusal = (verdict: string): verdict is Refusal => isOneOf(REFUSALS, verdict);

/** The API's `reason` for a verdict of the database (completions 1.6). */
export function reasonOf(verdict: string): string {
  const named = isRefusal(verdict) ? refusalError(verdict).details?.['reason'] : undefined;
  return typeof named === 'string' ? named : verdict;
}

/** The error of a refused cast or confirm (completions 1.6). */
export function refusalError(refusal: Refusal, retryAfterMs = 0): ApiError {
  if (refusal === 'event_gone') return notFound();
  if (refusal === 'locked')
    return tooManyRequests(Math.max(1, Math.ceil(retryAfterMs / SECOND_MS)), 'Too many wrong keys for this voter.');
  return isOneOf(CLOSED, refusal) ? notOpen(refusal) : refuse(refusal);
}

/**
 * Whether a participant of a poll, by any identity, has a confirmed ballot, or a paid ballot that waits for its confirmation. It is the
 * one rule for casts, paid casts, credits and the eligibility check, and is implemented in SQL (`has_voted`).
 * @param repeatVotes whether a participant may vote any number of times; then the answer is always false
 */
export const hasVoted = (
  executor: Executor,
  eventId: string,
  participants: readonly string[],
  repeatVotes: boolean,
): Promise<boolean> =>
  isTrue(executor, sql`SELECT voted FROM has_voted(${eventId}, ${sql.param(participants)}::text[], ${repeatVotes})`);

/** The participant who asks to cast: a voter of an election by a key, or a participant of a poll by all identities. */
export type Participant =
  | { readonly identity: Identity; readonly voterKey: string }
  | { readonly identities: readonly string[] };

/**
 * Whether a participant could cast a ballot now: `cast`, or the reason against it, by the database rule that also judges a cast
 * (`judge_cast`). Records the first use of a voter key.
 * @param participant undefined if the request names no participant; then only the state of the event is checked
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
