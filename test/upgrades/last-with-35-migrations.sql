-- A database of the last build that restated functions in migrations (0000 to 0035), as pg_dump writes it, with the same few rows.
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
CREATE FUNCTION public.announce_ballots(p_pause_ms integer) RETURNS integer
    LANGUAGE plpgsql
    AS $$
DECLARE
  event record;
  at bigint := now_ms();
  written integer := 0;
BEGIN
  FOR event IN
    SELECT e.id, e.account_id, coalesce(l.ballots, 0) + (SELECT count(*) FROM ballot_queue q WHERE q.voting_event_id = e.id) AS ballots
    FROM voting_events e
    LEFT JOIN ballot_logs l ON l.voting_event_id = e.id
    LEFT JOIN ballot_announcements a ON a.voting_event_id = e.id
    WHERE e.deleted_at IS NULL AND (a.announced_at IS NULL OR a.announced_at <= at - p_pause_ms)
      AND EXISTS (SELECT 1 FROM webhook_endpoints w WHERE w.account_id = e.account_id
        AND (w.voting_event_id IS NULL OR w.voting_event_id = e.id) AND 'ballot.confirmed' = ANY (w.event_types))
      AND coalesce(l.ballots, 0) + (SELECT count(*) FROM ballot_queue q WHERE q.voting_event_id = e.id) > coalesce(a.ballots, 0)
    ORDER BY e.id LIMIT 500
  LOOP
    INSERT INTO ballot_announcements AS a (voting_event_id, ballots, announced_at) VALUES (event.id, event.ballots, at)
    ON CONFLICT (voting_event_id) DO UPDATE SET ballots = excluded.ballots, announced_at = excluded.announced_at
      WHERE a.ballots < excluded.ballots AND a.announced_at <= at - p_pause_ms;
    IF FOUND THEN
      PERFORM record_webhook_event(event.account_id, event.id, 'ballot.confirmed', sortable_id('msg'),
        json_build_object('votingEventId', event.id, 'ballots', event.ballots)::text);
      written := written + 1;
    END IF;
  END LOOP;
  RETURN written;
END $$;
CREATE FUNCTION public.cast_ballot(p_event text, p_paper_version bigint, p_voter jsonb, p_key_hash bytea, p_expected_group text, p_participants text[], p_code_tag bytea, p_entries bytea, p_visitor_id text, p_voter_id text, p_email text, p_name text, p_country text, p_credits jsonb, OUT verdict text, OUT short_position text, OUT required bigint, OUT available bigint) RETURNS record
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
CREATE FUNCTION public.cast_ballot_once(p_api_key text, p_idempotency_key text, p_fingerprint bytea, p_claim bytea, p_answer text, p_event text, p_paper_version bigint, p_voter jsonb, p_key_hash bytea, p_expected_group text, p_participants jsonb, p_code_tag bytea, p_entries bytea, p_visitor_id text, p_voter_id text, p_email text, p_name text, p_country text, p_credits jsonb, OUT verdict text, OUT short_position text, OUT required bigint, OUT available bigint, OUT stored_fingerprint bytea, OUT stored_status smallint, OUT stored_answer text) RETURNS record
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
CREATE FUNCTION public.cast_ballots_together(p_api_key text[], p_idempotency_key text[], p_fingerprint bytea[], p_claim bytea[], p_answer text[], p_event text[], p_paper_version bigint[], p_voter jsonb[], p_key_hash bytea[], p_expected_group text[], p_participants jsonb[], p_code_tag bytea[], p_entries bytea[], p_visitor_id text[], p_voter_id text[], p_email text[], p_name text[], p_country text[], p_credits jsonb[]) RETURNS TABLE(place integer, verdict text, short_position text, required bigint, available bigint, stored_fingerprint bytea, stored_status smallint, stored_answer text)
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
CREATE FUNCTION public.cast_paid_ballot(p_event text, p_paper_version bigint, p_attempt text, p_paid_at bigint, p_participants text[], p_code_tag bytea, p_entries bytea, p_visitor_id text, p_voter_id text, p_email text, p_name text, p_country text, p_credits jsonb, OUT verdict text, OUT short_position text, OUT required bigint, OUT available bigint) RETURNS record
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
CREATE FUNCTION public.confirm_ballot(p_event text, p_code_tag bytea, p_ballot text, p_salt bytea, p_sealed_time bytea, p_at bigint, p_new_voter text, p_leaf_tag bytea DEFAULT NULL::bytea, OUT verdict text, OUT entries bytea, OUT weight_micro bigint, OUT sealed_time bytea, OUT salt bytea, OUT status text) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
  e voting_events%ROWTYPE;
  b record;
  at bigint;
  closed_at bigint;
  poll boolean;
  shown_id text;
  standing text;
  inserted integer;
BEGIN
  SELECT * INTO e FROM voting_events WHERE id = p_event FOR KEY SHARE;
  IF NOT FOUND THEN verdict := 'event_gone'; RETURN; END IF;
  at := now_ms();
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
  verdict := 'confirmed';
  entries := b.entries;
  weight_micro := b.weight_micro;
  sealed_time := p_sealed_time;
  salt := p_salt;
END $$;
CREATE FUNCTION public.count_changed_voter() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  INSERT INTO roll_figures (voting_event_id, group_id, status, heads, weight_micro, voted, voted_weight_micro)
  SELECT c.event, c.group_id, c.status, c.sign, c.sign * c.weight, CASE WHEN c.poll THEN c.sign ELSE 0 END,
    CASE WHEN c.poll THEN c.sign * c.weight ELSE 0 END
  FROM (VALUES
    (OLD.voting_event_id, coalesce(OLD.group_id, ''), OLD.status, -1, OLD.weight_micro, OLD.source = 'poll', OLD.deleted_at),
    (NEW.voting_event_id, coalesce(NEW.group_id, ''), NEW.status, 1, NEW.weight_micro, NEW.source = 'poll', NEW.deleted_at)
  ) AS c (event, group_id, status, sign, weight, poll, deleted_at)
  WHERE c.deleted_at IS NULL;
  RETURN NULL;
END $$;
CREATE FUNCTION public.count_participation() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
  sign integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
  INSERT INTO roll_figures (voting_event_id, group_id, status, heads, weight_micro, voted, voted_weight_micro)
  SELECT v.voting_event_id, coalesce(v.group_id, ''), '', 0, 0, sign * count(*), sign * sum(v.weight_micro)
  FROM took_part p JOIN voters v ON v.voting_event_id = p.voting_event_id AND v.id = p.participant
  WHERE v.source <> 'poll' GROUP BY 1, 2;
  RETURN NULL;
