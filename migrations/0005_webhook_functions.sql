-- An ID that sorts by creation, as src/platform/ids.ts makes them.
CREATE FUNCTION sortable_id(p_prefix text) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  alphabet CONSTANT text := '0123456789abcdefghjkmnpqrstvwxyz';
  rest bigint := now_ms();
  random bytea := decode(replace(gen_random_uuid()::text, '-', ''), 'hex');
  id text := '';
BEGIN
  FOR i IN 1..9 LOOP
    id := substr(alphabet, (rest % 32)::integer + 1, 1) || id;
    rest := rest / 32;
  END LOOP;
  FOR i IN 0..12 LOOP
    id := id || substr(alphabet, get_byte(random, i) % 32 + 1, 1);
  END LOOP;
  RETURN p_prefix || '_' || id;
END $$;
--> statement-breakpoint

-- Writes what receivers are told, one row for each endpoint that subscribed, in the transaction of the fact.
CREATE FUNCTION record_webhook_event(p_account text, p_event text, p_type text, p_message text, p_data text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  at bigint := now_ms();
BEGIN
  INSERT INTO webhook_deliveries (id, endpoint_id, message_id, event_type, body, status, next_try_at, created_at)
  SELECT sortable_id('whd'), e.id, p_message, p_type,
    '{"id":' || to_json(p_message)::text || ',"type":' || to_json(p_type)::text || ',"createdAt":' || at ||
      ',"votingEventId":' || coalesce(to_json(p_event)::text, 'null') || ',"data":' || p_data || '}',
    CASE WHEN e.status = 'active' THEN 'pending' ELSE 'skipped' END, at, at
  FROM webhook_endpoints e
  WHERE e.account_id = p_account AND (e.voting_event_id IS NULL OR e.voting_event_id = p_event) AND p_type = ANY (e.event_types);
END $$;
--> statement-breakpoint

-- How many ballots an event has: sealed ones are numbered without gaps, and few wait.
CREATE FUNCTION count_ballots(p_event text) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT coalesce((SELECT max(leaf_index) + 1 FROM ballots WHERE voting_event_id = p_event), 0)
    + (SELECT count(*) FROM ballot_queue WHERE voting_event_id = p_event);
$$;
--> statement-breakpoint

-- Nothing but one look-up where nobody subscribed.
CREATE FUNCTION announce_ballot(p_account text, p_event text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM webhook_endpoints e WHERE e.account_id = p_account
    AND (e.voting_event_id IS NULL OR e.voting_event_id = p_event) AND 'ballot.confirmed' = ANY (e.event_types)) THEN
    PERFORM record_webhook_event(p_account, p_event, 'ballot.confirmed', sortable_id('msg'),
      json_build_object('votingEventId', p_event, 'ballots', count_ballots(p_event))::text);
  END IF;
END $$;
--> statement-breakpoint

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
  PERFORM announce_ballot(e.account_id, p_event);
  verdict := 'confirmed';
  entries := b.entries;
  weight_micro := b.weight_micro;
  sealed_time := p_sealed_time;
  salt := p_salt;
END $$;
