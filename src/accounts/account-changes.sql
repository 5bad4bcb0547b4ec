-- Trigger: when an account's plan changes, notifies all processes at the commit, because they cache callers with their plan.
CREATE OR REPLACE FUNCTION tell_account_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('account_changed', NEW.id);
  RETURN NULL;
END $$;

-- Removes up to p_limit entries of the audit trail of an account that is in another cell now. Returns how many. Runs with the rights of the
-- owner, because the role of the service may only add to the trail.
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
