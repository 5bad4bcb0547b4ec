CREATE TABLE "log_alarms" (
	"voting_event_id" text PRIMARY KEY NOT NULL,
	"alarm" text NOT NULL,
	"found_at" bigint NOT NULL
);
--> statement-breakpoint
ALTER TABLE "voter_keys" ALTER COLUMN "created_at" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "ballot_logs" ADD COLUMN "roll_mixed_at" bigint;--> statement-breakpoint
ALTER TABLE "voter_keys" ADD COLUMN "number" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "log_alarms" ADD CONSTRAINT "log_alarms_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "public"."voting_events"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint

-- The keys of a voter are counted; when they were asked for is forgotten.
UPDATE voter_keys k SET number = n.number, created_at = NULL FROM (
  SELECT voting_event_id, voter_id, key_hash, row_number() OVER (PARTITION BY voting_event_id, voter_id ORDER BY created_at) AS number
  FROM voter_keys) AS n
WHERE k.voting_event_id = n.voting_event_id AND k.voter_id = n.voter_id AND k.key_hash = n.key_hash;
--> statement-breakpoint

-- Writes voters anew, in the order of their IDs. The event stays locked meanwhile, as for every change of its roll: none is lost.
CREATE OR REPLACE FUNCTION scatter_voters(p_event text, p_after text, p_limit integer) RETURNS text LANGUAGE plpgsql AS $$
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
  -- Each chunk went out of the electorate and came back: no trace of it shall pile up.
  IF last IS NULL THEN PERFORM fold_electorate(p_event); END IF;
  RETURN last;
END $$;
--> statement-breakpoint

-- Writes voter keys anew, as `scatter_voters` does the voters.
CREATE FUNCTION scatter_voter_keys(p_event text, p_after text, p_limit integer) RETURNS text LANGUAGE plpgsql AS $$
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
--> statement-breakpoint

DROP FUNCTION confirm_ballot(text, bytea, text, bytea, bytea, bigint, text);
--> statement-breakpoint

-- Moves a pending ballot into the box's queue and marks who took part. Voter and ballot part here for good:
-- the rows written share nothing but the event. A ballot of an election is found by another tag while it waits (p_code_tag)
-- than in the box (p_leaf_tag), so that no copy of the queue can be joined with the log.
CREATE FUNCTION confirm_ballot(
  p_event text, p_code_tag bytea, p_ballot text, p_salt bytea, p_sealed_time bytea, p_at bigint, p_new_voter text,
  p_leaf_tag bytea DEFAULT NULL,
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
      FROM ballots x WHERE x.voting_event_id = p_event AND x.code_tag = coalesce(p_leaf_tag, p_code_tag);
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
  -- of each other: what keeps a ballot of the queue secret is that nothing of it that will stand in the box is readable yet.
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
