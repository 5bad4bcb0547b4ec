-- The public live count of a secret event grows in one step: as soon as five ballots wait to be shown, all that wait are shown
-- together (completions 5.6). Fewer than five wait for others, the last ones for the final result.
CREATE OR REPLACE FUNCTION release_ballots(p_event text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  waiting text[];
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('release ' || p_event, 0));
  EXECUTE 'SELECT array_agg(id) FROM (
    SELECT id FROM ballot_queue WHERE voting_event_id = $1 AND NOT released
    UNION ALL SELECT id FROM ballots WHERE voting_event_id = $1 AND NOT released) AS hidden' INTO waiting USING p_event;
  IF coalesce(cardinality(waiting), 0) < ballots_shown_together() THEN RETURN; END IF;
  EXECUTE 'UPDATE ballot_queue SET released = true WHERE voting_event_id = $1 AND id = ANY ($2)' USING p_event, waiting;
  EXECUTE 'UPDATE ballots SET released = true WHERE voting_event_id = $1 AND id = ANY ($2)' USING p_event, waiting;
END $$;
