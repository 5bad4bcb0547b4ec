-- A claim begins with the ID of the process that holds it and is free once that process has died.
CREATE OR REPLACE FUNCTION is_claim_abandoned(p_claim bytea) RETURNS boolean LANGUAGE sql STABLE
AS $$
  SELECT NOT is_process_alive(substring(p_claim FROM 1 FOR 16))
$$;

-- Claims the Idempotency-Keys of requests. A claim has no answer while its request runs; it has one if it commits with the change. A key is
-- free if it has expired, if its claim is abandoned, if the same request was refused under it and left no answer, or if the same run
-- claimed it: a statement with an unknown outcome is sent again. Of several requests with one key, the first gets it. p_earlier holds the
-- keys' hashes under earlier secret keys: a key that is stored under one of them is taken. Inserts in the order of the keys, so that two
-- processes never deadlock. Returns the claims that were made.
CREATE OR REPLACE FUNCTION claim_requests(
  p_api_key text[], p_key text[], p_fingerprint bytea[], p_claim bytea[], p_status smallint, p_answer text[],
  p_secret_event text[], p_earlier text[]
) RETURNS SETOF bytea LANGUAGE plpgsql AS $$
DECLARE
  at bigint := now_ms();
BEGIN
  RETURN QUERY INSERT INTO idempotency_keys AS k (api_key_id, key, fingerprint, claim, status, body, expires_at, voting_event_id)
  SELECT DISTINCT ON (r.api_key, r.key) r.api_key, r.key, r.fingerprint, r.claim, p_status, r.answer, at + idempotency_kept_ms(),
    r.secret_event
  FROM unnest(p_api_key, p_key, p_fingerprint, p_claim, p_answer, p_secret_event) WITH ORDINALITY
    AS r (api_key, key, fingerprint, claim, answer, secret_event, place)
  WHERE r.key IS NOT NULL AND NOT EXISTS (SELECT 1 FROM idempotency_keys o
    WHERE o.api_key_id = r.api_key AND o.key = ANY (p_earlier) AND o.expires_at > at OFFSET 0)
  ORDER BY r.api_key, r.key, r.place
  ON CONFLICT (api_key_id, key) DO UPDATE SET fingerprint = excluded.fingerprint, claim = excluded.claim,
    status = excluded.status, body = excluded.body, expires_at = excluded.expires_at, voting_event_id = excluded.voting_event_id
    WHERE k.expires_at <= at OR (k.status IS NULL AND is_claim_abandoned(k.claim)) OR k.claim = excluded.claim
      OR (k.status >= 400 AND k.body IS NULL AND k.fingerprint = excluded.fingerprint)
  RETURNING k.claim;
END $$;
