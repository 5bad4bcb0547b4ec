-- Lets a job look after the log at every opening, change and close.
CREATE OR REPLACE FUNCTION tend_ballot_log() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF event_status(NEW, now_ms()) IN ('open', 'closed') THEN
    PERFORM graphile_worker.add_job('tend_ballot_log', payload => json_build_object('eventId', NEW.id),
      job_key => 'ballot_log:' || NEW.id, max_attempts => 5);
  END IF;
  RETURN NULL;
END $$;
