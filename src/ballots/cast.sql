-- Casts many ballots of one event in one statement: stores each as pending, or returns why not. Each answer is stored under the request's
-- Idempotency-Key: a caller that runs the statement again, because it does not know whether it committed, passes the same claim and gets
-- the same answer. A change of the ballot definition waits for the lock on the event's row, so that each ballot is stored under the version
-- that it was judged by. A batch has ballots of elections or of polls, not both, and no two ballots of one participant.
CREATE OR REPLACE FUNCTION cast_ballots_together(
  p_event text, p_api_key text[], p_idempotency_key text[], p_fingerprint bytea[], p_claim bytea[], p_answer text[],
  p_paper text[], p_voter jsonb[], p_key_hash bytea[], p_expected_group text[], p_participants jsonb[],
  p_code_tag bytea[], p_entries bytea[], p_visitor_id text[], p_voter_id text[], p_email text[], p_name text[],
  p_country text[], p_credits jsonb[], p_sealed_weight bigint[], p_sealed_generation bigint[],
  p_secret_event text[]
) RETURNS TABLE (
  place integer, verdict text, short_position text, required bigint, available bigint, stored_fingerprint bytea,
  stored_claim bytea, stored_status smallint, stored_answer text, voter_weight bigint, tagged jsonb
) LANGUAGE plpgsql
-- Planning takes longer than execution, so the plan is cached, perhaps since the tables were empty. These settings force look-ups by
-- key even then. Where several indexes share their first columns, the ORDER BY of a look-up selects one.
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
DECLARE
  at bigint;
  keyed CONSTANT boolean := cardinality(array_remove(p_idempotency_key, NULL)) > 0;
  priced CONSTANT boolean := cardinality(array_remove(p_credits, NULL)) > 0;
  election CONSTANT boolean := p_voter[1] IS NOT NULL;
  claims bytea[];
  verdicts text[];
  stored_under text[];
  exclusives boolean[];
  weights bigint[];
  tagged_rows jsonb[];
  short record;
  shortages jsonb := '{}';
  tags bytea[];
  late integer[];
