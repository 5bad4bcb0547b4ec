-- Rules of an event's times. Each function takes the columns of `lifeOf` instead of the row: if events are sharded over nodes, a function
-- of a row prevents a statement from running on the node of its event.

-- Whether an event was ever opened, by the organizer or by its start while it was ready. In TypeScript: `wasOpened`.
CREATE OR REPLACE FUNCTION was_opened(p_starts_at bigint, p_ends_at bigint, p_opened_at bigint, p_closed_at bigint, p_rehearsal_since bigint, p_ready boolean, at bigint)
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN p_opened_at IS NOT NULL OR (p_starts_at <= at AND p_ready);

-- `statusAt` of src/voting-events/lifecycle.ts, for statements that decide under the event's lock; a test compares the two. A rehearsal
-- accepts ballots like an open event. From the start of the event until the wipe, no ballot is accepted.
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

-- A fingerprint of the columns on which a cast or confirm depends: the event's end, or the number of its rehearsal, and four settings. The
-- service makes the same text (`endsOf` in src/voting-events/lifecycle.ts) from its verified copy of the event, and sends it. If the row's
-- text differs, the event was changed since, or by other SQL, and the statement refuses.
CREATE OR REPLACE FUNCTION event_ends(
  p_ends_at bigint, p_closed_at bigint, p_rehearsal_since bigint, p_rehearsal_number integer, p_type text, p_voter_approval text,
  p_repeat_votes boolean, p_require_voter_id boolean
) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  -- Cast each value to text: `bigint || text` is not immutable, which would prevent inlining.
  RETURN CASE WHEN p_rehearsal_since IS NULL THEN coalesce(p_ends_at, 0)::text || ' ' || coalesce(p_closed_at, 0)::text
    ELSE 'rehearsal ' || p_rehearsal_number::text END || ' ' || left(p_type, 1) || left(p_voter_approval, 1)
    || p_repeat_votes::int::text || p_require_voter_id::int::text;

-- When the result becomes final and confirmations end; in a rehearsal, at the close itself. Null without an end.
CREATE OR REPLACE FUNCTION event_final_at(p_ends_at bigint, p_closed_at bigint, p_rehearsal_since bigint)
RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN least(p_closed_at, p_ends_at) + CASE WHEN p_rehearsal_since IS NULL THEN confirm_grace_ms() ELSE 0 END;

-- Whether the close and the time for late confirmations have passed. In TypeScript: `isFinalAt`.
CREATE OR REPLACE FUNCTION is_final(p_starts_at bigint, p_ends_at bigint, p_opened_at bigint, p_closed_at bigint, p_rehearsal_since bigint, p_ready boolean, at bigint)
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN event_status(p_starts_at, p_ends_at, p_opened_at, p_closed_at, p_rehearsal_since, p_ready, at) = 'closed'
    AND event_final_at(p_ends_at, p_closed_at, p_rehearsal_since) <= at;
