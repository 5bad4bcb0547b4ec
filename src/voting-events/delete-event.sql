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
-- stay. Returns the addresses that they had before. Runs with the rights of the owner, because the role of the service may only add to the trail.
CREATE OR REPLACE FUNCTION erase_from_trail(p_event text, p_voters text[]) RETURNS SETOF text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
  RETURN QUERY SELECT DISTINCT a.before ->> 'email' FROM audit_entries a
    WHERE a.voting_event_id = p_event AND a.resource = ANY (p_voters) AND a.before ->> 'email' IS NOT NULL;
  UPDATE audit_entries SET before = before - '{name,email,voterId}'::text[], after = after - '{name,email,voterId}'::text[]
  WHERE voting_event_id = p_event AND resource IN (
    SELECT v.id FROM voters v WHERE v.voting_event_id = p_event AND v.id = ANY (p_voters) AND v.erased_at IS NOT NULL);
END $$;
REVOKE ALL ON FUNCTION erase_from_trail(text, text[]) FROM PUBLIC;

-- Takes erased participants of a poll out of up to p_limit blocks of the box and p_limit payments, from p_leaf and after p_payment on, and out
-- of the participation; p_ids are their visible voter IDs, p_emails their addresses as keys. Returns where the next step begins, and how many
-- rows this one read: fewer than p_limit when all are read. The visitor ID of a payment stays, because refunds find ballots and credits by it.
-- Runs with the rights of the owner, because the role of the service may not change sealed ballots.
CREATE OR REPLACE FUNCTION erase_participants(p_event text, p_ids text[], p_emails text[], INOUT p_leaf bigint, INOUT p_payment text, p_limit integer,
  OUT seen integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off AS $$
DECLARE
  -- The visible voter ID is the visitor ID, whatever its case, unless the poll asks for voter IDs.
  is_visitor CONSTANT boolean := (SELECT NOT e.require_voter_id FROM voting_events e WHERE e.id = p_event);
  shown CONSTANT text[] := CASE WHEN is_visitor THEN lower(p_ids::text)::text[] ELSE p_ids END;
  blocks CONSTANT bigint[] := ARRAY(SELECT k.first_leaf FROM ballot_blocks k WHERE k.voting_event_id = p_event AND k.first_leaf >= p_leaf
    ORDER BY k.first_leaf LIMIT p_limit);
  payments CONSTANT text[] := ARRAY(SELECT a.id FROM payment_attempts a WHERE a.voting_event_id = p_event AND a.id > p_payment
    ORDER BY a.id LIMIT p_limit);
BEGIN
  -- Another voter of the roll may have the same identity, and has voted by this participation.
  UPDATE participation p SET participant = 'erased:' || gen_random_uuid()
  WHERE p.voting_event_id = p_event AND p.participant IN (
      SELECT CASE WHEN is_visitor THEN 'v:' ELSE 'i:' END || id FROM unnest(shown) AS id UNION ALL SELECT 'e:' || email FROM unnest(p_emails) AS email)
    AND NOT EXISTS (SELECT 1 FROM voters v WHERE v.voting_event_id = p_event AND v.voter_id_key = substring(p.participant FROM 3))
    AND NOT EXISTS (SELECT 1 FROM voters v WHERE v.voting_event_id = p_event AND v.email_key = substring(p.participant FROM 3));
  UPDATE ballot_blocks k SET voter_ids = ARRAY(SELECT CASE WHEN f.id = ANY (shown) THEN NULL ELSE i.one END
    FROM unnest(k.voter_ids) WITH ORDINALITY AS i (one, place), LATERAL (SELECT CASE WHEN is_visitor THEN lower(i.one) ELSE i.one END AS id) AS f
    ORDER BY i.place)
  WHERE k.voting_event_id = p_event AND k.first_leaf = ANY (blocks)
    AND CASE WHEN is_visitor THEN lower(k.voter_ids::text)::text[] ELSE k.voter_ids END && shown;
  UPDATE payment_attempts a SET request = a.request - '{name,email,voterId}'::text[], terms = a.terms || '{"email": null}'
  WHERE a.voting_event_id = p_event AND a.id = ANY (payments) AND (lower(a.request ->> 'email') = ANY (p_emails)
    OR CASE WHEN is_visitor THEN lower(a.request ->> 'visitorId') ELSE a.request ->> 'voterId' END = ANY (shown));
  p_leaf := coalesce(blocks[cardinality(blocks)] + 1, p_leaf);
  p_payment := coalesce(payments[cardinality(payments)], p_payment);
  seen := greatest(cardinality(blocks), cardinality(payments));
END $$;
REVOKE ALL ON FUNCTION erase_participants(text, text[], text[], bigint, text, integer) FROM PUBLIC;
