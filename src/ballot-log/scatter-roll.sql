-- Rewrites a chunk of the roll in the order of the voters' IDs. Position and transaction ID of rows written during the vote show the order
-- of the votes, and so the batch of each voter's ballot in the log. Continues after an ID; returns the last ID of the chunk, or null if
-- none was left. Locks the event, as every change of a roll does, so that no change is lost. The last ID of the chunk is read by a
-- statement of its own: a cached plan, or one by old statistics, may run a LIMIT subquery for each row.
CREATE OR REPLACE FUNCTION scatter_voters(p_event text, p_after text, p_limit integer) RETURNS text LANGUAGE plpgsql
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
  last text;
BEGIN
  PERFORM 1 FROM voting_events WHERE id = p_event FOR UPDATE;
  last := (SELECT max(n.id) FROM (SELECT v.id FROM voters v
    WHERE v.voting_event_id = p_event AND v.id > p_after ORDER BY v.id LIMIT p_limit) AS n);
  WITH taken AS (
    DELETE FROM voters v WHERE v.voting_event_id = p_event AND v.id > p_after AND v.id <= last RETURNING v.*)
  INSERT INTO voters SELECT * FROM taken ORDER BY id;
  -- For each chunk, triggers added rows to the roll's figures for its removal and its insertion: merge these rows, which cancel out.
  IF last IS NULL THEN PERFORM fold_roll_figures(p_event); END IF;
  RETURN last;
END $$;

-- Rewrites a chunk of voter keys, as `scatter_voters` rewrites voters.
CREATE OR REPLACE FUNCTION scatter_voter_keys(p_event text, p_after text, p_limit integer) RETURNS text LANGUAGE plpgsql
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
  last text;
BEGIN
  PERFORM 1 FROM voting_events WHERE id = p_event FOR UPDATE;
  last := (SELECT max(n.voter_id) FROM (SELECT DISTINCT k.voter_id FROM voter_keys k
    WHERE k.voting_event_id = p_event AND k.voter_id > p_after ORDER BY k.voter_id LIMIT p_limit) AS n);
  WITH taken AS (
    DELETE FROM voter_keys k WHERE k.voting_event_id = p_event AND k.voter_id > p_after AND k.voter_id <= last RETURNING k.*)
  INSERT INTO voter_keys SELECT * FROM taken ORDER BY voter_id, key_hash;
  RETURN last;
END $$;

-- Rewrites a chunk of participations, as `scatter_voters` rewrites voters. Does not lock the event, because these rows are never updated.
CREATE OR REPLACE FUNCTION scatter_participation(p_event text, p_after text, p_limit integer) RETURNS text LANGUAGE plpgsql
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
  last text;
BEGIN
  last := (SELECT max(n.participant) FROM (SELECT p.participant FROM participation p
    WHERE p.voting_event_id = p_event AND p.participant > p_after ORDER BY p.participant LIMIT p_limit) AS n);
  WITH taken AS (
    DELETE FROM participation p WHERE p.voting_event_id = p_event AND p.participant > p_after AND p.participant <= last RETURNING p.*)
  INSERT INTO participation SELECT * FROM taken ORDER BY participant;
  RETURN last;
END $$;
