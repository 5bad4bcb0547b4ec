-- Trigger: for the voters that a statement adds or removes, adds one row per group, status and source. Participants of polls have voted.
CREATE OR REPLACE FUNCTION count_roll_of_statement() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  sign integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
  -- Voters of a deleted event need no figures.
  INSERT INTO roll_figures (voting_event_id, group_id, status, source, heads, weight_micro, voted, voted_weight_micro)
  SELECT r.voting_event_id, coalesce(r.group_id, ''), r.status, r.source, sign * count(*), sign * sum(r.weight_micro),
    sign * count(*) FILTER (WHERE r.source = 'poll'), sign * coalesce(sum(r.weight_micro) FILTER (WHERE r.source = 'poll'), 0)
  FROM roll r JOIN voting_events e ON e.id = r.voting_event_id AND e.deleted_at IS NULL
  WHERE r.deleted_at IS NULL GROUP BY 1, 2, 3, 4;
  RETURN NULL;
END $$;

-- A trigger for each row, whose WHEN clause skips updates that change no figure.
CREATE OR REPLACE FUNCTION count_changed_voter() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO roll_figures (voting_event_id, group_id, status, source, heads, weight_micro, voted, voted_weight_micro)
  SELECT c.event, c.group_id, c.status, c.source, c.sign, c.sign * c.weight, CASE c.source WHEN 'poll' THEN c.sign ELSE 0 END,
    CASE c.source WHEN 'poll' THEN c.sign * c.weight ELSE 0 END
  FROM (VALUES
    (OLD.voting_event_id, coalesce(OLD.group_id, ''), OLD.status, -1, OLD.weight_micro, OLD.source, OLD.deleted_at),
    (NEW.voting_event_id, coalesce(NEW.group_id, ''), NEW.status, 1, NEW.weight_micro, NEW.source, NEW.deleted_at)
  ) AS c (event, group_id, status, sign, weight, source, deleted_at)
  WHERE c.deleted_at IS NULL;
  RETURN NULL;
END $$;

-- Merges an event's rows of `roll_figures` into one per group, status and source. Of two calls at once, the later skips deleted rows.
CREATE OR REPLACE FUNCTION fold_roll_figures(p_event text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  WITH gone AS (DELETE FROM roll_figures f WHERE f.voting_event_id = p_event RETURNING f.*)
  INSERT INTO roll_figures (voting_event_id, group_id, status, source, heads, weight_micro, voted, voted_weight_micro)
  SELECT voting_event_id, group_id, status, source, sum(heads), sum(weight_micro), sum(voted), sum(voted_weight_micro)
  FROM gone GROUP BY 1, 2, 3, 4
  HAVING sum(heads) <> 0 OR sum(weight_micro) <> 0 OR sum(voted) <> 0 OR sum(voted_weight_micro) <> 0;
END $$;

-- The electorate of an event: approved voters and their weight, without participants of a poll.
CREATE OR REPLACE FUNCTION electorate(p_event text) RETURNS TABLE (heads bigint, weight_micro numeric) LANGUAGE sql STABLE AS $$
  SELECT coalesce(sum(f.heads - f.voted) FILTER (WHERE f.status = 'approved'), 0)::bigint,
    coalesce(sum(f.weight_micro - f.voted_weight_micro) FILTER (WHERE f.status = 'approved'), 0)
  FROM roll_figures f WHERE f.voting_event_id = p_event;
$$;

-- An event's voters by the plan limit to which they count: the organizer's own voters of any status, and registrations that were not
-- rejected. `total` also has rejected registrations, but no participants of polls. `parts` is the number of rows that a merge would remove.
CREATE OR REPLACE FUNCTION voter_places(p_event text)
RETURNS TABLE (organizer bigint, registration bigint, total bigint, parts bigint) LANGUAGE sql STABLE AS $$
  SELECT coalesce(sum(f.heads) FILTER (WHERE f.source = 'organizer'), 0)::bigint,
    coalesce(sum(f.heads) FILTER (WHERE f.source = 'registration' AND f.status <> 'rejected'), 0)::bigint,
    coalesce(sum(f.heads) FILTER (WHERE f.source <> 'poll'), 0)::bigint, count(*) - count(DISTINCT (f.group_id, f.status, f.source))
  FROM roll_figures f WHERE f.voting_event_id = p_event;
$$;

-- Whether the plan has room for the voters that the transaction has added: 'room' or 'full'; 'closed' or 'gone' for the event. Each p_place
-- has its own limit, so that registrations never take the organizer's room. Far from the limit, transactions share an advisory lock and do
-- not wait. Within p_near of it, each takes the lock exclusively, and counts when the others have ended. The event cannot close meanwhile,
-- because the foreign key of the new rows locks it.
CREATE OR REPLACE FUNCTION take_places(p_event text, p_place text, p_limit bigint, p_near bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  places record;
  status text;
BEGIN
  SELECT CASE p_place WHEN 'organizer' THEN p.organizer ELSE p.registration END AS held INTO places FROM voter_places(p_event) AS p;
  IF places.held > p_limit - p_near THEN PERFORM pg_advisory_xact_lock(hashtextextended('places ' || p_event, 0));
  ELSE PERFORM pg_advisory_xact_lock_shared(hashtextextended('places ' || p_event, 0));
  END IF;
  -- Count again: only now does the transaction see the rows that others committed during the wait.
  SELECT CASE p_place WHEN 'organizer' THEN p.organizer ELSE p.registration END AS held, p.parts INTO places FROM voter_places(p_event) AS p;
  SELECT event_status(e.starts_at, e.ends_at, e.opened_at, e.closed_at, e.rehearsal_since, e.ready, now_ms()) INTO status
  FROM voting_events e WHERE e.id = p_event AND e.deleted_at IS NULL;
  -- Merge the rows, so that counting stays cheap while many voters are added; one transaction at a time does so.
  IF places.parts > 100 AND pg_try_advisory_xact_lock(hashtextextended('fold ' || p_event, 0)) THEN PERFORM fold_roll_figures(p_event); END IF;
  RETURN CASE WHEN status IS NULL THEN 'gone' WHEN status = 'closed' THEN 'closed' WHEN places.held > p_limit THEN 'full' ELSE 'room' END;
END $$;
