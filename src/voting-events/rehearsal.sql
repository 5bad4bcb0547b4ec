-- Stores a voter's state before a public route or a mail first changes it in a rehearsal; the end of the rehearsal restores it. Does
-- nothing outside of a rehearsal. Call with the event locked. Custom plans: a plan that was cached for a tiny roll would scan a large one.
CREATE OR REPLACE FUNCTION note_before_rehearsal(p_event text, p_voter text) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_custom_plan AS $$
BEGIN
  UPDATE voters v SET before_rehearsal = jsonb_build_object('status', v.status, 'key_status', v.key_status,
    'approved_by_key', v.approved_by_key, 'confirm_by', v.confirm_by)
  WHERE v.voting_event_id = p_event AND v.id = p_voter AND v.before_rehearsal IS NULL
    AND EXISTS (SELECT 1 FROM voting_events e WHERE e.id = p_event AND e.rehearsal_since IS NOT NULL);
END $$;

-- Ends the rehearsal of an event (completions 10.5): deletes the rows that public routes and mails made since it began, and undoes
-- their changes of other rows; the organizer's own changes stay. Changes up to p_limit rows and returns whether it is done: the
-- caller repeats it in one transaction, so that the wipe is atomic. Fails outside of a rehearsal, and if a checkpoint belongs to
-- another log than the rehearsal's, so that a real log is never wiped. SECURITY DEFINER: the service's role may not delete rows of a log.
-- Custom plans: a plan cached for a small roll would compare every row of a large one with every row to delete. Rows are deleted by ctid.
-- `|| ''` hides the event's ID from the planner, which would otherwise expect few rows of the event, read them by an index, and compare
-- each with every ctid.
CREATE OR REPLACE FUNCTION end_rehearsal(p_event text, p_limit integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off AS $$
DECLARE
  e voting_events%ROWTYPE;
  step record;
  changed integer := 0;
  confirmed integer := 0;
  gone integer;
BEGIN
  -- Casts, confirms and registrations lock the event, too. Rows of earlier ones are wiped below; later ones see the new version.
  SELECT * INTO e FROM voting_events WHERE id = p_event FOR UPDATE;
  IF NOT FOUND OR e.rehearsal_since IS NULL THEN
    RAISE EXCEPTION 'the event is not rehearsed' USING ERRCODE = 'restrict_violation';
  END IF;
  IF EXISTS (SELECT 1 FROM log_checkpoints c WHERE c.voting_event_id = p_event
    AND NOT starts_with(reverse(split_part(c.note, chr(10), 1)), reverse('/rehearsal-' || e.rehearsal_number))) THEN
    RAISE EXCEPTION 'the log is not that of a rehearsal' USING ERRCODE = 'restrict_violation';
  END IF;
  WITH removed AS (
    DELETE FROM ballot_blocks WHERE voting_event_id || '' = p_event AND ctid = ANY (ARRAY(
      SELECT k.ctid FROM ballot_blocks k WHERE k.voting_event_id = p_event LIMIT p_limit))
    RETURNING ballots
  )
  SELECT count(*), coalesce(sum(r.ballots), 0) INTO changed, confirmed FROM removed r;
  changed := changed + erase_messages(p_event, ARRAY(
    SELECT v.id FROM voters v WHERE v.voting_event_id = p_event AND v.before_rehearsal ? 'new'
    UNION ALL SELECT c.id FROM candidates c WHERE c.voting_event_id = p_event AND c.rehearsal), p_limit - changed);
  FOR step IN SELECT s.* FROM (VALUES
    -- A rehearsal begins only before the opening, without ballots and credits, so all rows of these tables belong to it.
    ('pending_ballots', 'true'), ('waiting_participants', 'true'), ('ballot_queue', 'true'), ('dropped_ballots', 'true'),
    ('public_snapshots', 'true'),
    ('voided_ballots', 'true'), ('log_leaves', 'true'), ('log_configurations', 'true'), ('log_tiles', 'true'),
    ('log_checkpoints', 'true'), ('ballot_logs', 'true'), ('checkpoint_queue', 'true'), ('participation', 'true'),
    ('undisclosed_voters', 'true'), ('ballot_announcements', 'true'),
    ('credit_entries', 'true'), ('credit_balances', 'true'), ('voter_key_requests', 'true'), ('voter_key_failures', 'true'),
    -- These tables may contain earlier rows, so only marked rows belong to the rehearsal.
    ('voter_keys', 'r.rehearsal'),
    ('letter_parts', 'r.run_id IN (SELECT n.id FROM letter_runs n WHERE n.voting_event_id = $1 AND n.rehearsal)'),
    ('letter_runs', 'r.rehearsal'),
    ('notification_mails', 'r.notification_id IN (SELECT n.id FROM notifications n WHERE n.voting_event_id = $1 AND n.rehearsal)'),
    ('notifications', 'r.rehearsal'),
    ('notified_voters', 'starts_with(r.kind, ''rehearsal '')'),
    -- Audit entries about voters, candidates and payments that are deleted here.
    -- IS TRUE prevents that the subquery becomes a join, which might run it again for each entry.
    ('audit_entries', '(r.resource IN (SELECT v.id FROM voters v WHERE v.voting_event_id = $1 AND v.before_rehearsal ? ''new''
      UNION ALL SELECT c.id FROM candidates c WHERE c.voting_event_id = $1 AND c.rehearsal
      UNION ALL SELECT a.id FROM payment_attempts a WHERE a.voting_event_id = $1 AND a.rehearsal)) IS TRUE'),
    ('candidates', 'r.rehearsal'), ('payment_attempts', 'r.rehearsal')
  ) AS s (rows_of, condition) LOOP
    EXECUTE format('DELETE FROM %1$I WHERE voting_event_id || '''' = $1 AND ctid = ANY (ARRAY(
      SELECT r.ctid FROM %1$I r WHERE r.voting_event_id = $1 AND %2$s LIMIT $2))', step.rows_of, step.condition)
    USING p_event, p_limit - changed;
    GET DIAGNOSTICS gone = ROW_COUNT;
    IF step.rows_of = 'ballot_queue' THEN confirmed := confirmed + gone; END IF;
    changed := changed + gone;
    EXIT WHEN changed >= p_limit;
  END LOOP;
  -- Stored answers to requests of the rehearsal. Their names have this prefix, and their API keys belong to accounts that see the event.
  DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY(
    SELECT k.ctid FROM idempotency_keys k
    JOIN (SELECT id, account_id FROM api_keys UNION ALL SELECT id, account_id FROM guest_keys) AS a ON a.id = k.api_key_id
    WHERE (a.account_id = e.account_id OR a.account_id IN (SELECT i.account_id FROM event_invites i WHERE i.voting_event_id = p_event))
      AND starts_with(k.key, 'rehearsal/' || p_event || '/') LIMIT p_limit - changed));
  GET DIAGNOSTICS gone = ROW_COUNT;
  changed := changed + gone;
  -- Voters who registered or voted in the rehearsal.
  DELETE FROM voters WHERE voting_event_id || '' = p_event AND ctid = ANY (ARRAY(
    SELECT v.ctid FROM voters v WHERE v.voting_event_id = p_event AND v.before_rehearsal ? 'new' LIMIT p_limit - changed));
  GET DIAGNOSTICS gone = ROW_COUNT;
  changed := changed + gone;
  -- Restore all other voters, except their status: the caller has undone approvals by a key, and the organizer's decisions stay.
  UPDATE voters v SET
    approved_by_key = (v.before_rehearsal ->> 'approved_by_key')::boolean,
    confirm_by = (v.before_rehearsal ->> 'confirm_by')::bigint,
    key_used = false,
    key_status = CASE WHEN v.before_rehearsal ->> 'key_status' IN ('none', 'failed') OR EXISTS (
      SELECT 1 FROM voter_keys k WHERE k.voting_event_id = p_event AND k.voter_id = v.id)
      THEN v.before_rehearsal ->> 'key_status' ELSE 'none' END,
    before_rehearsal = NULL
  WHERE v.voting_event_id || '' = p_event AND v.ctid = ANY (ARRAY(
    SELECT w.ctid FROM voters w WHERE w.voting_event_id = p_event AND w.before_rehearsal IS NOT NULL LIMIT p_limit - changed));
  GET DIAGNOSTICS gone = ROW_COUNT;
  changed := changed + gone;
  UPDATE voting_events v SET rehearsal_ballots = v.rehearsal_ballots + confirmed WHERE v.id = p_event;
  -- Repeat until a run changes nothing: a row that another transaction changed while this one waited has a new ctid, and was left out.
  IF changed > 0 THEN RETURN false; END IF;
  -- No voter had voted before the rehearsal, so reset the figures of the roll.
  UPDATE roll_figures SET voted = 0, voted_weight_micro = 0
  WHERE voting_event_id = p_event AND (voted <> 0 OR voted_weight_micro <> 0);
  PERFORM fold_roll_figures(p_event);
  -- The caller resets the columns that the event's tag covers, such as rehearsal_since, because only the service can make the tag.
  UPDATE voting_events v SET paid_votes = false, alarm = NULL,
    last_candidate_number = coalesce((SELECT max(c.number) FROM candidates c WHERE c.voting_event_id = p_event), 0),
    paper_version = v.paper_version + 1
  WHERE v.id = p_event;
  RETURN true;
END $$;
REVOKE ALL ON FUNCTION end_rehearsal(text, integer) FROM PUBLIC;
