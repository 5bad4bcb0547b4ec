-- A mask for a voter ID that nobody has is made of voters that a keyed point picks: this order makes a point of every voter.
CREATE INDEX voters_point ON voters (voting_event_id, md5(id) COLLATE "C") WHERE email IS NOT NULL AND deleted_at IS NULL;
--> statement-breakpoint
-- Tells every process of an account that got another plan, at the commit of the change: they keep callers in memory.
CREATE FUNCTION tell_account_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('account_changed', NEW.id);
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER accounts_tell_change AFTER UPDATE OF plan ON accounts
  FOR EACH ROW WHEN (OLD.plan IS DISTINCT FROM NEW.plan) EXECUTE FUNCTION tell_account_change();
