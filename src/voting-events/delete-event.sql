-- Removes up to p_limit rows of a deleted event, its own row last. Returns the number: fewer than p_limit when all are gone.
-- Runs with the rights of the owner, because the role of the service may not delete rows of a log.
CREATE OR REPLACE FUNCTION delete_event_rows(p_event text, p_limit integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off AS $$
DECLARE
  removed integer := 0;
  gone integer;
  rows_of text;
BEGIN
  PERFORM 1 FROM voting_events WHERE id = p_event AND deleted_at IS NOT NULL FOR UPDATE;
  IF NOT FOUND THEN RETURN 0; END IF;
  removed := erase_messages(p_event, NULL, p_limit);
  IF removed >= p_limit THEN RETURN removed; END IF;
  FOREACH rows_of IN ARRAY ARRAY['idempotency_keys', 'pending_ballots', 'waiting_participants', 'ballot_queue', 'ballot_blocks', 'voided_ballots', 'log_leaves',
    'log_configurations', 'log_tiles', 'log_checkpoints', 'participation', 'undisclosed_voters', 'notified_voters', 'notification_mails',
    'notifications', 'letter_parts', 'letter_runs', 'roll_imports', 'voter_keys', 'voter_key_requests', 'voter_key_failures', 'roll_sums', 'voters',
    'credit_entries', 'credit_balances', 'candidates', 'sponsors', 'positions', 'groups']
  LOOP
    -- By their places alone: see `end_rehearsal`.
    EXECUTE format('DELETE FROM %1$I WHERE voting_event_id || '''' = $1 AND ctid = ANY (ARRAY(
      SELECT ctid FROM %1$I WHERE voting_event_id = $1 LIMIT $2))', rows_of) USING p_event, p_limit - removed;
    GET DIAGNOSTICS gone = ROW_COUNT;
    removed := removed + gone;
    IF removed >= p_limit THEN RETURN removed; END IF;
  END LOOP;
  -- Foreign keys delete the few remaining rows with the event.
  DELETE FROM voting_events WHERE id = p_event;
  RETURN removed;
END $$;
REVOKE ALL ON FUNCTION delete_event_rows(text, integer) FROM PUBLIC;

-- Removes the names, addresses and voter IDs of erased voters from the audit trail of their event. Action, key and time of each entry
-- stay. Runs with the rights of the owner, because the role of the service may only add to the trail.
CREATE OR REPLACE FUNCTION erase_from_trail(p_event text, p_voters text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
  UPDATE audit_entries SET before = before - '{name,email,voterId}'::text[], after = after - '{name,email,voterId}'::text[]
  WHERE voting_event_id = p_event AND resource IN (
    SELECT v.id FROM voters v WHERE v.voting_event_id = p_event AND v.id = ANY (p_voters) AND v.erased_at IS NOT NULL);
END $$;
REVOKE ALL ON FUNCTION erase_from_trail(text, text[]) FROM PUBLIC;
