-- Which processes are alive. Each writes itself down twice a second; what a dead one had begun is free for the next. Not
-- logged: after a crash of the server every process that is alive stands here again within a second.
CREATE UNLOGGED TABLE "service_processes" (
	"id" "bytea" PRIMARY KEY NOT NULL,
	"seen_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE FUNCTION is_process_alive(p_id bytea) RETURNS boolean LANGUAGE sql STABLE
AS $function$
  SELECT EXISTS (SELECT 1 FROM service_processes p WHERE p.id = p_id AND p.seen_at > now_ms() - 2000)
$function$;
--> statement-breakpoint
-- A claim begins with the process that holds it. Earlier versions made claims of 16 bytes that name nobody: those end by time.
CREATE FUNCTION is_claim_abandoned(p_claim bytea, p_claimed_at bigint, p_now bigint) RETURNS boolean LANGUAGE sql STABLE
AS $function$
  SELECT CASE WHEN length(p_claim) = 16 THEN p_claimed_at <= p_now - 60 * 1000
    ELSE NOT is_process_alive(substring(p_claim FROM 1 FOR 16)) END
$function$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION cast_ballot_once(
  p_api_key text, p_idempotency_key text, p_fingerprint bytea, p_claim bytea, p_answer text, p_event text,
  p_paper_version bigint, p_voter jsonb, p_key_hash bytea, p_expected_group text, p_participants jsonb,
  p_code_tag bytea, p_entries bytea, p_visitor_id text, p_voter_id text, p_email text, p_name text, p_country text,
  p_credits jsonb, OUT verdict text, OUT short_position text, OUT required bigint, OUT available bigint,
  OUT stored_fingerprint bytea, OUT stored_status smallint, OUT stored_answer text
)
 RETURNS record
 LANGUAGE plpgsql
AS $function$
DECLARE
  at bigint := now_ms();
BEGIN
  IF p_idempotency_key IS NOT NULL THEN
    INSERT INTO idempotency_keys AS k (api_key_id, key, fingerprint, claim, claimed_at, status, body, expires_at)
    VALUES (p_api_key, p_idempotency_key, p_fingerprint, p_claim, at, 201, p_answer, at + 24 * 60 * 60 * 1000)
    ON CONFLICT (api_key_id, key) DO UPDATE SET fingerprint = excluded.fingerprint, claim = excluded.claim,
      claimed_at = excluded.claimed_at, status = excluded.status, body = excluded.body, expires_at = excluded.expires_at
      WHERE k.expires_at <= at OR (k.status IS NULL AND is_claim_abandoned(k.claim, k.claimed_at, at)) OR k.claim = excluded.claim;
    IF NOT FOUND THEN
      SELECT k.fingerprint, k.status, k.body INTO stored_fingerprint, stored_status, stored_answer
      FROM idempotency_keys k WHERE k.api_key_id = p_api_key AND k.key = p_idempotency_key;
      verdict := 'claimed_before';
      RETURN;
    END IF;
  END IF;
  SELECT c.verdict, c.short_position, c.required, c.available
  INTO verdict, short_position, required, available
  FROM cast_ballot(p_event, p_paper_version, p_voter, p_key_hash, p_expected_group,
    ARRAY(SELECT jsonb_array_elements_text(p_participants)), p_code_tag, p_entries,
    p_visitor_id, p_voter_id, p_email, p_name, p_country, p_credits) AS c;
  IF verdict <> 'cast' AND p_idempotency_key IS NOT NULL THEN
    -- The claim stays: what refused the ballot is told and kept by the caller.
    UPDATE idempotency_keys k SET status = NULL, body = NULL
    WHERE k.api_key_id = p_api_key AND k.key = p_idempotency_key AND k.claim = p_claim;
  END IF;
END $function$;
--> statement-breakpoint
-- The process that asks the provider: when it has died, the next one need not wait for the end of its time.
ALTER TABLE "payment_attempts" ADD COLUMN "asking_by" "bytea";
