-- Trigger: when an account's plan changes, notifies all processes at the commit, because they cache callers with their plan.
CREATE OR REPLACE FUNCTION tell_account_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('account_changed', NEW.id);
  RETURN NULL;
END $$;
