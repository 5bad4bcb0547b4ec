-- Rewrites a chunk of the roll in the order of the voters' IDs. Position and transaction ID of rows written during the vote show the
-- order of the votes, and so the batch of each voter's ballot in the log. Continues after an ID; returns the last ID of the chunk, or
-- null if none was left. Locks the event, as every change of a roll does, so that no change is lost.
CREATE OR REPLACE FUNCTION scatter_voters(p_event text, p_after text, p_limit integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  last text;
BEGIN
  PERFORM 1 FROM voting_events WHERE id = p_event FOR UPDATE;
  EXECUTE 'WITH taken AS (
    DELETE FROM voters v WHERE v.voting_event_id = $1 AND v.id IN (
      SELECT n.id FROM voters n WHERE n.voting_event_id = $1 AND n.id > $2 ORDER BY n.id LIMIT $3)
    RETURNING v.*),
  written AS (INSERT INTO voters SELECT * FROM taken ORDER BY id RETURNING id)
  SELECT max(id) FROM written' INTO last USING p_event, p_after, p_limit;
  -- Triggers noted every chunk as removed from and added to the roll's figures: fold these notes, which cancel out.
  IF last IS NULL THEN PERFORM fold_roll_figures(p_event); END IF;
  RETURN last;
END $$;

-- Rewrites a chunk of voter keys, as `scatter_voters` rewrites voters.
CREATE OR REPLACE FUNCTION scatter_voter_keys(p_event text, p_after text, p_limit integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  last text;
BEGIN
  PERFORM 1 FROM voting_events WHERE id = p_event FOR UPDATE;
  WITH taken AS (
    DELETE FROM voter_keys k WHERE k.voting_event_id = p_event AND k.voter_id IN (
      SELECT DISTINCT n.voter_id FROM voter_keys n WHERE n.voting_event_id = p_event AND n.voter_id > p_after
      ORDER BY n.voter_id LIMIT p_limit)
    RETURNING k.*),
  written AS (INSERT INTO voter_keys SELECT * FROM taken ORDER BY voter_id, key_hash RETURNING voter_id)
  SELECT max(voter_id) INTO last FROM written;
  RETURN last;
END $$;

-- Rewrites a chunk of participations, as `scatter_voters` rewrites voters. Does not lock the event, because these rows are never updated.
CREATE OR REPLACE FUNCTION scatter_participation(p_event text, p_after text, p_limit integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  last text;
BEGIN
  WITH taken AS (
    DELETE FROM participation p WHERE p.voting_event_id = p_event AND p.participant IN (
      SELECT n.participant FROM participation n WHERE n.voting_event_id = p_event AND n.participant > p_after
      ORDER BY n.participant LIMIT p_limit)
    RETURNING p.*),
  written AS (INSERT INTO participation SELECT * FROM taken ORDER BY participant RETURNING participant)
  SELECT max(participant) INTO last FROM written;
  RETURN last;
END $$;
