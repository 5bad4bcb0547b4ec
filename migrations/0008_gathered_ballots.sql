-- Casts a ballot and keeps its answer under the caller's Idempotency-Key, in one step. Who repeats a request whose end they
-- do not know holds the same claim, and gets the same answer.
CREATE FUNCTION cast_ballot_once(
  p_api_key text, p_idempotency_key text, p_fingerprint bytea, p_claim bytea, p_answer text,
  p_event text, p_paper_version bigint, p_voter jsonb, p_key_hash bytea, p_failure_identity bytea, p_expected_group text,
  p_participants jsonb, p_code_tag bytea, p_entries bytea,
  p_visitor_id text, p_voter_id text, p_email text, p_name text, p_country text, p_credits jsonb,
  OUT verdict text, OUT retry_after_ms bigint, OUT short_position text, OUT required bigint, OUT available bigint,
  OUT stored_fingerprint bytea, OUT stored_status smallint, OUT stored_answer text
) LANGUAGE plpgsql AS $$
DECLARE
  at bigint := now_ms();
BEGIN
  IF p_idempotency_key IS NOT NULL THEN
    INSERT INTO idempotency_keys AS k (api_key_id, key, fingerprint, claim, claimed_at, status, body, expires_at)
    VALUES (p_api_key, p_idempotency_key, p_fingerprint, p_claim, at, 201, p_answer, at + 24 * 60 * 60 * 1000)
    ON CONFLICT (api_key_id, key) DO UPDATE SET fingerprint = excluded.fingerprint, claim = excluded.claim,
      claimed_at = excluded.claimed_at, status = excluded.status, body = excluded.body, expires_at = excluded.expires_at
      WHERE k.expires_at <= at OR (k.status IS NULL AND k.claimed_at <= at - 60 * 1000) OR k.claim = excluded.claim;
    IF NOT FOUND THEN
      SELECT k.fingerprint, k.status, k.body INTO stored_fingerprint, stored_status, stored_answer
      FROM idempotency_keys k WHERE k.api_key_id = p_api_key AND k.key = p_idempotency_key;
      verdict := 'claimed_before';
      RETURN;
    END IF;
  END IF;
  SELECT c.verdict, c.retry_after_ms, c.short_position, c.required, c.available
  INTO verdict, retry_after_ms, short_position, required, available
  FROM cast_ballot(p_event, p_paper_version, p_voter, p_key_hash, p_failure_identity, p_expected_group,
    ARRAY(SELECT jsonb_array_elements_text(p_participants)), p_code_tag, p_entries,
    p_visitor_id, p_voter_id, p_email, p_name, p_country, p_credits) AS c;
  IF verdict <> 'cast' AND p_idempotency_key IS NOT NULL THEN
    -- The claim stays: what refused the ballot is told and kept by the caller.
    UPDATE idempotency_keys k SET status = NULL, body = NULL
    WHERE k.api_key_id = p_api_key AND k.key = p_idempotency_key AND k.claim = p_claim;
  END IF;
END $$;
