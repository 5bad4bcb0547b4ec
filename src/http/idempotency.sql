-- A claim begins with the ID of the process that holds it and is free once that process has died. Earlier builds made claims of
-- 16 bytes that name no process: those end by time.
CREATE OR REPLACE FUNCTION is_claim_abandoned(p_claim bytea, p_claimed_at bigint, p_now bigint) RETURNS boolean LANGUAGE sql STABLE
AS $$
  SELECT CASE WHEN length(p_claim) = 16 THEN p_claimed_at <= p_now - 60 * 1000
    ELSE NOT is_process_alive(substring(p_claim FROM 1 FOR 16)) END
$$;
