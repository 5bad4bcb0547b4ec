-- A database of version 1.0.0, as pg_dump writes it: every table and function, an election and a poll with a few ballots.
SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE SCHEMA drizzle;
CREATE SCHEMA public;
COMMENT ON SCHEMA public IS 'standard public schema';
CREATE FUNCTION public.add_credits(p_event text, p_position text, p_visitor text, p_base integer, p_credits integer, p_attempt text) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
  PERFORM lock_credits(p_event, p_visitor);
  PERFORM open_credit_balance(p_event, p_position, p_visitor, p_base);
  INSERT INTO credit_entries (voting_event_id, position_id, visitor_id, kind, reason, credits, created_at)
  VALUES (p_event, p_position, p_visitor, 'purchase', p_attempt, p_credits, now_ms());
  UPDATE credit_balances c SET purchased = c.purchased + p_credits
  WHERE c.voting_event_id = p_event AND c.position_id = p_position AND c.visitor_id = p_visitor;
END $$;
CREATE FUNCTION public.announce_ballot(p_account text, p_event text) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM webhook_endpoints e WHERE e.account_id = p_account
    AND (e.voting_event_id IS NULL OR e.voting_event_id = p_event) AND 'ballot.confirmed' = ANY (e.event_types)) THEN
    PERFORM record_webhook_event(p_account, p_event, 'ballot.confirmed', sortable_id('msg'),
      json_build_object('votingEventId', p_event, 'ballots', count_ballots(p_event))::text);
  END IF;
END $$;
CREATE FUNCTION public.cast_ballot(p_event text, p_paper_version bigint, p_voter jsonb, p_key_hash bytea, p_failure_identity bytea, p_expected_group text, p_participants text[], p_code_tag bytea, p_entries bytea, p_visitor_id text, p_voter_id text, p_email text, p_name text, p_country text, p_credits jsonb, OUT verdict text, OUT retry_after_ms bigint, OUT short_position text, OUT required bigint, OUT available bigint) RETURNS record
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
      p_event, p_voter ->> 'kind', p_voter ->> 'identity', p_key_hash, p_failure_identity, e.voter_approval);
    verdict := judged.verdict;
    retry_after_ms := judged.retry_after_ms;
    IF verdict <> 'eligible' THEN RETURN; END IF;
    IF p_expected_group IS DISTINCT FROM coalesce(judged.group_id, '') AND p_expected_group IS NOT NULL THEN
      verdict := 'stale';
      RETURN;
    END IF;
    key := judged.voter_id;
    weight := judged.weight_micro;
  ELSE
    IF p_credits IS NOT NULL THEN PERFORM lock_credits(p_event, p_visitor_id); END IF;
    -- A ballot that was paid for waits for its confirmation: an unpaid one must not take its place.
    IF (NOT e.repeat_votes AND EXISTS (
      SELECT 1 FROM participation p WHERE p.voting_event_id = p_event AND p.participant = ANY (p_participants)))
      OR EXISTS (SELECT 1 FROM (
        SELECT * FROM pending_ballots b WHERE b.voting_event_id = p_event AND b.participant >= key ORDER BY b.participant LIMIT 1
      ) AS b WHERE b.participant = key AND b.payment_attempt_id IS NOT NULL)
    THEN
      verdict := 'already_voted';
      RETURN;
    END IF;
  END IF;
  IF p_credits IS NOT NULL THEN
    SELECT h.short_position, h.required, h.available INTO short_position, required, available
    FROM hold_credits(p_event, key, p_visitor_id, p_code_tag, p_credits) AS h;
    IF short_position IS NOT NULL THEN verdict := 'insufficient_credits'; RETURN; END IF;
  END IF;
  INSERT INTO pending_ballots AS b (voting_event_id, participant, participants, code_tag, entries, weight_micro, visitor_id, voter_id, email, name, country_code, credits, cast_at)
  VALUES (p_event, key, CASE WHEN p_voter IS NULL THEN p_participants ELSE ARRAY[key] END, p_code_tag, p_entries, weight, p_visitor_id, p_voter_id, p_email, p_name, p_country, p_credits, at)
  ON CONFLICT (voting_event_id, participant) DO UPDATE SET
    participants = excluded.participants, code_tag = excluded.code_tag, entries = excluded.entries, weight_micro = excluded.weight_micro, voter_id = excluded.voter_id,
    email = excluded.email, name = excluded.name, country_code = excluded.country_code, credits = excluded.credits, cast_at = excluded.cast_at
    WHERE b.payment_attempt_id IS NULL;
  verdict := CASE WHEN FOUND THEN 'cast' ELSE 'already_voted' END;
END $$;
CREATE FUNCTION public.cast_ballot_once(p_api_key text, p_idempotency_key text, p_fingerprint bytea, p_claim bytea, p_answer text, p_event text, p_paper_version bigint, p_voter jsonb, p_key_hash bytea, p_failure_identity bytea, p_expected_group text, p_participants jsonb, p_code_tag bytea, p_entries bytea, p_visitor_id text, p_voter_id text, p_email text, p_name text, p_country text, p_credits jsonb, OUT verdict text, OUT retry_after_ms bigint, OUT short_position text, OUT required bigint, OUT available bigint, OUT stored_fingerprint bytea, OUT stored_status smallint, OUT stored_answer text) RETURNS record
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
CREATE FUNCTION public.cast_ballots_together(p_api_key text[], p_idempotency_key text[], p_fingerprint bytea[], p_claim bytea[], p_answer text[], p_event text[], p_paper_version bigint[], p_voter jsonb[], p_key_hash bytea[], p_failure_identity bytea[], p_expected_group text[], p_participants jsonb[], p_code_tag bytea[], p_entries bytea[], p_visitor_id text[], p_voter_id text[], p_email text[], p_name text[], p_country text[], p_credits jsonb[]) RETURNS TABLE(place integer, verdict text, retry_after_ms bigint, short_position text, required bigint, available bigint, stored_fingerprint bytea, stored_status smallint, stored_answer text)
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
          WHERE k.voting_event_id = r.event AND k.voter_id = v.id AND k.key_hash = r.key_hash OFFSET 0)
        AND NOT EXISTS (SELECT 1 FROM voter_key_failures f
          WHERE f.voting_event_id = r.event AND f.identity = r.failure_identity AND f.failures >= 10 OFFSET 0)
      UNION ALL
      SELECT sent.participants[1], sent.participants, 1000000::bigint
      FROM (SELECT ARRAY(SELECT jsonb_array_elements_text(r.participants)) AS participants) AS sent WHERE r.voter IS NULL
    ) AS known
    WHERE r.credits IS NULL AND e.paper_version = r.paper_version AND event_status(e, at) = 'open'
      AND ((r.voter IS NULL AND e.repeat_votes) OR NOT EXISTS (SELECT 1 FROM participation p
        WHERE p.voting_event_id = r.event AND p.participant = ANY (known.participants) OFFSET 0))
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
CREATE FUNCTION public.cast_paid_ballot(p_event text, p_paper_version bigint, p_attempt text, p_paid_at bigint, p_participants text[], p_code_tag bytea, p_entries bytea, p_visitor_id text, p_voter_id text, p_email text, p_name text, p_country text, p_credits jsonb, OUT verdict text, OUT short_position text, OUT required bigint, OUT available bigint) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
  e voting_events%ROWTYPE;
  at bigint := now_ms();
  closed_at bigint;
  key text;
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
  IF NOT e.repeat_votes AND EXISTS (
    SELECT 1 FROM participation p WHERE p.voting_event_id = p_event AND p.participant = ANY (p_participants)) THEN
    verdict := 'already_voted';
    RETURN;
  END IF;
  key := p_participants[1] || CASE WHEN e.repeat_votes THEN '#' || p_attempt ELSE '' END;
  IF p_credits IS NOT NULL THEN PERFORM lock_credits(p_event, p_visitor_id); END IF;
  IF EXISTS (SELECT 1 FROM (
    SELECT * FROM pending_ballots b WHERE b.voting_event_id = p_event AND b.participant >= key ORDER BY b.participant LIMIT 1
  ) AS b WHERE b.participant = key AND b.payment_attempt_id IS NOT NULL) THEN
    verdict := 'already_voted';
    RETURN;
  END IF;
  IF p_credits IS NOT NULL THEN
    SELECT h.short_position, h.required, h.available INTO short_position, required, available
    FROM hold_credits(p_event, key, p_visitor_id, p_code_tag, p_credits) AS h;
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
CREATE FUNCTION public.confirm_ballot(p_event text, p_code_tag bytea, p_ballot text, p_salt bytea, p_sealed_time bytea, p_at bigint, p_new_voter text, p_leaf_tag bytea DEFAULT NULL::bytea, OUT verdict text, OUT entries bytea, OUT weight_micro bigint, OUT sealed_time bytea, OUT salt bytea, OUT status text) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
  e voting_events%ROWTYPE;
  b record;
  at bigint := now_ms();
  closed_at bigint;
  poll boolean;
  shown_id text;
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
  IF b.credits IS NOT NULL THEN PERFORM lock_credits(p_event, b.visitor_id); END IF;
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
    PERFORM release_credits(p_event, b.visitor_id, b.code_tag, b.credits);
    DELETE FROM pending_ballots p WHERE p.ctid = b.place;
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
  INSERT INTO participation (voting_event_id, participant, exclusive)
  SELECT p_event, participant, NOT e.repeat_votes FROM unnest(b.participants) AS participant ORDER BY participant
  ON CONFLICT DO NOTHING;
  GET DIAGNOSTICS inserted = ROW_COUNT;
  IF inserted < cardinality(b.participants) AND NOT e.repeat_votes THEN
    RAISE EXCEPTION 'already voted' USING ERRCODE = 'VS001';
  END IF;
  shown_id := CASE WHEN e.require_voter_id AND NOT e.save_voter_info THEN b.voter_id ELSE b.visitor_id END;
  IF poll THEN
    INSERT INTO voters (voting_event_id, id, name, email, email_key, voter_id, voter_id_key, weight_micro, status, source, key_status, created_at, updated_at)
    VALUES (p_event, p_new_voter, coalesce(b.name, shown_id), b.email, (SELECT substr(i, 3) FROM unnest(b.participants) AS i WHERE i LIKE 'e:%'),
      shown_id, shown_id, b.weight_micro, 'approved', 'poll', 'none', at, at)
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
  PERFORM spend_credits(p_event, b.visitor_id, b.code_tag, b.credits);
  DELETE FROM pending_ballots p WHERE p.ctid = b.place;
  PERFORM announce_ballot(e.account_id, p_event);
  verdict := 'confirmed';
  entries := b.entries;
  weight_micro := b.weight_micro;
  sealed_time := p_sealed_time;
  salt := p_salt;
END $$;
CREATE FUNCTION public.count_ballots(p_event text) RETURNS bigint
    LANGUAGE sql STABLE
    AS $$
  SELECT coalesce((SELECT ballots FROM ballot_logs WHERE voting_event_id = p_event), 0)
    + (SELECT count(*) FROM ballot_queue WHERE voting_event_id = p_event);
$$;
CREATE FUNCTION public.drop_expired_ballots() RETURNS integer
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
    IF drop_pending_ballot(expired.voting_event_id, expired.code_tag) THEN dropped := dropped + 1; END IF;
  END LOOP;
  RETURN dropped;
END $$;
CREATE FUNCTION public.drop_pending_ballot(p_event text, p_code_tag bytea) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
  b record;
