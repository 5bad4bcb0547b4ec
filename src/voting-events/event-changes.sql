-- Notifies all processes of a changed event when the change commits, because processes cache events.
CREATE OR REPLACE FUNCTION tell_event_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('voting_event_changed', OLD.id);
  RETURN NULL;
END $$;

-- The same for a change of an event's invites.
CREATE OR REPLACE FUNCTION tell_sharing_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('voting_event_changed', coalesce(NEW.voting_event_id, OLD.voting_event_id));
  RETURN NULL;
END $$;
