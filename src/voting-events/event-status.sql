-- Rules of an event's times. Each takes the same columns (`lifeOf`), and none the row: what takes a row is no part of a statement that a node
-- of the event runs by itself.

-- Whether an event was opened, by the organizer's word or by the clock once it was ready, whatever became of it since: `wasOpened`.
CREATE OR REPLACE FUNCTION was_opened(p_starts_at bigint, p_ends_at bigint, p_opened_at bigint, p_closed_at bigint, p_rehearsal_since bigint, p_ready boolean, at bigint)
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN p_opened_at IS NOT NULL OR (p_starts_at <= at AND p_ready);

-- The rule of `statusAt` in src/voting-events/lifecycle.ts, for statements that decide under the lock of the event. One test
-- asks both. A rehearsal takes ballots as an open event does, until its start: nothing is cast from then until it is wiped.
CREATE OR REPLACE FUNCTION event_status(p_starts_at bigint, p_ends_at bigint, p_opened_at bigint, p_closed_at bigint, p_rehearsal_since bigint, p_ready boolean, at bigint)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE
    WHEN p_closed_at IS NOT NULL THEN 'closed'
    WHEN p_rehearsal_since IS NOT NULL THEN CASE WHEN p_starts_at <= at THEN 'scheduled' ELSE 'open' END
    WHEN was_opened(p_starts_at, p_ends_at, p_opened_at, p_closed_at, p_rehearsal_since, p_ready, at)
      THEN CASE WHEN p_ends_at <= at THEN 'closed' ELSE 'open' END
    WHEN p_starts_at > at THEN 'scheduled'
    ELSE 'draft'
  END;

-- The end of an event as a ballot is judged by it, or the rehearsal that it is of, and what the statements of a cast and a confirm ask the
-- event's row besides: `endsOf` in src/voting-events/lifecycle.ts. Its tag was held against it when the caller read it.
CREATE OR REPLACE FUNCTION event_ends(
  p_ends_at bigint, p_closed_at bigint, p_rehearsal_since bigint, p_rehearsal_number integer, p_type text, p_voter_approval text,
  p_repeat_votes boolean, p_require_voter_id boolean
) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  -- Each value as text: `bigint || text` is not immutable, and the call would not become part of its statement.
  RETURN CASE WHEN p_rehearsal_since IS NULL THEN coalesce(p_ends_at, 0)::text || ' ' || coalesce(p_closed_at, 0)::text
    ELSE 'rehearsal ' || p_rehearsal_number::text END || ' ' || left(p_type, 1) || left(p_voter_approval, 1)
    || p_repeat_votes::int::text || p_require_voter_id::int::text;

-- When the result of a closed event becomes final, that of a rehearsal's round at once: from then on no ballot of it can be confirmed. Null where it has no end.
CREATE OR REPLACE FUNCTION event_final_at(p_ends_at bigint, p_closed_at bigint, p_rehearsal_since bigint)
RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN least(p_closed_at, p_ends_at) + CASE WHEN p_rehearsal_since IS NULL THEN confirm_grace_ms() ELSE 0 END;

-- Whether the close and the time for late confirmations are both over: `isFinalAt`.
CREATE OR REPLACE FUNCTION is_final(p_starts_at bigint, p_ends_at bigint, p_opened_at bigint, p_closed_at bigint, p_rehearsal_since bigint, p_ready boolean, at bigint)
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN event_status(p_starts_at, p_ends_at, p_opened_at, p_closed_at, p_rehearsal_since, p_ready, at) = 'closed'
    AND event_final_at(p_ends_at, p_closed_at, p_rehearsal_since) <= at;
