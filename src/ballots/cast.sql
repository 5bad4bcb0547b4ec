-- Stores a pending ballot, or says why not. The event's row is locked in the way that a change of its paper waits for: a ballot
-- is stored under exactly the version it was judged by. The time is read under that lock: a cast that waited for a close must
-- not be judged by the time before it.
CREATE OR REPLACE FUNCTION cast_ballot(
  p_event text, p_paper_version bigint, p_voter jsonb, p_key_hash bytea, p_expected_group text, p_participants text[],
  p_code_tag bytea, p_entries bytea, p_visitor_id text, p_voter_id text, p_email text, p_name text, p_country text,
  p_credits jsonb, OUT verdict text, OUT short_position text, OUT required bigint, OUT available bigint
)
 RETURNS record
 LANGUAGE plpgsql
AS $$
DECLARE
  e voting_events%ROWTYPE;
  judged record;
  at bigint;
  key text := p_participants[1];
  weight bigint := 1000000;
BEGIN
  SELECT * INTO e FROM voting_events WHERE id = p_event FOR KEY SHARE;
  IF NOT FOUND THEN verdict := 'event_gone'; RETURN; END IF;
  at := now_ms();
  IF e.paper_version <> p_paper_version THEN verdict := 'stale'; RETURN; END IF;
  verdict := event_status(e, at);
  IF verdict <> 'open' THEN RETURN; END IF;
  IF p_voter IS NOT NULL THEN
    SELECT * INTO judged FROM verify_voter(
      p_event, p_voter ->> 'kind', p_voter ->> 'identity', p_key_hash, e.voter_approval);
    verdict := judged.verdict;
    IF verdict <> 'eligible' THEN RETURN; END IF;
    IF p_expected_group IS DISTINCT FROM coalesce(judged.group_id, '') AND p_expected_group IS NOT NULL THEN
      verdict := 'stale';
      RETURN;
    END IF;
    key := judged.voter_id;
    weight := judged.weight_micro;
  ELSE
    IF p_credits IS NOT NULL THEN PERFORM lock_credits(p_event, lower(p_visitor_id)); END IF;
    IF has_voted(p_event, p_participants, e.repeat_votes) THEN
      verdict := 'already_voted';
      RETURN;
    END IF;
  END IF;
  IF p_credits IS NOT NULL THEN
    SELECT h.short_position, h.required, h.available INTO short_position, required, available
    FROM hold_credits(p_event, key, lower(p_visitor_id), p_code_tag, p_credits) AS h;
    IF short_position IS NOT NULL THEN verdict := 'insufficient_credits'; RETURN; END IF;
  END IF;
  INSERT INTO pending_ballots AS b (voting_event_id, participant, participants, code_tag, entries, weight_micro, visitor_id, voter_id, email, name, country_code, credits, cast_at)
  VALUES (p_event, key, CASE WHEN p_voter IS NULL THEN p_participants ELSE ARRAY[key] END, p_code_tag, p_entries, weight, p_visitor_id, p_voter_id, p_email, p_name, p_country, p_credits, at)
  ON CONFLICT (voting_event_id, participant) DO UPDATE SET
    participants = excluded.participants, code_tag = excluded.code_tag, entries = excluded.entries, weight_micro = excluded.weight_micro, voter_id = excluded.voter_id,
    email = excluded.email, name = excluded.name, country_code = excluded.country_code, credits = excluded.credits, cast_at = excluded.cast_at
    WHERE b.payment_attempt_id IS NULL;
  verdict := CASE WHEN FOUND THEN 'cast' ELSE 'already_voted' END;
  -- A confirm of the same participant that was under way meanwhile is seen only now: its ballot counts, this one never could.
  IF verdict = 'cast' AND EXISTS (SELECT 1 FROM participation p WHERE p.voting_event_id = p_event
    AND p.participant = ANY (CASE WHEN p_voter IS NULL THEN p_participants ELSE ARRAY[key] END))
    AND NOT (p_voter IS NULL AND e.repeat_votes)
  THEN
    PERFORM drop_pending_ballot(p_event, p_code_tag);
    verdict := 'already_voted';
  END IF;
END $$;

-- Casts a ballot and keeps its answer under the caller's Idempotency-Key, in one step. A caller that repeats a request after
-- an unknown end holds the same claim, and gets the same answer.
CREATE OR REPLACE FUNCTION cast_ballot_once(
  p_api_key text, p_idempotency_key text, p_fingerprint bytea, p_claim bytea, p_answer text, p_event text,
  p_paper_version bigint, p_voter jsonb, p_key_hash bytea, p_expected_group text, p_participants jsonb,
  p_code_tag bytea, p_entries bytea, p_visitor_id text, p_voter_id text, p_email text, p_name text, p_country text,
  p_credits jsonb, OUT verdict text, OUT short_position text, OUT required bigint, OUT available bigint,
  OUT stored_fingerprint bytea, OUT stored_status smallint, OUT stored_answer text
)
 RETURNS record
 LANGUAGE plpgsql
