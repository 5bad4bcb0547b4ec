-- Confirmed ballots from before there was a log go back into the queue: they enter the log like all others.
INSERT INTO ballot_queue (voting_event_id, id, code_tag, entries, weight_micro, salt, sealed_time, voter_id, country_code, submitted_at, released)
SELECT voting_event_id, id, code_tag, entries, weight_micro, salt, sealed_time, voter_id, country_code, submitted_at, released
FROM ballots ORDER BY voting_event_id, id;
--> statement-breakpoint
DELETE FROM ballots;
--> statement-breakpoint
DROP FUNCTION seal_ballots(text, integer);
--> statement-breakpoint

-- Leaves, tiles and checkpoints stay as they were written. They go only together with their whole event: its row is gone
-- already when the cascade comes here.
CREATE FUNCTION guard_ballot_log() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' AND NOT EXISTS (SELECT 1 FROM voting_events e WHERE e.id = OLD.voting_event_id) THEN RETURN OLD; END IF;
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;
--> statement-breakpoint

-- A sealed ballot never changes, but for whether the public live count may show it.
CREATE FUNCTION guard_sealed_ballot() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  OLD.released := NEW.released;
  IF NEW IS DISTINCT FROM OLD THEN
    RAISE EXCEPTION 'a sealed ballot never changes' USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END $$;
--> statement-breakpoint

-- A log only grows, and a void ballot stays void.
CREATE FUNCTION guard_log_head() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.voting_event_id <> OLD.voting_event_id OR NEW.size < OLD.size OR (NEW.size = OLD.size AND NEW.frontier <> OLD.frontier) THEN
    RAISE EXCEPTION 'a ballot log only grows' USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END $$;
--> statement-breakpoint
CREATE FUNCTION guard_voided_ballot() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.voting_event_id <> OLD.voting_event_id OR NEW.code_tag <> OLD.code_tag OR OLD.leaf_index IS NOT NULL THEN
    RAISE EXCEPTION 'a void ballot stays void' USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END $$;
--> statement-breakpoint
CREATE TRIGGER log_leaves_append_only BEFORE UPDATE OR DELETE ON log_leaves FOR EACH ROW EXECUTE FUNCTION guard_ballot_log();
--> statement-breakpoint
CREATE TRIGGER log_tiles_append_only BEFORE UPDATE OR DELETE ON log_tiles FOR EACH ROW EXECUTE FUNCTION guard_ballot_log();
--> statement-breakpoint
CREATE TRIGGER log_checkpoints_append_only BEFORE UPDATE OR DELETE ON log_checkpoints FOR EACH ROW EXECUTE FUNCTION guard_ballot_log();
--> statement-breakpoint
CREATE TRIGGER ballots_stay BEFORE DELETE ON ballots FOR EACH ROW EXECUTE FUNCTION guard_ballot_log();
--> statement-breakpoint
CREATE TRIGGER ballot_logs_stay BEFORE DELETE ON ballot_logs FOR EACH ROW EXECUTE FUNCTION guard_ballot_log();
--> statement-breakpoint
CREATE TRIGGER voided_ballots_stay BEFORE DELETE ON voided_ballots FOR EACH ROW EXECUTE FUNCTION guard_ballot_log();
--> statement-breakpoint
CREATE TRIGGER log_leaves_not_emptied BEFORE TRUNCATE ON log_leaves FOR EACH STATEMENT EXECUTE FUNCTION guard_ballot_log();
--> statement-breakpoint
CREATE TRIGGER log_tiles_not_emptied BEFORE TRUNCATE ON log_tiles FOR EACH STATEMENT EXECUTE FUNCTION guard_ballot_log();
--> statement-breakpoint
CREATE TRIGGER log_checkpoints_not_emptied BEFORE TRUNCATE ON log_checkpoints FOR EACH STATEMENT EXECUTE FUNCTION guard_ballot_log();
--> statement-breakpoint
CREATE TRIGGER ballots_not_emptied BEFORE TRUNCATE ON ballots FOR EACH STATEMENT EXECUTE FUNCTION guard_ballot_log();
--> statement-breakpoint
CREATE TRIGGER ballot_logs_not_emptied BEFORE TRUNCATE ON ballot_logs FOR EACH STATEMENT EXECUTE FUNCTION guard_ballot_log();
--> statement-breakpoint
CREATE TRIGGER voided_ballots_not_emptied BEFORE TRUNCATE ON voided_ballots FOR EACH STATEMENT EXECUTE FUNCTION guard_ballot_log();
--> statement-breakpoint
CREATE TRIGGER ballots_unchanged BEFORE UPDATE ON ballots FOR EACH ROW EXECUTE FUNCTION guard_sealed_ballot();
--> statement-breakpoint
CREATE TRIGGER ballot_logs_grow BEFORE UPDATE ON ballot_logs FOR EACH ROW EXECUTE FUNCTION guard_log_head();
--> statement-breakpoint
CREATE TRIGGER voided_ballots_stay_void BEFORE UPDATE ON voided_ballots FOR EACH ROW EXECUTE FUNCTION guard_voided_ballot();
--> statement-breakpoint

