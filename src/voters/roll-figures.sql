-- A row for each group and status of a statement, however many voters it adds or removes. Participants of polls have voted.
CREATE OR REPLACE FUNCTION count_roll_of_statement() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  sign integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
  -- When an event is deleted its voters go with it.
  INSERT INTO roll_figures (voting_event_id, group_id, status, heads, weight_micro, voted, voted_weight_micro)
  SELECT r.voting_event_id, coalesce(r.group_id, ''), r.status, sign * count(*), sign * sum(r.weight_micro),
    sign * count(*) FILTER (WHERE r.source = 'poll'), sign * coalesce(sum(r.weight_micro) FILTER (WHERE r.source = 'poll'), 0)
  FROM roll r JOIN voting_events e ON e.id = r.voting_event_id AND e.deleted_at IS NULL
  WHERE r.deleted_at IS NULL GROUP BY 1, 2, 3;
  RETURN NULL;
END $$;

-- Row by row, so that changes which leave every figure as it is cost nothing.
CREATE OR REPLACE FUNCTION count_changed_voter() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO roll_figures (voting_event_id, group_id, status, heads, weight_micro, voted, voted_weight_micro)
  SELECT c.event, c.group_id, c.status, c.sign, c.sign * c.weight, CASE WHEN c.poll THEN c.sign ELSE 0 END,
    CASE WHEN c.poll THEN c.sign * c.weight ELSE 0 END
  FROM (VALUES
    (OLD.voting_event_id, coalesce(OLD.group_id, ''), OLD.status, -1, OLD.weight_micro, OLD.source = 'poll', OLD.deleted_at),
    (NEW.voting_event_id, coalesce(NEW.group_id, ''), NEW.status, 1, NEW.weight_micro, NEW.source = 'poll', NEW.deleted_at)
  ) AS c (event, group_id, status, sign, weight, poll, deleted_at)
  WHERE c.deleted_at IS NULL;
  RETURN NULL;
END $$;

-- Puts the changes of an event together. A second call at the same time finds those rows gone and leaves them alone.
CREATE OR REPLACE FUNCTION fold_roll_figures(p_event text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  WITH gone AS (DELETE FROM roll_figures f WHERE f.voting_event_id = p_event RETURNING f.*)
  INSERT INTO roll_figures (voting_event_id, group_id, status, heads, weight_micro, voted, voted_weight_micro)
  SELECT voting_event_id, group_id, status, sum(heads), sum(weight_micro), sum(voted), sum(voted_weight_micro)
  FROM gone GROUP BY 1, 2, 3
  HAVING sum(heads) <> 0 OR sum(weight_micro) <> 0 OR sum(voted) <> 0 OR sum(voted_weight_micro) <> 0;
END $$;

-- The electorate of an event: its approved voters and their weight, without the participants of a poll. Folding would remove `changes` rows.
CREATE OR REPLACE FUNCTION electorate(p_event text) RETURNS TABLE (heads bigint, weight_micro numeric, changes bigint) LANGUAGE sql STABLE AS $$
  SELECT coalesce(sum(f.heads - f.voted) FILTER (WHERE f.status = 'approved'), 0)::bigint,
    coalesce(sum(f.weight_micro - f.voted_weight_micro) FILTER (WHERE f.status = 'approved'), 0),
    count(*) - count(DISTINCT (f.group_id, f.status))
  FROM roll_figures f WHERE f.voting_event_id = p_event;
$$;
