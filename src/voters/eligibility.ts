import { tooManyRequests } from '#src/http/rate-limit.ts';
import { refuse } from '#src/http/refusals.ts';
import { SECOND_MS } from '#src/platform/clock.ts';
import { type ApiError, notFound } from '#src/platform/errors.ts';
import { notOpen } from '#src/voting-events/lifecycle.ts';

/** What the database says of a voter or an event; `src/ballots/*.sql` and `src/voters/*.sql` give these words. */
export type Refusal =
  | 'draft'
  | 'scheduled'
  | 'closed'
  | 'locked'
  | 'voter_key_invalid'
  | 'voter_pending'
  | 'voter_rejected'
  | 'already_voted'
  | 'event_gone';

export function isRefusal(verdict: string): verdict is Refusal {
  return verdict in REFUSALS;
}

const REFUSALS: Readonly<Record<Refusal, (retryAfterMs: number) => ApiError>> = {
  draft: () => notOpen('draft'),
  scheduled: () => notOpen('scheduled'),
  closed: () => notOpen('closed'),
  locked: (retryAfterMs) =>
    tooManyRequests(Math.max(1, Math.ceil(retryAfterMs / SECOND_MS)), 'Too many wrong keys for this voter.'),
  voter_key_invalid: () => refuse('voter_key_invalid'),
  voter_pending: () => refuse('voter_pending'),
  voter_rejected: () => refuse('voter_rejected'),
  already_voted: () => refuse('already_voted'),
  event_gone: () => notFound(),
};

/** The word by which the API names what keeps a voter from casting (completions 1.6). */
export function reasonOf(verdict: string): string {
  const named = isRefusal(verdict) ? refusalError(verdict).details?.['reason'] : undefined;
  return typeof named === 'string' ? named : verdict;
}

/** The answer that a refusal gives at a cast or confirm (completions 1.6). */
export function refusalError(refusal: Refusal, retryAfterMs = 0): ApiError {
  return REFUSALS[refusal](retryAfterMs);
}