END $$;
CREATE FUNCTION public.count_roll_of_statement() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
  sign integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
  -- When an event is deleted its voters go with it.
  INSERT INTO roll_figures (voting_event_id, group_id, status, heads, weight_micro, voted, voted_weight_micro)
  SELECT r.voting_event_id, coalesce(r.group_id, ''), r.status, sign * count(*), sign * sum(r.weight_micro),
    sign * count(*) FILTER (WHERE r.source = 'poll'), sign * coalesce(sum(r.weight_micro) FILTER (WHERE r.source = 'poll'), 0)
  FROM roll r JOIN voting_events e ON e.id = r.voting_event_id AND e.deleted_at IS NULL
  WHERE r.deleted_at IS NULL GROUP BY 1, 2, 3;
  RETURN NULL;
END $$;
CREATE FUNCTION public.count_wrong_key(p_event text, p_voter bytea, p_caller bytea, OUT wrong integer, OUT retry_after_ms bigint) RETURNS record
    LANGUAGE plpgsql
    AS $$
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
CREATE FUNCTION public.delete_event_rows(p_event text, p_limit integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $_$
DECLARE
  removed integer := 0;
  gone integer;
  rows_of text;
BEGIN
  PERFORM 1 FROM voting_events WHERE id = p_event AND deleted_at IS NOT NULL FOR UPDATE;
  IF NOT FOUND THEN RETURN 0; END IF;
  FOREACH rows_of IN ARRAY ARRAY['pending_ballots', 'waiting_participants', 'ballot_queue', 'ballots', 'voided_ballots', 'log_leaves',
    'log_tiles', 'log_checkpoints', 'participation', 'voter_keys', 'voter_key_requests', 'voter_key_failures', 'voters',
    'electorate_changes', 'credit_entries', 'credit_balances', 'candidates', 'sponsors', 'positions', 'groups']
  LOOP
    EXECUTE format('DELETE FROM %1$I WHERE voting_event_id = $1 AND ctid = ANY (ARRAY(
      SELECT ctid FROM %1$I WHERE voting_event_id = $1 LIMIT $2))', rows_of) USING p_event, p_limit - removed;
    GET DIAGNOSTICS gone = ROW_COUNT;
    removed := removed + gone;
    IF removed >= p_limit THEN RETURN removed; END IF;
  END LOOP;
  -- What is left are few rows, which go with the event.
  DELETE FROM voting_events WHERE id = p_event;
  RETURN removed;
END $_$;
CREATE FUNCTION public.drop_expired_ballots(p_event text, p_limit integer) RETURNS integer
    LANGUAGE plpgsql
    AS $$
DECLARE
  expired record;
  dropped integer := 0;
BEGIN
  FOR expired IN SELECT b.code_tag FROM pending_ballots b JOIN voting_events e ON e.id = b.voting_event_id
    WHERE b.voting_event_id = p_event AND (b.cast_at <= now_ms() - 24 * 60 * 60 * 1000
      OR (event_status(e, now_ms()) = 'closed' AND least(e.closed_at, e.ends_at) <= now_ms() - 15 * 60 * 1000))
    LIMIT p_limit
  LOOP
    IF return_pending_ballot(p_event, expired.code_tag) THEN dropped := dropped + 1; END IF;
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
    tie_seed text,
    paper_version bigint DEFAULT 1 NOT NULL,
    voter_count integer DEFAULT 0 NOT NULL,
    last_position_number integer DEFAULT 0 NOT NULL,
    last_candidate_number integer DEFAULT 0 NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    payment_provider text,
    announced_status text,
    paid_votes boolean DEFAULT false NOT NULL,
    results_announced boolean DEFAULT false NOT NULL,
    identity_changes integer DEFAULT 0 NOT NULL,
    roll_changes integer DEFAULT 0 NOT NULL,
    registration_count integer DEFAULT 0 NOT NULL,
    rejected_registration_count integer DEFAULT 0 NOT NULL,
    final_at bigint,
    deleted_at bigint
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
CREATE FUNCTION public.fold_roll_figures(p_event text) RETURNS void
    LANGUAGE sql
    AS $$
  WITH gone AS (DELETE FROM roll_figures f WHERE f.voting_event_id = p_event RETURNING f.*)
  INSERT INTO roll_figures (voting_event_id, group_id, status, heads, weight_micro, voted, voted_weight_micro)
  SELECT voting_event_id, group_id, status, sum(heads), sum(weight_micro), sum(voted), sum(voted_weight_micro)
  FROM gone GROUP BY 1, 2, 3
  HAVING sum(heads) <> 0 OR sum(weight_micro) <> 0 OR sum(voted) <> 0 OR sum(voted_weight_micro) <> 0;
$$;
CREATE FUNCTION public.forget_voter_keys(p_event text) RETURNS void
    LANGUAGE sql
    AS $$
  DELETE FROM voter_keys WHERE voting_event_id = p_event;
  DELETE FROM voter_key_requests WHERE voting_event_id = p_event;
  DELETE FROM voter_key_failures WHERE voting_event_id = p_event;
$$;
CREATE FUNCTION public.give_back_ballot(p_event text, p_attempt text) RETURNS void
    LANGUAGE plpgsql
    AS $$
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
CREATE FUNCTION public.guard_ballot_log() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  IF TG_OP = 'DELETE' AND NOT EXISTS (SELECT 1 FROM voting_events e WHERE e.id = OLD.voting_event_id AND e.deleted_at IS NULL) THEN
    RETURN OLD;
  END IF;
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
CREATE FUNCTION public.has_voted(p_event text, p_participants text[], p_repeat_votes boolean) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
  SELECT NOT p_repeat_votes AND (
    EXISTS (SELECT 1 FROM participation p WHERE p.voting_event_id = p_event AND p.participant = ANY (p_participants) OFFSET 0)
    OR EXISTS (SELECT 1 FROM waiting_participants w WHERE w.voting_event_id = p_event AND w.participant = ANY (p_participants) OFFSET 0));
$$;
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
CREATE FUNCTION public.is_claim_abandoned(p_claim bytea, p_claimed_at bigint, p_now bigint) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
  SELECT CASE WHEN length(p_claim) = 16 THEN p_claimed_at <= p_now - 60 * 1000
    ELSE NOT is_process_alive(substring(p_claim FROM 1 FOR 16)) END
$$;
CREATE FUNCTION public.is_process_alive(p_id bytea) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
  SELECT EXISTS (SELECT 1 FROM service_processes p WHERE p.id = p_id AND p.seen_at > now_ms() - 2000)
$$;
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
  EXECUTE 'SELECT array_agg(id) FROM (
    SELECT id FROM ballot_queue WHERE voting_event_id = $1 AND NOT released
    UNION ALL SELECT id FROM ballots WHERE voting_event_id = $1 AND NOT released) AS hidden' INTO waiting USING p_event;
  IF coalesce(cardinality(waiting), 0) < 5 THEN RETURN; END IF;
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
CREATE FUNCTION public.return_pending_ballot(p_event text, p_code_tag bytea) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
  paid text;