BEGIN
  IF cardinality(array_remove(p_voter, NULL)) NOT IN (0, cardinality(p_paper)) THEN
    RAISE EXCEPTION 'ballots of elections and of polls are cast apart' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  -- Changes of the event take FOR UPDATE and wait for this lock, so that all statements below see the same version of the event.
  PERFORM 1 FROM voting_events e WHERE e.id = p_event FOR KEY SHARE;
  at := now_ms();
  IF keyed THEN
    SELECT array_agg(c) INTO claims
    FROM claim_requests(p_api_key, p_idempotency_key, p_fingerprint, p_claim, 201::smallint, p_answer, p_secret_event, '{}') AS c;
  END IF;
  -- Lock before judging: this waits for a running confirm of the same visitor, and `judge_cast` then sees its result.
  IF priced THEN
    PERFORM lock_credits(p_event, c.visitor) FROM (
      SELECT DISTINCT lower(r.visitor_id) AS visitor FROM unnest(p_visitor_id, p_credits) AS r (visitor_id, credits)
      WHERE r.credits IS NOT NULL ORDER BY 1) AS c;
  END IF;
  -- One statement for each type of event: the constant NULL arguments let the planner remove the other type's part of `judge_cast`.
  IF election THEN
    SELECT array_agg(CASE WHEN j.free THEN j.verdict ELSE 'claimed_before' END), array_agg(j.participant), array_agg(j.exclusive),
      array_agg(j.weight_micro), array_agg(j.tagged)
    INTO verdicts, stored_under, exclusives, weights, tagged_rows FROM (
      SELECT r.idempotency_key IS NULL OR coalesce(r.claim = ANY (claims), false) AS free, j.*
      FROM unnest(p_idempotency_key, p_claim, p_paper, p_voter, p_key_hash, p_expected_group)
        WITH ORDINALITY AS r (idempotency_key, claim, paper, voter, key_hash, expected_group, place)
      CROSS JOIN LATERAL judge_cast(p_event, at, r.paper, r.voter, r.key_hash, r.expected_group, NULL, NULL, NULL) AS j
      ORDER BY r.place) AS j;
  ELSE
    SELECT array_agg(CASE WHEN j.free THEN j.verdict ELSE 'claimed_before' END), array_agg(j.participant), array_agg(j.exclusive),
      array_agg(j.weight_micro)
    INTO verdicts, stored_under, exclusives, weights FROM (
      SELECT r.idempotency_key IS NULL OR coalesce(r.claim = ANY (claims), false) AS free, j.*
      FROM (
        SELECT r.*, ARRAY(SELECT jsonb_array_elements_text(r.sent)) AS participants
        FROM unnest(p_idempotency_key, p_claim, p_paper, p_participants)
          WITH ORDINALITY AS r (idempotency_key, claim, paper, sent, place)
      ) AS r CROSS JOIN LATERAL judge_cast(p_event, at, r.paper, NULL, NULL, NULL, r.participants, NULL, NULL) AS j
      ORDER BY r.place) AS j;
  END IF;
  -- The caller sealed each ballot with a guess of its voter's weight and of how often the voter's identity was changed
  -- (`identityGeneration`). A wrong guess is answered `other_weight`, and the caller seals the ballot again.
  FOR i IN 1 .. cardinality(p_paper) LOOP
    IF verdicts[i] = 'cast' AND (p_sealed_weight[i] <> weights[i] OR p_sealed_generation[i] <> (tagged_rows[i] ->> 10)::bigint / 65536) THEN
      verdicts[i] := 'other_weight';
    END IF;
  END LOOP;
  IF priced THEN
    FOR i IN 1 .. cardinality(p_paper) LOOP
      CONTINUE WHEN verdicts[i] <> 'cast' OR p_credits[i] IS NULL;
      SELECT h.short_position, h.required, h.available INTO short
      FROM hold_credits(p_event, stored_under[i], lower(p_visitor_id[i]), p_code_tag[i], p_credits[i]) AS h;
      IF short.short_position IS NOT NULL THEN
        verdicts[i] := 'insufficient_credits';
        shortages := shortages || jsonb_build_object(i::text, to_jsonb(short));
      END IF;
    END LOOP;
  END IF;
  WITH stored AS (
    INSERT INTO pending_ballots AS b (voting_event_id, participant, participants, code_tag, entries, weight_micro, visitor_id, voter_id,
      email, name, country_code, credits, cast_at)
    SELECT p_event, stored_under[r.place],
      CASE WHEN election THEN ARRAY[stored_under[r.place]] ELSE ARRAY(SELECT jsonb_array_elements_text(r.sent)) END,
      r.code_tag, r.entries, weights[r.place], r.visitor_id, r.voter_id, r.email, r.name, r.country, r.credits, at
    FROM unnest(p_participants, p_code_tag, p_entries, p_visitor_id, p_voter_id, p_email, p_name, p_country, p_credits)
      WITH ORDINALITY AS r (sent, code_tag, entries, visitor_id, voter_id, email, name, country, credits, place)
    WHERE verdicts[r.place] = 'cast' ORDER BY r.place
    ON CONFLICT (voting_event_id, participant) DO UPDATE SET
      participants = excluded.participants, code_tag = excluded.code_tag, entries = excluded.entries,
      weight_micro = excluded.weight_micro, voter_id = excluded.voter_id, email = excluded.email, name = excluded.name,
      country_code = excluded.country_code, credits = excluded.credits, cast_at = excluded.cast_at
      WHERE b.payment_attempt_id IS NULL
    RETURNING b.code_tag
  )
  SELECT coalesce(array_agg(s.code_tag), '{}') INTO tags FROM stored s;
  -- A confirm of the same participant may have committed since `judge_cast`. Its ballot counts, so the new one is dropped.
  SELECT array_agg(r.place) INTO late
  FROM unnest(verdicts, exclusives, stored_under, p_participants) WITH ORDINALITY
    AS r (verdict, exclusive, stored_under, sent, place)
  WHERE r.verdict = 'cast' AND r.exclusive AND EXISTS (
    SELECT 1 FROM participation p WHERE p.voting_event_id = p_event AND p.participant = ANY (
      CASE WHEN election THEN ARRAY[r.stored_under] ELSE ARRAY(SELECT jsonb_array_elements_text(r.sent)) END) OFFSET 0);
  FOR i IN 1 .. cardinality(p_paper) LOOP
    -- A pending ballot with a payment is not replaced. Elections have no payments, so in an election direct SQL wrote the payment.
    IF verdicts[i] = 'cast' AND NOT p_code_tag[i] = ANY (tags) THEN
      verdicts[i] := CASE WHEN election THEN 'rows_disagree' ELSE 'already_voted' END;
    END IF;
    IF i = ANY (late) THEN
      PERFORM drop_pending_ballot(p_event, p_code_tag[i]);
      verdicts[i] := 'already_voted';
    END IF;
    place := i;
    verdict := verdicts[i];
    voter_weight := CASE WHEN verdict = 'other_weight' THEN weights[i] END;
    tagged := tagged_rows[i];
    IF priced THEN
      short_position := shortages -> i::text ->> 'short_position';
      required := shortages -> i::text ->> 'required';
      available := shortages -> i::text ->> 'available';
    END IF;
    IF verdict = 'claimed_before' THEN
      SELECT k.fingerprint, k.claim, k.status, k.body INTO stored_fingerprint, stored_claim, stored_status, stored_answer
      FROM idempotency_keys k WHERE k.api_key_id = p_api_key[i] AND k.key = p_idempotency_key[i];
    ELSE
      stored_fingerprint := NULL; stored_claim := NULL; stored_status := NULL; stored_answer := NULL;
      -- Keep the claim, without an answer: the caller stores the refusal under it.
      IF verdict <> 'cast' AND p_idempotency_key[i] IS NOT NULL THEN
        UPDATE idempotency_keys k SET status = NULL, body = NULL
        WHERE k.api_key_id = p_api_key[i] AND k.key = p_idempotency_key[i] AND k.claim = p_claim[i];
      END IF;
    END IF;
    RETURN NEXT;
  END LOOP;
