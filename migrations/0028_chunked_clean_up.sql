-- Clean-up goes in chunks, so that no statement grows with what there is to clean.

-- A deleted event is seen by nobody from that moment on; its rows go in the background.
ALTER TABLE "voting_events" ADD COLUMN "deleted_at" bigint;
CREATE INDEX "voting_events_deleted" ON "voting_events" ("id") WHERE deleted_at IS NOT NULL;
CREATE INDEX "pending_ballots_age" ON "pending_ballots" ("cast_at");

-- Rows of a log may go once their event is deleted, whether its own row is gone already or goes last.
CREATE OR REPLACE FUNCTION guard_ballot_log() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' AND NOT EXISTS (SELECT 1 FROM voting_events e WHERE e.id = OLD.voting_event_id AND e.deleted_at IS NULL) THEN
    RETURN OLD;
  END IF;
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;

-- Removes up to so many rows of a deleted event, its own row last. Returns how many: fewer than p_limit when all are gone.
-- With the rights of the owner: the role of the service may not delete rows of a log, and those of a deleted event it does.
CREATE FUNCTION delete_event_rows(p_event text, p_limit integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  removed integer := 0;
  gone integer;
  rows_of text;
BEGIN
  PERFORM 1 FROM voting_events WHERE id = p_event AND deleted_at IS NOT NULL FOR UPDATE;
  IF NOT FOUND THEN RETURN 0; END IF;
  FOREACH rows_of IN ARRAY ARRAY['pending_ballots', 'waiting_participants', 'ballot_queue', 'ballots', 'voided_ballots', 'log_leaves',
    'log_tiles', 'log_checkpoints', 'participation', 'voter_keys', 'voter_key_requests', 'voter_key_failures', 'voters',
    'electorate_changes', 'credit_entries', 'credit_balances', 'candidates', 'sponsors', 'positions', 'groups']
  LOOP
    EXECUTE format('DELETE FROM %1$I WHERE voting_event_id = $1 AND ctid = ANY (ARRAY(
      SELECT ctid FROM %1$I WHERE voting_event_id = $1 LIMIT $2))', rows_of) USING p_event, p_limit - removed;
    GET DIAGNOSTICS gone = ROW_COUNT;
    removed := removed + gone;
    IF removed >= p_limit THEN RETURN removed; END IF;
  END LOOP;
  -- What is left are few rows, which go with the event.
  DELETE FROM voting_events WHERE id = p_event;
  RETURN removed;
END $$;
REVOKE ALL ON FUNCTION delete_event_rows(text, integer) FROM PUBLIC;

-- One event at a time: what is wrong with the ballots of one keeps those of the others from nothing.
DROP FUNCTION drop_expired_ballots();
CREATE FUNCTION drop_expired_ballots(p_event text, p_limit integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  expired record;
  dropped integer := 0;
BEGIN
  FOR expired IN SELECT b.code_tag FROM pending_ballots b JOIN voting_events e ON e.id = b.voting_event_id
    WHERE b.voting_event_id = p_event AND (b.cast_at <= now_ms() - 24 * 60 * 60 * 1000
      OR (event_status(e, now_ms()) = 'closed' AND least(e.closed_at, e.ends_at) <= now_ms() - 15 * 60 * 1000))
    LIMIT p_limit
  LOOP
    IF return_pending_ballot(p_event, expired.code_tag) THEN dropped := dropped + 1; END IF;
  END LOOP;
  RETURN dropped;
END $$;
