-- Notes how a voter stands before a public route or a mail changes it in a rehearsal, once: the end of the rehearsal puts it
-- back. Nothing happens outside of one. Call with the event held. Planned each time: a plan kept from a tiny roll reads all of it.
CREATE OR REPLACE FUNCTION note_before_rehearsal(p_event text, p_voter text) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_custom_plan AS $$
BEGIN
  UPDATE voters v SET before_rehearsal = jsonb_build_object('status', v.status, 'key_status', v.key_status,
    'approved_by_key', v.approved_by_key, 'confirm_by', v.confirm_by)
  WHERE v.voting_event_id = p_event AND v.id = p_voter AND v.before_rehearsal IS NULL
    AND EXISTS (SELECT 1 FROM voting_events e WHERE e.id = p_event AND e.rehearsal_since IS NOT NULL);
END $$;

-- Ends the rehearsal of an event (completions 10.5): everything that came about through public routes or mails since it began
-- is removed, and what they changed is as it was; the organizer's own changes stay. Changes up to p_limit rows, and returns
-- whether that was all: the caller repeats it in one transaction, so that all of it happens or nothing. Refuses outside of a
-- rehearsal, and where a checkpoint speaks of another log than the rehearsal's: no real log is ever wiped.
-- Runs with the rights of the owner, because the role of the service may not delete rows of a log otherwise.
CREATE OR REPLACE FUNCTION end_rehearsal(p_event text, p_limit integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  e voting_events%ROWTYPE;
  step record;
  changed integer := 0;
  confirmed integer := 0;
  gone integer;
BEGIN
  -- Every cast, confirm and registration holds the event: those before are wiped, those behind find another version of it.
  SELECT * INTO e FROM voting_events WHERE id = p_event FOR UPDATE;
  IF NOT FOUND OR e.rehearsal_since IS NULL THEN
    RAISE EXCEPTION 'the event is not rehearsed' USING ERRCODE = 'restrict_violation';
  END IF;
  IF EXISTS (SELECT 1 FROM log_checkpoints c WHERE c.voting_event_id = p_event
    AND NOT starts_with(reverse(split_part(c.note, chr(10), 1)), reverse('/rehearsal-' || e.rehearsal_number))) THEN
    RAISE EXCEPTION 'the log is not that of a rehearsal' USING ERRCODE = 'restrict_violation';
  END IF;
  WITH removed AS (
    DELETE FROM ballot_blocks WHERE voting_event_id = p_event AND ctid = ANY (ARRAY(
      SELECT k.ctid FROM ballot_blocks k WHERE k.voting_event_id = p_event LIMIT p_limit))
    RETURNING ballots
  )
  SELECT count(*), coalesce(sum(r.ballots), 0) INTO changed, confirmed FROM removed r;
  FOR step IN SELECT s.* FROM (VALUES
    -- An event is rehearsed before it opens, and not once a ballot or a credit is there: these are of the rehearsal, all of them.
    ('pending_ballots', 'true'), ('waiting_participants', 'true'), ('ballot_queue', 'true'),
    ('public_snapshots', 'true'),
    ('voided_ballots', 'true'), ('log_leaves', 'true'), ('log_configurations', 'true'), ('log_tiles', 'true'),
    ('log_checkpoints', 'true'), ('ballot_logs', 'true'), ('checkpoint_queue', 'true'), ('participation', 'true'),
    ('undisclosed_voters', 'true'), ('ballot_announcements', 'true'),
    ('credit_entries', 'true'), ('credit_balances', 'true'), ('voter_key_requests', 'true'), ('voter_key_failures', 'true'),
    -- Others were there before: those of the rehearsal are marked.
    ('voter_keys', 'r.rehearsal'),
    ('letter_parts', 'r.run_id IN (SELECT n.id FROM letter_runs n WHERE n.voting_event_id = $1 AND n.rehearsal)'),
    ('letter_runs', 'r.rehearsal'),
    ('notification_mails', 'r.notification_id IN (SELECT n.id FROM notifications n WHERE n.voting_event_id = $1 AND n.rehearsal)'),
    ('notifications', 'r.rehearsal'),
    ('notified_voters', 'r.notified_at >= $3'),
    -- What the trail says of those who go names them.
    ('audit_entries', 'r.resource IN (SELECT v.id FROM voters v WHERE v.voting_event_id = $1 AND v.before_rehearsal ? ''new''
      UNION ALL SELECT c.id FROM candidates c WHERE c.voting_event_id = $1 AND c.rehearsal
      UNION ALL SELECT a.id FROM payment_attempts a WHERE a.voting_event_id = $1 AND a.rehearsal)'),
    ('candidates', 'r.rehearsal'), ('payment_attempts', 'r.rehearsal')
  ) AS s (rows_of, condition) LOOP
    EXECUTE format('DELETE FROM %1$I WHERE voting_event_id = $1 AND ctid = ANY (ARRAY(
      SELECT r.ctid FROM %1$I r WHERE r.voting_event_id = $1 AND %2$s LIMIT $2))', step.rows_of, step.condition)
    USING p_event, p_limit - changed, e.rehearsal_since;
    GET DIAGNOSTICS gone = ROW_COUNT;
    IF step.rows_of = 'ballot_queue' THEN confirmed := confirmed + gone; END IF;
    changed := changed + gone;
    EXIT WHEN changed >= p_limit;
  END LOOP;
  -- Answers to requests of the rehearsal stand under names that begin with it, with the keys of those who see the event.
  DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY(
    SELECT k.ctid FROM idempotency_keys k JOIN api_keys a ON a.id = k.api_key_id
    WHERE (a.account_id = e.account_id OR a.account_id IN (SELECT i.account_id FROM event_invites i WHERE i.voting_event_id = p_event))
      AND starts_with(k.key, 'rehearsal/' || p_event || '/') LIMIT p_limit - changed));
  GET DIAGNOSTICS gone = ROW_COUNT;
  changed := changed + gone;
  -- Voters that came with the rehearsal go.
  DELETE FROM voters WHERE voting_event_id = p_event AND ctid = ANY (ARRAY(
    SELECT v.ctid FROM voters v WHERE v.voting_event_id = p_event AND v.before_rehearsal ? 'new' LIMIT p_limit - changed));
  GET DIAGNOSTICS gone = ROW_COUNT;
  changed := changed + gone;
  -- A voter whom a key approved waits again since the caller took the approval back. What the organizer decided stays decided.
  UPDATE voters v SET
    approved_by_key = (v.before_rehearsal ->> 'approved_by_key')::boolean,
    confirm_by = (v.before_rehearsal ->> 'confirm_by')::bigint,
    key_used = false,
    key_status = CASE WHEN v.before_rehearsal ->> 'key_status' IN ('none', 'failed') OR EXISTS (
      SELECT 1 FROM voter_keys k WHERE k.voting_event_id = p_event AND k.voter_id = v.id)
      THEN v.before_rehearsal ->> 'key_status' ELSE 'none' END,
    before_rehearsal = NULL
  WHERE v.voting_event_id = p_event AND v.ctid = ANY (ARRAY(
    SELECT w.ctid FROM voters w WHERE w.voting_event_id = p_event AND w.before_rehearsal IS NOT NULL LIMIT p_limit - changed));
  GET DIAGNOSTICS gone = ROW_COUNT;
  changed := changed + gone;
  UPDATE voting_events v SET rehearsal_ballots = v.rehearsal_ballots + confirmed WHERE v.id = p_event;
  IF changed >= p_limit THEN RETURN false; END IF;
  -- No one had voted before: the figures of the roll say so again.
  UPDATE roll_figures SET voted = 0, voted_weight_micro = 0
  WHERE voting_event_id = p_event AND (voted <> 0 OR voted_weight_micro <> 0);
  PERFORM fold_roll_figures(p_event);
  -- The caller writes that the rehearsal is over, and what was counted of the roll, with the tag of the event.
  UPDATE voting_events v SET paid_votes = false, alarm = NULL,
    last_candidate_number = coalesce((SELECT max(c.number) FROM candidates c WHERE c.voting_event_id = p_event), 0),
    paper_version = v.paper_version + 1
  WHERE v.id = p_event;
  RETURN true;
END $$;
REVOKE ALL ON FUNCTION end_rehearsal(text, integer) FROM PUBLIC;
