-- The pending ballot with a code's tag. The ORDER BY selects the index: see `cast_ballots_together`. It returns a set, although of one
-- row, so that the planner inlines it.
CREATE OR REPLACE FUNCTION waiting_ballot(p_event text, p_code_tag bytea) RETURNS SETOF pending_ballots LANGUAGE sql STABLE AS $$
  SELECT p.* FROM pending_ballots p
  WHERE p.voting_event_id = p_event AND p.code_tag BETWEEN p_code_tag AND p_code_tag ORDER BY p.code_tag LIMIT 1;
$$;

-- Pending ballots of an election by their codes' tags, with the rows of their voters, whose MAC the caller verifies before the confirm.
CREATE OR REPLACE FUNCTION waiting_voters(p_event text, p_code_tag bytea[])
RETURNS TABLE (place integer, participant text, entries bytea, tagged jsonb) LANGUAGE plpgsql STABLE
-- Cached plans that look rows up by key: see `cast_ballots_together`.
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
BEGIN
  RETURN QUERY SELECT r.place::integer, b.participant, b.entries, v.tagged
  FROM unnest(p_code_tag) WITH ORDINALITY AS r (code_tag, place)
  CROSS JOIN LATERAL waiting_ballot(p_event, r.code_tag) AS b
  LEFT JOIN LATERAL (
    SELECT jsonb_build_array(w.id, w.name, w.email, w.email_key, w.voter_id, w.voter_id_key, w.group_id, w.weight_micro::text, w.status,
      w.source, w.key_generation, w.letters, encode(w.tag, 'hex')) AS tagged, w.deleted_at FROM voters w
    WHERE w.voting_event_id = p_event AND w.id BETWEEN b.participant AND b.participant ORDER BY w.id LIMIT 1
  ) AS v ON v.deleted_at IS NULL;
END $$;

-- Moves many pending ballots of one event into `ballot_queue` and records the participation of their voters, in one statement. From here on
-- voter and ballot are separate: the rows written share nothing but the event. A ballot of an election has another tag in the queue
-- (p_code_tag) than in the box and the log (p_leaf_tag), so that a copy of the queue cannot be joined with the log. p_ends is the
-- event's end or rehearsal as the caller read it (`event_ends`). In an election p_participant is the voter that `waiting_voters` returned,
-- and p_participation_tag the MAC of the participation. A queued ballot is due in the log 15 minutes after the event's present end, or
-- after a day if the event has no end. The codes must be distinct.
--
-- The rows of the queue are inserted in a block with an EXCEPTION clause, which only raises the fault again. Never remove it: the
-- clause is what makes the block a subtransaction, with a transaction ID of its own. Without it a confirmed ballot and the
-- participation of its voter would bear the same transaction ID (`xmin`), and a copy of the database would join them by it.
CREATE OR REPLACE FUNCTION confirm_ballots_together(
  p_event text, p_code_tag bytea[], p_ballot text[], p_salt bytea[], p_sealed_time bytea[], p_at bigint[], p_new_voter text[],
  p_leaf_tag bytea[], p_ends text[], p_participant text[], p_participation_tag bytea[]
) RETURNS TABLE (
  place integer, verdict text, entries bytea, weight_micro bigint, sealed_time bytea, salt bytea, status text
) LANGUAGE plpgsql
-- Cached plans that look rows up by key: see `cast_ballots_together`.
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
DECLARE
  at bigint;
  event record;
  event_is text;
  ends_now text;
  polls boolean;
  held boolean[];
  verdicts text[];
  contents bytea[];
  weights bigint[];
  kept_back text[];
  pending_of text[];
  participants bigint;
  inserted bigint;
