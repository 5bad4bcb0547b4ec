-- Notifies every process of an account that got another plan, at the commit of the change: they keep callers in memory.
CREATE OR REPLACE FUNCTION tell_account_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('account_changed', NEW.id);
  RETURN NULL;
END $$;
