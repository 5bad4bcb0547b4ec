-- Trigger: when an account's plan changes, notifies all processes at the commit, because each process caches callers with their plan.
CREATE OR REPLACE FUNCTION tell_account_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('account_changed', NEW.id);
  RETURN NULL;
END $$;

-- Deletes up to p_limit audit entries of an account that has moved to another cell. Returns how many. SECURITY DEFINER: the service's role
-- may only add to the audit trail.
CREATE OR REPLACE FUNCTION delete_entries_of_moved(p_account text, p_limit integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  gone integer;
BEGIN
  IF EXISTS (SELECT FROM accounts WHERE id = p_account) THEN RETURN 0; END IF;
  DELETE FROM audit_entries WHERE account_id = p_account AND ctid = ANY (ARRAY(
    SELECT ctid FROM audit_entries WHERE account_id = p_account LIMIT p_limit));
  GET DIAGNOSTICS gone = ROW_COUNT;
  RETURN gone;
END $$;
REVOKE ALL ON FUNCTION delete_entries_of_moved(text, integer) FROM PUBLIC;
