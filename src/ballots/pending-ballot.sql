-- Drops an unconfirmed ballot and releases the credits and identities that it holds. False if there is none: it was confirmed or never
-- cast. A plan cached on an empty table may use any index: `enable_sort = off` with ORDER BY forces the index on code_tag.
CREATE OR REPLACE FUNCTION drop_pending_ballot(p_event text, p_code_tag bytea)
 RETURNS boolean
 LANGUAGE plpgsql SET enable_sort = off
AS $$
DECLARE
  b record;
BEGIN
  SELECT p.ctid AS place, p.* INTO b FROM pending_ballots p
  WHERE p.voting_event_id = p_event AND p.code_tag BETWEEN p_code_tag AND p_code_tag ORDER BY p.code_tag LIMIT 1;
  IF b.credits IS NOT NULL THEN PERFORM lock_credits(p_event, lower(b.visitor_id)); END IF;
  DELETE FROM pending_ballots p WHERE p.ctid = b.place AND p.voting_event_id = p_event AND p.code_tag = p_code_tag RETURNING p.* INTO b;
  IF NOT FOUND THEN RETURN false; END IF;
  PERFORM move_credits(p_event, lower(b.visitor_id), 'release', encode(b.code_tag, 'hex'), b.credits);
  IF b.payment_attempt_id IS NOT NULL THEN
    DELETE FROM waiting_participants w WHERE w.voting_event_id = p_event AND w.participant = ANY (b.participants)
      AND w.code_tag = b.code_tag;
  END IF;
  RETURN true;
END $$;

-- Drops a ballot that can no longer be confirmed, and refunds its payment if it has one.
CREATE OR REPLACE FUNCTION return_pending_ballot(p_event text, p_code_tag bytea) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  paid text;
BEGIN
  SELECT b.payment_attempt_id INTO paid FROM pending_ballots b WHERE b.voting_event_id = p_event AND b.code_tag = p_code_tag;
  IF NOT drop_pending_ballot(p_event, p_code_tag) THEN RETURN false; END IF;
  IF paid IS NOT NULL THEN PERFORM give_back_ballot(p_event, paid); END IF;
  RETURN true;
END $$;

-- Drops the unpaid pending ballots of an event in which voting now has a price. Call with the event locked, so that no ballot is cast or
-- confirmed meanwhile. Drops up to p_limit ballots with credits, each of which takes long; returns whether none is left.
CREATE OR REPLACE FUNCTION drop_unpaid_ballots(p_event text, p_limit integer) RETURNS boolean LANGUAGE plpgsql
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
  dropped integer;
BEGIN
  SELECT count(*) FILTER (WHERE drop_pending_ballot(p_event, b.code_tag)) INTO dropped FROM (
    SELECT p.code_tag FROM pending_ballots p
    WHERE p.voting_event_id = p_event AND p.payment_attempt_id IS NULL AND p.credits IS NOT NULL ORDER BY lower(p.visitor_id) LIMIT p_limit) AS b;
  IF dropped = p_limit THEN RETURN false; END IF;
  DELETE FROM pending_ballots p WHERE p.voting_event_id = p_event AND p.payment_attempt_id IS NULL;
  RETURN true;
END $$;

-- Drops up to p_limit ballots of an event that can no longer be confirmed: a day old, or past the grace period after the close. Callers run
-- it for one event at a time, so that a fault in one event does not stop the others. Custom plans: a plan cached with few ballots in the
-- table would read all ballots for each.
CREATE OR REPLACE FUNCTION drop_expired_ballots(p_event text, p_limit integer) RETURNS integer LANGUAGE plpgsql
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
  expired record;
  dropped integer := 0;
BEGIN
  -- The lock waits for a change that reopens the event. While an event is being copied from another cell, it counts as deleted, and its
  -- ballots wait until their payments are copied, too.
  PERFORM 1 FROM voting_events e WHERE e.id = p_event AND e.deleted_at IS NULL FOR KEY SHARE;
  IF NOT FOUND THEN RETURN 0; END IF;
  FOR expired IN SELECT b.code_tag FROM pending_ballots b JOIN voting_events e ON e.id = b.voting_event_id
    WHERE b.voting_event_id = p_event AND (b.cast_at <= now_ms() - pending_ballot_ms()
      OR is_final(e.starts_at, e.ends_at, e.opened_at, e.closed_at, e.rehearsal_since, e.ready, now_ms()))
    LIMIT p_limit
  LOOP
    IF return_pending_ballot(p_event, expired.code_tag) THEN dropped := dropped + 1; END IF;
  END LOOP;
  RETURN dropped;
END $$;
