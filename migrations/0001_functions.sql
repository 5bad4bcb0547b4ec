-- The rules that must hold whatever runs at the same time stand here, where the locks are.
-- Times are Unix milliseconds; the database's clock decides every window.

CREATE FUNCTION now_ms() RETURNS bigint LANGUAGE sql VOLATILE PARALLEL SAFE
  RETURN (extract(epoch FROM clock_timestamp()) * 1000)::bigint;
--> statement-breakpoint

-- The rule of src/voting-events/lifecycle.ts, said once more for the hot statements.
CREATE FUNCTION event_status(e voting_events, at bigint) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE
    WHEN e.closed_at IS NOT NULL THEN 'closed'
    WHEN e.opened_at IS NOT NULL OR (e.starts_at <= at AND e.ready)
      THEN CASE WHEN e.ends_at <= at THEN 'closed' ELSE 'open' END
    WHEN e.starts_at IS NULL THEN 'draft'
    WHEN e.ends_at <= at THEN 'closed'
    ELSE 'scheduled'
  END;
--> statement-breakpoint

-- Judges a voter key. A known and an unknown voter take the same path: look-up, comparison, one counted failure.
CREATE FUNCTION verify_voter(
  p_event text, p_kind text, p_identity text, p_key_hash bytea, p_failure_identity bytea, p_approval text,
  OUT verdict text, OUT voter_id text, OUT weight_micro bigint, OUT group_id text, OUT retry_after_ms bigint
) LANGUAGE plpgsql AS $$
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
    SELECT * INTO v FROM voters w WHERE w.voting_event_id = p_event AND w.email_key = p_identity AND w.deleted_at IS NULL;
  ELSE
    SELECT * INTO v FROM voters w WHERE w.voting_event_id = p_event AND w.voter_id_key = p_identity AND w.deleted_at IS NULL;
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
      UPDATE voters w SET status = 'approved', key_status = 'used' WHERE w.voting_event_id = p_event AND w.id = v.id;
    END IF;
    verdict := CASE WHEN EXISTS (SELECT 1 FROM participation p WHERE p.voting_event_id = p_event AND p.participant = v.id)
      THEN 'already_voted' ELSE 'eligible' END;
  END IF;
END $$;
--> statement-breakpoint

-- Stores a pending ballot, or says why not. The event's row is locked in the way that a change of its paper waits for:
-- a ballot is stored under exactly the version it was judged by, and inside of the window.
CREATE FUNCTION cast_ballot(
  p_event text, p_paper_version bigint, p_voter jsonb, p_key_hash bytea, p_failure_identity bytea, p_expected_group text,
  p_participants text[], p_code_tag bytea, p_entries bytea,
  p_visitor_id text, p_voter_id text, p_email text, p_name text, p_country text,
  OUT verdict text, OUT retry_after_ms bigint
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
  ELSIF NOT e.repeat_votes AND EXISTS (
    SELECT 1 FROM participation p WHERE p.voting_event_id = p_event AND p.participant = ANY (p_participants)) THEN
    verdict := 'already_voted';
    RETURN;
  END IF;
  INSERT INTO pending_ballots AS b (voting_event_id, participant, participants, code_tag, entries, weight_micro, visitor_id, voter_id, email, name, country_code, cast_at)
  VALUES (p_event, key, CASE WHEN p_voter IS NULL THEN p_participants ELSE ARRAY[key] END, p_code_tag, p_entries, weight, p_visitor_id, p_voter_id, p_email, p_name, p_country, at)
  ON CONFLICT (voting_event_id, participant) DO UPDATE SET
    participants = excluded.participants, code_tag = excluded.code_tag, entries = excluded.entries, weight_micro = excluded.weight_micro, voter_id = excluded.voter_id,
    email = excluded.email, name = excluded.name, country_code = excluded.country_code, cast_at = excluded.cast_at;
  verdict := 'cast';
END $$;
--> statement-breakpoint

-- Moves a pending ballot into the box's queue and marks who took part. Voter and ballot part here for good:
-- the rows written share nothing but the event.
CREATE FUNCTION confirm_ballot(
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
  DELETE FROM pending_ballots p WHERE p.voting_event_id = p_event AND p.participant = b.participant;
  verdict := 'confirmed';
  entries := b.entries;
  weight_micro := b.weight_micro;
  sealed_time := p_sealed_time;
  salt := p_salt;
END $$;
--> statement-breakpoint

-- Releases confirmed ballots of a secret event for its public live count, five at a time, chosen by their random IDs.
-- What was released stays so: two counts never differ by fewer than five ballots.
CREATE FUNCTION release_ballots(p_event text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  waiting text[];
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('release ' || p_event, 0));
  SELECT array_agg(id ORDER BY id) INTO waiting FROM (
    SELECT id FROM ballot_queue WHERE voting_event_id = p_event AND NOT released
    UNION ALL SELECT id FROM ballots WHERE voting_event_id = p_event AND NOT released) AS hidden;
  IF coalesce(cardinality(waiting), 0) < 5 THEN RETURN; END IF;
  waiting := waiting[1 : cardinality(waiting) / 5 * 5];
  UPDATE ballot_queue SET released = true WHERE voting_event_id = p_event AND id = ANY (waiting);
  UPDATE ballots SET released = true WHERE voting_event_id = p_event AND id = ANY (waiting);
END $$;
--> statement-breakpoint

-- Moves waiting ballots into the box in an order drawn here: random IDs were drawn when they were confirmed, and the
-- batch is sorted by a hash of them and fresh randomness, so that no order of arrival survives.
CREATE FUNCTION seal_ballots(p_event text, p_least integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  next bigint;
  moved integer;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('seal ' || p_event, 0));
  IF (SELECT count(*) FROM ballot_queue WHERE voting_event_id = p_event) < p_least THEN RETURN 0; END IF;
  SELECT coalesce(max(leaf_index) + 1, 0) INTO next FROM ballots WHERE voting_event_id = p_event;
  WITH taken AS (DELETE FROM ballot_queue WHERE voting_event_id = p_event RETURNING *),
  shuffled AS (SELECT *, row_number() OVER (ORDER BY sha256(convert_to(id || gen_random_uuid()::text, 'UTF8'))) - 1 AS place FROM taken)
  INSERT INTO ballots (voting_event_id, leaf_index, id, code_tag, entries, weight_micro, salt, sealed_time, voter_id, country_code, submitted_at, released)
  SELECT voting_event_id, next + place, id, code_tag, entries, weight_micro, salt, sealed_time, voter_id, country_code, submitted_at, released
  FROM shuffled ORDER BY place;
  GET DIAGNOSTICS moved = ROW_COUNT;
  RETURN moved;
END $$;
--> statement-breakpoint

-- What all processes together used of each key's quota. Losing it in a crash only means full quotas: it needs no log.
CREATE UNLOGGED TABLE rate_limits (key text PRIMARY KEY, full_at double precision NOT NULL);