BEGIN
  SELECT p.* INTO b FROM (
    SELECT p.ctid AS place, p.* FROM pending_ballots p WHERE p.voting_event_id = p_event AND p.code_tag >= p_code_tag
    ORDER BY p.code_tag LIMIT 1
  ) AS p WHERE p.code_tag = p_code_tag;
  IF b.credits IS NOT NULL THEN PERFORM lock_credits(p_event, b.visitor_id); END IF;
  DELETE FROM pending_ballots p WHERE p.ctid = b.place AND p.voting_event_id = p_event AND p.code_tag = p_code_tag RETURNING p.* INTO b;
  IF NOT FOUND THEN RETURN false; END IF;
  PERFORM release_credits(p_event, b.visitor_id, b.code_tag, b.credits);
  RETURN true;
END $$;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.voting_events (
    id text NOT NULL,
    account_id text NOT NULL,
    code text NOT NULL,
    code_key text NOT NULL,
    title text NOT NULL,
    description text,
    type text NOT NULL,
    starts_at bigint,
    ends_at bigint,
    opened_at bigint,
    closed_at bigint,
    ready boolean DEFAULT false NOT NULL,
    time_zone text NOT NULL,
    require_voter_id boolean NOT NULL,
    voter_self_registration boolean NOT NULL,
    voter_approval text NOT NULL,
    save_voter_info boolean NOT NULL,
    candidate_self_registration boolean NOT NULL,
    candidate_order text NOT NULL,
    ballot_opening text NOT NULL,
    ballot_receipt text NOT NULL,
    results_visibility text NOT NULL,
    results_published_at bigint,
    pay_to_vote jsonb,
    pay_to_register_candidate jsonb,
    repeat_votes boolean NOT NULL,
    payment_business_id text,
    tie_seed text NOT NULL,
    paper_version bigint DEFAULT 1 NOT NULL,
    voter_count integer DEFAULT 0 NOT NULL,
    last_position_number integer DEFAULT 0 NOT NULL,
    last_candidate_number integer DEFAULT 0 NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    payment_provider text,
    announced_status text
);
CREATE FUNCTION public.event_status(e public.voting_events, at bigint) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN ((e).closed_at IS NOT NULL) THEN 'closed'::text WHEN (((e).opened_at IS NOT NULL) OR (((e).starts_at <= at) AND (e).ready)) THEN CASE WHEN ((e).ends_at <= at) THEN 'closed'::text ELSE 'open'::text END WHEN ((e).starts_at IS NULL) THEN 'draft'::text WHEN ((e).ends_at <= at) THEN 'closed'::text ELSE 'scheduled'::text END;
CREATE FUNCTION public.fold_electorate(p_event text) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
  total_heads bigint;
  total_weight numeric;
BEGIN
  WITH gone AS (DELETE FROM electorate_changes c WHERE c.voting_event_id = p_event RETURNING c.heads, c.weight_micro)
  SELECT sum(heads), sum(weight_micro) INTO total_heads, total_weight FROM gone;
  IF total_heads IS NOT NULL THEN PERFORM note_electorate(p_event, total_heads, total_weight); END IF;
END $$;
CREATE FUNCTION public.forget_voter_keys(p_event text) RETURNS void
    LANGUAGE sql
    AS $$
  DELETE FROM voter_keys WHERE voting_event_id = p_event;
  DELETE FROM voter_key_requests WHERE voting_event_id = p_event;
  DELETE FROM voter_key_failures WHERE voting_event_id = p_event;
$$;
CREATE FUNCTION public.guard_ballot_log() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  IF TG_OP = 'DELETE' AND NOT EXISTS (SELECT 1 FROM voting_events e WHERE e.id = OLD.voting_event_id) THEN RETURN OLD; END IF;
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;
CREATE FUNCTION public.guard_log_head() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  IF NEW.voting_event_id <> OLD.voting_event_id OR NEW.size < OLD.size OR (NEW.size = OLD.size AND NEW.frontier <> OLD.frontier) THEN
    RAISE EXCEPTION 'a ballot log only grows' USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE FUNCTION public.guard_sealed_ballot() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  OLD.released := NEW.released;
  IF NEW IS DISTINCT FROM OLD THEN
    RAISE EXCEPTION 'a sealed ballot never changes' USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE FUNCTION public.guard_voided_ballot() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  IF NEW.voting_event_id <> OLD.voting_event_id OR NEW.code_tag <> OLD.code_tag OR OLD.leaf_index IS NOT NULL THEN
    RAISE EXCEPTION 'a void ballot stays void' USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE FUNCTION public.hold_credits(p_event text, p_participant text, p_visitor text, p_code_tag bytea, p_credits jsonb, OUT short_position text, OUT required bigint, OUT available bigint) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
  replaced record;
  need record;
BEGIN
  SELECT b.code_tag, coalesce(b.credits, '[]') AS credits INTO replaced FROM (
    SELECT * FROM pending_ballots b WHERE b.voting_event_id = p_event AND b.participant >= p_participant ORDER BY b.participant LIMIT 1
  ) AS b WHERE b.participant = p_participant;
  SELECT n.position, n.credits, coalesce(c.base + c.purchased - c.held - c.spent, n.base) + coalesce(o.credits, 0)
  INTO short_position, required, available
  FROM jsonb_to_recordset(p_credits) AS n(position text, credits integer, base integer)
  LEFT JOIN credit_balances c ON c.voting_event_id = p_event AND c.position_id = n.position AND c.visitor_id = p_visitor
  LEFT JOIN jsonb_to_recordset(replaced.credits) AS o(position text, credits integer) ON o.position = n.position
  WHERE n.credits > coalesce(c.base + c.purchased - c.held - c.spent, n.base) + coalesce(o.credits, 0)
  ORDER BY n.position LIMIT 1;
  IF FOUND THEN RETURN; END IF;
  PERFORM release_credits(p_event, p_visitor, replaced.code_tag, replaced.credits);
  FOR need IN SELECT * FROM jsonb_to_recordset(p_credits) AS n(position text, credits integer, base integer) LOOP
    PERFORM open_credit_balance(p_event, need.position, p_visitor, need.base);
    UPDATE credit_balances c SET held = c.held + need.credits
    WHERE c.voting_event_id = p_event AND c.position_id = need.position AND c.visitor_id = p_visitor;
    INSERT INTO credit_entries (voting_event_id, position_id, visitor_id, kind, reason, credits, created_at)
    VALUES (p_event, need.position, p_visitor, 'hold', encode(p_code_tag, 'hex'), need.credits, now_ms());
  END LOOP;
END $$;
CREATE FUNCTION public.lock_credits(p_event text, p_visitor text) RETURNS void
    LANGUAGE sql
    AS $$
  SELECT pg_advisory_xact_lock(hashtextextended('credits ' || p_event || ' ' || p_visitor, 0));
$$;
CREATE FUNCTION public.note_electorate(p_event text, p_heads bigint, p_weight_micro numeric) RETURNS void
    LANGUAGE sql
    AS $$
  -- When an event is deleted its voters go with it, and it is gone already.
  INSERT INTO electorate_changes (voting_event_id, heads, weight_micro)
  SELECT p_event, p_heads, p_weight_micro
  WHERE (p_heads <> 0 OR p_weight_micro <> 0) AND EXISTS (SELECT 1 FROM voting_events e WHERE e.id = p_event);
$$;
CREATE FUNCTION public.note_electorate_of_roll() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
  sign integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
  PERFORM note_electorate(r.voting_event_id, sign * count(*), sign * sum(r.weight_micro))
  FROM roll r WHERE r.status = 'approved' AND r.deleted_at IS NULL AND r.source <> 'poll' GROUP BY r.voting_event_id;
  RETURN NULL;
END $$;
CREATE FUNCTION public.note_electorate_of_voter() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
  was boolean := OLD.status = 'approved' AND OLD.deleted_at IS NULL;
  is_now boolean := NEW.status = 'approved' AND NEW.deleted_at IS NULL;
BEGIN
  PERFORM note_electorate(NEW.voting_event_id, is_now::integer - was::integer,
    CASE WHEN is_now THEN NEW.weight_micro ELSE 0 END - CASE WHEN was THEN OLD.weight_micro ELSE 0 END);
  RETURN NULL;
END $$;
CREATE FUNCTION public.now_ms() RETURNS bigint
    LANGUAGE sql PARALLEL SAFE
    RETURN ((EXTRACT(epoch FROM clock_timestamp()) * (1000)::numeric))::bigint;
CREATE FUNCTION public.open_credit_balance(p_event text, p_position text, p_visitor text, p_base integer) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
  INSERT INTO credit_balances (voting_event_id, position_id, visitor_id, base, purchased, held, spent)
  VALUES (p_event, p_position, p_visitor, p_base, 0, 0, 0) ON CONFLICT DO NOTHING;
  IF FOUND THEN
    INSERT INTO credit_entries (voting_event_id, position_id, visitor_id, kind, reason, credits, created_at)
    VALUES (p_event, p_position, p_visitor, 'grant', 'base', p_base, now_ms());
  END IF;
END $$;
CREATE FUNCTION public.record_webhook_event(p_account text, p_event text, p_type text, p_message text, p_data text) RETURNS void
    LANGUAGE sql
    AS $$
  SELECT record_webhook_events(p_account, p_event, p_type, ARRAY[p_message], ARRAY[p_data]);
$$;
CREATE FUNCTION public.record_webhook_events(p_account text, p_event text, p_type text, p_messages text[], p_data text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
  at bigint := now_ms();
  time text := sortable_time(at);
BEGIN
  INSERT INTO webhook_deliveries (id, endpoint_id, message_id, event_type, body, status, next_try_at, created_at)
  SELECT 'whd_' || time || left(replace(gen_random_uuid()::text, '-', ''), 16), e.id, f.message, p_type,
    '{"id":' || to_json(f.message)::text || ',"type":' || to_json(p_type)::text || ',"createdAt":' || at ||
      ',"votingEventId":' || coalesce(to_json(p_event)::text, 'null') || ',"data":' || f.data || '}',
    CASE WHEN e.status = 'active' THEN 'pending' ELSE 'skipped' END, at, at
  FROM webhook_endpoints e CROSS JOIN unnest(p_messages, p_data) AS f(message, data)
  WHERE e.account_id = p_account AND (e.voting_event_id IS NULL OR e.voting_event_id = p_event) AND p_type = ANY (e.event_types);
END $$;
CREATE FUNCTION public.refuse_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;
CREATE FUNCTION public.release_ballots(p_event text) RETURNS void
    LANGUAGE plpgsql
    AS $_$
DECLARE
  waiting text[];
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('release ' || p_event, 0));
  EXECUTE 'SELECT array_agg(id ORDER BY id) FROM (
    SELECT id FROM ballot_queue WHERE voting_event_id = $1 AND NOT released
    UNION ALL SELECT id FROM ballots WHERE voting_event_id = $1 AND NOT released) AS hidden' INTO waiting USING p_event;
  IF coalesce(cardinality(waiting), 0) < 5 THEN RETURN; END IF;
  waiting := waiting[1 : cardinality(waiting) / 5 * 5];
  EXECUTE 'UPDATE ballot_queue SET released = true WHERE voting_event_id = $1 AND id = ANY ($2)' USING p_event, waiting;
  EXECUTE 'UPDATE ballots SET released = true WHERE voting_event_id = $1 AND id = ANY ($2)' USING p_event, waiting;