-- The log hears of every opening, change and close at once: a job looks after it.
CREATE FUNCTION tend_ballot_log() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF event_status(NEW, now_ms()) IN ('open', 'closed') THEN
    PERFORM graphile_worker.add_job('tend_ballot_log', payload => json_build_object('eventId', NEW.id),
      job_key => 'ballot_log:' || NEW.id, max_attempts => 5);
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER voting_events_tend_ballot_log AFTER UPDATE OF paper_version ON voting_events
FOR EACH ROW EXECUTE FUNCTION tend_ballot_log();
--> statement-breakpoint

-- Writes the roll anew after the close, in the order of the voters' IDs: the order, the places and the transaction IDs in
-- which rows were written while people voted tell of the order of their votes, and so of the batch a ballot came in.
-- A chunk at a time, from an ID on; answers the last ID of the chunk, or null when there was nothing left.
CREATE FUNCTION scatter_participation(p_event text, p_after text, p_limit integer) RETURNS text LANGUAGE plpgsql AS $$
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
--> statement-breakpoint

-- The same for the voters. The event stays locked meanwhile, as for every change of its roll: none is lost.
CREATE FUNCTION scatter_voters(p_event text, p_after text, p_limit integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  last text;
BEGIN
  PERFORM 1 FROM voting_events WHERE id = p_event FOR UPDATE;
  WITH taken AS (
    DELETE FROM voters v WHERE v.voting_event_id = p_event AND v.id IN (
      SELECT n.id FROM voters n WHERE n.voting_event_id = p_event AND n.id > p_after ORDER BY n.id LIMIT p_limit)
    RETURNING v.*),
  written AS (INSERT INTO voters SELECT * FROM taken ORDER BY id RETURNING id)
  SELECT max(id) INTO last FROM written;
  RETURN last;
END $$;
--> statement-breakpoint

-- Voter keys are valid until the close; when they were asked for tells when somebody voted.
CREATE FUNCTION forget_voter_keys(p_event text) RETURNS void LANGUAGE sql AS $$
  DELETE FROM voter_keys WHERE voting_event_id = p_event;
  DELETE FROM voter_key_requests WHERE voting_event_id = p_event;
  DELETE FROM voter_key_failures WHERE voting_event_id = p_event;
$$;
--> statement-breakpoint

-- How many ballots were confirmed in an event: the log keeps the number of those in it, and few wait.
CREATE OR REPLACE FUNCTION count_ballots(p_event text) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT coalesce((SELECT ballots FROM ballot_logs WHERE voting_event_id = p_event), 0)
    + (SELECT count(*) FROM ballot_queue WHERE voting_event_id = p_event);
$$;
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
  -- A block of its own gives the ballot another transaction ID than the participation. IDs that follow each other still tell
  -- of each other: what keeps a ballot of the queue secret is that its entries are encrypted until it is sealed.
  BEGIN
    INSERT INTO ballot_queue (voting_event_id, id, code_tag, entries, weight_micro, salt, sealed_time, voter_id, country_code, submitted_at)
    VALUES (p_event, p_ballot, p_code_tag, b.entries, b.weight_micro, p_salt, p_sealed_time,
      CASE WHEN poll THEN shown_id END, CASE WHEN poll THEN b.country_code END, CASE WHEN poll THEN p_at END);
  EXCEPTION WHEN check_violation THEN
    RAISE;
  END;
  PERFORM spend_credits(p_event, b.visitor_id, b.code_tag, b.credits);
  DELETE FROM pending_ballots p WHERE p.voting_event_id = p_event AND p.participant = b.participant;
  PERFORM announce_ballot(e.account_id, p_event);
  verdict := 'confirmed';
  entries := b.entries;
  weight_micro := b.weight_micro;
  sealed_time := p_sealed_time;
  salt := p_salt;
END $$;