BEGIN
  -- Changes of the event take FOR UPDATE and wait for this lock, so that all statements below see the same version of the event.
  SELECT e.id, e.type, e.starts_at, e.ends_at, e.opened_at, e.closed_at, e.rehearsal_since, e.rehearsal_number, e.ready, e.voter_approval,
    e.repeat_votes, e.require_voter_id INTO event FROM voting_events e
  -- The event may have been deleted, or moved to another cell, during the wait: a ballot would be acknowledged and lost.
  WHERE e.id = p_event AND e.deleted_at IS NULL FOR KEY SHARE;
  at := now_ms();
  event_is := event_status(event.starts_at, event.ends_at, event.opened_at, event.closed_at, event.rehearsal_since, event.ready, at);
  ends_now := event_ends(event.ends_at, event.closed_at, event.rehearsal_since, event.rehearsal_number, event.type, event.voter_approval,
    event.repeat_votes, event.require_voter_id);
  polls := coalesce(event.type = 'poll', false);
  -- Serialises changes of a visitor's credits. This lock comes before the locks of ballot rows: two different orders could deadlock.
  IF polls THEN
    PERFORM lock_credits(p_event, c.visitor) FROM (
      SELECT DISTINCT lower(b.visitor_id) AS visitor FROM unnest(p_code_tag) AS code_tag
      CROSS JOIN LATERAL waiting_ballot(p_event, code_tag) AS b
      WHERE b.credits IS NOT NULL ORDER BY 1) AS c;
  END IF;
  -- A ballot that was replaced has another code and is not found. Lock in the order of codes, so that two such statements cannot deadlock.
  SELECT array_agg(f.held ORDER BY f.place) INTO held FROM (
    SELECT b.ctid IS NOT NULL AS held, r.place FROM (
      SELECT * FROM unnest(p_code_tag) WITH ORDINALITY AS u (code_tag, place) ORDER BY u.code_tag
    ) AS r LEFT JOIN LATERAL (
      SELECT p.ctid FROM pending_ballots p
      WHERE p.voting_event_id = p_event AND p.code_tag BETWEEN r.code_tag AND r.code_tag ORDER BY p.code_tag LIMIT 1 FOR UPDATE
    ) AS b ON true) AS f;
  -- Judge under the locks. A voter who was rejected or removed from the roll since the cast is refused, as at a cast.
  SELECT array_agg(j.verdict), array_agg(j.entries), array_agg(j.weight_micro),
    array_agg(CASE WHEN j.verdict = 'confirmed' AND NOT polls THEN j.participant END), array_agg(j.participant),
    sum(j.participants) FILTER (WHERE j.verdict = 'confirmed' AND NOT event.repeat_votes)
  INTO verdicts, contents, weights, kept_back, pending_of, participants FROM (
    SELECT CASE
        WHEN event.id IS NULL THEN 'event_gone'
        -- The caller read another end or rehearsal, and must read the event again before it retries.
        WHEN r.ends <> ends_now THEN 'end_moved'
        WHEN b.code_tag IS NULL THEN 'not_pending'
        WHEN b.cast_at <= at - pending_ballot_ms() THEN 'expired'
        WHEN event_is = 'closed' AND (b.cast_at > least(event.closed_at, event.ends_at)
          OR at >= event_final_at(event.ends_at, event.closed_at, event.rehearsal_since)) THEN 'closed'
        WHEN event_is NOT IN ('open', 'closed') THEN event_is
        WHEN polls THEN 'confirmed'
        WHEN v.status IS NULL THEN 'voter_key_invalid'
        WHEN v.status = 'rejected' THEN 'voter_rejected'
        WHEN v.status = 'pending' THEN 'voter_pending'
        -- An election's ballot has one identity, the voter that the caller verified. Otherwise direct SQL changed the row.
        WHEN r.participant IS DISTINCT FROM b.participant OR b.participants <> ARRAY[b.participant] THEN 'changed'
        ELSE 'confirmed' END AS verdict,
      b.entries, b.weight_micro, b.participant, cardinality(b.participants) AS participants
    FROM unnest(p_code_tag, p_ends, p_participant, held) WITH ORDINALITY AS r (code_tag, ends, participant, held, place)
    LEFT JOIN LATERAL waiting_ballot(p_event, r.code_tag) AS b ON r.held
    LEFT JOIN LATERAL (
      SELECT w.status, w.deleted_at FROM voters w WHERE w.voting_event_id = p_event AND w.id BETWEEN b.participant AND b.participant
      ORDER BY w.id LIMIT 1
    ) AS v ON NOT polls AND v.deleted_at IS NULL
    ORDER BY r.place) AS j;
  IF 'confirmed' = ANY (verdicts) THEN
    -- Inserted in the order of participants: the position of a row shows neither when it came nor where its ballot is in the queue.
    WITH added AS (
      INSERT INTO participation (voting_event_id, participant, exclusive, tag)
      SELECT p_event, x.participant, NOT event.repeat_votes, x.tag FROM (
        SELECT unnest(b.participants) AS participant, r.tag
        FROM unnest(p_code_tag, p_participation_tag, held, verdicts) AS r (code_tag, tag, held, verdict)
        JOIN LATERAL waiting_ballot(p_event, r.code_tag) AS b ON r.held
        WHERE r.verdict = 'confirmed'
      ) AS x ORDER BY x.participant
      ON CONFLICT DO NOTHING RETURNING exclusive
    ), noted AS (
      -- The roll hides that these voters voted, until at least five voters can be shown together (completions 5.6).
      INSERT INTO undisclosed_voters (voting_event_id, voter_id)
      SELECT p_event, voter FROM unnest(kept_back) AS voter WHERE voter IS NOT NULL ORDER BY voter
      ON CONFLICT DO NOTHING
    )
    SELECT count(*) FILTER (WHERE a.exclusive) INTO inserted FROM added a;
    IF inserted < participants THEN RAISE EXCEPTION 'already voted' USING ERRCODE = 'VS001'; END IF;
    IF polls THEN
      INSERT INTO voters (voting_event_id, id, name, email, email_key, voter_id, voter_id_key, weight_micro, status, source, key_status,
        created_at, updated_at, before_rehearsal)
      SELECT p_event, r.new_voter, coalesce(b.name, i.shown), b.email,
        -- chr(1) makes a participant's keys differ from those of an organizer's voter, so that both can be listed with one ID or address.
        -- With `repeat_votes`, no key is stored for the address, because two participants may share it.
        CASE WHEN NOT event.repeat_votes THEN chr(1) || lower(b.email) END,
        i.shown, chr(1) || CASE WHEN event.require_voter_id THEN i.shown ELSE lower(i.shown) END, b.weight_micro, 'approved', 'poll', 'none',
        at, at, CASE WHEN event.rehearsal_since IS NOT NULL THEN jsonb_build_object('new', true) END
      FROM unnest(p_code_tag, p_new_voter, held, verdicts) AS r (code_tag, new_voter, held, verdict)
      JOIN LATERAL waiting_ballot(p_event, r.code_tag) AS b ON r.held
      CROSS JOIN LATERAL (SELECT CASE WHEN event.require_voter_id THEN b.voter_id ELSE b.visitor_id END AS shown) AS i
      WHERE r.verdict = 'confirmed' ORDER BY i.shown
      ON CONFLICT DO NOTHING;
    END IF;
    -- This block is a subtransaction, so the ballots have another transaction ID than the participation. Consecutive IDs still link them,
    -- but entries, salt, times and final tag of an election's ballot are encrypted while it is in the queue.
    BEGIN
      INSERT INTO ballot_queue (voting_event_id, id, code_tag, entries, weight_micro, salt, sealed_time, voter_id, country_code, submitted_at,
        due_at)
      SELECT p_event, r.ballot, b.code_tag, b.entries, b.weight_micro, r.salt, r.sealed_time,
        CASE WHEN NOT polls THEN NULL WHEN event.require_voter_id THEN b.voter_id ELSE b.visitor_id END,
        CASE WHEN polls THEN b.country_code END, CASE WHEN polls THEN r.confirmed_at END,
        coalesce(event.ends_at + confirm_grace_ms(), at + sealed_within_ms())
      FROM unnest(p_code_tag, p_ballot, p_salt, p_sealed_time, p_at, held, verdicts)
        AS r (code_tag, ballot, salt, sealed_time, confirmed_at, held, verdict)
      JOIN LATERAL waiting_ballot(p_event, r.code_tag) AS b ON r.held
      -- The IDs are random: their order shows nothing.
      WHERE r.verdict = 'confirmed' ORDER BY r.ballot;
    EXCEPTION WHEN check_violation THEN
      RAISE;
    END;
    IF polls THEN
      PERFORM move_credits(p_event, lower(b.visitor_id), 'spend', encode(b.code_tag, 'hex'), b.credits)
      FROM unnest(p_code_tag, held, verdicts) AS r (code_tag, held, verdict)
      JOIN LATERAL waiting_ballot(p_event, r.code_tag) AS b ON r.held
      WHERE r.verdict = 'confirmed' AND b.credits IS NOT NULL;
      DELETE FROM waiting_participants w USING (
        SELECT unnest(b.participants) AS participant FROM unnest(p_code_tag, held, verdicts) AS r (code_tag, held, verdict)
        JOIN LATERAL waiting_ballot(p_event, r.code_tag) AS b ON r.held
        WHERE r.verdict = 'confirmed' AND b.payment_attempt_id IS NOT NULL
      ) AS paid WHERE w.voting_event_id = p_event AND w.participant = paid.participant;
    END IF;
    DELETE FROM pending_ballots p USING unnest(pending_of, verdicts) AS r (participant, verdict)
    WHERE p.voting_event_id = p_event AND p.participant = r.participant AND r.verdict = 'confirmed';
  END IF;
  FOR i IN 1 .. cardinality(p_code_tag) LOOP
    place := i;
    verdict := verdicts[i];
    status := event_is;
    entries := NULL; weight_micro := NULL; sealed_time := NULL; salt := NULL;
    IF verdict = 'confirmed' THEN
      entries := contents[i];
      weight_micro := weights[i];
      sealed_time := p_sealed_time[i];
      salt := p_salt[i];
    ELSIF verdict IN ('expired', 'closed') THEN
      -- The ballot can never be confirmed: refund its payment at once.
      PERFORM return_pending_ballot(p_event, b.code_tag) FROM waiting_ballot(p_event, p_code_tag[i]) AS b
      WHERE verdict = 'expired' OR b.payment_attempt_id IS NOT NULL;
      verdict := CASE verdict WHEN 'expired' THEN 'unknown' ELSE verdict END;
    ELSIF verdict = 'not_pending' THEN
      SELECT q.entries, q.weight_micro, q.sealed_time, q.salt INTO entries, weight_micro, sealed_time, salt
      FROM ballot_queue q
      WHERE q.voting_event_id = p_event AND q.code_tag BETWEEN p_code_tag[i] AND p_code_tag[i] ORDER BY q.code_tag LIMIT 1;
      IF NOT FOUND THEN
        SELECT x.entries, x.weight_micro, x.sealed_time, x.salt INTO entries, weight_micro, sealed_time, salt
        FROM find_sealed(p_event, p_leaf_tag[i]) AS x WHERE x.leaf_index IS NOT NULL;
      END IF;
      verdict := CASE WHEN FOUND THEN 'confirmed_before' ELSE 'unknown' END;
    END IF;
    RETURN NEXT;
  END LOOP;
END $$;
