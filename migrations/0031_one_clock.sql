-- What a ballot's time is judged by is read under the event's lock: whoever waited for a close must not be judged by the time before it.
CREATE OR REPLACE FUNCTION cast_ballot(
  p_event text, p_paper_version bigint, p_voter jsonb, p_key_hash bytea, p_expected_group text, p_participants text[],
  p_code_tag bytea, p_entries bytea, p_visitor_id text, p_voter_id text, p_email text, p_name text, p_country text,
  p_credits jsonb, OUT verdict text, OUT short_position text, OUT required bigint, OUT available bigint
)
 RETURNS record
 LANGUAGE plpgsql
AS $function$
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
END $function$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION cast_paid_ballot(
  p_event text, p_paper_version bigint, p_attempt text, p_paid_at bigint, p_participants text[], p_code_tag bytea,
  p_entries bytea, p_visitor_id text, p_voter_id text, p_email text, p_name text, p_country text, p_credits jsonb,
  OUT verdict text, OUT short_position text, OUT required bigint, OUT available bigint
)
 RETURNS record
 LANGUAGE plpgsql
AS $function$
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
END $function$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION confirm_ballot(
  p_event text, p_code_tag bytea, p_ballot text, p_salt bytea, p_sealed_time bytea, p_at bigint, p_new_voter text,
  p_leaf_tag bytea DEFAULT NULL::bytea, OUT verdict text, OUT entries bytea, OUT weight_micro bigint,
  OUT sealed_time bytea, OUT salt bytea, OUT status text
)
 RETURNS record
 LANGUAGE plpgsql
AS $function$
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
  PERFORM announce_ballot(e.account_id, p_event);
  verdict := 'confirmed';
  entries := b.entries;
  weight_micro := b.weight_micro;
  sealed_time := p_sealed_time;
  salt := p_salt;
END $function$;
--> statement-breakpoint
-- When the quota was written down: were the clock set back, what was used is reckoned from then and not from a future.
ALTER TABLE "rate_limits" ADD COLUMN "noted_at" bigint DEFAULT 0 NOT NULL;
