-- The rule of `statusAt` in src/voting-events/lifecycle.ts, for statements that decide under the lock of the event. One test
-- asks both. A rehearsal takes ballots as an open event does, until its start: nothing is cast from then until it is wiped.
CREATE OR REPLACE FUNCTION event_status(e voting_events, at bigint) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE
    WHEN e.closed_at IS NOT NULL THEN 'closed'
    WHEN e.rehearsal_since IS NOT NULL THEN CASE WHEN e.starts_at <= at THEN 'scheduled' ELSE 'open' END
    WHEN e.opened_at IS NOT NULL OR (e.starts_at <= at AND e.ready)
      THEN CASE WHEN e.ends_at <= at THEN 'closed' ELSE 'open' END
    WHEN e.starts_at IS NULL THEN 'draft'
    WHEN e.ends_at <= at THEN 'closed'
    ELSE 'scheduled'
  END;