BEGIN
  SELECT b.payment_attempt_id INTO paid FROM pending_ballots b WHERE b.voting_event_id = p_event AND b.code_tag = p_code_tag;
  IF NOT drop_pending_ballot(p_event, p_code_tag) THEN RETURN false; END IF;
  IF paid IS NOT NULL THEN PERFORM give_back_ballot(p_event, paid); END IF;
  RETURN true;
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
CREATE FUNCTION public.tell_account_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  PERFORM pg_notify('account_changed', NEW.id);
  RETURN NULL;
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
CREATE FUNCTION public.verify_voter(p_event text, p_kind text, p_identity text, p_key_hash bytea, p_approval text, OUT verdict text, OUT voter_id text, OUT weight_micro bigint, OUT group_id text) RETURNS record
    LANGUAGE plpgsql
    AS $_$
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
END $_$;
CREATE FUNCTION public.voter_key_hashes(p_key_hash bytea, p_voter text) RETURNS bytea[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
  SELECT array_agg(sha256(substr(p_key_hash, i, 32) || convert_to(p_voter, 'UTF8')))
  FROM generate_series(1, length(p_key_hash), 32) AS i;
$$;
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
CREATE TABLE public.ballot_announcements (
    voting_event_id text NOT NULL,
    ballots bigint NOT NULL,
    announced_at bigint NOT NULL
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
    roll_mixed_at bigint,
    lot_seed text,
    lot_root bytea
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
CREATE TABLE public.job_runners (
    id text NOT NULL,
    seen_at bigint NOT NULL
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
CREATE TABLE public.mail_quotas (
    name bytea NOT NULL,
    window_ms bigint NOT NULL,
    began_at bigint NOT NULL,
    mails integer NOT NULL
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
    updated_at bigint NOT NULL,
    asking_by bytea
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
    updated_at bigint NOT NULL,
    majority_required jsonb
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
    full_at double precision NOT NULL,
    noted_at bigint DEFAULT 0 NOT NULL
);
CREATE TABLE public.roll_figures (
    voting_event_id text NOT NULL,
    id bigint NOT NULL,
    group_id text NOT NULL,
    status text NOT NULL,
    heads bigint NOT NULL,
    weight_micro numeric NOT NULL,
    voted bigint NOT NULL,
    voted_weight_micro numeric NOT NULL
);
ALTER TABLE public.roll_figures ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.roll_figures_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.service_identity (
    kind text NOT NULL,
    id text NOT NULL,
    value bytea NOT NULL,
    created_at bigint NOT NULL
);
CREATE UNLOGGED TABLE public.service_processes (
    id bytea NOT NULL,
    seen_at bigint NOT NULL
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
    updated_at bigint NOT NULL,
    erased_at bigint,
    confirm_by bigint
);
CREATE TABLE public.waiting_participants (
    voting_event_id text NOT NULL,
    participant text NOT NULL,
    code_tag bytea NOT NULL
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
    retired_at bigint,
    earlier_secrets jsonb DEFAULT '[]'::jsonb NOT NULL
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
INSERT INTO drizzle.__drizzle_migrations VALUES (23, '0ac58a5b65ee46dd4e14f4f5ac15c94c4d1916bc92e6d07e2c3c075c32a73977', 1795310000000);
INSERT INTO drizzle.__drizzle_migrations VALUES (24, '37837fca6a0eb93ed2bfacde9ae11b7522c2bff34b2f31cf67e6c64bce8da455', 1795313300000);
INSERT INTO drizzle.__drizzle_migrations VALUES (25, '8e145d79d19bd5fae4ecb3c84fca323fcb628e02441a5645af3bfaa73f4b0aeb', 1795400000024);
INSERT INTO drizzle.__drizzle_migrations VALUES (26, '25d30dabd8fc88b0de50275f4bc50d51f5126aa222968dbdbaf8c87564e66cbe', 1795400000125);
INSERT INTO drizzle.__drizzle_migrations VALUES (27, 'c24f6518a8d0c11a506f14a1c9369c553ae606dd7dc72019549dcfad90f9f232', 1795450000029);
INSERT INTO drizzle.__drizzle_migrations VALUES (28, 'f04a15633c6ef07a976a2196f1ae507661c4aa682bae9f602d21eca4bb0e4312', 1795450000030);
INSERT INTO drizzle.__drizzle_migrations VALUES (29, '2c87e6721171a87d3de972083cb5c6d8318615a5f2b404d22d8fbc3cc414718b', 1795500000026);
INSERT INTO drizzle.__drizzle_migrations VALUES (30, 'dfea1b71e0e02bc91e8edd2caa4ee76a7eef146795fadb8f277b4ad9893aa281', 1795600000027);
INSERT INTO drizzle.__drizzle_migrations VALUES (31, 'e212a6d26282673658a99bbe5237cecef162a0e990b591bd401d808a56c241fb', 1795600000028);
INSERT INTO drizzle.__drizzle_migrations VALUES (32, '637c0c6c2caa40816a0350843e32034f4c368507e62e37733c9c69d2c6712653', 1795690000034);
INSERT INTO drizzle.__drizzle_migrations VALUES (33, 'bed770c3aed669adc2d3c45b1ca6de8cff8299b2f88bac32d7f75748e22c6354', 1795700000031);
INSERT INTO drizzle.__drizzle_migrations VALUES (34, '085110048ede904e90a200134227e844e595ade9bd28ff571b71d8b1275689f0', 1795700000032);
INSERT INTO drizzle.__drizzle_migrations VALUES (35, 'ec1ead848570616d06e9dd531e3219e9053ab29a62c212e308fc3b8de138531e', 1795710000035);
INSERT INTO public.accounts VALUES ('acc_1m814vkkvxqd448ka4xv65', 'An older account', 'enterprise', 2, 1795334983291, NULL);
INSERT INTO public.api_keys VALUES ('key_1m814vkq10fgmcqy1y3j3p', 'acc_1m814vkkvxqd448ka4xv65', 'read,write', '\xf4484ef09db3fb6e31fe974617fff7ef1d6af7c8218df4db7161718d510373cb', 'vsk_…cV8d', '{read,write}', NULL, NULL, NULL, 1795334984479, 1795334983393);
INSERT INTO public.api_keys VALUES ('key_1m814vkqmegkgwa734452m', 'acc_1m814vkkvxqd448ka4xv65', 'vote', '\x6464ca6044dd87e61660c4d125263f0d98c66b09c164e6bbb31e3db0a1226cb7', 'vvk_…DLSo', '{vote}', NULL, NULL, NULL, 1795334984639, 1795334983412);
INSERT INTO public.audit_entries VALUES ('acc_1m814vkkvxqd448ka4xv65', 'aud_1m814vkxxvh0fw3da7nazy', 'evt_1m814vkvj6449ekn18z7n0', 'key_1m814vkq10fgmcqy1y3j3p', 'voting_event.created', 'evt_1m814vkvj6449ekn18z7n0', NULL, '{"code": "P14BDYEM", "type": "election", "title": "An older election"}', 1795334983613);
INSERT INTO public.audit_entries VALUES ('acc_1m814vkkvxqd448ka4xv65', 'aud_1m814vm3ksgfmcm15zp6tz', 'evt_1m814vkvj6449ekn18z7n0', 'key_1m814vkq10fgmcqy1y3j3p', 'position.created', 'pos_1m814vm23z65t45f26nzsq', NULL, '{"title": "Who?", "votingMethod": "plurality"}', 1795334983795);
INSERT INTO public.audit_entries VALUES ('acc_1m814vkkvxqd448ka4xv65', 'aud_1m814vm68zac73ahgadbhs', 'evt_1m814vkvj6449ekn18z7n0', 'key_1m814vkq10fgmcqy1y3j3p', 'candidate.created', 'cnd_1m814vm5nzn757npstv8hs', NULL, '{"name": "Ada", "positionIds": ["pos_1m814vm23z65t45f26nzsq"]}', 1795334983880);
INSERT INTO public.audit_entries VALUES ('acc_1m814vkkvxqd448ka4xv65', 'aud_1m814vm8d8b3fc1fgf3pbp', 'evt_1m814vkvj6449ekn18z7n0', 'key_1m814vkq10fgmcqy1y3j3p', 'candidate.created', 'cnd_1m814vm7xpt06dkhtphdfj', NULL, '{"name": "Bea", "positionIds": ["pos_1m814vm23z65t45f26nzsq"]}', 1795334983949);
INSERT INTO public.audit_entries VALUES ('acc_1m814vkkvxqd448ka4xv65', 'aud_1m814vm9sxbc5fhkm13dh1', 'evt_1m814vkvj6449ekn18z7n0', 'key_1m814vkq10fgmcqy1y3j3p', 'group.created', 'grp_1m814vm9agbtm9bykkgy6j', NULL, '{"name": "The north"}', 1795334983993);
INSERT INTO public.audit_entries VALUES ('acc_1m814vkkvxqd448ka4xv65', 'aud_1m814vmbeqcgbm1gaqm7dk', 'evt_1m814vkvj6449ekn18z7n0', 'key_1m814vkq10fgmcqy1y3j3p', 'voters.created', 'vtr_1m814vmaxwvs4ffqcrx5wa', NULL, '{"last": "vtr_1m814vmaynp59ftvtd1rsc", "count": 3, "first": "vtr_1m814vmaxwvs4ffqcrx5wa"}', 1795334984046);
INSERT INTO public.audit_entries VALUES ('acc_1m814vkkvxqd448ka4xv65', 'aud_1m814vmehy1351j3qcb3jn', NULL, 'key_1m814vkq10fgmcqy1y3j3p', 'webhook_endpoint.created', 'whe_1m814vmdyn34bd7ns43ask', NULL, '{"eventTypes": ["ballot.confirmed"]}', 1795334984145);
INSERT INTO public.audit_entries VALUES ('acc_1m814vkkvxqd448ka4xv65', 'aud_1m814vmj5ecny1hqznpryt', 'evt_1m814vkvj6449ekn18z7n0', 'key_1m814vkq10fgmcqy1y3j3p', 'voting_event.updated', 'evt_1m814vkvj6449ekn18z7n0', '{"openedAt": null}', '{"openedAt": 1795334984244}', 1795334984261);
INSERT INTO public.audit_entries VALUES ('acc_1m814vkkvxqd448ka4xv65', 'aud_1m814vmmcrj9xckss8mrd1', 'evt_1m814vmm4seerv0dmhfdky', 'key_1m814vkq10fgmcqy1y3j3p', 'voting_event.created', 'evt_1m814vmm4seerv0dmhfdky', NULL, '{"code": "HM3WMKGK", "type": "poll", "title": "An older poll"}', 1795334984332);
INSERT INTO public.audit_entries VALUES ('acc_1m814vkkvxqd448ka4xv65', 'aud_1m814vmqge8yj73h6j4e96', 'evt_1m814vmm4seerv0dmhfdky', 'key_1m814vkq10fgmcqy1y3j3p', 'position.created', 'pos_1m814vmnth0e45qmraded1', NULL, '{"title": "Who?", "votingMethod": "quadratic"}', 1795334984432);
INSERT INTO public.audit_entries VALUES ('acc_1m814vkkvxqd448ka4xv65', 'aud_1m814vmr0jryj4wy7c397e', 'evt_1m814vmm4seerv0dmhfdky', 'key_1m814vkq10fgmcqy1y3j3p', 'candidate.created', 'cnd_1m814vmqwcw4n7784cbygw', NULL, '{"name": "Ada", "positionIds": ["pos_1m814vmnth0e45qmraded1"]}', 1795334984448);
INSERT INTO public.audit_entries VALUES ('acc_1m814vkkvxqd448ka4xv65', 'aud_1m814vmrqcyahpbqqh6d06', 'evt_1m814vmm4seerv0dmhfdky', 'key_1m814vkq10fgmcqy1y3j3p', 'candidate.created', 'cnd_1m814vmrk9rvs2py0cp963', NULL, '{"name": "Bea", "positionIds": ["pos_1m814vmnth0e45qmraded1"]}', 1795334984472);
INSERT INTO public.audit_entries VALUES ('acc_1m814vkkvxqd448ka4xv65', 'aud_1m814vmsc226738bzgzk0j', 'evt_1m814vmm4seerv0dmhfdky', 'key_1m814vkq10fgmcqy1y3j3p', 'voting_event.updated', 'evt_1m814vmm4seerv0dmhfdky', '{"openedAt": null}', '{"openedAt": 1795334984486}', 1795334984492);
INSERT INTO public.ballot_announcements VALUES ('evt_1m814vkvj6449ekn18z7n0', 1, 1795334985425);
INSERT INTO public.ballot_announcements VALUES ('evt_1m814vmm4seerv0dmhfdky', 1, 1795334985425);
INSERT INTO public.ballot_logs VALUES ('evt_1m814vkvj6449ekn18z7n0', 1, 0, '\x00000000000000015d460ea1c524b1df6c2f1532c8b336be6543c21bb29e97b11fb416827adca80e', 'c6ff340221806840960c608f45fef9ff5bf3d702e8ca8c3916c4af39e54f26da', 0, 6, NULL, NULL, NULL, 'b2f5a3dd.JqDjAD5oIExCKSeglzNLw_pzYH03TB57MDEBxh4BHnDz0AvuLey0uJxS-6OS1a_FMfGk0D8mbZMLA_S-', NULL);
INSERT INTO public.ballot_logs VALUES ('evt_1m814vmm4seerv0dmhfdky', 1, 0, '\x0000000000000001bb0aa509b044c1f38a3fc791ed9853f3dab94af108a2acb68cd2dd0d87af14f2', '4d9d787fd436242afb2f4f72756f60c5b677eb0716c90b85f1b44f9f91f0ffd7', 0, 5, NULL, NULL, NULL, 'b2f5a3dd.oXEhBJN45Dpg9iBueBIZFUDRrxX8zBdqt8rpqHNbCoZuJcyBJFfFqw278UTrZANgLrIwvy83PM_vAJAr', NULL);
INSERT INTO public.ballot_queue VALUES ('evt_1m814vkvj6449ekn18z7n0', 'bal_smz4pyc27s5bznkx6x26dtvvjt', '\x7638aef5a0c5eff10020b9ecf6fe0f697099da4e90ec95ec221dd45aef8e758d', '\x03b2f5a3ddb5e0e24b25e21cff7b47d93d75ddb5b61a5ac0e96ee9eba577d97751e6e40af79b68832141c1951164687ddaf6937e39a172f5b22b352601a94556cb897a0e736e9bad668a4a191441b4e316bb4fd252b3cd0e55e6946ae7fcffc487b27985881f0a2aae0cd987f50f701cadb8fc213c7f60ce55c68cd2eb73c8302d2f669cab86836e87889d9cd8c6a841ef3c43e884018d1467b3ba062916df2ba8', 1000000, '\x', '\xb2f5a3dd2da639033081ef46889f24ab8491ce5cc9968fe60ac65bc29c8cf343d4a971c1e23a', NULL, NULL, NULL, false);
INSERT INTO public.ballot_queue VALUES ('evt_1m814vmm4seerv0dmhfdky', 'bal_fw5zb5rq17c5pb2pcxfdnkymm0', '\x2199c4e30b45fd1e469a633f6be826eb785f5c521b1326f7eeba98a603468898', '\x02b2f5a3dd115f92317c68efad44287284f4afd4657ddc1bf8d4c3ca68b05ee77ad49b317d99', 1000000, '\xdfb4ae3b038e22cec3a04ff44fa722d0485069db48b874badcf160ab26bef49c', '\xff7ed41d5c9b', 'vi_0123456789abcdef0123456789abcdef', NULL, 1795334984628, false);
INSERT INTO public.candidates VALUES ('evt_1m814vkvj6449ekn18z7n0', 'cnd_1m814vm5nzn757npstv8hs', 1, 'Ada', NULL, NULL, '{pos_1m814vm23z65t45f26nzsq}', NULL, NULL, NULL, 'approved', 'organizer', 0, NULL, NULL, 1795334983866, 1795334983866);
INSERT INTO public.candidates VALUES ('evt_1m814vkvj6449ekn18z7n0', 'cnd_1m814vm7xpt06dkhtphdfj', 2, 'Bea', NULL, NULL, '{pos_1m814vm23z65t45f26nzsq}', NULL, NULL, NULL, 'approved', 'organizer', 1, NULL, NULL, 1795334983940, 1795334983940);
INSERT INTO public.candidates VALUES ('evt_1m814vmm4seerv0dmhfdky', 'cnd_1m814vmqwcw4n7784cbygw', 1, 'Ada', NULL, NULL, '{pos_1m814vmnth0e45qmraded1}', NULL, NULL, NULL, 'approved', 'organizer', 0, NULL, NULL, 1795334984443, 1795334984443);
INSERT INTO public.candidates VALUES ('evt_1m814vmm4seerv0dmhfdky', 'cnd_1m814vmrk9rvs2py0cp963', 2, 'Bea', NULL, NULL, '{pos_1m814vmnth0e45qmraded1}', NULL, NULL, NULL, 'approved', 'organizer', 1, NULL, NULL, 1795334984465, 1795334984465);
INSERT INTO public.credit_balances VALUES ('evt_1m814vmm4seerv0dmhfdky', 'pos_1m814vmnth0e45qmraded1', 'vi_0123456789abcdef0123456789abcdef', 9, 0, 0, 4);
INSERT INTO public.credit_balances VALUES ('evt_1m814vmm4seerv0dmhfdky', 'pos_1m814vmnth0e45qmraded1', 'vi_ffff456789abcdef0123456789abcdef', 9, 0, 9, 0);
INSERT INTO public.credit_entries VALUES ('evt_1m814vmm4seerv0dmhfdky', 'pos_1m814vmnth0e45qmraded1', 'vi_0123456789abcdef0123456789abcdef', 'grant', 'base', 9, 1795334984621);
INSERT INTO public.credit_entries VALUES ('evt_1m814vmm4seerv0dmhfdky', 'pos_1m814vmnth0e45qmraded1', 'vi_0123456789abcdef0123456789abcdef', 'hold', '2199c4e30b45fd1e469a633f6be826eb785f5c521b1326f7eeba98a603468898', 4, 1795334984622);
INSERT INTO public.credit_entries VALUES ('evt_1m814vmm4seerv0dmhfdky', 'pos_1m814vmnth0e45qmraded1', 'vi_0123456789abcdef0123456789abcdef', 'spend', '2199c4e30b45fd1e469a633f6be826eb785f5c521b1326f7eeba98a603468898', 4, 1795334984632);
INSERT INTO public.credit_entries VALUES ('evt_1m814vmm4seerv0dmhfdky', 'pos_1m814vmnth0e45qmraded1', 'vi_ffff456789abcdef0123456789abcdef', 'grant', 'base', 9, 1795334984705);
INSERT INTO public.credit_entries VALUES ('evt_1m814vmm4seerv0dmhfdky', 'pos_1m814vmnth0e45qmraded1', 'vi_ffff456789abcdef0123456789abcdef', 'hold', '607c081c25324e00da6c4c32e432d60619a11e22e621db5d3132ce65ee1fee6c', 9, 1795334984706);
INSERT INTO public.electorate_changes OVERRIDING SYSTEM VALUE VALUES ('evt_1m814vkvj6449ekn18z7n0', 1, 3, 6000000);
INSERT INTO public.groups VALUES ('evt_1m814vkvj6449ekn18z7n0', 'grp_1m814vm9agbtm9bykkgy6j', 'The north', 'the north', NULL, NULL, 1795334983993, 1795334983993);
INSERT INTO public.log_checkpoints VALUES ('evt_1m814vkvj6449ekn18z7n0', 1, '\x5d460ea1c524b1df6c2f1532c8b336be6543c21bb29e97b11fb416827adca80e', 'localhost/evt_1m814vkvj6449ekn18z7n0
1
XUYOocUksd9sLxUyyLM2vmVDwhuynpexH7QWgnrcqA4=
— localhost DIPfC67hC1dHE9zJSyajvEWRHsIIXmL5ErYcrRwx+VuALOm+Sp+Ew5KZOew87DiabLGsWLjZvRyebZBkeR9GRfqWAQg=
', 1795334984388);
INSERT INTO public.log_checkpoints VALUES ('evt_1m814vmm4seerv0dmhfdky', 1, '\xbb0aa509b044c1f38a3fc791ed9853f3dab94af108a2acb68cd2dd0d87af14f2', 'localhost/evt_1m814vmm4seerv0dmhfdky
1
uwqlCbBEwfOKP8eR7ZhT89q5SvEIoqy2jNLdDYevFPI=
— localhost DIPfCxV/vfN8tQ2V6NY2WDhiSNn109Kibv5NjdaIQZDEFg9xOIudvmnj+enhkwqnjts0UBkJ+rlA2XOoGmhhRjfwJgc=
', 1795334984566);
INSERT INTO public.log_leaves VALUES ('evt_1m814vkvj6449ekn18z7n0', 0, '\x7b226174223a313739353333343938343234342c22636f6e666967223a2263366666333430323231383036383430393630633630386634356665663966663562663364373032653863613863333931366334616633396535346632366461222c2265223a226576745f316d383134766b766a36343439656b6e31387a376e30222c22726f6c6c223a332c2273656564223a2239333834656538626566333364313138313066313230653933363834373038356631636431626637616234393639633738343734663963616237666639356661222c2274223a226f70656e222c2276223a317d');
INSERT INTO public.log_leaves VALUES ('evt_1m814vmm4seerv0dmhfdky', 0, '\x7b226174223a313739353333343938343438362c22636f6e666967223a2234643964373837666434333632343261666232663466373237353666363063356236373765623037313663393062383566316234346639663931663066666437222c2265223a226576745f316d383134766d6d34736565727630646d6866646b79222c22726f6c6c223a302c2273656564223a2236336339316432303162303038383363343162636266386461653062663064636332373232613366616331386165646561366531633135646536626564643632222c2274223a226f70656e222c2276223a317d');
INSERT INTO public.participation VALUES ('evt_1m814vkvj6449ekn18z7n0', 'vtr_1m814vmaxwvs4ffqcrx5wa', true);
INSERT INTO public.participation VALUES ('evt_1m814vmm4seerv0dmhfdky', 'v:vi_0123456789abcdef0123456789abcdef', true);
INSERT INTO public.pending_ballots VALUES ('evt_1m814vkvj6449ekn18z7n0', 'vtr_1m814vmaynp59ftvtd1rsb', '{vtr_1m814vmaynp59ftvtd1rsb}', '\xb9e212e4507b1ae8964646f0cb722c09d7fd917bb5ff4f55c824d49df4eb11f1', '\x03b2f5a3dd497159aa4e1001e6496099fa7e50b505b1d33d09c530ce07985204536ee47a37f0338d2356dd7a763340467822d8832d237c515f66ea8b0fe8f23f963b504c43b0d12af99d9013cc24eb4112cc669f716aed9385e07e2d43fcf343770905a15aa2cabc07ef02feada77fbf95b37ec338778ded5851aa7177fc7626a59f39f3bacb2398c8ded4c36dd69d0a7061b9e2f9ba583130081f18da1ab028a5', 2000000, NULL, NULL, 'bea@example.org', NULL, NULL, 1795334984590, NULL, NULL);
INSERT INTO public.pending_ballots VALUES ('evt_1m814vmm4seerv0dmhfdky', 'v:vi_ffff456789abcdef0123456789abcdef', '{v:vi_ffff456789abcdef0123456789abcdef}', '\x607c081c25324e00da6c4c32e432d60619a11e22e621db5d3132ce65ee1fee6c', '\x02b2f5a3dd7da84380e1a80ceb322a9e5404bb7e5c797fccfd0e368a566a9b697b7e62a37df0', 1000000, 'vi_ffff456789abcdef0123456789abcdef', NULL, NULL, NULL, NULL, 1795334984695, '[{"base": 9, "credits": 9, "position": "pos_1m814vmnth0e45qmraded1"}]', NULL);
INSERT INTO public.positions VALUES ('evt_1m814vkvj6449ekn18z7n0', 'pos_1m814vm23z65t45f26nzsq', 1, 'Who?', NULL, 'plurality', NULL, 0, 1, 1, 1, NULL, NULL, NULL, NULL, NULL, 'joint', NULL, NULL, 1795334983740, 1795334983740, NULL);
INSERT INTO public.positions VALUES ('evt_1m814vmm4seerv0dmhfdky', 'pos_1m814vmnth0e45qmraded1', 1, 'Who?', NULL, 'quadratic', NULL, 0, 1, 1, NULL, NULL, NULL, NULL, 9, NULL, 'joint', NULL, NULL, 1795334984372, 1795334984372, NULL);
INSERT INTO public.rate_limits VALUES ('key_1m814vkq10fgmcqy1y3j3p', 1795334984716, 1795334984706);
INSERT INTO public.rate_limits VALUES ('key_1m814vkqmegkgwa734452m', 1795334984707.5, 1795334984706);
INSERT INTO public.roll_figures OVERRIDING SYSTEM VALUE VALUES ('evt_1m814vkvj6449ekn18z7n0', 1, '', 'approved', 2, 5000000, 0, 0);
INSERT INTO public.roll_figures OVERRIDING SYSTEM VALUE VALUES ('evt_1m814vkvj6449ekn18z7n0', 2, 'grp_1m814vm9agbtm9bykkgy6j', 'approved', 1, 1000000, 0, 0);
INSERT INTO public.roll_figures OVERRIDING SYSTEM VALUE VALUES ('evt_1m814vkvj6449ekn18z7n0', 3, 'grp_1m814vm9agbtm9bykkgy6j', '', 0, 0, 1, 1000000);
INSERT INTO public.roll_figures OVERRIDING SYSTEM VALUE VALUES ('evt_1m814vmm4seerv0dmhfdky', 4, '', 'approved', 1, 1000000, 1, 1000000);
INSERT INTO public.voter_keys VALUES ('evt_1m814vkvj6449ekn18z7n0', 'vtr_1m814vmaxwvs4ffqcrx5wa', '\xa640ff08e9d37557794d42a98e34dc2af1ca3b1865ba4d07105249f27b1fa91d', NULL, 0);
INSERT INTO public.voter_keys VALUES ('evt_1m814vkvj6449ekn18z7n0', 'vtr_1m814vmaynp59ftvtd1rsb', '\x05818fcdcfb2ccef73c346117a6a720b54a0898b5bceef306696455d024890f1', NULL, 0);
INSERT INTO public.voter_keys VALUES ('evt_1m814vkvj6449ekn18z7n0', 'vtr_1m814vmaynp59ftvtd1rsc', '\x1be1707a3e3de334e3e2492da9e16870e89f471ac9d4ac7e4877b66ecd45d89b', NULL, 0);
INSERT INTO public.voters VALUES ('evt_1m814vkvj6449ekn18z7n0', 'vtr_1m814vmaynp59ftvtd1rsc', 'cy', 'cy@example.org', 'cy@example.org', 'ID-cy', 'ID-cy', NULL, 3000000, 'approved', 'organizer', 'none', NULL, 1795334984030, 1795334984030, NULL, NULL);
INSERT INTO public.voters VALUES ('evt_1m814vkvj6449ekn18z7n0', 'vtr_1m814vmaxwvs4ffqcrx5wa', 'ada', 'ada@example.org', 'ada@example.org', 'ID-ada', 'ID-ada', 'grp_1m814vm9agbtm9bykkgy6j', 1000000, 'approved', 'organizer', 'used', NULL, 1795334984029, 1795334984029, NULL, NULL);
INSERT INTO public.voters VALUES ('evt_1m814vkvj6449ekn18z7n0', 'vtr_1m814vmaynp59ftvtd1rsb', 'bea', 'bea@example.org', 'bea@example.org', 'ID-bea', 'ID-bea', NULL, 2000000, 'approved', 'organizer', 'used', NULL, 1795334984030, 1795334984030, NULL, NULL);
INSERT INTO public.voters VALUES ('evt_1m814vmm4seerv0dmhfdky', 'vtr_1m814vmxmcjsqq1450m0t5', 'vi_0123456789abcdef0123456789abcdef', NULL, NULL, 'vi_0123456789abcdef0123456789abcdef', 'vi_0123456789abcdef0123456789abcdef', NULL, 1000000, 'approved', 'poll', 'none', NULL, 1795334984630, 1795334984630, NULL, NULL);
INSERT INTO public.voting_events VALUES ('evt_1m814vkvj6449ekn18z7n0', 'acc_1m814vkkvxqd448ka4xv65', 'P14BDYEM', 'p14bdyem', 'An older election', NULL, 'election', NULL, NULL, 1795334984244, NULL, true, 'UTC', false, false, 'automatic', false, false, 'fixed', 'observer', 'inclusion', 'hidden', NULL, NULL, NULL, false, NULL, NULL, 6, 3, 1, 2, 1795334983538, 1795334984244, NULL, 'open', false, false, 0, 0, 0, 0, NULL, NULL);
INSERT INTO public.voting_events VALUES ('evt_1m814vmm4seerv0dmhfdky', 'acc_1m814vkkvxqd448ka4xv65', 'HM3WMKGK', 'hm3wmkgk', 'An older poll', NULL, 'poll', NULL, NULL, 1795334984486, NULL, true, 'UTC', false, false, 'automatic', false, false, 'fixed', 'observer', 'full', 'hidden', NULL, NULL, NULL, false, NULL, NULL, 5, 0, 1, 2, 1795334984324, 1795334984486, NULL, 'open', false, false, 0, 0, 0, 0, NULL, NULL);
INSERT INTO public.webhook_attempts VALUES ('whd_1m814vnprc09cf3f74a18462c', 1, 1795334985564, 88, NULL, 'name_not_found', NULL);
INSERT INTO public.webhook_attempts VALUES ('whd_1m814vnpt6f48d9a4228a4449', 1, 1795334985627, 31, NULL, 'name_not_found', NULL);
INSERT INTO public.webhook_deliveries VALUES ('whd_1m814vnprc09cf3f74a18462c', 'whe_1m814vmdyn34bd7ns43ask', 'msg_1m814vnpr16395273f4c4440f', 'ballot.confirmed', '{"id":"msg_1m814vnpr16395273f4c4440f","type":"ballot.confirmed","createdAt":1795334985432,"votingEventId":"evt_1m814vkvj6449ekn18z7n0","data":{"votingEventId" : "evt_1m814vkvj6449ekn18z7n0", "ballots" : 1}}', 'pending', 1, 1795334990880, 0, NULL, 1795334985432, NULL);
INSERT INTO public.webhook_deliveries VALUES ('whd_1m814vnpt6f48d9a4228a4449', 'whe_1m814vmdyn34bd7ns43ask', 'msg_1m814vnptd403f327039c4e25', 'ballot.confirmed', '{"id":"msg_1m814vnptd403f327039c4e25","type":"ballot.confirmed","createdAt":1795334985434,"votingEventId":"evt_1m814vmm4seerv0dmhfdky","data":{"votingEventId" : "evt_1m814vmm4seerv0dmhfdky", "ballots" : 1}}', 'pending', 1, 1795334991509, 0, NULL, 1795334985434, NULL);
INSERT INTO public.webhook_endpoints VALUES ('whe_1m814vmdyn34bd7ns43ask', 'acc_1m814vkkvxqd448ka4xv65', NULL, 'https://example.org/hook', NULL, '{ballot.confirmed}', 'active', NULL, 2, 1795334984126, 'b2f5a3dd.buSGZDH_9gbOvHEeBnF6-09S4bwK-27SzOYqWqXKfUp9Yk3fgrlA0nlcExvprymPilxg_cODMt4tZ4FiC8xmBzoPGCPI8fbwe6XQLsX4', 'whsec_…P04=', NULL, NULL, 1795334984126, 1795334984126, NULL, '[]');
SELECT pg_catalog.setval('drizzle.__drizzle_migrations_id_seq', 35, true);
SELECT pg_catalog.setval('public.electorate_changes_id_seq', 1, true);
SELECT pg_catalog.setval('public.roll_figures_id_seq', 4, true);
ALTER TABLE ONLY drizzle.__drizzle_migrations
    ADD CONSTRAINT __drizzle_migrations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.audit_entries
    ADD CONSTRAINT audit_entries_account_id_id_pk PRIMARY KEY (account_id, id);
ALTER TABLE ONLY public.ballot_announcements
    ADD CONSTRAINT ballot_announcements_voting_event_id_pk PRIMARY KEY (voting_event_id);
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
ALTER TABLE ONLY public.job_runners
    ADD CONSTRAINT job_runners_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.log_alarms
    ADD CONSTRAINT log_alarms_pkey PRIMARY KEY (voting_event_id);
ALTER TABLE ONLY public.log_checkpoints
    ADD CONSTRAINT log_checkpoints_voting_event_id_size_pk PRIMARY KEY (voting_event_id, size);
ALTER TABLE ONLY public.log_leaves
    ADD CONSTRAINT log_leaves_voting_event_id_leaf_index_pk PRIMARY KEY (voting_event_id, leaf_index);
ALTER TABLE ONLY public.log_tiles
    ADD CONSTRAINT log_tiles_voting_event_id_level_tile_index_pk PRIMARY KEY (voting_event_id, level, tile_index);
ALTER TABLE ONLY public.mail_quotas
    ADD CONSTRAINT mail_quotas_pkey PRIMARY KEY (name, window_ms);
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
ALTER TABLE ONLY public.roll_figures
    ADD CONSTRAINT roll_figures_voting_event_id_id_pk PRIMARY KEY (voting_event_id, id);
ALTER TABLE ONLY public.service_identity
    ADD CONSTRAINT service_identity_kind_id_pk PRIMARY KEY (kind, id);
ALTER TABLE ONLY public.service_processes
    ADD CONSTRAINT service_processes_pkey PRIMARY KEY (id);
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
ALTER TABLE ONLY public.waiting_participants
    ADD CONSTRAINT waiting_participants_voting_event_id_participant_pk PRIMARY KEY (voting_event_id, participant);
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
CREATE INDEX audit_entries_resource ON public.audit_entries USING btree (voting_event_id, resource) WHERE (voting_event_id IS NOT NULL);
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
CREATE INDEX pending_ballots_age ON public.pending_ballots USING btree (cast_at);
CREATE UNIQUE INDEX pending_ballots_code ON public.pending_ballots USING btree (voting_event_id, code_tag);
CREATE UNIQUE INDEX positions_number ON public.positions USING btree (voting_event_id, number);
CREATE INDEX provider_events_received ON public.provider_events USING btree (received_at);
CREATE INDEX sponsors_order ON public.sponsors USING btree (voting_event_id, sort_order);
CREATE INDEX voided_ballots_leaf ON public.voided_ballots USING btree (voting_event_id, leaf_index);
CREATE INDEX voters_by_group ON public.voters USING btree (voting_event_id, group_id, id) WHERE (group_id IS NOT NULL);
CREATE UNIQUE INDEX voters_email ON public.voters USING btree (voting_event_id, email_key);
CREATE INDEX voters_fractional_weight ON public.voters USING btree (voting_event_id, weight_micro) WHERE ((weight_micro % (1000000)::bigint) <> 0);
CREATE INDEX voters_point ON public.voters USING btree (voting_event_id, md5(id) COLLATE "C") WHERE ((email IS NOT NULL) AND (deleted_at IS NULL));
CREATE INDEX voters_to_confirm ON public.voters USING btree (confirm_by, voting_event_id) WHERE (confirm_by IS NOT NULL);
CREATE UNIQUE INDEX voters_voter_id ON public.voters USING btree (voting_event_id, voter_id_key);
CREATE INDEX voters_weight_not_one ON public.voters USING btree (voting_event_id, weight_micro) WHERE (weight_micro <> 1000000);
CREATE INDEX voting_events_account ON public.voting_events USING btree (account_id, id);
CREATE UNIQUE INDEX voting_events_code ON public.voting_events USING btree (code_key);
CREATE INDEX voting_events_deleted ON public.voting_events USING btree (id) WHERE (deleted_at IS NOT NULL);
CREATE INDEX voting_events_timed ON public.voting_events USING btree (id) WHERE ((starts_at IS NOT NULL) OR (ends_at IS NOT NULL));
CREATE INDEX voting_events_to_open ON public.voting_events USING btree (starts_at) WHERE ((opened_at IS NULL) AND (starts_at IS NOT NULL));
CREATE INDEX webhook_deliveries_due ON public.webhook_deliveries USING btree (endpoint_id, next_try_at) WHERE (status = 'pending'::text);
CREATE INDEX webhook_endpoints_account ON public.webhook_endpoints USING btree (account_id, id);
CREATE INDEX webhook_endpoints_retired ON public.webhook_endpoints USING btree (retired_at) WHERE (retired_at IS NOT NULL);
CREATE TRIGGER accounts_tell_change AFTER UPDATE OF plan ON public.accounts FOR EACH ROW WHEN ((old.plan IS DISTINCT FROM new.plan)) EXECUTE FUNCTION public.tell_account_change();
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
CREATE TRIGGER participation_count_added AFTER INSERT ON public.participation REFERENCING NEW TABLE AS took_part FOR EACH STATEMENT EXECUTE FUNCTION public.count_participation();
CREATE TRIGGER participation_count_removed AFTER DELETE ON public.participation REFERENCING OLD TABLE AS took_part FOR EACH STATEMENT EXECUTE FUNCTION public.count_participation();
CREATE TRIGGER voided_ballots_not_emptied BEFORE TRUNCATE ON public.voided_ballots FOR EACH STATEMENT EXECUTE FUNCTION public.guard_ballot_log();
CREATE TRIGGER voided_ballots_stay BEFORE DELETE ON public.voided_ballots FOR EACH ROW EXECUTE FUNCTION public.guard_ballot_log();
CREATE TRIGGER voided_ballots_stay_void BEFORE UPDATE ON public.voided_ballots FOR EACH ROW EXECUTE FUNCTION public.guard_voided_ballot();
CREATE TRIGGER voters_count_added AFTER INSERT ON public.voters REFERENCING NEW TABLE AS roll FOR EACH STATEMENT EXECUTE FUNCTION public.count_roll_of_statement();
CREATE TRIGGER voters_count_changed AFTER UPDATE ON public.voters FOR EACH ROW WHEN (((((old.status IS DISTINCT FROM new.status) OR (old.weight_micro IS DISTINCT FROM new.weight_micro)) OR (old.group_id IS DISTINCT FROM new.group_id)) OR (old.deleted_at IS DISTINCT FROM new.deleted_at))) EXECUTE FUNCTION public.count_changed_voter();
CREATE TRIGGER voters_count_removed AFTER DELETE ON public.voters REFERENCING OLD TABLE AS roll FOR EACH STATEMENT EXECUTE FUNCTION public.count_roll_of_statement();
CREATE TRIGGER voters_note_added AFTER INSERT ON public.voters REFERENCING NEW TABLE AS roll FOR EACH STATEMENT EXECUTE FUNCTION public.note_electorate_of_roll();
CREATE TRIGGER voters_note_changed AFTER UPDATE ON public.voters FOR EACH ROW WHEN (((new.source <> 'poll'::text) AND (((old.status IS DISTINCT FROM new.status) OR (old.weight_micro IS DISTINCT FROM new.weight_micro)) OR (old.deleted_at IS DISTINCT FROM new.deleted_at)))) EXECUTE FUNCTION public.note_electorate_of_voter();
CREATE TRIGGER voters_note_removed AFTER DELETE ON public.voters REFERENCING OLD TABLE AS roll FOR EACH STATEMENT EXECUTE FUNCTION public.note_electorate_of_roll();
CREATE TRIGGER voting_events_tell_change AFTER DELETE OR UPDATE ON public.voting_events FOR EACH ROW EXECUTE FUNCTION public.tell_event_change();
CREATE TRIGGER voting_events_tend_ballot_log AFTER UPDATE OF paper_version ON public.voting_events FOR EACH ROW EXECUTE FUNCTION public.tend_ballot_log();
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_account_id_accounts_id_fk FOREIGN KEY (account_id) REFERENCES public.accounts(id);
ALTER TABLE ONLY public.ballot_announcements
    ADD CONSTRAINT ballot_announcements_voting_event_id_voting_events_id_fk FOREIGN KEY (voting_event_id) REFERENCES public.voting_events(id) ON DELETE CASCADE;
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
ALTER TABLE ONLY public.roll_figures
    ADD CONSTRAINT roll_figures_voting_event_id_voting_events_id_fk FOREIGN KEY (voting_event_id) REFERENCES public.voting_events(id) ON DELETE CASCADE;
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
ALTER TABLE ONLY public.waiting_participants
    ADD CONSTRAINT waiting_participants_voting_event_id_voting_events_id_fk FOREIGN KEY (voting_event_id) REFERENCES public.voting_events(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.webhook_endpoints
    ADD CONSTRAINT webhook_endpoints_account_id_accounts_id_fk FOREIGN KEY (account_id) REFERENCES public.accounts(id);