AS $$
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
END $$;

-- Casts many ballots in one statement. Most come from known participants whose ballot needs nothing but to be stored: those
-- are judged and stored as a set, by the same conditions that `cast_ballot` asks one after another. All others go through
-- `cast_ballot_once` one by one, which says what stands against them. A ballot whose claim was stored here and that could not
-- be stored itself holds the same claim there.
CREATE OR REPLACE FUNCTION cast_ballots_together(
  p_api_key text[], p_idempotency_key text[], p_fingerprint bytea[], p_claim bytea[], p_answer text[], p_event text[],
  p_paper_version bigint[], p_voter jsonb[], p_key_hash bytea[], p_expected_group text[],
  p_participants jsonb[], p_code_tag bytea[], p_entries bytea[], p_visitor_id text[], p_voter_id text[],
  p_email text[], p_name text[], p_country text[], p_credits jsonb[]
)
 RETURNS TABLE(place integer, verdict text, short_position text, required bigint, available bigint, stored_fingerprint bytea, stored_status smallint, stored_answer text)
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_bitmapscan TO 'off'
 SET jit TO 'off'
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
      p_expected_group, p_participants, p_code_tag, p_entries, p_visitor_id, p_voter_id, p_email, p_name,
      p_country, p_credits
    ) WITH ORDINALITY AS r (
      api_key, idempotency_key, fingerprint, claim, answer, event, paper_version, voter, key_hash,
      expected_group, participants, code_tag, entries, visitor_id, voter_id, email, name, country, credits, place)
  ), plain AS MATERIALIZED (
    SELECT r.*, known.id AS participant, known.participants AS all_participants, known.weight_micro
    FROM asked r JOIN voting_events e ON e.id = r.event
    CROSS JOIN LATERAL (
      SELECT v.id, ARRAY[v.id] AS participants, v.weight_micro FROM (
        SELECT * FROM (
          SELECT * FROM voters w WHERE w.voting_event_id = r.event AND w.email_key >= r.identity ORDER BY w.email_key LIMIT 1
        ) AS w WHERE r.kind = 'email' AND w.email_key = r.identity
        UNION ALL
        SELECT * FROM (
          SELECT * FROM voters w WHERE w.voting_event_id = r.event AND w.voter_id_key >= r.identity ORDER BY w.voter_id_key LIMIT 1
        ) AS w WHERE r.kind <> 'email' AND w.voter_id_key = r.identity) AS v
      WHERE v.deleted_at IS NULL AND v.status = 'approved' AND v.key_status = 'used'
        AND (r.expected_group IS NULL OR r.expected_group = coalesce(v.group_id, ''))
        AND EXISTS (SELECT 1 FROM voter_keys k
          WHERE k.voting_event_id = r.event AND k.voter_id = v.id
            AND k.key_hash = ANY (voter_key_hashes(r.key_hash, v.id)) OFFSET 0)
      UNION ALL
      SELECT sent.participants[1], sent.participants, 1000000::bigint
      FROM (SELECT ARRAY(SELECT jsonb_array_elements_text(r.participants)) AS participants) AS sent WHERE r.voter IS NULL
    ) AS known
    WHERE r.credits IS NULL AND e.paper_version = r.paper_version AND event_status(e, at) = 'open'
      AND ((r.voter IS NULL AND e.repeat_votes) OR NOT EXISTS (SELECT 1 FROM participation p
        WHERE p.voting_event_id = r.event AND p.participant = ANY (known.participants) OFFSET 0))
      AND (r.voter IS NOT NULL OR e.repeat_votes OR NOT EXISTS (SELECT 1 FROM waiting_participants w
        WHERE w.voting_event_id = r.event AND w.participant = ANY (known.participants) OFFSET 0))
      AND NOT EXISTS (SELECT 1 FROM (
          SELECT * FROM pending_ballots b WHERE b.voting_event_id = r.event AND b.participant >= known.id ORDER BY b.participant LIMIT 1
        ) AS b WHERE b.participant = known.id AND (b.payment_attempt_id IS NOT NULL OR b.credits IS NOT NULL) OFFSET 0)
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
  -- A confirm of the same participant that was under way meanwhile is seen only now: its ballot counts, this one never could.
  -- It is taken back, and judged once more by itself.
  WITH late AS (
    DELETE FROM pending_ballots b USING unnest(p_event, p_code_tag) WITH ORDINALITY AS c (event, code_tag, place), voting_events e
    WHERE c.place = ANY (together) AND b.voting_event_id = c.event AND b.code_tag = c.code_tag AND e.id = c.event
      AND NOT (e.type = 'poll' AND e.repeat_votes) AND EXISTS (SELECT 1 FROM participation p
        WHERE p.voting_event_id = c.event AND p.participant = ANY (b.participants) OFFSET 0)
    RETURNING c.place),
  released AS (DELETE FROM idempotency_keys k USING late l
    WHERE k.api_key_id = p_api_key[l.place] AND k.key = p_idempotency_key[l.place] AND k.claim = p_claim[l.place])
  SELECT coalesce(array_agg(t), '{}') INTO together FROM unnest(together) AS t WHERE t NOT IN (SELECT l.place FROM late l);
  FOR i IN 1 .. cardinality(p_event) LOOP
    place := i;
    IF i = ANY (together) THEN
      verdict := 'cast'; short_position := NULL; required := NULL; available := NULL;
      stored_fingerprint := NULL; stored_status := NULL; stored_answer := NULL;
    ELSE
      SELECT c.verdict, c.short_position, c.required, c.available, c.stored_fingerprint, c.stored_status, c.stored_answer
      INTO verdict, short_position, required, available, stored_fingerprint, stored_status, stored_answer
      FROM cast_ballot_once(p_api_key[i], p_idempotency_key[i], p_fingerprint[i], p_claim[i], p_answer[i], p_event[i],
        p_paper_version[i], p_voter[i], p_key_hash[i], p_expected_group[i], p_participants[i],
        p_code_tag[i], p_entries[i], p_visitor_id[i], p_voter_id[i], p_email[i], p_name[i], p_country[i], p_credits[i]) AS c;
    END IF;
    RETURN NEXT;
  END LOOP;
END $$;

-- Stores the pending ballot of a payment. It may come after the close when it was paid for before. No other ballot takes its
-- place, because its price was paid.
CREATE OR REPLACE FUNCTION cast_paid_ballot(
  p_event text, p_paper_version bigint, p_attempt text, p_paid_at bigint, p_participants text[], p_code_tag bytea,
  p_entries bytea, p_visitor_id text, p_voter_id text, p_email text, p_name text, p_country text, p_credits jsonb,
  OUT verdict text, OUT short_position text, OUT required bigint, OUT available bigint
)
 RETURNS record
 LANGUAGE plpgsql
AS $$
DECLARE
  e voting_events%ROWTYPE;
  at bigint;
  closed_at bigint;
  key text;
  taken integer;
BEGIN
  SELECT * INTO e FROM voting_events WHERE id = p_event FOR KEY SHARE;
  IF NOT FOUND THEN verdict := 'event_gone'; RETURN; END IF;
  at := now_ms();
  IF e.paper_version <> p_paper_version THEN verdict := 'stale'; RETURN; END IF;
  verdict := event_status(e, at);
  closed_at := least(e.closed_at, e.ends_at);
  IF verdict = 'closed' THEN
    IF p_paid_at > closed_at OR at >= closed_at + 15 * 60 * 1000 THEN RETURN; END IF;
  ELSIF verdict <> 'open' THEN
    RETURN;
  END IF;
  IF has_voted(p_event, p_participants, e.repeat_votes) THEN
    verdict := 'already_voted';
    RETURN;
  END IF;
  key := p_participants[1] || CASE WHEN e.repeat_votes THEN '#' || p_attempt ELSE '' END;
  IF p_credits IS NOT NULL THEN PERFORM lock_credits(p_event, lower(p_visitor_id)); END IF;
  -- Each of its identities is taken: of two payments of one participant, whatever their devices, one is fulfilled.
  IF NOT e.repeat_votes THEN
    INSERT INTO waiting_participants (voting_event_id, participant, code_tag)
    SELECT p_event, participant, p_code_tag FROM unnest(p_participants) AS participant ORDER BY participant ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS taken = ROW_COUNT;
    IF taken < cardinality(p_participants) THEN verdict := 'already_voted'; RETURN; END IF;
  END IF;
  IF p_credits IS NOT NULL THEN
    SELECT h.short_position, h.required, h.available INTO short_position, required, available
    FROM hold_credits(p_event, key, lower(p_visitor_id), p_code_tag, p_credits) AS h;
    IF short_position IS NOT NULL THEN verdict := 'insufficient_credits'; RETURN; END IF;
  END IF;
  INSERT INTO pending_ballots AS b (voting_event_id, participant, participants, code_tag, entries, weight_micro, visitor_id, voter_id, email, name, country_code, credits, payment_attempt_id, cast_at)
  VALUES (p_event, key, p_participants, p_code_tag, p_entries, 1000000, p_visitor_id, p_voter_id, p_email, p_name, p_country, p_credits, p_attempt, least(at, closed_at))
  ON CONFLICT (voting_event_id, participant) DO UPDATE SET
    participants = excluded.participants, code_tag = excluded.code_tag, entries = excluded.entries, voter_id = excluded.voter_id, email = excluded.email,
    name = excluded.name, country_code = excluded.country_code, credits = excluded.credits, payment_attempt_id = excluded.payment_attempt_id, cast_at = excluded.cast_at
    WHERE b.payment_attempt_id IS NULL;
  verdict := CASE WHEN FOUND THEN 'cast' ELSE 'already_voted' END;
END $$;
