-- Adds a change to the electorate of an event: the approved voters, and their weight. Polls have no electorate.
CREATE OR REPLACE FUNCTION note_electorate(p_event text, p_heads bigint, p_weight_micro numeric) RETURNS void LANGUAGE sql AS $$
  -- When an event is deleted its voters go with it, and it is gone already.
  INSERT INTO electorate_changes (voting_event_id, heads, weight_micro)
  SELECT p_event, p_heads, p_weight_micro
  WHERE (p_heads <> 0 OR p_weight_micro <> 0) AND EXISTS (SELECT 1 FROM voting_events e WHERE e.id = p_event);
$$;

-- One row for each statement, however many voters it adds or removes.
CREATE OR REPLACE FUNCTION note_electorate_of_roll() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  sign integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
  PERFORM note_electorate(r.voting_event_id, sign * count(*), sign * sum(r.weight_micro))
  FROM roll r WHERE r.status = 'approved' AND r.deleted_at IS NULL AND r.source <> 'poll' GROUP BY r.voting_event_id;
  RETURN NULL;
END $$;

-- Row by row, so that changes which leave the electorate as it is (the first use of a key above all) cost nothing.
CREATE OR REPLACE FUNCTION note_electorate_of_voter() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  was boolean := OLD.status = 'approved' AND OLD.deleted_at IS NULL;
  is_now boolean := NEW.status = 'approved' AND NEW.deleted_at IS NULL;
BEGIN
  PERFORM note_electorate(NEW.voting_event_id, is_now::integer - was::integer,
    CASE WHEN is_now THEN NEW.weight_micro ELSE 0 END - CASE WHEN was THEN OLD.weight_micro ELSE 0 END);
  RETURN NULL;
END $$;

-- Puts the changes of an event together into one. A second call at the same time finds those rows gone and leaves them alone.
CREATE OR REPLACE FUNCTION fold_electorate(p_event text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  total_heads bigint;
  total_weight numeric;
BEGIN
  WITH gone AS (DELETE FROM electorate_changes c WHERE c.voting_event_id = p_event RETURNING c.heads, c.weight_micro)
  SELECT sum(heads), sum(weight_micro) INTO total_heads, total_weight FROM gone;
  IF total_heads IS NOT NULL THEN PERFORM note_electorate(p_event, total_heads, total_weight); END IF;
END $$;
