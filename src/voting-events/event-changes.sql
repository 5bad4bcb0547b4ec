-- Notifies every process of a changed event, at the commit of the change: they keep events in memory.
CREATE OR REPLACE FUNCTION tell_event_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('voting_event_changed', OLD.id);
  RETURN NULL;
END $$;

-- The same for who an event is shared with.
CREATE OR REPLACE FUNCTION tell_sharing_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('voting_event_changed', coalesce(NEW.voting_event_id, OLD.voting_event_id));
  RETURN NULL;
END $$;
