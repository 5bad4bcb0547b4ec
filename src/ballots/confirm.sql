-- Moves a pending ballot into the box's queue and marks the voter as having taken part. Voter and ballot part here for good:
-- the rows written share nothing but the event. A ballot of an election is found by another tag while it waits (p_code_tag)
-- than in the box (p_leaf_tag), so that no copy of the queue can be joined with the log. The caller says which end of the event
-- it promises by (p_ends_at, 0 for none; -1 does not ask; in a rehearsal -2 less its number). What waits is due in the log at
-- the end and its 15 minutes as they stand now, or a day from now.
CREATE OR REPLACE FUNCTION confirm_ballot(
  p_event text, p_code_tag bytea, p_ballot text, p_salt bytea, p_sealed_time bytea, p_at bigint, p_new_voter text,
  p_leaf_tag bytea DEFAULT NULL::bytea, p_ends_at bigint DEFAULT -1, OUT verdict text, OUT entries bytea, OUT weight_micro bigint,
  OUT sealed_time bytea, OUT salt bytea, OUT status text
)
 RETURNS record
 LANGUAGE plpgsql
AS $$
DECLARE
  e voting_events%ROWTYPE;
  b record;
  at bigint;
  poll boolean;
  shown_id text;
  standing text;
  inserted integer;
BEGIN
  SELECT * INTO e FROM voting_events WHERE id = p_event FOR KEY SHARE;
  IF NOT FOUND THEN verdict := 'event_gone'; RETURN; END IF;
  at := now_ms();
  status := event_status(e, at);
  -- A rehearsal is promised by its own log: a caller that has not read of it, or of its end, asks again.
  IF p_ends_at <> -1 AND p_ends_at < -1 IS DISTINCT FROM (e.rehearsal_since IS NOT NULL)
    OR p_ends_at < -1 AND p_ends_at <> -2 - e.rehearsal_number THEN
    verdict := 'changed';
    RETURN;
  END IF;
  -- Changes of a visitor's credits happen one after the other. The lock comes before any row lock: two orders would be a deadlock.
  SELECT p.ctid AS place, p.* INTO b FROM pending_ballots p
  WHERE p.voting_event_id = p_event AND p.code_tag BETWEEN p_code_tag AND p_code_tag ORDER BY p.code_tag LIMIT 1;
  IF b.credits IS NOT NULL THEN PERFORM lock_credits(p_event, lower(b.visitor_id)); END IF;
  -- Replaced meanwhile, it has another code and is not found.
  SELECT p.ctid AS place, p.* INTO b FROM pending_ballots p WHERE p.ctid = b.place AND p.voting_event_id = p_event AND p.code_tag = p_code_tag
  FOR UPDATE;
  IF NOT FOUND THEN
    SELECT q.entries, q.weight_micro, q.sealed_time, q.salt INTO entries, weight_micro, sealed_time, salt
    FROM ballot_queue q
    WHERE q.voting_event_id = p_event AND q.code_tag BETWEEN p_code_tag AND p_code_tag ORDER BY q.code_tag LIMIT 1;
    IF NOT FOUND THEN
      SELECT x.entries, x.weight_micro, x.sealed_time, x.salt INTO entries, weight_micro, sealed_time, salt
      FROM find_sealed(p_event, coalesce(p_leaf_tag, p_code_tag)) AS x WHERE x.leaf_index IS NOT NULL;
    END IF;
    verdict := CASE WHEN FOUND THEN 'confirmed_before' ELSE 'unknown' END;
    RETURN;
  END IF;
  IF b.cast_at <= at - pending_ballot_ms() THEN
    PERFORM return_pending_ballot(p_event, p_code_tag);
    verdict := 'unknown';
    RETURN;
  END IF;
  IF status = 'closed' THEN
    IF b.cast_at > least(e.closed_at, e.ends_at) OR at >= event_final_at(e) THEN verdict := 'closed'; RETURN; END IF;
  ELSIF status <> 'open' THEN
    verdict := status;
    RETURN;
  END IF;
  -- The answer promises a date that depends on the end: the caller has read another one, and asks again with this one.
  IF p_ends_at >= 0 AND p_ends_at IS DISTINCT FROM coalesce(e.ends_at, 0) THEN verdict := 'end_moved'; RETURN; END IF;
  poll := e.type = 'poll';
  -- The voter is judged as at the cast: rejected or taken off the roll since then, it has no ballot.
  IF NOT poll THEN
    SELECT v.status INTO standing FROM (
      SELECT * FROM voters w WHERE w.voting_event_id = p_event AND w.id BETWEEN b.participant AND b.participant ORDER BY w.id LIMIT 1
    ) AS v WHERE v.deleted_at IS NULL;
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
  -- Kept back until four others wait as well (completions 5.6).
  IF NOT poll THEN
    INSERT INTO undisclosed_voters (voting_event_id, voter_id) VALUES (p_event, b.participant) ON CONFLICT DO NOTHING;
  END IF;
  shown_id := CASE WHEN e.require_voter_id THEN b.voter_id ELSE b.visitor_id END;
  IF poll THEN
    INSERT INTO voters (voting_event_id, id, name, email, email_key, voter_id, voter_id_key, weight_micro, status, source, key_status,
      created_at, updated_at, before_rehearsal)
    VALUES (p_event, p_new_voter, coalesce(b.name, shown_id), b.email, NULL,
      -- No organizer's voter has such a key: participants are listed even where someone else has their ID.
      shown_id, chr(1) || CASE WHEN e.require_voter_id THEN shown_id ELSE lower(shown_id) END, b.weight_micro, 'approved', 'poll', 'none', at, at,
      CASE WHEN e.rehearsal_since IS NOT NULL THEN jsonb_build_object('new', true) END)
    ON CONFLICT DO NOTHING;
  END IF;
  -- A block of its own gives the ballot another transaction ID than the participation. IDs that follow each other still show
  -- of each other: what keeps a ballot of the queue secret is that nothing of it that will stand in the box is readable yet.
  BEGIN
    INSERT INTO ballot_queue (voting_event_id, id, code_tag, entries, weight_micro, salt, sealed_time, voter_id, country_code, submitted_at, due_at)
    VALUES (p_event, p_ballot, p_code_tag, b.entries, b.weight_micro, p_salt, p_sealed_time,
      CASE WHEN poll THEN shown_id END, CASE WHEN poll THEN b.country_code END, CASE WHEN poll THEN p_at END,
      coalesce(e.ends_at + confirm_grace_ms(), at + sealed_within_ms()));
  EXCEPTION WHEN check_violation THEN
    RAISE;
  END;
  PERFORM move_credits(p_event, lower(b.visitor_id), 'spend', encode(b.code_tag, 'hex'), b.credits);
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