END $$;

-- Stores the pending ballot of a payment. No later ballot may replace it, because it was paid for.
CREATE OR REPLACE FUNCTION cast_paid_ballot(
  p_event text, p_paper text, p_attempt text, p_paid_at bigint, p_participants text[], p_code_tag bytea,
  p_entries bytea, p_visitor_id text, p_voter_id text, p_email text, p_name text, p_country text, p_credits jsonb,
  OUT verdict text, OUT short_position text, OUT required bigint, OUT available bigint
) RETURNS record LANGUAGE plpgsql
-- Cached plans that look rows up by key, as above.
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
DECLARE
  j record;
  taken integer;
BEGIN
  PERFORM 1 FROM voting_events WHERE id = p_event FOR KEY SHARE;
  IF p_credits IS NOT NULL THEN PERFORM lock_credits(p_event, lower(p_visitor_id)); END IF;
  SELECT * INTO j FROM judge_cast(p_event, now_ms(), p_paper, NULL, NULL, NULL, p_participants, p_attempt, p_paid_at);
  verdict := j.verdict;
  IF verdict <> 'cast' THEN RETURN; END IF;
  -- Reserve every identity of the participant, so that only one of two payments is fulfilled even if they come from two devices.
  IF j.exclusive THEN
    INSERT INTO waiting_participants (voting_event_id, participant, code_tag)
    SELECT p_event, participant, p_code_tag FROM unnest(p_participants) AS participant ORDER BY participant ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS taken = ROW_COUNT;
    IF taken < cardinality(p_participants) THEN verdict := 'already_voted'; RETURN; END IF;
  END IF;
  IF p_credits IS NOT NULL THEN
    -- The payment has held these credits since the first call: release them, so that the ballot can hold them.
    PERFORM release_attempt(p_event, p_attempt);
    SELECT h.short_position, h.required, h.available INTO short_position, required, available
    FROM hold_credits(p_event, j.participant, lower(p_visitor_id), p_code_tag, p_credits) AS h;
    IF short_position IS NOT NULL THEN verdict := 'insufficient_credits'; RETURN; END IF;
  END IF;
  INSERT INTO pending_ballots AS b (voting_event_id, participant, participants, code_tag, entries, weight_micro, visitor_id, voter_id,
    email, name, country_code, credits, payment_attempt_id, cast_at)
  VALUES (p_event, j.participant, j.participants, p_code_tag, p_entries, j.weight_micro, p_visitor_id, p_voter_id, p_email, p_name,
    p_country, p_credits, p_attempt, j.cast_at)
  ON CONFLICT (voting_event_id, participant) DO UPDATE SET
    participants = excluded.participants, code_tag = excluded.code_tag, entries = excluded.entries, voter_id = excluded.voter_id,
    email = excluded.email, name = excluded.name, country_code = excluded.country_code, credits = excluded.credits,
    payment_attempt_id = excluded.payment_attempt_id, cast_at = excluded.cast_at
    WHERE b.payment_attempt_id IS NULL;
  verdict := CASE WHEN FOUND THEN 'cast' ELSE 'already_voted' END;
END $$;
