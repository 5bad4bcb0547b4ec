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
--> statement-breakpoint
-- Every secret of the last day signs, not only the one before.
ALTER TABLE webhook_endpoints ADD COLUMN earlier_secrets jsonb NOT NULL DEFAULT '[]';
--> statement-breakpoint
UPDATE webhook_endpoints SET earlier_secrets = jsonb_build_array(jsonb_build_object('secret', previous_secret, 'until', previous_secret_until))
WHERE previous_secret IS NOT NULL AND previous_secret_until IS NOT NULL;
--> statement-breakpoint
-- Mails by whoever they are counted for (an address of an account, an address, an account), for an hour or a day. No address in clear.
CREATE TABLE mail_quotas (
  name bytea NOT NULL,
  window_ms bigint NOT NULL,
  began_at bigint NOT NULL,
  mails integer NOT NULL,
  PRIMARY KEY (name, window_ms)
);
--> statement-breakpoint
-- Changes of the roll after the opening: whoever reads the result sees that there were some.
ALTER TABLE voting_events ADD COLUMN identity_changes integer NOT NULL DEFAULT 0, ADD COLUMN roll_changes integer NOT NULL DEFAULT 0;
