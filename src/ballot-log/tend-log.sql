-- Enqueues the job that updates the log at every opening, change and close, and stores the number of ballots confirmed at the first
-- change that the log has not recorded yet.
CREATE OR REPLACE FUNCTION tend_ballot_log() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE ballot_logs l SET confirmed_at_change = l.ballots + (SELECT count(*) FROM ballot_queue q WHERE q.voting_event_id = NEW.id)
  WHERE l.voting_event_id = NEW.id AND l.confirmed_at_change IS NULL AND l.closed_size IS NULL;
  IF event_status(NEW.starts_at, NEW.ends_at, NEW.opened_at, NEW.closed_at, NEW.rehearsal_since, NEW.ready, now_ms()) IN ('open', 'closed') THEN
    PERFORM add_job('tend_ballot_log', p_payload => json_build_object('eventId', NEW.id), p_key => 'ballot_log:' || NEW.id,
      p_max_attempts => 5);
  END IF;
  RETURN NULL;
END $$;
