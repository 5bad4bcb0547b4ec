-- Quadratic credits: held when a ballot is cast, spent when it is confirmed, released when it is replaced or dropped.
-- Nobody reads a balance to decide with it later: deciding and changing are one step, under one lock for each visitor.
CREATE FUNCTION lock_credits(p_event text, p_visitor text) RETURNS void LANGUAGE sql AS $$
  SELECT pg_advisory_xact_lock(hashtextextended('credits ' || p_event || ' ' || p_visitor, 0));
$$;
--> statement-breakpoint

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;
--> statement-breakpoint
CREATE TRIGGER credit_entries_append_only BEFORE UPDATE ON credit_entries FOR EACH ROW EXECUTE FUNCTION refuse_change();
--> statement-breakpoint

-- A balance begins with the base credits of its position.
CREATE FUNCTION open_credit_balance(p_event text, p_position text, p_visitor text, p_base integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO credit_balances (voting_event_id, position_id, visitor_id, base, purchased, held, spent)
  VALUES (p_event, p_position, p_visitor, p_base, 0, 0, 0) ON CONFLICT DO NOTHING;
  IF FOUND THEN
    INSERT INTO credit_entries (voting_event_id, position_id, visitor_id, kind, reason, credits, created_at)
    VALUES (p_event, p_position, p_visitor, 'grant', 'base', p_base, now_ms());
  END IF;
END $$;
--> statement-breakpoint

CREATE FUNCTION release_credits(p_event text, p_visitor text, p_code_tag bytea, p_credits jsonb) RETURNS void LANGUAGE plpgsql AS $$
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
--> statement-breakpoint

CREATE FUNCTION spend_credits(p_event text, p_visitor text, p_code_tag bytea, p_credits jsonb) RETURNS void LANGUAGE plpgsql AS $$
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
--> statement-breakpoint

-- Holds what a ballot costs, in place of what the ballot that it replaces held. Where anything is short, nothing changes.
-- Call with the visitor's credits locked.
CREATE FUNCTION hold_credits(
  p_event text, p_participant text, p_visitor text, p_code_tag bytea, p_credits jsonb,
  OUT short_position text, OUT required bigint, OUT available bigint
) LANGUAGE plpgsql AS $$
DECLARE
  replaced record;
  need record;
BEGIN
  SELECT b.code_tag, coalesce(b.credits, '[]') AS credits INTO replaced
  FROM pending_ballots b WHERE b.voting_event_id = p_event AND b.participant = p_participant;
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
--> statement-breakpoint

-- Credits that were bought.
CREATE FUNCTION add_credits(p_event text, p_position text, p_visitor text, p_base integer, p_credits integer, p_attempt text)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM lock_credits(p_event, p_visitor);
  PERFORM open_credit_balance(p_event, p_position, p_visitor, p_base);
  INSERT INTO credit_entries (voting_event_id, position_id, visitor_id, kind, reason, credits, created_at)
  VALUES (p_event, p_position, p_visitor, 'purchase', p_attempt, p_credits, now_ms());
  UPDATE credit_balances c SET purchased = c.purchased + p_credits
  WHERE c.voting_event_id = p_event AND c.position_id = p_position AND c.visitor_id = p_visitor;
END $$;
--> statement-breakpoint

-- Drops a ballot that was not confirmed, with what it holds. False when there is none: it was confirmed, or never cast.
CREATE FUNCTION drop_pending_ballot(p_event text, p_code_tag bytea) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  b pending_ballots%ROWTYPE;
BEGIN
  SELECT * INTO b FROM pending_ballots p WHERE p.voting_event_id = p_event AND p.code_tag = p_code_tag;
  IF b.credits IS NOT NULL THEN PERFORM lock_credits(p_event, b.visitor_id); END IF;
  DELETE FROM pending_ballots p WHERE p.voting_event_id = p_event AND p.code_tag = p_code_tag RETURNING * INTO b;
  IF NOT FOUND THEN RETURN false; END IF;
  PERFORM release_credits(p_event, b.visitor_id, b.code_tag, b.credits);
  RETURN true;
END $$;
--> statement-breakpoint

-- Takes bought credits back after the money went back: those that are free, then those in ballots that were not confirmed.
-- Answers how many were spent already; a balance never falls below zero.
CREATE FUNCTION take_back_credits(p_event text, p_position text, p_visitor text, p_credits integer, p_attempt text)
RETURNS integer LANGUAGE plpgsql AS $$
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
--> statement-breakpoint

-- Drops ballots that can no longer be confirmed: a day old, or past the time after the close.
CREATE FUNCTION drop_expired_ballots() RETURNS integer LANGUAGE plpgsql AS $$
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
--> statement-breakpoint

DROP FUNCTION cast_ballot(text, bigint, jsonb, bytea, bytea, text, text[], bytea, bytea, text, text, text, text, text);
--> statement-breakpoint

-- Stores a pending ballot, or says why not. The event's row is locked in the way that a change of its paper waits for:
-- a ballot is stored under exactly the version it was judged by, and inside of the window.
CREATE FUNCTION cast_ballot(
  p_event text, p_paper_version bigint, p_voter jsonb, p_key_hash bytea, p_failure_identity bytea, p_expected_group text,
  p_participants text[], p_code_tag bytea, p_entries bytea,
  p_visitor_id text, p_voter_id text, p_email text, p_name text, p_country text, p_credits jsonb,
  OUT verdict text, OUT retry_after_ms bigint, OUT short_position text, OUT required bigint, OUT available bigint
) LANGUAGE plpgsql AS $$
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
      OR EXISTS (SELECT 1 FROM pending_ballots b WHERE b.voting_event_id = p_event AND b.participant = key AND b.payment_attempt_id IS NOT NULL)
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
--> statement-breakpoint

-- Stores the pending ballot of a payment. It may come after the close, when it was paid for before; and no other ballot
-- takes its place, for its price was paid.
CREATE FUNCTION cast_paid_ballot(
  p_event text, p_paper_version bigint, p_attempt text, p_paid_at bigint, p_participants text[], p_code_tag bytea, p_entries bytea,
  p_visitor_id text, p_voter_id text, p_email text, p_name text, p_country text, p_credits jsonb,
  OUT verdict text, OUT short_position text, OUT required bigint, OUT available bigint
) LANGUAGE plpgsql AS $$
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
  IF EXISTS (SELECT 1 FROM pending_ballots b WHERE b.voting_event_id = p_event AND b.participant = key AND b.payment_attempt_id IS NOT NULL) THEN
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
--> statement-breakpoint

-- Moves a pending ballot into the box's queue and marks who took part. Voter and ballot part here for good:
-- the rows written share nothing but the event.
CREATE OR REPLACE FUNCTION confirm_ballot(
  p_event text, p_code_tag bytea, p_ballot text, p_salt bytea, p_sealed_time bytea, p_at bigint, p_new_voter text,
  OUT verdict text, OUT entries bytea, OUT weight_micro bigint, OUT sealed_time bytea, OUT salt bytea, OUT status text
) LANGUAGE plpgsql AS $$
DECLARE
  e voting_events%ROWTYPE;
  b pending_ballots%ROWTYPE;
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
  SELECT * INTO b FROM pending_ballots p WHERE p.voting_event_id = p_event AND p.code_tag = p_code_tag;
  IF b.credits IS NOT NULL THEN PERFORM lock_credits(p_event, b.visitor_id); END IF;
  SELECT * INTO b FROM pending_ballots p WHERE p.voting_event_id = p_event AND p.code_tag = p_code_tag FOR UPDATE;
  IF NOT FOUND THEN
    SELECT q.entries, q.weight_micro, q.sealed_time, q.salt INTO entries, weight_micro, sealed_time, salt
    FROM ballot_queue q WHERE q.voting_event_id = p_event AND q.code_tag = p_code_tag;
    IF NOT FOUND THEN
      SELECT x.entries, x.weight_micro, x.sealed_time, x.salt INTO entries, weight_micro, sealed_time, salt
      FROM ballots x WHERE x.voting_event_id = p_event AND x.code_tag = p_code_tag;
    END IF;
    verdict := CASE WHEN FOUND THEN 'confirmed_before' ELSE 'unknown' END;
    RETURN;
  END IF;
  IF b.cast_at <= at - 24 * 60 * 60 * 1000 THEN
    PERFORM release_credits(p_event, b.visitor_id, b.code_tag, b.credits);
    DELETE FROM pending_ballots p WHERE p.voting_event_id = p_event AND p.participant = b.participant;
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
  INSERT INTO ballot_queue (voting_event_id, id, code_tag, entries, weight_micro, salt, sealed_time, voter_id, country_code, submitted_at)
  VALUES (p_event, p_ballot, p_code_tag, b.entries, b.weight_micro, p_salt, p_sealed_time,
    CASE WHEN poll THEN shown_id END, CASE WHEN poll THEN b.country_code END, CASE WHEN poll THEN p_at END);
  PERFORM spend_credits(p_event, b.visitor_id, b.code_tag, b.credits);
  DELETE FROM pending_ballots p WHERE p.voting_event_id = p_event AND p.participant = b.participant;
  verdict := 'confirmed';
  entries := b.entries;
  weight_micro := b.weight_micro;
  sealed_time := p_sealed_time;
  salt := p_salt;
END $$;
