ALTER TABLE "voting_events" ADD COLUMN "paid_votes" boolean DEFAULT false NOT NULL;
--> statement-breakpoint
ALTER TABLE "voting_events" ADD COLUMN "results_announced" boolean DEFAULT false NOT NULL;
--> statement-breakpoint
ALTER TABLE "voters" ADD COLUMN "erased_at" bigint;
--> statement-breakpoint
CREATE INDEX "voters_by_group" ON "voters" USING btree ("voting_event_id","group_id","id") WHERE group_id IS NOT NULL;
--> statement-breakpoint
CREATE TABLE "waiting_participants" (
	"voting_event_id" text NOT NULL,
	"participant" text NOT NULL,
	"code_tag" "bytea" NOT NULL,
	CONSTRAINT "waiting_participants_voting_event_id_participant_pk" PRIMARY KEY("voting_event_id","participant")
);
--> statement-breakpoint
ALTER TABLE "waiting_participants" ADD CONSTRAINT "waiting_participants_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "voting_events"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
-- Paid ballots that wait for their confirmation: of two by one participant the first one stands.
INSERT INTO waiting_participants (voting_event_id, participant, code_tag)
SELECT b.voting_event_id, lower(p), b.code_tag FROM pending_ballots b JOIN voting_events e ON e.id = b.voting_event_id
  CROSS JOIN unnest(b.participants) AS p
WHERE b.payment_attempt_id IS NOT NULL AND NOT e.repeat_votes ORDER BY b.cast_at ON CONFLICT DO NOTHING;
--> statement-breakpoint
-- Results that were public already were announced then.
UPDATE voting_events SET results_announced = true WHERE results_published_at IS NOT NULL;
--> statement-breakpoint
UPDATE voting_events e SET paid_votes = true WHERE EXISTS (
  SELECT 1 FROM payment_attempts a WHERE a.voting_event_id = e.id AND a.purpose = 'vote');
