import { tooManyRequests } from '#src/http/rate-limit.ts';
import { SECOND_MS } from '#src/platform/clock.ts';
import { type ApiError, conflict, forbidden, notFound } from '#src/platform/errors.ts';
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
  voter_key_invalid: () => forbidden('voter_key_invalid', 'This voter key is wrong or has expired. Ask for a new one.'),
  voter_pending: () => forbidden('voter_pending', 'This voter still waits for the approval of the organizers.'),
  voter_rejected: () => forbidden('voter_rejected', 'The organizers have not approved this voter.'),
  already_voted: () =>
    conflict(
      'already_voted',
      'This participant has voted: a ballot is confirmed, or is paid for and waits for its confirmation.',
    ),
  event_gone: () => notFound(),
};

/** The answer that a refusal gives at a cast or confirm (completions 1.6). */
export function refusalError(refusal: Refusal, retryAfterMs = 0): ApiError {
  return REFUSALS[refusal](retryAfterMs);
}