END $_$;
CREATE FUNCTION public.release_credits(p_event text, p_visitor text, p_code_tag bytea, p_credits jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
  need record;
BEGIN
  FOR need IN SELECT * FROM jsonb_to_recordset(p_credits) AS n(position text, credits integer) LOOP
    UPDATE credit_balances c SET held = c.held - need.credits
    WHERE c.voting_event_id = p_event AND c.position_id = need.position AND c.visitor_id = p_visitor;
    INSERT INTO credit_entries (voting_event_id, position_id, visitor_id, kind, reason, credits, created_at)
    VALUES (p_event, need.position, p_visitor, 'release', encode(p_code_tag, 'hex'), need.credits, now_ms());
  END LOOP;
END $$;
CREATE FUNCTION public.scatter_participation(p_event text, p_after text, p_limit integer) RETURNS text
    LANGUAGE plpgsql
    AS $$
DECLARE
  last text;
BEGIN
  WITH taken AS (
    DELETE FROM participation p WHERE p.voting_event_id = p_event AND p.participant IN (
      SELECT n.participant FROM participation n WHERE n.voting_event_id = p_event AND n.participant > p_after
      ORDER BY n.participant LIMIT p_limit)
    RETURNING p.*),
  written AS (INSERT INTO participation SELECT * FROM taken ORDER BY participant RETURNING participant)
  SELECT max(participant) INTO last FROM written;
  RETURN last;
END $$;
CREATE FUNCTION public.scatter_voter_keys(p_event text, p_after text, p_limit integer) RETURNS text
    LANGUAGE plpgsql
    AS $$
DECLARE
  last text;
BEGIN
  PERFORM 1 FROM voting_events WHERE id = p_event FOR UPDATE;
  WITH taken AS (
    DELETE FROM voter_keys k WHERE k.voting_event_id = p_event AND k.voter_id IN (
      SELECT DISTINCT n.voter_id FROM voter_keys n WHERE n.voting_event_id = p_event AND n.voter_id > p_after
      ORDER BY n.voter_id LIMIT p_limit)
    RETURNING k.*),
  written AS (INSERT INTO voter_keys SELECT * FROM taken ORDER BY voter_id, key_hash RETURNING voter_id)
  SELECT max(voter_id) INTO last FROM written;
  RETURN last;
END $$;
CREATE FUNCTION public.scatter_voters(p_event text, p_after text, p_limit integer) RETURNS text
    LANGUAGE plpgsql
    AS $_$
DECLARE
  last text;
BEGIN
  PERFORM 1 FROM voting_events WHERE id = p_event FOR UPDATE;
  EXECUTE 'WITH taken AS (
    DELETE FROM voters v WHERE v.voting_event_id = $1 AND v.id IN (
      SELECT n.id FROM voters n WHERE n.voting_event_id = $1 AND n.id > $2 ORDER BY n.id LIMIT $3)
    RETURNING v.*),
  written AS (INSERT INTO voters SELECT * FROM taken ORDER BY id RETURNING id)
  SELECT max(id) FROM written' INTO last USING p_event, p_after, p_limit;
  -- Each chunk went out of the electorate and came back: no trace of it shall pile up.
  IF last IS NULL THEN PERFORM fold_electorate(p_event); END IF;
  RETURN last;
END $_$;
CREATE FUNCTION public.sortable_id(p_prefix text) RETURNS text
    LANGUAGE sql
    AS $$
  SELECT p_prefix || '_' || sortable_time(now_ms()) || left(replace(gen_random_uuid()::text, '-', ''), 16);
$$;
CREATE FUNCTION public.sortable_time(p_ms bigint) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    AS $$
DECLARE
  alphabet CONSTANT text := '0123456789abcdefghjkmnpqrstvwxyz';
BEGIN
  RETURN substr(alphabet, (p_ms >> 40 & 31)::integer + 1, 1) || substr(alphabet, (p_ms >> 35 & 31)::integer + 1, 1) ||
    substr(alphabet, (p_ms >> 30 & 31)::integer + 1, 1) || substr(alphabet, (p_ms >> 25 & 31)::integer + 1, 1) ||
    substr(alphabet, (p_ms >> 20 & 31)::integer + 1, 1) || substr(alphabet, (p_ms >> 15 & 31)::integer + 1, 1) ||
    substr(alphabet, (p_ms >> 10 & 31)::integer + 1, 1) || substr(alphabet, (p_ms >> 5 & 31)::integer + 1, 1) ||
    substr(alphabet, (p_ms & 31)::integer + 1, 1);
END $$;
CREATE FUNCTION public.spend_credits(p_event text, p_visitor text, p_code_tag bytea, p_credits jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
  need record;
BEGIN
  FOR need IN SELECT * FROM jsonb_to_recordset(p_credits) AS n(position text, credits integer) LOOP
    UPDATE credit_balances c SET held = c.held - need.credits, spent = c.spent + need.credits
    WHERE c.voting_event_id = p_event AND c.position_id = need.position AND c.visitor_id = p_visitor;
    INSERT INTO credit_entries (voting_event_id, position_id, visitor_id, kind, reason, credits, created_at)
    VALUES (p_event, need.position, p_visitor, 'spend', encode(p_code_tag, 'hex'), need.credits, now_ms());
  END LOOP;
END $$;
CREATE FUNCTION public.take_back_credits(p_event text, p_position text, p_visitor text, p_credits integer, p_attempt text) RETURNS integer
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
      WHERE b.voting_event_id = p_event AND b.visitor_id = p_visitor AND b.credits @> jsonb_build_array(jsonb_build_object('position', p_position))
    LOOP
      PERFORM drop_pending_ballot(p_event, pending.code_tag);
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
CREATE FUNCTION public.tell_event_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  PERFORM pg_notify('voting_event_changed', OLD.id);
  RETURN NULL;
END $$;
CREATE FUNCTION public.tell_sharing_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  PERFORM pg_notify('voting_event_changed', coalesce(NEW.voting_event_id, OLD.voting_event_id));
  RETURN NULL;
END $$;
CREATE FUNCTION public.tend_ballot_log() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  IF event_status(NEW, now_ms()) IN ('open', 'closed') THEN
    PERFORM graphile_worker.add_job('tend_ballot_log', payload => json_build_object('eventId', NEW.id),
      job_key => 'ballot_log:' || NEW.id, max_attempts => 5);
  END IF;
  RETURN NULL;
END $$;
CREATE FUNCTION public.verify_voter(p_event text, p_kind text, p_identity text, p_key_hash bytea, p_failure_identity bytea, p_approval text, OUT verdict text, OUT voter_id text, OUT weight_micro bigint, OUT group_id text, OUT retry_after_ms bigint) RETURNS record
    LANGUAGE plpgsql
    AS $_$
DECLARE
  v voters%ROWTYPE;
  failed voter_key_failures%ROWTYPE;
  genuine boolean;
  at bigint := now_ms();
  window_ms CONSTANT bigint := 15 * 60 * 1000;
BEGIN
  SELECT * INTO failed FROM voter_key_failures f WHERE f.voting_event_id = p_event AND f.identity = p_failure_identity;
  IF failed.failures >= 10 AND failed.window_started_at > at - window_ms THEN
    verdict := 'locked';
    retry_after_ms := failed.window_started_at + window_ms - at;
    RETURN;
  END IF;
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
    SELECT 1 FROM voter_keys k WHERE k.voting_event_id = p_event AND k.voter_id = coalesce(v.id, '') AND k.key_hash = p_key_hash
  ) INTO genuine;
  IF NOT genuine THEN
    INSERT INTO voter_key_failures AS f (voting_event_id, identity, window_started_at, failures)
    VALUES (p_event, p_failure_identity, at, 1)
    ON CONFLICT (voting_event_id, identity) DO UPDATE SET
      failures = CASE WHEN f.window_started_at > at - window_ms THEN f.failures + 1 ELSE 1 END,
      window_started_at = CASE WHEN f.window_started_at > at - window_ms THEN f.window_started_at ELSE at END;
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
END $_$;
CREATE TABLE drizzle.__drizzle_migrations (
    id integer NOT NULL,
    hash text NOT NULL,
    created_at bigint
);
CREATE SEQUENCE drizzle.__drizzle_migrations_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE drizzle.__drizzle_migrations_id_seq OWNED BY drizzle.__drizzle_migrations.id;
CREATE TABLE public.accounts (
    id text NOT NULL,
    name text NOT NULL,
    plan text NOT NULL,
    event_count integer DEFAULT 0 NOT NULL,
    created_at bigint NOT NULL,
    contact_email text
);
CREATE TABLE public.api_keys (
    id text NOT NULL,
    account_id text NOT NULL,
    name text NOT NULL,
    hash bytea NOT NULL,
    hint text NOT NULL,
    scopes text[] NOT NULL,
    voting_event_id text,
    expires_at bigint,
    revoked_at bigint,
    last_used_at bigint,
    created_at bigint NOT NULL
);
CREATE TABLE public.audit_entries (
    account_id text NOT NULL,
    id text NOT NULL,
    voting_event_id text,
    key_id text,
    action text NOT NULL,
    resource text NOT NULL,
    before jsonb,
    after jsonb,
    created_at bigint NOT NULL
);
CREATE TABLE public.ballot_logs (
    voting_event_id text NOT NULL,
    size bigint NOT NULL,
    ballots bigint NOT NULL,
    frontier bytea NOT NULL,
    config_hash text NOT NULL,
    config_seq integer NOT NULL,
    paper_version bigint NOT NULL,
    closed_size bigint,
    roll_scattered_at bigint,
    roll_mixed_at bigint
);
CREATE TABLE public.ballot_queue (
    voting_event_id text NOT NULL,
    id text NOT NULL,
    code_tag bytea NOT NULL,
    entries bytea NOT NULL,
    weight_micro bigint NOT NULL,
    salt bytea NOT NULL,
    sealed_time bytea NOT NULL,
    voter_id text,
    country_code text,
    submitted_at bigint,
    released boolean DEFAULT false NOT NULL
);
CREATE TABLE public.ballots (
    voting_event_id text NOT NULL,
    id text NOT NULL,
    code_tag bytea NOT NULL,
    entries bytea NOT NULL,
    weight_micro bigint NOT NULL,
    salt bytea NOT NULL,
    sealed_time bytea NOT NULL,
    voter_id text,
    country_code text,
    submitted_at bigint,
    released boolean DEFAULT false NOT NULL,
    leaf_index bigint NOT NULL
);
CREATE TABLE public.candidates (
    voting_event_id text NOT NULL,
    id text NOT NULL,
    number integer NOT NULL,
    name text NOT NULL,
    description text,
    email text,
    position_ids text[] NOT NULL,
    group_id text,
    referendum_role text,
    avatar_url text,
    status text NOT NULL,
    source text NOT NULL,
    sort_order integer NOT NULL,
    payment_attempt_id text,
    deleted_at bigint,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);
