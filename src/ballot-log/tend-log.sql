-- At every opening, change and close of an event, enqueues the job that updates its log, and stores the number of ballots confirmed at the
-- first change that the log has not recorded yet. Further changes of an open event are recorded together, three seconds after the first:
-- each record reads the whole configuration, which can have 20 MB.
CREATE OR REPLACE FUNCTION tend_ballot_log() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  job text := 'ballot_log:' || NEW.id;
  status text := event_status(NEW.starts_at, NEW.ends_at, NEW.opened_at, NEW.closed_at, NEW.rehearsal_since, NEW.ready, now_ms());
  is_further boolean := status = 'open' AND EXISTS (SELECT FROM ballot_logs l WHERE l.voting_event_id = NEW.id);
BEGIN
  UPDATE ballot_logs l SET confirmed_at_change = l.ballots + (SELECT count(*) FROM ballot_queue q WHERE q.voting_event_id = NEW.id)
  WHERE l.voting_event_id = NEW.id AND l.confirmed_at_change IS NULL AND l.closed_size IS NULL;
  -- A waiting job suffices: it reads the event after this transaction has released the event's lock.
  IF status NOT IN ('open', 'closed')
    OR (is_further AND EXISTS (SELECT FROM jobs j WHERE j.key = job AND j.held_by IS NULL AND j.attempts < j.max_attempts))
    THEN RETURN NULL;
  END IF;
  PERFORM add_job('tend_ballot_log', p_payload => json_build_object('eventId', NEW.id), p_key => job,
    p_run_at => CASE WHEN is_further THEN now_ms() + 3000 END, p_max_attempts => 5);
  RETURN NULL;
END $$;
