-- Removes up to p_limit rows of a deleted event, its own row last. Returns their number: fewer than p_limit when all are gone.
-- SECURITY DEFINER: the service's role may not delete rows of a log.
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
    -- Delete by ctid only: see `end_rehearsal`.
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
-- stay. Returns the addresses that they had earlier. SECURITY DEFINER: the service's role may only add to the trail.
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

-- Removes erased participants of a poll from up to p_limit blocks of logged ballots and p_limit payments. p_erasure contains the IDs
-- under which the poll listed them and the addresses by which they voted, both as keys, and where to go on. A first pass removes them from
-- the ballots, and collects the visitor IDs and further addresses beside them in payments; addresses by which they voted are also removed
-- from the participation. A second pass removes them from the payments of these visitor IDs and addresses, except payments of another
-- participant and candidate registrations. Returns where to go on, and how many rows were read: fewer than p_limit at the end.
-- A payment's visitor ID stays, because refunds find ballots and credits by it. `= ANY` of a variable makes a hash table of the IDs;
-- `&&` would compare each ID of a block with each erased ID.
-- SECURITY DEFINER: the service's role may not change logged ballots.
CREATE OR REPLACE FUNCTION erase_participants(p_event text, INOUT p_erasure jsonb, p_limit integer, OUT seen integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off AS $$
DECLARE
  -- Unless the poll requires voter IDs, the visible voter ID is the visitor ID, in any case.
  is_visitor CONSTANT boolean := (SELECT NOT e.require_voter_id FROM voting_events e WHERE e.id = p_event);
  shown CONSTANT text[] := ARRAY(SELECT jsonb_array_elements_text(p_erasure -> 'ids'));
  emails text[] := ARRAY(SELECT jsonb_array_elements_text(p_erasure -> 'emails'));
  visitors text[] := ARRAY(SELECT jsonb_array_elements_text(p_erasure -> 'visitors'));
  found_visitors text[];
  found_emails text[];
  blocks CONSTANT bigint[] := ARRAY(SELECT k.first_leaf FROM ballot_blocks k
    WHERE k.voting_event_id = p_event AND k.first_leaf > (p_erasure ->> 'block')::bigint ORDER BY k.first_leaf LIMIT p_limit);
  payments CONSTANT text[] := ARRAY(SELECT a.id FROM payment_attempts a
    WHERE a.voting_event_id = p_event AND a.id > p_erasure ->> 'payment' ORDER BY a.id LIMIT p_limit);
BEGIN
  seen := greatest(cardinality(blocks), cardinality(payments));
  p_erasure := p_erasure || jsonb_build_object('block', coalesce(blocks[cardinality(blocks)], (p_erasure ->> 'block')::bigint),
    'payment', coalesce(payments[cardinality(payments)], p_erasure ->> 'payment'));
  IF (p_erasure ->> 'searched')::boolean THEN
    UPDATE payment_attempts a SET request = a.request - '{name,email,voterId}'::text[], terms = a.terms || '{"email": null}'
    WHERE a.voting_event_id = p_event AND a.id = ANY (payments) AND a.purpose <> 'candidate_registration'
      AND (lower(a.request ->> 'visitorId') = ANY (visitors) OR lower(a.request ->> 'email') = ANY (emails))
      AND NOT EXISTS (SELECT 1 FROM voters v WHERE v.voting_event_id = p_event
        AND v.voter_id_key = chr(1) || CASE WHEN is_visitor THEN lower(a.request ->> 'visitorId') ELSE a.request ->> 'voterId' END);
    RETURN;
  END IF;
  UPDATE ballot_blocks k SET voter_ids = ARRAY(
    SELECT CASE WHEN CASE WHEN is_visitor THEN lower(i.one) ELSE i.one END = ANY (shown) THEN NULL ELSE i.one END
    FROM unnest(k.voter_ids) WITH ORDINALITY AS i (one, place) ORDER BY i.place)
  WHERE k.voting_event_id = p_event AND k.first_leaf = ANY (blocks) AND EXISTS (
    SELECT 1 FROM unnest(k.voter_ids) AS one WHERE CASE WHEN is_visitor THEN lower(one) ELSE one END = ANY (shown));
  SELECT array_agg(DISTINCT lower(a.request ->> 'visitorId')), array_agg(DISTINCT lower(a.request ->> 'email'))
  INTO found_visitors, found_emails FROM payment_attempts a
  WHERE a.voting_event_id = p_event AND a.id = ANY (payments) AND a.request ? 'visitorId'
    AND CASE WHEN is_visitor THEN lower(a.request ->> 'visitorId') ELSE a.request ->> 'voterId' END = ANY (shown);
  -- The poll lists the first address alone of a participant who voted again by another one.
  emails := emails || ARRAY(SELECT e.email FROM erase_participation(p_event, '', '{}', found_emails) AS e (email));
  visitors := ARRAY(SELECT DISTINCT unnest(visitors || found_visitors));
  p_erasure := p_erasure || jsonb_build_object('visitors', visitors, 'emails', emails);
  IF seen < p_limit THEN
    p_erasure := p_erasure || '{"searched": true, "payment": ""}';
    seen := p_limit;
  END IF;
END $$;
REVOKE ALL ON FUNCTION erase_participants(text, jsonb, integer) FROM PUBLIC;