CREATE TABLE public.count_snapshots (
    voting_event_id text NOT NULL,
    paper_version bigint NOT NULL,
    last_leaf bigint NOT NULL,
    state bytea NOT NULL,
    seal bytea NOT NULL,
    saved_at bigint NOT NULL
);
CREATE TABLE public.credit_balances (
    voting_event_id text NOT NULL,
    position_id text NOT NULL,
    visitor_id text NOT NULL,
    base integer NOT NULL,
    purchased integer NOT NULL,
    held integer NOT NULL,
    spent integer NOT NULL,
    CONSTRAINT credit_balances_never_below_zero CHECK ((((((base + purchased) - held) - spent) >= 0) AND (purchased >= 0) AND (held >= 0) AND (spent >= 0)))
);
CREATE TABLE public.credit_entries (
    voting_event_id text NOT NULL,
    position_id text NOT NULL,
    visitor_id text NOT NULL,
    kind text NOT NULL,
    reason text NOT NULL,
    credits integer NOT NULL,
    created_at bigint NOT NULL
);
CREATE TABLE public.electorate_changes (
    voting_event_id text NOT NULL,
    id bigint NOT NULL,
    heads bigint NOT NULL,
    weight_micro numeric NOT NULL
);
ALTER TABLE public.electorate_changes ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.electorate_changes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.event_invites (
    voting_event_id text NOT NULL,
    id text NOT NULL,
    email text NOT NULL,
    email_key text NOT NULL,
    role text NOT NULL,
    token_hash bytea NOT NULL,
    sealed_token text,
    account_id text,
    accepted_at bigint,
    expires_at bigint NOT NULL,
    created_at bigint NOT NULL
);
CREATE TABLE public.groups (
    voting_event_id text NOT NULL,
    id text NOT NULL,
    name text NOT NULL,
    name_key text,
    description text,
    deleted_at bigint,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);
CREATE TABLE public.idempotency_keys (
    api_key_id text NOT NULL,
    key text NOT NULL,
    fingerprint bytea NOT NULL,
    claim bytea NOT NULL,
    claimed_at bigint NOT NULL,
    status smallint,
    body text,
    expires_at bigint NOT NULL
);
CREATE TABLE public.log_alarms (
    voting_event_id text NOT NULL,
    alarm text NOT NULL,
    found_at bigint NOT NULL
);
CREATE TABLE public.log_checkpoints (
    voting_event_id text NOT NULL,
    size bigint NOT NULL,
    root_hash bytea NOT NULL,
    note text NOT NULL,
    created_at bigint NOT NULL
);
CREATE TABLE public.log_leaves (
    voting_event_id text NOT NULL,
    leaf_index bigint NOT NULL,
    data bytea NOT NULL
);
CREATE TABLE public.log_tiles (
    voting_event_id text NOT NULL,
    level integer NOT NULL,
    tile_index bigint NOT NULL,
    hashes bytea NOT NULL,
    root bytea NOT NULL
);
CREATE TABLE public.participation (
    voting_event_id text NOT NULL,
    participant text NOT NULL,
    exclusive boolean DEFAULT true NOT NULL
);
CREATE TABLE public.payment_attempts (
    voting_event_id text NOT NULL,
    id text NOT NULL,
    account_id text NOT NULL,
    payment_business_id text NOT NULL,
    purpose text NOT NULL,
    status text NOT NULL,
    provider text NOT NULL,
    amount_minor integer NOT NULL,
    currency text NOT NULL,
    request jsonb NOT NULL,
    terms jsonb NOT NULL,
    page jsonb,
    pages integer DEFAULT 0 NOT NULL,
    expires_at bigint NOT NULL,
    request_key bytea,
    provider_payment_id text,
    provider_reference text,
    end_reason text,
    confirmation_code text,
    answer text,
    asked_at bigint,
    asking_until bigint,
    check_at bigint,
    checks integer DEFAULT 0 NOT NULL,
    paid_at bigint,
    refunded_at bigint,
    reversed_at bigint,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);
CREATE TABLE public.payment_businesses (
    id text NOT NULL,
    account_id text NOT NULL,
    provider text NOT NULL,
    display_name text NOT NULL,
    country text NOT NULL,
    ready boolean NOT NULL,
    supported_currencies text[] NOT NULL,
    livemode boolean NOT NULL,
    sandbox boolean NOT NULL,
    credentials text NOT NULL,
    disconnected_at bigint,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);
CREATE TABLE public.payment_refunds (
    voting_event_id text NOT NULL,
    attempt_id text NOT NULL,
    provider_payment_id text NOT NULL,
    reference text NOT NULL,
    amount_minor bigint NOT NULL,
    currency text NOT NULL,
    status text NOT NULL,
    refund_id text,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);
CREATE TABLE public.pending_ballots (
    voting_event_id text NOT NULL,
    participant text NOT NULL,
    participants text[] NOT NULL,
    code_tag bytea NOT NULL,
    entries bytea NOT NULL,
    weight_micro bigint NOT NULL,
    visitor_id text,
    voter_id text,
    email text,
    name text,
    country_code text,
    cast_at bigint NOT NULL,
    credits jsonb,
    payment_attempt_id text
);
CREATE TABLE public.positions (
    voting_event_id text NOT NULL,
    id text NOT NULL,
    number integer NOT NULL,
    title text NOT NULL,
    description text,
    voting_method text NOT NULL,
    group_id text,
    sort_order integer NOT NULL,
    seats smallint NOT NULL,
    min_selections integer NOT NULL,
    max_selections integer,
    score_min integer,
    score_max integer,
    cumulative_point_budget integer,
    quadratic_base_credit_budget integer,
    quadratic_top_up jsonb,
    tie_break text NOT NULL,
    rules jsonb,
    deleted_at bigint,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);
CREATE TABLE public.provider_events (
    payment_business_id text NOT NULL,
    event_key text NOT NULL,
    event_type text NOT NULL,
    attempt_id text,
    reference text,
    checkout_session_id text,
    provider_payment_id text,
    body text NOT NULL,
    outcome text,
    received_at bigint NOT NULL,
    processed_at bigint
);
CREATE UNLOGGED TABLE public.rate_limits (
    key text NOT NULL,
    full_at double precision NOT NULL
);
CREATE TABLE public.sponsors (
    voting_event_id text NOT NULL,
    id text NOT NULL,
    name text NOT NULL,
    logo_url text,
    website_url text,
    tier text,
    sort_order integer NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);
CREATE TABLE public.voided_ballots (
    voting_event_id text NOT NULL,
    code_tag bytea NOT NULL,
    leaf_index bigint
);
CREATE TABLE public.voter_imports (
    voting_event_id text NOT NULL,
    file_hash bytea NOT NULL,
    lines_done bigint NOT NULL,
    accepted bigint NOT NULL,
    rejected bigint NOT NULL,
    existing bigint NOT NULL,
    report_bytes bigint NOT NULL,
    started_at bigint NOT NULL,
    finished_at bigint
);
CREATE TABLE public.voter_key_failures (
    voting_event_id text NOT NULL,
    identity bytea NOT NULL,
    window_started_at bigint NOT NULL,
    failures integer NOT NULL
);
CREATE TABLE public.voter_key_requests (
    voting_event_id text NOT NULL,
    identity bytea NOT NULL,
    window_started_at bigint NOT NULL,
    requests integer NOT NULL
);
CREATE TABLE public.voter_keys (
    voting_event_id text NOT NULL,
    voter_id text NOT NULL,
    key_hash bytea NOT NULL,
    created_at bigint,
    number integer DEFAULT 0 NOT NULL
);
CREATE TABLE public.voters (
    voting_event_id text NOT NULL,
    id text NOT NULL,
    name text NOT NULL,
    email text,
    email_key text,
    voter_id text,
    voter_id_key text,
    group_id text,
    weight_micro bigint NOT NULL,
    status text NOT NULL,
    source text NOT NULL,
    key_status text NOT NULL,
    deleted_at bigint,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);
