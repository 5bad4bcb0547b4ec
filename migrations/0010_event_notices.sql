-- Tells every process of a changed event, at the commit of the change: they keep events in memory.
CREATE FUNCTION tell_event_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('voting_event_changed', OLD.id);
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER voting_events_tell_change AFTER UPDATE OR DELETE ON voting_events
  FOR EACH ROW EXECUTE FUNCTION tell_event_change();
--> statement-breakpoint
CREATE FUNCTION tell_sharing_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('voting_event_changed', coalesce(NEW.voting_event_id, OLD.voting_event_id));
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER event_invites_tell_change AFTER INSERT OR UPDATE OR DELETE ON event_invites
  FOR EACH ROW EXECUTE FUNCTION tell_sharing_change();