--> statement-breakpoint
-- A stored key belongs to one voter: copied to another one it opens nothing.
UPDATE voter_keys SET key_hash = sha256(key_hash || convert_to(voter_id, 'UTF8'));
--> statement-breakpoint
-- A poll's participants are listed whoever else has their ID or address.
UPDATE voters SET email_key = NULL, voter_id_key = chr(1) || lower(voter_id) WHERE source = 'poll';
--> statement-breakpoint
DROP FUNCTION cast_ballots_together;
--> statement-breakpoint
DROP FUNCTION cast_ballot_once;
--> statement-breakpoint
DROP FUNCTION cast_ballot;
--> statement-breakpoint
DROP FUNCTION verify_voter;
--> statement-breakpoint
-- What a voter's stored key may be, for a key under each of the service's secret keys (32 bytes one after the other).
CREATE FUNCTION voter_key_hashes(p_key_hash bytea, p_voter text) RETURNS bytea[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT array_agg(sha256(substr(p_key_hash, i, 32) || convert_to(p_voter, 'UTF8')))
  FROM generate_series(1, length(p_key_hash), 32) AS i;
$$;
--> statement-breakpoint
CREATE FUNCTION verify_voter(
  p_event text, p_kind text, p_identity text, p_key_hash bytea, p_approval text,
  OUT verdict text, OUT voter_id text, OUT weight_micro bigint, OUT group_id text
)
 RETURNS record
 LANGUAGE plpgsql
AS $$
DECLARE
  v voters%ROWTYPE;
  genuine boolean;
BEGIN
  IF p_kind = 'email' THEN
    SELECT * INTO v FROM (
      SELECT * FROM voters w WHERE w.voting_event_id = p_event AND w.email_key >= p_identity ORDER BY w.email_key LIMIT 1
    ) AS w WHERE w.email_key = p_identity AND w.deleted_at IS NULL;
  ELSE
    SELECT * INTO v FROM (
      SELECT * FROM voters w WHERE w.voting_event_id = p_event AND w.voter_id_key >= p_identity ORDER BY w.voter_id_key LIMIT 1
    ) AS w WHERE w.voter_id_key = p_identity AND w.deleted_at IS NULL;
  END IF;
  SELECT EXISTS (
    SELECT 1 FROM voter_keys k WHERE k.voting_event_id = p_event AND k.voter_id = coalesce(v.id, '')
      AND k.key_hash = ANY (voter_key_hashes(p_key_hash, coalesce(v.id, '')))
  ) INTO genuine;
  IF NOT genuine THEN
    verdict := 'voter_key_invalid';
    RETURN;
  END IF;
  voter_id := v.id;
  weight_micro := v.weight_micro;
  group_id := v.group_id;
  IF v.status = 'rejected' THEN
    verdict := 'voter_rejected';
  ELSIF v.status = 'pending' AND p_approval <> 'automatic' THEN
    verdict := 'voter_pending';
  ELSE
    IF v.status = 'pending' OR v.key_status <> 'used' THEN
      -- Once for each voter: planned each time.
      EXECUTE 'UPDATE voters SET status = ''approved'', key_status = ''used'' WHERE voting_event_id = $1 AND id = $2'
      USING p_event, v.id;
    END IF;
    verdict := CASE WHEN EXISTS (SELECT 1 FROM participation p WHERE p.voting_event_id = p_event AND p.participant = v.id)
      THEN 'already_voted' ELSE 'eligible' END;
  END IF;
END $$;
--> statement-breakpoint
-- Counts a wrong key for the voter that it was sent for and for the API key that sent it. Answers how often that voter's was
-- wrong, and how long a cast has to wait: a right key is never held up by it.
CREATE FUNCTION count_wrong_key(p_event text, p_voter bytea, p_caller bytea, OUT wrong integer, OUT retry_after_ms bigint)
RETURNS record LANGUAGE plpgsql AS $$
DECLARE
  at bigint := now_ms();
  window_ms CONSTANT bigint := 15 * 60 * 1000;
  by_voter record;
  by_caller record;
  roll bigint;
BEGIN
  INSERT INTO voter_key_failures AS f (voting_event_id, identity, window_started_at, failures) VALUES (p_event, p_voter, at, 1)
  ON CONFLICT (voting_event_id, identity) DO UPDATE SET
    failures = CASE WHEN f.window_started_at > at - window_ms THEN f.failures + 1 ELSE 1 END,
    window_started_at = CASE WHEN f.window_started_at > at - window_ms THEN f.window_started_at ELSE at END
  RETURNING f.failures, f.window_started_at INTO by_voter;
  INSERT INTO voter_key_failures AS f (voting_event_id, identity, window_started_at, failures) VALUES (p_event, p_caller, at, 1)
  ON CONFLICT (voting_event_id, identity) DO UPDATE SET
    failures = CASE WHEN f.window_started_at > at - window_ms THEN f.failures + 1 ELSE 1 END,
    window_started_at = CASE WHEN f.window_started_at > at - window_ms THEN f.window_started_at ELSE at END
  RETURNING f.failures, f.window_started_at INTO by_caller;
  SELECT e.voter_count INTO roll FROM voting_events e WHERE e.id = p_event;
  wrong := by_voter.failures;
  retry_after_ms := greatest(
    CASE WHEN by_voter.failures > 10 THEN by_voter.window_started_at + window_ms - at ELSE 0 END,
    CASE WHEN by_caller.failures > greatest(100, roll / 50) THEN by_caller.window_started_at + window_ms - at ELSE 0 END);
END $$;
--> statement-breakpoint
-- Whether a participant of a poll, by any of its identities, has a confirmed ballot or a paid one that waits for its
-- confirmation: the one rule for casts, paid casts and the eligibility check.
CREATE FUNCTION has_voted(p_event text, p_participants text[], p_repeat_votes boolean) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT NOT p_repeat_votes AND (
    EXISTS (SELECT 1 FROM participation p WHERE p.voting_event_id = p_event AND p.participant = ANY (p_participants) OFFSET 0)
    OR EXISTS (SELECT 1 FROM waiting_participants w WHERE w.voting_event_id = p_event AND w.participant = ANY (p_participants) OFFSET 0));
$$;
--> statement-breakpoint
CREATE FUNCTION cast_ballot(
  p_event text, p_paper_version bigint, p_voter jsonb, p_key_hash bytea,
  p_expected_group text, p_participants text[], p_code_tag bytea, p_entries bytea, p_visitor_id text, p_voter_id text,
  p_email text, p_name text, p_country text, p_credits jsonb, OUT verdict text,
  OUT short_position text, OUT required bigint, OUT available bigint
)
 RETURNS record
 LANGUAGE plpgsql
AS $$
DECLARE
  e voting_events%ROWTYPE;
  judged record;
  at bigint := now_ms();
  key text := p_participants[1];
  weight bigint := 1000000;
BEGIN
  SELECT * INTO e FROM voting_events WHERE id = p_event FOR KEY SHARE;
  IF NOT FOUND THEN verdict := 'event_gone'; RETURN; END IF;
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
--> statement-breakpoint
CREATE FUNCTION cast_ballot_once(
  p_api_key text, p_idempotency_key text, p_fingerprint bytea, p_claim bytea, p_answer text, p_event text,
  p_paper_version bigint, p_voter jsonb, p_key_hash bytea, p_expected_group text,
  p_participants jsonb, p_code_tag bytea, p_entries bytea, p_visitor_id text, p_voter_id text, p_email text,
  p_name text, p_country text, p_credits jsonb, OUT verdict text, OUT short_position text,
  OUT required bigint, OUT available bigint, OUT stored_fingerprint bytea, OUT stored_status smallint,
  OUT stored_answer text
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
      WHERE k.expires_at <= at OR (k.status IS NULL AND k.claimed_at <= at - 60 * 1000) OR k.claim = excluded.claim;
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
--> statement-breakpoint
CREATE FUNCTION cast_ballots_together(
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
--> statement-breakpoint
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
  at bigint := now_ms();
  closed_at bigint;
  key text;
  taken integer;
BEGIN
  SELECT * INTO e FROM voting_events WHERE id = p_event FOR KEY SHARE;
  IF NOT FOUND THEN verdict := 'event_gone'; RETURN; END IF;
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
--> statement-breakpoint
-- Gives back what was paid for a ballot that will not count: the row says so, a job asks the provider, once.
CREATE FUNCTION give_back_ballot(p_event text, p_attempt text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  a payment_attempts%ROWTYPE;
BEGIN
  SELECT * INTO a FROM payment_attempts t WHERE t.voting_event_id = p_event AND t.id = p_attempt;
  IF a.provider_payment_id IS NULL THEN RETURN; END IF;
  INSERT INTO payment_refunds (voting_event_id, attempt_id, provider_payment_id, reference, amount_minor, currency, status, created_at, updated_at)
  VALUES (p_event, a.id, a.provider_payment_id, coalesce(a.provider_reference, ''), a.amount_minor, a.currency, 'due', now_ms(), now_ms())
  ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN RETURN; END IF;
  PERFORM graphile_worker.add_job('refund_payment', max_attempts => 20, job_key => 'refund:' || a.id || ':' || a.provider_payment_id,
    payload => json_build_object('votingEventId', p_event, 'attemptId', a.id, 'providerPaymentId', a.provider_payment_id));
END $$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION drop_pending_ballot(p_event text, p_code_tag bytea)
 RETURNS boolean
 LANGUAGE plpgsql
AS $$
DECLARE
  b record;
BEGIN
  SELECT p.* INTO b FROM (
    SELECT p.ctid AS place, p.* FROM pending_ballots p WHERE p.voting_event_id = p_event AND p.code_tag >= p_code_tag
    ORDER BY p.code_tag LIMIT 1
  ) AS p WHERE p.code_tag = p_code_tag;
  IF b.credits IS NOT NULL THEN PERFORM lock_credits(p_event, lower(b.visitor_id)); END IF;
  DELETE FROM pending_ballots p WHERE p.ctid = b.place AND p.voting_event_id = p_event AND p.code_tag = p_code_tag RETURNING p.* INTO b;
  IF NOT FOUND THEN RETURN false; END IF;
  PERFORM release_credits(p_event, lower(b.visitor_id), b.code_tag, b.credits);
  IF b.payment_attempt_id IS NOT NULL THEN
    DELETE FROM waiting_participants w WHERE w.voting_event_id = p_event AND w.participant = ANY (b.participants)
      AND w.code_tag = b.code_tag;
  END IF;
  RETURN true;
END $$;
--> statement-breakpoint
-- Drops a ballot that nobody confirmed in time, and gives back what was paid for it.
CREATE FUNCTION return_pending_ballot(p_event text, p_code_tag bytea) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  paid text;
BEGIN
  SELECT b.payment_attempt_id INTO paid FROM pending_ballots b WHERE b.voting_event_id = p_event AND b.code_tag = p_code_tag;
  IF NOT drop_pending_ballot(p_event, p_code_tag) THEN RETURN false; END IF;
  IF paid IS NOT NULL THEN PERFORM give_back_ballot(p_event, paid); END IF;
  RETURN true;
END $$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION drop_expired_ballots()
 RETURNS integer
 LANGUAGE plpgsql
AS $$
DECLARE
  expired record;
  dropped integer := 0;
BEGIN
  FOR expired IN SELECT b.voting_event_id, b.code_tag FROM pending_ballots b JOIN voting_events e ON e.id = b.voting_event_id
    WHERE b.cast_at <= now_ms() - 24 * 60 * 60 * 1000
      OR (event_status(e, now_ms()) = 'closed' AND least(e.closed_at, e.ends_at) <= now_ms() - 15 * 60 * 1000)
    ORDER BY b.cast_at LIMIT 1000
  LOOP
    IF return_pending_ballot(expired.voting_event_id, expired.code_tag) THEN dropped := dropped + 1; END IF;
  END LOOP;
  RETURN dropped;
END $$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION confirm_ballot(
  p_event text, p_code_tag bytea, p_ballot text, p_salt bytea, p_sealed_time bytea, p_at bigint, p_new_voter text,
  p_leaf_tag bytea DEFAULT NULL::bytea, OUT verdict text, OUT entries bytea, OUT weight_micro bigint,
  OUT sealed_time bytea, OUT salt bytea, OUT status text
)
 RETURNS record
 LANGUAGE plpgsql
AS $$
DECLARE
  e voting_events%ROWTYPE;
  b record;
  at bigint := now_ms();
  closed_at bigint;
  poll boolean;
  shown_id text;
  standing text;
  inserted integer;
BEGIN
  SELECT * INTO e FROM voting_events WHERE id = p_event FOR KEY SHARE;
  IF NOT FOUND THEN verdict := 'event_gone'; RETURN; END IF;
  status := event_status(e, at);
  -- Whoever changes a visitor's credits takes turns, and before any row is locked: two orders would be a deadlock.
  SELECT p.* INTO b FROM (
    SELECT p.ctid AS place, p.* FROM pending_ballots p WHERE p.voting_event_id = p_event AND p.code_tag >= p_code_tag
    ORDER BY p.code_tag LIMIT 1
  ) AS p WHERE p.code_tag = p_code_tag;
  IF b.credits IS NOT NULL THEN PERFORM lock_credits(p_event, lower(b.visitor_id)); END IF;
  -- Replaced meanwhile, it has another code and is not found.
  SELECT p.ctid AS place, p.* INTO b FROM pending_ballots p WHERE p.ctid = b.place AND p.voting_event_id = p_event AND p.code_tag = p_code_tag
  FOR UPDATE;
  IF NOT FOUND THEN
    SELECT q.entries, q.weight_micro, q.sealed_time, q.salt INTO entries, weight_micro, sealed_time, salt
    FROM (
      SELECT * FROM ballot_queue q WHERE q.voting_event_id = p_event AND q.code_tag >= p_code_tag ORDER BY q.code_tag LIMIT 1
    ) AS q WHERE q.code_tag = p_code_tag;
    IF NOT FOUND THEN
      SELECT x.entries, x.weight_micro, x.sealed_time, x.salt INTO entries, weight_micro, sealed_time, salt
      FROM (
        SELECT * FROM ballots x WHERE x.voting_event_id = p_event AND x.code_tag >= coalesce(p_leaf_tag, p_code_tag)
        ORDER BY x.code_tag LIMIT 1
      ) AS x WHERE x.code_tag = coalesce(p_leaf_tag, p_code_tag);
    END IF;
    verdict := CASE WHEN FOUND THEN 'confirmed_before' ELSE 'unknown' END;
    RETURN;
  END IF;
  IF b.cast_at <= at - 24 * 60 * 60 * 1000 THEN
    PERFORM return_pending_ballot(p_event, p_code_tag);
    verdict := 'unknown';
    RETURN;
  END IF;
  IF status = 'closed' THEN
    closed_at := least(e.closed_at, e.ends_at);
    IF b.cast_at > closed_at OR at >= closed_at + 15 * 60 * 1000 THEN verdict := 'closed'; RETURN; END IF;
  ELSIF status <> 'open' THEN
    verdict := status;
    RETURN;
  END IF;
  poll := e.type = 'poll';
  -- The voter is judged as at the cast: rejected or taken off the roll since then, it has no ballot.
  IF NOT poll THEN
    SELECT v.status INTO standing FROM (
      SELECT * FROM voters w WHERE w.voting_event_id = p_event AND w.id >= b.participant ORDER BY w.id LIMIT 1
    ) AS v WHERE v.id = b.participant AND v.deleted_at IS NULL;
    verdict := CASE WHEN standing IS NULL THEN 'voter_key_invalid' WHEN standing = 'rejected' THEN 'voter_rejected'
      WHEN standing = 'pending' THEN 'voter_pending' END;
    IF verdict IS NOT NULL THEN RETURN; END IF;
  END IF;
  INSERT INTO participation (voting_event_id, participant, exclusive)
  SELECT p_event, participant, NOT e.repeat_votes FROM unnest(b.participants) AS participant ORDER BY participant
  ON CONFLICT DO NOTHING;
  GET DIAGNOSTICS inserted = ROW_COUNT;
  IF inserted < cardinality(b.participants) AND NOT e.repeat_votes THEN
    RAISE EXCEPTION 'already voted' USING ERRCODE = 'VS001';
  END IF;
  shown_id := CASE WHEN e.require_voter_id THEN b.voter_id ELSE b.visitor_id END;
  IF poll THEN
    INSERT INTO voters (voting_event_id, id, name, email, email_key, voter_id, voter_id_key, weight_micro, status, source, key_status, created_at, updated_at)
    VALUES (p_event, p_new_voter, coalesce(b.name, shown_id), b.email, NULL,
      -- No organizer's voter has such a key: participants are listed whoever else has their ID.
      shown_id, chr(1) || CASE WHEN e.require_voter_id THEN shown_id ELSE lower(shown_id) END, b.weight_micro, 'approved', 'poll', 'none', at, at)
    ON CONFLICT DO NOTHING;
  END IF;
  -- A block of its own gives the ballot another transaction ID than the participation. IDs that follow each other still tell
  -- of each other: what keeps a ballot of the queue secret is that nothing of it that will stand in the box is readable yet.
  BEGIN
    INSERT INTO ballot_queue (voting_event_id, id, code_tag, entries, weight_micro, salt, sealed_time, voter_id, country_code, submitted_at)
    VALUES (p_event, p_ballot, p_code_tag, b.entries, b.weight_micro, p_salt, p_sealed_time,
      CASE WHEN poll THEN shown_id END, CASE WHEN poll THEN b.country_code END, CASE WHEN poll THEN p_at END);
  EXCEPTION WHEN check_violation THEN
    RAISE;
  END;
  PERFORM spend_credits(p_event, lower(b.visitor_id), b.code_tag, b.credits);
  DELETE FROM pending_ballots p WHERE p.ctid = b.place;
  IF b.payment_attempt_id IS NOT NULL THEN
    DELETE FROM waiting_participants w WHERE w.voting_event_id = p_event AND w.participant = ANY (b.participants);
  END IF;
  PERFORM announce_ballot(e.account_id, p_event);
  verdict := 'confirmed';
  entries := b.entries;
  weight_micro := b.weight_micro;
  sealed_time := p_sealed_time;
  salt := p_salt;
END $$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION take_back_credits(p_event text, p_position text, p_visitor text, p_credits integer, p_attempt text)
 RETURNS integer
 LANGUAGE plpgsql
AS $$
DECLARE
  c credit_balances%ROWTYPE;
  pending record;
  taken integer;
BEGIN
  PERFORM lock_credits(p_event, p_visitor);
  SELECT * INTO c FROM credit_balances b
  WHERE b.voting_event_id = p_event AND b.position_id = p_position AND b.visitor_id = p_visitor;
  IF c.base + c.purchased - c.held - c.spent < p_credits THEN
    FOR pending IN SELECT b.code_tag FROM pending_ballots b
      WHERE b.voting_event_id = p_event AND lower(b.visitor_id) = p_visitor AND b.credits @> jsonb_build_array(jsonb_build_object('position', p_position))
    LOOP
      PERFORM return_pending_ballot(p_event, pending.code_tag);
    END LOOP;
    SELECT * INTO c FROM credit_balances b
    WHERE b.voting_event_id = p_event AND b.position_id = p_position AND b.visitor_id = p_visitor;
  END IF;
  taken := least(p_credits, c.purchased, c.base + c.purchased - c.held - c.spent);
  INSERT INTO credit_entries (voting_event_id, position_id, visitor_id, kind, reason, credits, created_at)
  VALUES (p_event, p_position, p_visitor, 'refund', p_attempt, taken, now_ms());
  UPDATE credit_balances b SET purchased = b.purchased - taken
  WHERE b.voting_event_id = p_event AND b.position_id = p_position AND b.visitor_id = p_visitor;
  RETURN p_credits - taken;
END $$;