CREATE TABLE public.webhook_attempts (
    delivery_id text NOT NULL,
    number integer NOT NULL,
    at bigint NOT NULL,
    duration_ms integer NOT NULL,
    response_status integer,
    error text,
    response_body text
);
CREATE TABLE public.webhook_deliveries (
    id text NOT NULL,
    endpoint_id text NOT NULL,
    message_id text NOT NULL,
    event_type text NOT NULL,
    body text NOT NULL,
    status text NOT NULL,
    tries integer DEFAULT 0 NOT NULL,
    next_try_at bigint NOT NULL,
    locked_until bigint DEFAULT 0 NOT NULL,
    response_status integer,
    created_at bigint NOT NULL,
    delivered_at bigint
);
CREATE TABLE public.webhook_endpoints (
    id text NOT NULL,
    account_id text NOT NULL,
    voting_event_id text,
    url text NOT NULL,
    description text,
    event_types text[] NOT NULL,
    status text NOT NULL,
    disabled_reason text,
    consecutive_failures integer DEFAULT 0 NOT NULL,
    last_success_at bigint NOT NULL,
    secret text NOT NULL,
    secret_hint text NOT NULL,
    previous_secret text,
    previous_secret_until bigint,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    retired_at bigint
);
CREATE TABLE public.webhook_holds (
    endpoint_id text NOT NULL,
    holder text NOT NULL,
    held_until bigint NOT NULL
);
ALTER TABLE ONLY drizzle.__drizzle_migrations ALTER COLUMN id SET DEFAULT nextval('drizzle.__drizzle_migrations_id_seq'::regclass);
INSERT INTO drizzle.__drizzle_migrations VALUES (1, '6ec57edb3137e9612e2a4f31c85663e9fedfa8cdc473400e4f3108c588bf77f4', 1795231745582);
INSERT INTO drizzle.__drizzle_migrations VALUES (2, '60bd2405f9d5052732e61dea9097dfe6e31d8186834bbeabe69668b0c7e5a779', 1795231746295);
INSERT INTO drizzle.__drizzle_migrations VALUES (3, 'ad61c2891ee616f366d6da846d3d34e5e3aa399484324fcffc2d4e31568a7034', 1795241722927);
INSERT INTO drizzle.__drizzle_migrations VALUES (4, '0e10aedb2d51f576a3add3f93feb70de0079250b0efc893c83a47370a891f4ff', 1795241723945);
INSERT INTO drizzle.__drizzle_migrations VALUES (5, 'f8017a04c6fd579d01cd4e195d557270103a398e94c9a342c5bff7dc560cfca6', 1795244600606);
INSERT INTO drizzle.__drizzle_migrations VALUES (6, '5d5a89828d77aae8beed1cdcf3c70a5c9f95264d8afc9de38197ec0dd6694950', 1795244601462);
INSERT INTO drizzle.__drizzle_migrations VALUES (7, '323073a144034576a61fc346adfe5c601c525449e36da4bfa86ff7aa97256b8d', 1795245364989);
INSERT INTO drizzle.__drizzle_migrations VALUES (8, 'e51ada59bc63228591d9bcb180e6d727f4fd8107b23d4143103b767f73aa0085', 1795245366211);
INSERT INTO drizzle.__drizzle_migrations VALUES (9, 'b379b1d1a251a333673933dc3e77aac82059338c6b354c3b801ee9f846428c1d', 1795245881803);
INSERT INTO drizzle.__drizzle_migrations VALUES (10, '4da19b5f162154aa425dfb7162281cada92571f7c6d5afbfcb008b3f05447bf4', 1795246105042);
INSERT INTO drizzle.__drizzle_migrations VALUES (11, '8ebc72b2ef994137648ead143e479ec07cd946e7a2cf6534175181366a5bc2da', 1795247378788);
INSERT INTO drizzle.__drizzle_migrations VALUES (12, 'aa1af46fd5f038ce3c7d224cf2fcb348f949b18dad22d4901850e1c531aa713b', 1795248065913);
INSERT INTO drizzle.__drizzle_migrations VALUES (13, '792222c0841bfdebed661aa6361cda95e34ef9d2c349c165602b07891a234378', 1795248066925);
INSERT INTO drizzle.__drizzle_migrations VALUES (14, '7a32fefac427d27d87fc14557a1ddb4b9b19ec2aa1cd6f1dfbd64b632f939621', 1795249411993);
INSERT INTO drizzle.__drizzle_migrations VALUES (15, '296caf1af9fa85b353d0d8973a44b466c299bd7c0f3bd661118d8bd7dc495f2f', 1795249753676);
INSERT INTO drizzle.__drizzle_migrations VALUES (16, '9a18f5b3ab71c0338f00f5628159464d5263bc3789c75c61302fc5d9b7ea78ff', 1795250051651);
INSERT INTO drizzle.__drizzle_migrations VALUES (17, 'd75afcb9b1e138a34d111c7a192c59e497113304bcec1a72599a4aa496eaa84e', 1795250053272);
INSERT INTO drizzle.__drizzle_migrations VALUES (18, 'a1c721aff0e4d7d48fbd6233ba8e3f0142b128c246af60085ff2b78860c14698', 1795250184372);
INSERT INTO drizzle.__drizzle_migrations VALUES (19, 'd7f8d49faa1c6bbaa01798872f4224cae0dd692bc3ea92be7a28eb4eb9076e30', 1795251133377);
INSERT INTO drizzle.__drizzle_migrations VALUES (20, '9d3d89d89d145555831d79a4f8106ee394ecaa107adba892b50ab7ae45329af2', 1795251617061);
INSERT INTO drizzle.__drizzle_migrations VALUES (21, 'a9f7020364db45f0fe5593dfcf5e2a4230c7d5aa1527d0b1f3c0f497087e975c', 1795255172536);
INSERT INTO drizzle.__drizzle_migrations VALUES (22, 'f417f8fbba125bc849a94de886c20cde1c7c33d11935db505254c3b60a5b09e5', 1795260789837);
INSERT INTO public.accounts VALUES ('acc_1m814trwy21kvq9p47h358', 'An older account', 'enterprise', 2, 1795334955934, NULL);
INSERT INTO public.api_keys VALUES ('key_1m814tryf9awjadbebymx3', 'acc_1m814trwy21kvq9p47h358', 'read,write', '\xa55fa6683e7cbac0e91b737483ddca4b510d02013d7f245d5c056c57b0e6274e', 'vsk_…PFm5', '{read,write}', NULL, NULL, NULL, 1795334956674, 1795334955983);
INSERT INTO public.api_keys VALUES ('key_1m814trz9ezc27tvks3exz', 'acc_1m814trwy21kvq9p47h358', 'vote', '\x4d8c14c5cd01a2cab891b3baeb8b66d4171ea26b1bfa5bea2d0365506257fd8d', 'vvk_…Tfsy', '{vote}', NULL, NULL, NULL, 1795334956968, 1795334956009);
INSERT INTO public.audit_entries VALUES ('acc_1m814trwy21kvq9p47h358', 'aud_1m814ts2vf89pvjae4qjxt', 'evt_1m814ts2j09p7nmybcz52k', 'key_1m814tryf9awjadbebymx3', 'voting_event.created', 'evt_1m814ts2j09p7nmybcz52k', NULL, '{"code": "8EXJDKKY", "type": "election", "title": "An older election"}', 1795334956123);
INSERT INTO public.audit_entries VALUES ('acc_1m814trwy21kvq9p47h358', 'aud_1m814ts53z8vv2v92hbrth', 'evt_1m814ts2j09p7nmybcz52k', 'key_1m814tryf9awjadbebymx3', 'position.created', 'pos_1m814ts4hefnns458jgfk2', NULL, '{"title": "Who?", "votingMethod": "plurality"}', 1795334956195);
INSERT INTO public.audit_entries VALUES ('acc_1m814trwy21kvq9p47h358', 'aud_1m814ts6wnpbwbj0gadps2', 'evt_1m814ts2j09p7nmybcz52k', 'key_1m814tryf9awjadbebymx3', 'candidate.created', 'cnd_1m814ts6ft8wrcpzmjt761', NULL, '{"name": "Ada", "positionIds": ["pos_1m814ts4hefnns458jgfk2"]}', 1795334956253);
INSERT INTO public.audit_entries VALUES ('acc_1m814trwy21kvq9p47h358', 'aud_1m814ts7kbxa0gra1myzsk', 'evt_1m814ts2j09p7nmybcz52k', 'key_1m814tryf9awjadbebymx3', 'candidate.created', 'cnd_1m814ts7d0hdvy6ecmzaz8', NULL, '{"name": "Bea", "positionIds": ["pos_1m814ts4hefnns458jgfk2"]}', 1795334956275);
INSERT INTO public.audit_entries VALUES ('acc_1m814trwy21kvq9p47h358', 'aud_1m814ts89stn9cphq94jjw', 'evt_1m814ts2j09p7nmybcz52k', 'key_1m814tryf9awjadbebymx3', 'group.created', 'grp_1m814ts84074jk1t0yv9je', NULL, '{"name": "The north"}', 1795334956297);
INSERT INTO public.audit_entries VALUES ('acc_1m814trwy21kvq9p47h358', 'aud_1m814ts9ptexr9tg3ztpbs', 'evt_1m814ts2j09p7nmybcz52k', 'key_1m814tryf9awjadbebymx3', 'voters.created', 'vtr_1m814ts977wwkavve9183q', NULL, '{"last": "vtr_1m814ts977wwkavve9183s", "count": 3, "first": "vtr_1m814ts977wwkavve9183q"}', 1795334956342);
INSERT INTO public.audit_entries VALUES ('acc_1m814trwy21kvq9p47h358', 'aud_1m814tsazmb9912ez70yfc', NULL, 'key_1m814tryf9awjadbebymx3', 'webhook_endpoint.created', 'whe_1m814tsaxmntvyr0j859d5', NULL, '{"eventTypes": ["ballot.confirmed"]}', 1795334956383);
INSERT INTO public.audit_entries VALUES ('acc_1m814trwy21kvq9p47h358', 'aud_1m814tschve93w20mga473', 'evt_1m814ts2j09p7nmybcz52k', 'key_1m814tryf9awjadbebymx3', 'voting_event.updated', 'evt_1m814ts2j09p7nmybcz52k', '{"openedAt": null}', '{"openedAt": 1795334956405}', 1795334956433);
INSERT INTO public.audit_entries VALUES ('acc_1m814trwy21kvq9p47h358', 'aud_1m814tsdz6jx9bwmv7hfw3', 'evt_1m814tsdm884q34ep3tjw8', 'key_1m814tryf9awjadbebymx3', 'voting_event.created', 'evt_1m814tsdm884q34ep3tjw8', NULL, '{"code": "8EBG4XF6", "type": "poll", "title": "An older poll"}', 1795334956479);
INSERT INTO public.audit_entries VALUES ('acc_1m814trwy21kvq9p47h358', 'aud_1m814tshmss0g5xjb42tdh', 'evt_1m814tsdm884q34ep3tjw8', 'key_1m814tryf9awjadbebymx3', 'position.created', 'pos_1m814tsgzkw618hw0w3rp1', NULL, '{"title": "Who?", "votingMethod": "quadratic"}', 1795334956596);
INSERT INTO public.audit_entries VALUES ('acc_1m814trwy21kvq9p47h358', 'aud_1m814tsk1nwf57zkfyw7z6', 'evt_1m814tsdm884q34ep3tjw8', 'key_1m814tryf9awjadbebymx3', 'candidate.created', 'cnd_1m814tsjs6fqsavh08a5tg', NULL, '{"name": "Ada", "positionIds": ["pos_1m814tsgzkw618hw0w3rp1"]}', 1795334956641);
INSERT INTO public.audit_entries VALUES ('acc_1m814trwy21kvq9p47h358', 'aud_1m814tskpkvx3x1cr9swqn', 'evt_1m814tsdm884q34ep3tjw8', 'key_1m814tryf9awjadbebymx3', 'candidate.created', 'cnd_1m814tskhrcc38nxjkf7h6', NULL, '{"name": "Bea", "positionIds": ["pos_1m814tsgzkw618hw0w3rp1"]}', 1795334956662);
INSERT INTO public.audit_entries VALUES ('acc_1m814trwy21kvq9p47h358', 'aud_1m814tsmxg6hspzyewbev2', 'evt_1m814tsdm884q34ep3tjw8', 'key_1m814tryf9awjadbebymx3', 'voting_event.updated', 'evt_1m814tsdm884q34ep3tjw8', '{"openedAt": null}', '{"openedAt": 1795334956680}', 1795334956701);
INSERT INTO public.ballot_logs VALUES ('evt_1m814ts2j09p7nmybcz52k', 1, 0, '\x00000000000000010b14eb3eadca04615aff661a133a79b76f0a6216ffc51c704ba60a55b0f8cf8b', '57b71774b589db346c1040fe97f49d37415e2253163e98fa97bc3280c77372fd', 0, 6, NULL, NULL, NULL);
INSERT INTO public.ballot_logs VALUES ('evt_1m814tsdm884q34ep3tjw8', 1, 0, '\x0000000000000001fda2cb0b7213c3372204a8ce8e3eea3f6a8d89df12ceb4f9d95383e6a4dc5d77', '12048fe2722771f0b2075b4e561b2dbc4d65129ea62ebedfde1058b5756455e8', 0, 5, NULL, NULL, NULL);
INSERT INTO public.ballot_queue VALUES ('evt_1m814ts2j09p7nmybcz52k', 'bal_93twmwdvvmwdje99ra67rjhzpy', '\x421afc7837983dc4c9b8f66501f3716b19995977b32100b59d5fe72ac8fd3b45', '\x03b2f5a3dd670fa19c46203ca42d5e4238783ed9aa430346336f7c059501a36a5c6ddcdabfbdf67eb61e2adf2578f97903e3b47e5ba5f5fe30c3433806479a2eb9ea35c52a51045351aeeef29d616f8a0c60dd410afb163dfc2bcfb0b47b92f46b6335d5bf076437fc60adc85789454b9d8deaa396f8f61d8812ceef2dda96b12e4e3f4da11733f37c2aff0ff6addbb98a89f0b7c31a5b7db00f899b2c3acae516', 1000000, '\x', '\xb2f5a3dd70ac574bafb38a46dd29567f97d440e403cd43ee38b4854830c251add17d2357c70f', NULL, NULL, NULL, false);
INSERT INTO public.ballot_queue VALUES ('evt_1m814tsdm884q34ep3tjw8', 'bal_bwhzsnmp8stsj43vbf1rq00wey', '\x6581a19ab31716f209f89a1bbb0ff5de65b738f5978b504ef897ac1f373ace74', '\x02b2f5a3dd77fd88342bc68363c73bdbf68b8fcf3ea70be363abe5ba8616208289cffcde3074', 1000000, '\x2caebb82609a859d283ae58cf8376968923dab0903c073f425abadfbb1ce626f', '\xfe9aad80e3d8', 'vi_0123456789abcdef0123456789abcdef', NULL, 1795334956960, false);
INSERT INTO public.candidates VALUES ('evt_1m814ts2j09p7nmybcz52k', 'cnd_1m814ts6ft8wrcpzmjt761', 1, 'Ada', NULL, NULL, '{pos_1m814ts4hefnns458jgfk2}', NULL, NULL, NULL, 'approved', 'organizer', 0, NULL, NULL, 1795334956239, 1795334956239);
INSERT INTO public.candidates VALUES ('evt_1m814ts2j09p7nmybcz52k', 'cnd_1m814ts7d0hdvy6ecmzaz8', 2, 'Bea', NULL, NULL, '{pos_1m814ts4hefnns458jgfk2}', NULL, NULL, NULL, 'approved', 'organizer', 1, NULL, NULL, 1795334956269, 1795334956269);
INSERT INTO public.candidates VALUES ('evt_1m814tsdm884q34ep3tjw8', 'cnd_1m814tsjs6fqsavh08a5tg', 1, 'Ada', NULL, NULL, '{pos_1m814tsgzkw618hw0w3rp1}', NULL, NULL, NULL, 'approved', 'organizer', 0, NULL, NULL, 1795334956633, 1795334956633);
INSERT INTO public.candidates VALUES ('evt_1m814tsdm884q34ep3tjw8', 'cnd_1m814tskhrcc38nxjkf7h6', 2, 'Bea', NULL, NULL, '{pos_1m814tsgzkw618hw0w3rp1}', NULL, NULL, NULL, 'approved', 'organizer', 1, NULL, NULL, 1795334956657, 1795334956657);
INSERT INTO public.credit_balances VALUES ('evt_1m814tsdm884q34ep3tjw8', 'pos_1m814tsgzkw618hw0w3rp1', 'vi_0123456789abcdef0123456789abcdef', 9, 0, 0, 4);
INSERT INTO public.credit_balances VALUES ('evt_1m814tsdm884q34ep3tjw8', 'pos_1m814tsgzkw618hw0w3rp1', 'vi_ffff456789abcdef0123456789abcdef', 9, 0, 9, 0);
INSERT INTO public.credit_entries VALUES ('evt_1m814tsdm884q34ep3tjw8', 'pos_1m814tsgzkw618hw0w3rp1', 'vi_0123456789abcdef0123456789abcdef', 'grant', 'base', 9, 1795334956954);
INSERT INTO public.credit_entries VALUES ('evt_1m814tsdm884q34ep3tjw8', 'pos_1m814tsgzkw618hw0w3rp1', 'vi_0123456789abcdef0123456789abcdef', 'hold', '6581a19ab31716f209f89a1bbb0ff5de65b738f5978b504ef897ac1f373ace74', 4, 1795334956955);
INSERT INTO public.credit_entries VALUES ('evt_1m814tsdm884q34ep3tjw8', 'pos_1m814tsgzkw618hw0w3rp1', 'vi_0123456789abcdef0123456789abcdef', 'spend', '6581a19ab31716f209f89a1bbb0ff5de65b738f5978b504ef897ac1f373ace74', 4, 1795334956963);
INSERT INTO public.credit_entries VALUES ('evt_1m814tsdm884q34ep3tjw8', 'pos_1m814tsgzkw618hw0w3rp1', 'vi_ffff456789abcdef0123456789abcdef', 'grant', 'base', 9, 1795334956973);
INSERT INTO public.credit_entries VALUES ('evt_1m814tsdm884q34ep3tjw8', 'pos_1m814tsgzkw618hw0w3rp1', 'vi_ffff456789abcdef0123456789abcdef', 'hold', 'b4b64a70d1b89cdd57a9813791138d23c6e619a4ebb7cf927ca3b1fd97b6d9cf', 9, 1795334956973);
INSERT INTO public.electorate_changes OVERRIDING SYSTEM VALUE VALUES ('evt_1m814ts2j09p7nmybcz52k', 1, 3, 6000000);
INSERT INTO public.groups VALUES ('evt_1m814ts2j09p7nmybcz52k', 'grp_1m814ts84074jk1t0yv9je', 'The north', 'the north', NULL, NULL, 1795334956292, 1795334956292);
INSERT INTO public.log_checkpoints VALUES ('evt_1m814ts2j09p7nmybcz52k', 1, '\x0b14eb3eadca04615aff661a133a79b76f0a6216ffc51c704ba60a55b0f8cf8b', 'localhost/evt_1m814ts2j09p7nmybcz52k
1
CxTrPq3KBGFa/2YaEzp5t28KYhb/xRxwS6YKVbD4z4s=
— localhost DIPfC5ZyQGDnWHZglmxQI3NBmqFC2JDJmeTR8+Wn7PukD95P2rf6EHEAI9nKgtsdcEWhuZjtNo6pUAL/JYGFQtzN5QY=
', 1795334956587);
INSERT INTO public.log_checkpoints VALUES ('evt_1m814tsdm884q34ep3tjw8', 1, '\xfda2cb0b7213c3372204a8ce8e3eea3f6a8d89df12ceb4f9d95383e6a4dc5d77', 'localhost/evt_1m814tsdm884q34ep3tjw8
1
/aLLC3ITwzciBKjOjj7qP2qNid8SzrT52VOD5qTcXXc=
— localhost DIPfC8dTXH2Uo3jTyzz0E9cE2vKv2EJPNY/4q59XChiGHg7gyz9y0dhwKqj/lvgSq2Ajw3D7qpoUWGqqlijaUvB2qgo=
', 1795334956902);
INSERT INTO public.log_leaves VALUES ('evt_1m814ts2j09p7nmybcz52k', 0, '\x7b226174223a313739353333343935363430352c22636f6e666967223a2235376237313737346235383964623334366331303430666539376634396433373431356532323533313633653938666139376263333238306337373337326664222c2265223a226576745f316d3831347473326a303970376e6d7962637a35326b222c22726f6c6c223a332c2273656564223a2234363262333336323435653031343336653931316437353666643532353465336137343134626630633931323533653838303237653432376232336164393439222c2274223a226f70656e222c2276223a317d');
INSERT INTO public.log_leaves VALUES ('evt_1m814tsdm884q34ep3tjw8', 0, '\x7b226174223a313739353333343935363638302c22636f6e666967223a2231323034386665323732323737316630623230373562346535363162326462633464363531323965613632656265646664653130353862353735363435356538222c2265223a226576745f316d3831347473646d383834713334657033746a7738222c22726f6c6c223a302c2273656564223a2261306265646462303363316264633932616138376564363036616537663765306538376134633862363661616539356536303761613636666531346530376335222c2274223a226f70656e222c2276223a317d');
INSERT INTO public.participation VALUES ('evt_1m814ts2j09p7nmybcz52k', 'vtr_1m814ts977wwkavve9183q', true);
INSERT INTO public.participation VALUES ('evt_1m814tsdm884q34ep3tjw8', 'v:vi_0123456789abcdef0123456789abcdef', true);
INSERT INTO public.pending_ballots VALUES ('evt_1m814ts2j09p7nmybcz52k', 'vtr_1m814ts977wwkavve9183r', '{vtr_1m814ts977wwkavve9183r}', '\xe70e19b4ecf6641c2fe95cb2643d09c5735eb379d04d79c280e48ffe966cebe0', '\x03b2f5a3dd94602f23ccd1c8d27b4a1158cb03050fa0df1fbb44b820273681a6af5ee6e76374e36a858cf712c071718283cbef8e9715e407df634c774b56681d65c8d88ed35b1dfe05863985abdd03b9322ba6cb421120f0fc6981551596f636bf9a5c5e07b82b5d42aaba094c58ffc6708d2fa58edb2200da704dcd021d08c51e50cb541c5b11a5f618b3176e0c7393089585caaff3dbaad6169f0aa34cebc3d1', 2000000, NULL, NULL, 'bea@example.org', NULL, NULL, 1795334956925, NULL, NULL);
INSERT INTO public.pending_ballots VALUES ('evt_1m814tsdm884q34ep3tjw8', 'v:vi_ffff456789abcdef0123456789abcdef', '{v:vi_ffff456789abcdef0123456789abcdef}', '\xb4b64a70d1b89cdd57a9813791138d23c6e619a4ebb7cf927ca3b1fd97b6d9cf', '\x02b2f5a3dd04054130bb1a1819b061ac58b198d2b92dab9d88f05c181c4d3a362133d01816c3', 1000000, 'vi_ffff456789abcdef0123456789abcdef', NULL, NULL, NULL, NULL, 1795334956971, '[{"base": 9, "credits": 9, "position": "pos_1m814tsgzkw618hw0w3rp1"}]', NULL);
INSERT INTO public.positions VALUES ('evt_1m814ts2j09p7nmybcz52k', 'pos_1m814ts4hefnns458jgfk2', 1, 'Who?', NULL, 'plurality', NULL, 0, 1, 1, 1, NULL, NULL, NULL, NULL, NULL, 'joint', NULL, NULL, 1795334956177, 1795334956177);
INSERT INTO public.positions VALUES ('evt_1m814tsdm884q34ep3tjw8', 'pos_1m814tsgzkw618hw0w3rp1', 1, 'Who?', NULL, 'quadratic', NULL, 0, 1, 1, NULL, NULL, NULL, NULL, 9, NULL, 'joint', NULL, NULL, 1795334956575, 1795334956575);
INSERT INTO public.rate_limits VALUES ('key_1m814tryf9awjadbebymx3', 1795334956888);
INSERT INTO public.rate_limits VALUES ('key_1m814trz9ezc27tvks3exz', 1795334957133.25);
INSERT INTO public.voter_keys VALUES ('evt_1m814ts2j09p7nmybcz52k', 'vtr_1m814ts977wwkavve9183q', '\x720ab0107712fd8c03589e7c54132d1826f3a9a15b18d12821ae2abefa29d9ca', 1795260789837, 0);
INSERT INTO public.voter_keys VALUES ('evt_1m814ts2j09p7nmybcz52k', 'vtr_1m814ts977wwkavve9183r', '\x720ab0107712fd8c03589e7c54132d1826f3a9a15b18d12821ae2abefa29d9ca', 1795260789837, 0);
INSERT INTO public.voter_keys VALUES ('evt_1m814ts2j09p7nmybcz52k', 'vtr_1m814ts977wwkavve9183s', '\x720ab0107712fd8c03589e7c54132d1826f3a9a15b18d12821ae2abefa29d9ca', 1795260789837, 0);
INSERT INTO public.voters VALUES ('evt_1m814ts2j09p7nmybcz52k', 'vtr_1m814ts977wwkavve9183s', 'cy', 'cy@example.org', 'cy@example.org', 'ID-cy', 'ID-cy', NULL, 3000000, 'approved', 'organizer', 'none', NULL, 1795334956327, 1795334956327);
INSERT INTO public.voters VALUES ('evt_1m814ts2j09p7nmybcz52k', 'vtr_1m814ts977wwkavve9183q', 'ada', 'ada@example.org', 'ada@example.org', 'ID-ada', 'ID-ada', 'grp_1m814ts84074jk1t0yv9je', 1000000, 'approved', 'organizer', 'used', NULL, 1795334956327, 1795334956327);
INSERT INTO public.voters VALUES ('evt_1m814ts2j09p7nmybcz52k', 'vtr_1m814ts977wwkavve9183r', 'bea', 'bea@example.org', 'bea@example.org', 'ID-bea', 'ID-bea', NULL, 2000000, 'approved', 'organizer', 'used', NULL, 1795334956327, 1795334956327);
INSERT INTO public.voters VALUES ('evt_1m814tsdm884q34ep3tjw8', 'vtr_1m814tsx0sc820k1yp2f5g', 'vi_0123456789abcdef0123456789abcdef', NULL, NULL, 'vi_0123456789abcdef0123456789abcdef', 'vi_0123456789abcdef0123456789abcdef', NULL, 1000000, 'approved', 'poll', 'none', NULL, 1795334956961, 1795334956961);
INSERT INTO public.voting_events VALUES ('evt_1m814ts2j09p7nmybcz52k', 'acc_1m814trwy21kvq9p47h358', '8EXJDKKY', '8exjdkky', 'An older election', NULL, 'election', NULL, NULL, 1795334956405, NULL, true, 'UTC', false, false, 'automatic', false, false, 'fixed', 'observer', 'inclusion', 'hidden', NULL, NULL, NULL, false, NULL, 'b2f5a3dd.IIMyL0ocWcAHUJG9wUuA5sbzzW2DlpSFgksU_hUU-kXZwawxRkfgiALt5gxAnnOHOn9FBI_94L8TVtFB', 6, 3, 1, 2, 1795334956114, 1795334956405, NULL, 'open');
INSERT INTO public.voting_events VALUES ('evt_1m814tsdm884q34ep3tjw8', 'acc_1m814trwy21kvq9p47h358', '8EBG4XF6', '8ebg4xf6', 'An older poll', NULL, 'poll', NULL, NULL, 1795334956680, NULL, true, 'UTC', false, false, 'automatic', false, false, 'fixed', 'observer', 'inclusion', 'hidden', NULL, NULL, NULL, false, NULL, 'b2f5a3dd.1ZiMXWPgQ98sHAPvp5QOlB8PbG-U-7XkPmp2FfMhSKP62UTh-t_juONypsc8GR3sIQtb5pXsiqfcJnwc', 5, 0, 1, 2, 1795334956468, 1795334956680, NULL, 'open');
INSERT INTO public.webhook_attempts VALUES ('whd_1m814tsvg39e613df840b43cb', 1, 1795334957051, 57, NULL, 'name_not_found', NULL);
INSERT INTO public.webhook_attempts VALUES ('whd_1m814tsx4fbd55cca46534c76', 1, 1795334957083, 46, NULL, 'name_not_found', NULL);
INSERT INTO public.webhook_attempts VALUES ('whd_1m814tsvg39e613df840b43cb', 2, 1795334961316, 4, NULL, 'name_not_found', NULL);
INSERT INTO public.webhook_attempts VALUES ('whd_1m814tsx4fbd55cca46534c76', 2, 1795334961520, 4, NULL, 'name_not_found', NULL);
INSERT INTO public.webhook_deliveries VALUES ('whd_1m814tsvg39e613df840b43cb', 'whe_1m814tsaxmntvyr0j859d5', 'msg_1m814tsvf7b0b0bf1cf444fb5', 'ballot.confirmed', '{"id":"msg_1m814tsvf7b0b0bf1cf444fb5","type":"ballot.confirmed","createdAt":1795334956912,"votingEventId":"evt_1m814ts2j09p7nmybcz52k","data":{"votingEventId" : "evt_1m814ts2j09p7nmybcz52k", "ballots" : 1}}', 'pending', 2, 1795335249471, 0, NULL, 1795334956912, NULL);
INSERT INTO public.webhook_deliveries VALUES ('whd_1m814tsx4fbd55cca46534c76', 'whe_1m814tsaxmntvyr0j859d5', 'msg_1m814tsx4cb44017902994330', 'ballot.confirmed', '{"id":"msg_1m814tsx4cb44017902994330","type":"ballot.confirmed","createdAt":1795334956964,"votingEventId":"evt_1m814tsdm884q34ep3tjw8","data":{"votingEventId" : "evt_1m814tsdm884q34ep3tjw8", "ballots" : 1}}', 'pending', 2, 1795335304596, 0, NULL, 1795334956964, NULL);
INSERT INTO public.webhook_endpoints VALUES ('whe_1m814tsaxmntvyr0j859d5', 'acc_1m814trwy21kvq9p47h358', NULL, 'https://example.org/hook', NULL, '{ballot.confirmed}', 'active', NULL, 4, 1795334956381, 'b2f5a3dd.5CL6Th64tOXOOSCeHPxdp_yqiupPL_nDU5c9QvWt_yrRIDCFpJezC7HTkx64KHBOyrLjWpGoF2vw_m7ooePeGgx7N4bH0qSSeT40M6kl', 'whsec_…23k=', NULL, NULL, 1795334956381, 1795334956381, NULL);
SELECT pg_catalog.setval('drizzle.__drizzle_migrations_id_seq', 22, true);
SELECT pg_catalog.setval('public.electorate_changes_id_seq', 1, true);
ALTER TABLE ONLY drizzle.__drizzle_migrations
    ADD CONSTRAINT __drizzle_migrations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.audit_entries
    ADD CONSTRAINT audit_entries_account_id_id_pk PRIMARY KEY (account_id, id);
ALTER TABLE ONLY public.ballot_logs
    ADD CONSTRAINT ballot_logs_pkey PRIMARY KEY (voting_event_id);
ALTER TABLE ONLY public.ballot_queue
    ADD CONSTRAINT ballot_queue_voting_event_id_id_pk PRIMARY KEY (voting_event_id, id);
ALTER TABLE ONLY public.ballots
    ADD CONSTRAINT ballots_voting_event_id_leaf_index_pk PRIMARY KEY (voting_event_id, leaf_index);
ALTER TABLE ONLY public.candidates
    ADD CONSTRAINT candidates_voting_event_id_id_pk PRIMARY KEY (voting_event_id, id);
ALTER TABLE ONLY public.count_snapshots
    ADD CONSTRAINT count_snapshots_pkey PRIMARY KEY (voting_event_id);
ALTER TABLE ONLY public.credit_balances
    ADD CONSTRAINT credit_balances_voting_event_id_position_id_visitor_id_pk PRIMARY KEY (voting_event_id, position_id, visitor_id);
ALTER TABLE ONLY public.credit_entries
    ADD CONSTRAINT credit_entries_voting_event_id_position_id_visitor_id_kind_reas PRIMARY KEY (voting_event_id, position_id, visitor_id, kind, reason);
ALTER TABLE ONLY public.electorate_changes
    ADD CONSTRAINT electorate_changes_voting_event_id_id_pk PRIMARY KEY (voting_event_id, id);
ALTER TABLE ONLY public.event_invites
    ADD CONSTRAINT event_invites_voting_event_id_id_pk PRIMARY KEY (voting_event_id, id);
ALTER TABLE ONLY public.groups
    ADD CONSTRAINT groups_voting_event_id_id_pk PRIMARY KEY (voting_event_id, id);
ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_api_key_id_key_pk PRIMARY KEY (api_key_id, key);
ALTER TABLE ONLY public.log_alarms
    ADD CONSTRAINT log_alarms_pkey PRIMARY KEY (voting_event_id);
ALTER TABLE ONLY public.log_checkpoints
    ADD CONSTRAINT log_checkpoints_voting_event_id_size_pk PRIMARY KEY (voting_event_id, size);
ALTER TABLE ONLY public.log_leaves
    ADD CONSTRAINT log_leaves_voting_event_id_leaf_index_pk PRIMARY KEY (voting_event_id, leaf_index);
ALTER TABLE ONLY public.log_tiles
    ADD CONSTRAINT log_tiles_voting_event_id_level_tile_index_pk PRIMARY KEY (voting_event_id, level, tile_index);
ALTER TABLE ONLY public.participation
    ADD CONSTRAINT participation_voting_event_id_participant_pk PRIMARY KEY (voting_event_id, participant);
ALTER TABLE ONLY public.payment_attempts
    ADD CONSTRAINT payment_attempts_voting_event_id_id_pk PRIMARY KEY (voting_event_id, id);
ALTER TABLE ONLY public.payment_businesses
    ADD CONSTRAINT payment_businesses_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.payment_refunds
    ADD CONSTRAINT payment_refunds_voting_event_id_attempt_id_provider_payment_id_ PRIMARY KEY (voting_event_id, attempt_id, provider_payment_id);
ALTER TABLE ONLY public.pending_ballots
    ADD CONSTRAINT pending_ballots_voting_event_id_participant_pk PRIMARY KEY (voting_event_id, participant);
ALTER TABLE ONLY public.positions
    ADD CONSTRAINT positions_voting_event_id_id_pk PRIMARY KEY (voting_event_id, id);
ALTER TABLE ONLY public.provider_events
    ADD CONSTRAINT provider_events_payment_business_id_event_key_pk PRIMARY KEY (payment_business_id, event_key);
ALTER TABLE ONLY public.rate_limits
    ADD CONSTRAINT rate_limits_pkey PRIMARY KEY (key);
ALTER TABLE ONLY public.sponsors
    ADD CONSTRAINT sponsors_voting_event_id_id_pk PRIMARY KEY (voting_event_id, id);
ALTER TABLE ONLY public.voided_ballots
    ADD CONSTRAINT voided_ballots_voting_event_id_code_tag_pk PRIMARY KEY (voting_event_id, code_tag);
ALTER TABLE ONLY public.voter_imports
    ADD CONSTRAINT voter_imports_voting_event_id_file_hash_pk PRIMARY KEY (voting_event_id, file_hash);
ALTER TABLE ONLY public.voter_key_failures
    ADD CONSTRAINT voter_key_failures_voting_event_id_identity_pk PRIMARY KEY (voting_event_id, identity);
ALTER TABLE ONLY public.voter_key_requests
    ADD CONSTRAINT voter_key_requests_voting_event_id_identity_pk PRIMARY KEY (voting_event_id, identity);
ALTER TABLE ONLY public.voter_keys
    ADD CONSTRAINT voter_keys_voting_event_id_voter_id_key_hash_pk PRIMARY KEY (voting_event_id, voter_id, key_hash);
ALTER TABLE ONLY public.voters
    ADD CONSTRAINT voters_voting_event_id_id_pk PRIMARY KEY (voting_event_id, id);
ALTER TABLE ONLY public.voting_events
    ADD CONSTRAINT voting_events_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.webhook_attempts
    ADD CONSTRAINT webhook_attempts_delivery_id_number_pk PRIMARY KEY (delivery_id, number);
ALTER TABLE ONLY public.webhook_deliveries
    ADD CONSTRAINT webhook_deliveries_endpoint_id_id_pk PRIMARY KEY (endpoint_id, id);
ALTER TABLE ONLY public.webhook_endpoints
    ADD CONSTRAINT webhook_endpoints_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.webhook_holds
    ADD CONSTRAINT webhook_holds_pkey PRIMARY KEY (endpoint_id);
CREATE INDEX api_keys_account ON public.api_keys USING btree (account_id);
CREATE UNIQUE INDEX api_keys_hash ON public.api_keys USING btree (hash);
CREATE INDEX audit_entries_event ON public.audit_entries USING btree (voting_event_id, id) WHERE (voting_event_id IS NOT NULL);
CREATE UNIQUE INDEX ballot_queue_code ON public.ballot_queue USING btree (voting_event_id, code_tag);
CREATE UNIQUE INDEX ballots_code ON public.ballots USING btree (voting_event_id, code_tag);
CREATE INDEX ballots_id ON public.ballots USING btree (voting_event_id, id);
CREATE INDEX ballots_unreleased ON public.ballots USING btree (voting_event_id) WHERE (NOT released);
CREATE UNIQUE INDEX candidates_number ON public.candidates USING btree (voting_event_id, number);
CREATE UNIQUE INDEX candidates_payment ON public.candidates USING btree (voting_event_id, payment_attempt_id);
CREATE UNIQUE INDEX event_invites_account ON public.event_invites USING btree (account_id, voting_event_id) WHERE (account_id IS NOT NULL);
CREATE UNIQUE INDEX event_invites_email ON public.event_invites USING btree (voting_event_id, email_key);
CREATE UNIQUE INDEX event_invites_token ON public.event_invites USING btree (token_hash, voting_event_id);
CREATE UNIQUE INDEX groups_name ON public.groups USING btree (voting_event_id, name_key);
CREATE INDEX idempotency_keys_expiry ON public.idempotency_keys USING btree (expires_at);
CREATE INDEX payment_attempts_check ON public.payment_attempts USING btree (check_at) WHERE (check_at IS NOT NULL);
CREATE INDEX payment_attempts_id ON public.payment_attempts USING btree (id);
CREATE UNIQUE INDEX payment_attempts_payment ON public.payment_attempts USING btree (voting_event_id, payment_business_id, provider_payment_id);
CREATE UNIQUE INDEX payment_attempts_request ON public.payment_attempts USING btree (voting_event_id, request_key);
CREATE INDEX payment_businesses_account ON public.payment_businesses USING btree (account_id, id);
CREATE UNIQUE INDEX pending_ballots_code ON public.pending_ballots USING btree (voting_event_id, code_tag);
CREATE UNIQUE INDEX positions_number ON public.positions USING btree (voting_event_id, number);
CREATE INDEX provider_events_received ON public.provider_events USING btree (received_at);
CREATE INDEX sponsors_order ON public.sponsors USING btree (voting_event_id, sort_order);
CREATE INDEX voided_ballots_leaf ON public.voided_ballots USING btree (voting_event_id, leaf_index);
CREATE UNIQUE INDEX voters_email ON public.voters USING btree (voting_event_id, email_key);
CREATE INDEX voters_fractional_weight ON public.voters USING btree (voting_event_id, weight_micro) WHERE ((weight_micro % (1000000)::bigint) <> 0);
CREATE UNIQUE INDEX voters_voter_id ON public.voters USING btree (voting_event_id, voter_id_key);
CREATE INDEX voting_events_account ON public.voting_events USING btree (account_id, id);
CREATE UNIQUE INDEX voting_events_code ON public.voting_events USING btree (code_key);
CREATE INDEX voting_events_timed ON public.voting_events USING btree (id) WHERE ((starts_at IS NOT NULL) OR (ends_at IS NOT NULL));
CREATE INDEX voting_events_to_open ON public.voting_events USING btree (starts_at) WHERE ((opened_at IS NULL) AND (starts_at IS NOT NULL));
CREATE INDEX webhook_deliveries_due ON public.webhook_deliveries USING btree (endpoint_id, next_try_at) WHERE (status = 'pending'::text);
CREATE INDEX webhook_endpoints_account ON public.webhook_endpoints USING btree (account_id, id);
CREATE INDEX webhook_endpoints_retired ON public.webhook_endpoints USING btree (retired_at) WHERE (retired_at IS NOT NULL);
CREATE TRIGGER ballot_logs_grow BEFORE UPDATE ON public.ballot_logs FOR EACH ROW EXECUTE FUNCTION public.guard_log_head();
CREATE TRIGGER ballot_logs_not_emptied BEFORE TRUNCATE ON public.ballot_logs FOR EACH STATEMENT EXECUTE FUNCTION public.guard_ballot_log();
CREATE TRIGGER ballot_logs_stay BEFORE DELETE ON public.ballot_logs FOR EACH ROW EXECUTE FUNCTION public.guard_ballot_log();
CREATE TRIGGER ballots_not_emptied BEFORE TRUNCATE ON public.ballots FOR EACH STATEMENT EXECUTE FUNCTION public.guard_ballot_log();
CREATE TRIGGER ballots_stay BEFORE DELETE ON public.ballots FOR EACH ROW EXECUTE FUNCTION public.guard_ballot_log();
CREATE TRIGGER ballots_unchanged BEFORE UPDATE ON public.ballots FOR EACH ROW EXECUTE FUNCTION public.guard_sealed_ballot();
CREATE TRIGGER credit_entries_append_only BEFORE UPDATE ON public.credit_entries FOR EACH ROW EXECUTE FUNCTION public.refuse_change();
CREATE TRIGGER event_invites_tell_change AFTER INSERT OR DELETE OR UPDATE ON public.event_invites FOR EACH ROW EXECUTE FUNCTION public.tell_sharing_change();
CREATE TRIGGER log_checkpoints_append_only BEFORE DELETE OR UPDATE ON public.log_checkpoints FOR EACH ROW EXECUTE FUNCTION public.guard_ballot_log();
CREATE TRIGGER log_checkpoints_not_emptied BEFORE TRUNCATE ON public.log_checkpoints FOR EACH STATEMENT EXECUTE FUNCTION public.guard_ballot_log();
CREATE TRIGGER log_leaves_append_only BEFORE DELETE OR UPDATE ON public.log_leaves FOR EACH ROW EXECUTE FUNCTION public.guard_ballot_log();
CREATE TRIGGER log_leaves_not_emptied BEFORE TRUNCATE ON public.log_leaves FOR EACH STATEMENT EXECUTE FUNCTION public.guard_ballot_log();
CREATE TRIGGER log_tiles_append_only BEFORE DELETE OR UPDATE ON public.log_tiles FOR EACH ROW EXECUTE FUNCTION public.guard_ballot_log();
CREATE TRIGGER log_tiles_not_emptied BEFORE TRUNCATE ON public.log_tiles FOR EACH STATEMENT EXECUTE FUNCTION public.guard_ballot_log();
CREATE TRIGGER voided_ballots_not_emptied BEFORE TRUNCATE ON public.voided_ballots FOR EACH STATEMENT EXECUTE FUNCTION public.guard_ballot_log();
CREATE TRIGGER voided_ballots_stay BEFORE DELETE ON public.voided_ballots FOR EACH ROW EXECUTE FUNCTION public.guard_ballot_log();
CREATE TRIGGER voided_ballots_stay_void BEFORE UPDATE ON public.voided_ballots FOR EACH ROW EXECUTE FUNCTION public.guard_voided_ballot();
CREATE TRIGGER voters_note_added AFTER INSERT ON public.voters REFERENCING NEW TABLE AS roll FOR EACH STATEMENT EXECUTE FUNCTION public.note_electorate_of_roll();
CREATE TRIGGER voters_note_changed AFTER UPDATE ON public.voters FOR EACH ROW WHEN (((new.source <> 'poll'::text) AND (((old.status IS DISTINCT FROM new.status) OR (old.weight_micro IS DISTINCT FROM new.weight_micro)) OR (old.deleted_at IS DISTINCT FROM new.deleted_at)))) EXECUTE FUNCTION public.note_electorate_of_voter();
CREATE TRIGGER voters_note_removed AFTER DELETE ON public.voters REFERENCING OLD TABLE AS roll FOR EACH STATEMENT EXECUTE FUNCTION public.note_electorate_of_roll();
CREATE TRIGGER voting_events_tell_change AFTER DELETE OR UPDATE ON public.voting_events FOR EACH ROW EXECUTE FUNCTION public.tell_event_change();
CREATE TRIGGER voting_events_tend_ballot_log AFTER UPDATE OF paper_version ON public.voting_events FOR EACH ROW EXECUTE FUNCTION public.tend_ballot_log();
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_account_id_accounts_id_fk FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.ballot_logs
    ADD CONSTRAINT ballot_logs_voting_event_id_voting_events_id_fk FOREIGN KEY (voting_event_id) REFERENCES public.voting_events(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.ballot_queue
    ADD CONSTRAINT ballot_queue_voting_event_id_voting_events_id_fk FOREIGN KEY (voting_event_id) REFERENCES public.voting_events(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.ballots
    ADD CONSTRAINT ballots_voting_event_id_voting_events_id_fk FOREIGN KEY (voting_event_id) REFERENCES public.voting_events(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.candidates
    ADD CONSTRAINT candidates_voting_event_id_voting_events_id_fk FOREIGN KEY (voting_event_id) REFERENCES public.voting_events(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.count_snapshots
    ADD CONSTRAINT count_snapshots_voting_event_id_voting_events_id_fk FOREIGN KEY (voting_event_id) REFERENCES public.voting_events(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.credit_balances
    ADD CONSTRAINT credit_balances_voting_event_id_voting_events_id_fk FOREIGN KEY (voting_event_id) REFERENCES public.voting_events(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.credit_entries
    ADD CONSTRAINT credit_entries_voting_event_id_voting_events_id_fk FOREIGN KEY (voting_event_id) REFERENCES public.voting_events(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.electorate_changes
    ADD CONSTRAINT electorate_changes_voting_event_id_voting_events_id_fk FOREIGN KEY (voting_event_id) REFERENCES public.voting_events(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.event_invites
    ADD CONSTRAINT event_invites_account_id_accounts_id_fk FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.event_invites
    ADD CONSTRAINT event_invites_voting_event_id_voting_events_id_fk FOREIGN KEY (voting_event_id) REFERENCES public.voting_events(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.groups
    ADD CONSTRAINT groups_voting_event_id_voting_events_id_fk FOREIGN KEY (voting_event_id) REFERENCES public.voting_events(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.log_alarms
    ADD CONSTRAINT log_alarms_voting_event_id_voting_events_id_fk FOREIGN KEY (voting_event_id) REFERENCES public.voting_events(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.log_checkpoints
    ADD CONSTRAINT log_checkpoints_voting_event_id_voting_events_id_fk FOREIGN KEY (voting_event_id) REFERENCES public.voting_events(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.log_leaves
    ADD CONSTRAINT log_leaves_voting_event_id_voting_events_id_fk FOREIGN KEY (voting_event_id) REFERENCES public.voting_events(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.log_tiles
    ADD CONSTRAINT log_tiles_voting_event_id_voting_events_id_fk FOREIGN KEY (voting_event_id) REFERENCES public.voting_events(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.participation
    ADD CONSTRAINT participation_voting_event_id_voting_events_id_fk FOREIGN KEY (voting_event_id) REFERENCES public.voting_events(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.payment_attempts
    ADD CONSTRAINT payment_attempts_payment_business_id_payment_businesses_id_fk FOREIGN KEY (payment_business_id) REFERENCES public.payment_businesses(id);
ALTER TABLE ONLY public.payment_businesses
    ADD CONSTRAINT payment_businesses_account_id_accounts_id_fk FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.pending_ballots
    ADD CONSTRAINT pending_ballots_voting_event_id_voting_events_id_fk FOREIGN KEY (voting_event_id) REFERENCES public.voting_events(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.positions
    ADD CONSTRAINT positions_voting_event_id_voting_events_id_fk FOREIGN KEY (voting_event_id) REFERENCES public.voting_events(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.sponsors
    ADD CONSTRAINT sponsors_voting_event_id_voting_events_id_fk FOREIGN KEY (voting_event_id) REFERENCES public.voting_events(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.voided_ballots
    ADD CONSTRAINT voided_ballots_voting_event_id_voting_events_id_fk FOREIGN KEY (voting_event_id) REFERENCES public.voting_events(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.voter_imports
    ADD CONSTRAINT voter_imports_voting_event_id_voting_events_id_fk FOREIGN KEY (voting_event_id) REFERENCES public.voting_events(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.voters
    ADD CONSTRAINT voters_group FOREIGN KEY (voting_event_id, group_id) REFERENCES public.groups(voting_event_id, id) ON DELETE SET NULL (group_id);
ALTER TABLE ONLY public.voters
    ADD CONSTRAINT voters_voting_event_id_voting_events_id_fk FOREIGN KEY (voting_event_id) REFERENCES public.voting_events(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.voting_events
    ADD CONSTRAINT voting_events_account_id_accounts_id_fk FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.webhook_endpoints
    ADD CONSTRAINT webhook_endpoints_account_id_accounts_id_fk FOREIGN KEY (account_id) REFERENCES public.accounts(id);
