-- Whether an event was opened, by the organizer's word or by the clock once it was ready, whatever became of it since: `wasOpened`.
CREATE OR REPLACE FUNCTION was_opened(e voting_events, at bigint) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN e.opened_at IS NOT NULL OR (e.starts_at <= at AND e.ready);

-- The rule of `statusAt` in src/voting-events/lifecycle.ts, for statements that decide under the lock of the event. One test
-- asks both. A rehearsal takes ballots as an open event does, until its start: nothing is cast from then until it is wiped.
CREATE OR REPLACE FUNCTION event_status(e voting_events, at bigint) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE
    WHEN e.closed_at IS NOT NULL THEN 'closed'
    WHEN e.rehearsal_since IS NOT NULL THEN CASE WHEN e.starts_at <= at THEN 'scheduled' ELSE 'open' END
    WHEN was_opened(e, at)
      THEN CASE WHEN e.ends_at <= at THEN 'closed' ELSE 'open' END
    WHEN e.starts_at > at THEN 'scheduled'
    ELSE 'draft'
  END;

-- The end of an event as a ballot is judged by it, or the rehearsal that it is of, and what the statements of a cast and a confirm ask the
-- event's row besides: `endsOf` in src/voting-events/lifecycle.ts. Its tag was held against it when the caller read it.
CREATE OR REPLACE FUNCTION event_ends(e voting_events) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  -- Each value as text: `bigint || text` is not immutable, and the call would not become part of its statement.
  RETURN CASE WHEN e.rehearsal_since IS NULL THEN coalesce(e.ends_at, 0)::text || ' ' || coalesce(e.closed_at, 0)::text
    ELSE 'rehearsal ' || e.rehearsal_number::text END || ' ' || left(e.type, 1) || left(e.voter_approval, 1)
    || e.repeat_votes::int::text || e.require_voter_id::int::text;

-- When the result of a closed event becomes final, that of a rehearsal's round at once: from then on no ballot of it can be confirmed. Null where it has no end.
CREATE OR REPLACE FUNCTION event_final_at(e voting_events) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN least(e.closed_at, e.ends_at) + CASE WHEN e.rehearsal_since IS NULL THEN confirm_grace_ms() ELSE 0 END;

-- Whether the close and the time for late confirmations are both over: `isFinalAt`.
CREATE OR REPLACE FUNCTION is_final(e voting_events, at bigint) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN event_status(e, at) = 'closed' AND event_final_at(e) <= at;
