-- Casts many ballots in one statement for all of them. Most come from known participants whose ballot needs nothing but to
-- be stored: those are judged and stored as a set, by the same conditions that `cast_ballot` asks one after another. All
-- others, whatever stands against them, go through `cast_ballot_once` one by one, which says what it is.
-- A ballot whose claim was stored here and that could not be stored itself holds the same claim there.
CREATE FUNCTION cast_ballots_together(
  p_api_key text[], p_idempotency_key text[], p_fingerprint bytea[], p_claim bytea[], p_answer text[],
  p_event text[], p_paper_version bigint[], p_voter jsonb[], p_key_hash bytea[], p_failure_identity bytea[], p_expected_group text[],
  p_participants jsonb[], p_code_tag bytea[], p_entries bytea[],
  p_visitor_id text[], p_voter_id text[], p_email text[], p_name text[], p_country text[], p_credits jsonb[]
) RETURNS TABLE (
  place integer, verdict text, retry_after_ms bigint, short_position text, required bigint, available bigint,
  stored_fingerprint bytea, stored_status smallint, stored_answer text
) LANGUAGE plpgsql
-- One plan for every batch, by the indexes: planning would cost more than casting does.
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
  at bigint;
  together integer[];
BEGIN
  -- In one order for all, in the way that a change of the paper waits for. What follows sees the events as they are now.
  PERFORM 1 FROM (SELECT e.id FROM voting_events e WHERE e.id = ANY (p_event) ORDER BY e.id FOR KEY SHARE) AS held;
  at := now_ms();
  WITH asked AS (
    SELECT r.*, r.voter ->> 'kind' AS kind, r.voter ->> 'identity' AS identity FROM unnest(
      p_api_key, p_idempotency_key, p_fingerprint, p_claim, p_answer, p_event, p_paper_version, p_voter, p_key_hash,
      p_failure_identity, p_expected_group, p_participants, p_code_tag, p_entries, p_visitor_id, p_voter_id, p_email, p_name,
      p_country, p_credits
    ) WITH ORDINALITY AS r (
      api_key, idempotency_key, fingerprint, claim, answer, event, paper_version, voter, key_hash, failure_identity,
      expected_group, participants, code_tag, entries, visitor_id, voter_id, email, name, country, credits, place)
  ), plain AS MATERIALIZED (
    SELECT r.*, known.id AS participant, known.participants AS all_participants, known.weight_micro
    FROM asked r JOIN voting_events e ON e.id = r.event
    CROSS JOIN LATERAL (
      SELECT v.id, ARRAY[v.id] AS participants, v.weight_micro FROM (
        SELECT * FROM voters w WHERE r.kind = 'email' AND w.voting_event_id = r.event AND w.email_key = r.identity
        UNION ALL
        SELECT * FROM voters w WHERE r.kind <> 'email' AND w.voting_event_id = r.event AND w.voter_id_key = r.identity) AS v
      WHERE v.deleted_at IS NULL AND v.status = 'approved' AND v.key_status = 'used'
        AND (r.expected_group IS NULL OR r.expected_group = coalesce(v.group_id, ''))
        AND EXISTS (SELECT 1 FROM voter_keys k
          WHERE k.voting_event_id = r.event AND k.voter_id = v.id AND k.key_hash = r.key_hash)
        AND NOT EXISTS (SELECT 1 FROM voter_key_failures f
          WHERE f.voting_event_id = r.event AND f.identity = r.failure_identity AND f.failures >= 10)
      UNION ALL
      SELECT sent.participants[1], sent.participants, 1000000::bigint
      FROM (SELECT ARRAY(SELECT jsonb_array_elements_text(r.participants)) AS participants) AS sent WHERE r.voter IS NULL
    ) AS known
    WHERE r.credits IS NULL AND e.paper_version = r.paper_version AND event_status(e, at) = 'open'
      AND ((r.voter IS NULL AND e.repeat_votes) OR NOT EXISTS (SELECT 1 FROM participation p
        WHERE p.voting_event_id = r.event AND p.participant = ANY (known.participants)))
      AND NOT EXISTS (SELECT 1 FROM pending_ballots b WHERE b.voting_event_id = r.event AND b.participant = known.id
        AND (b.payment_attempt_id IS NOT NULL OR b.credits IS NOT NULL))
  ), claimed AS (
    INSERT INTO idempotency_keys AS k (api_key_id, key, fingerprint, claim, claimed_at, status, body, expires_at)
    SELECT r.api_key, r.idempotency_key, r.fingerprint, r.claim, at, 201, r.answer, at + 24 * 60 * 60 * 1000
    FROM plain r WHERE r.idempotency_key IS NOT NULL ORDER BY r.place
    ON CONFLICT DO NOTHING RETURNING k.claim
  ), stored AS (
    INSERT INTO pending_ballots AS b (voting_event_id, participant, participants, code_tag, entries, weight_micro, visitor_id, voter_id, email, name, country_code, cast_at)
    SELECT r.event, r.participant, r.all_participants, r.code_tag, r.entries, r.weight_micro, r.visitor_id, r.voter_id, r.email, r.name, r.country, at
    FROM plain r WHERE r.idempotency_key IS NULL OR EXISTS (SELECT 1 FROM claimed c WHERE c.claim = r.claim) ORDER BY r.place
    ON CONFLICT (voting_event_id, participant) DO UPDATE SET
      participants = excluded.participants, code_tag = excluded.code_tag, entries = excluded.entries,
      weight_micro = excluded.weight_micro, voter_id = excluded.voter_id, email = excluded.email, name = excluded.name,
      country_code = excluded.country_code, cast_at = excluded.cast_at
      WHERE b.payment_attempt_id IS NULL AND b.credits IS NULL
    RETURNING b.code_tag
  )
  SELECT coalesce(array_agg(r.place), '{}') INTO together FROM plain r WHERE EXISTS (SELECT 1 FROM stored s WHERE s.code_tag = r.code_tag);
  FOR i IN 1 .. cardinality(p_event) LOOP
    place := i;
    IF i = ANY (together) THEN
      verdict := 'cast'; retry_after_ms := NULL; short_position := NULL; required := NULL; available := NULL;
      stored_fingerprint := NULL; stored_status := NULL; stored_answer := NULL;
    ELSE
      SELECT c.verdict, c.retry_after_ms, c.short_position, c.required, c.available, c.stored_fingerprint, c.stored_status, c.stored_answer
      INTO verdict, retry_after_ms, short_position, required, available, stored_fingerprint, stored_status, stored_answer
      FROM cast_ballot_once(p_api_key[i], p_idempotency_key[i], p_fingerprint[i], p_claim[i], p_answer[i], p_event[i],
        p_paper_version[i], p_voter[i], p_key_hash[i], p_failure_identity[i], p_expected_group[i], p_participants[i],
        p_code_tag[i], p_entries[i], p_visitor_id[i], p_voter_id[i], p_email[i], p_name[i], p_country[i], p_credits[i]) AS c;
    END IF;
    RETURN NEXT;
  END LOOP;
END $$;
