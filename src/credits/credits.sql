-- Locks a visitor's credits, so that a balance can be read and changed in one step. Credits are held when a ballot is cast, spent when
-- it is confirmed, released when it is replaced or dropped, and returned when it becomes void.
CREATE OR REPLACE FUNCTION lock_credits(p_event text, p_visitor text) RETURNS void LANGUAGE sql AS $$
  SELECT pg_advisory_xact_lock(hashtextextended('credits ' || p_event || ' ' || p_visitor, 0));
$$;

-- Changes a visitor's balances, and records each change in `credit_entries`, whose primary key refuses the same kind and reason twice.
-- All changes of balances use this function. p_moves: [{"position", "credits", "base"}]; the first hold or purchase creates the balance,
-- with `base` credits. Call with the visitor's credits locked.
CREATE OR REPLACE FUNCTION move_credits(p_event text, p_visitor text, p_kind text, p_reason text, p_moves jsonb)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  move record;
  -- How each credit changes the columns of the balance.
  bought CONSTANT integer := CASE p_kind WHEN 'purchase' THEN 1 WHEN 'refund' THEN -1 ELSE 0 END;
  held_now CONSTANT integer := CASE p_kind WHEN 'hold' THEN 1 WHEN 'release' THEN -1 WHEN 'spend' THEN -1 ELSE 0 END;
  spent_now CONSTANT integer := CASE p_kind WHEN 'spend' THEN 1 WHEN 'void' THEN -1 ELSE 0 END;
BEGIN
  FOR move IN SELECT * FROM jsonb_to_recordset(p_moves) AS m(position text, credits integer, base integer) LOOP
    IF p_kind IN ('hold', 'purchase') THEN
      INSERT INTO credit_balances (voting_event_id, position_id, visitor_id, base, purchased, held, spent)
      VALUES (p_event, move.position, p_visitor, move.base, 0, 0, 0) ON CONFLICT DO NOTHING;
      IF FOUND THEN
        INSERT INTO credit_entries (voting_event_id, position_id, visitor_id, kind, reason, credits, created_at)
        VALUES (p_event, move.position, p_visitor, 'grant', 'base', move.base, now_ms());
      END IF;
    END IF;
    UPDATE credit_balances c SET purchased = c.purchased + bought * move.credits, held = c.held + held_now * move.credits,
      spent = c.spent + spent_now * move.credits
    WHERE c.voting_event_id = p_event AND c.position_id = move.position AND c.visitor_id = p_visitor;
    INSERT INTO credit_entries (voting_event_id, position_id, visitor_id, kind, reason, credits, created_at)
    VALUES (p_event, move.position, p_visitor, p_kind, p_reason, move.credits, now_ms());
  END LOOP;
END $$;

-- Deletes the balances of visitors who bought no credits and use none, because their ballots were dropped. A balance that stayed would keep
-- the old budget, although the budget may now change again. Call with the event locked.
CREATE OR REPLACE FUNCTION forget_idle_credits(p_event text) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_custom_plan AS $$
BEGIN
  WITH idle AS (
    DELETE FROM credit_balances c WHERE c.voting_event_id = p_event AND c.purchased = 0 AND c.held = 0 AND c.spent = 0
    RETURNING c.position_id, c.visitor_id
  )
  DELETE FROM credit_entries e USING idle i
  WHERE e.voting_event_id = p_event AND e.position_id = i.position_id AND e.visitor_id = i.visitor_id;
END $$;

-- The first position on which a ballot costs more than the visitor's available credits; no row if it can be paid. p_replaced: the credits
-- held by the ballot that the new ballot replaces, which count as available.
CREATE OR REPLACE FUNCTION credit_shortage(p_event text, p_visitor text, p_credits jsonb, p_replaced jsonb)
RETURNS TABLE (short_position text, required bigint, available bigint) LANGUAGE sql STABLE AS $$
  SELECT n.position, n.credits, coalesce(c.base + c.purchased - c.held - c.spent, n.base) + coalesce(o.credits, 0)
  FROM jsonb_to_recordset(p_credits) AS n(position text, credits integer, base integer)
  LEFT JOIN credit_balances c ON c.voting_event_id = p_event AND c.position_id = n.position AND c.visitor_id = p_visitor
  LEFT JOIN jsonb_to_recordset(coalesce(p_replaced, '[]')) AS o(position text, credits integer) ON o.position = n.position
  WHERE n.credits > coalesce(c.base + c.purchased - c.held - c.spent, n.base) + coalesce(o.credits, 0)
  ORDER BY n.position LIMIT 1;
$$;

-- Holds the cost of a ballot, and releases the hold of the ballot that it replaces. If credits are short, nothing changes.
-- Call with the visitor's credits locked. `enable_sort = off` makes the look-up of the replaced ballot use the index by participant.
CREATE OR REPLACE FUNCTION hold_credits(
  p_event text, p_participant text, p_visitor text, p_code_tag bytea, p_credits jsonb, OUT short_position text,
  OUT required bigint, OUT available bigint
) RETURNS record LANGUAGE plpgsql SET enable_sort = off AS $$
DECLARE
  replaced record;
BEGIN
  SELECT b.code_tag, coalesce(b.credits, '[]') AS credits INTO replaced FROM pending_ballots b
  WHERE b.voting_event_id = p_event AND b.participant BETWEEN p_participant AND p_participant ORDER BY b.participant LIMIT 1;
  SELECT s.short_position, s.required, s.available INTO short_position, required, available
  FROM credit_shortage(p_event, p_visitor, p_credits, replaced.credits) AS s;
  IF FOUND THEN RETURN; END IF;
  PERFORM move_credits(p_event, p_visitor, 'release', encode(replaced.code_tag, 'hex'), replaced.credits);
  PERFORM move_credits(p_event, p_visitor, 'hold', encode(p_code_tag, 'hex'), p_credits);
END $$;

-- Holds the credits of a ballot from the first call of its payment on. If credits are short, returns a row and changes nothing.
CREATE OR REPLACE FUNCTION hold_for_attempt(p_event text, p_visitor text, p_attempt text, p_credits jsonb)
RETURNS TABLE (short_position text, required bigint, available bigint) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM lock_credits(p_event, p_visitor);
  RETURN QUERY SELECT s.short_position, s.required, s.available FROM credit_shortage(p_event, p_visitor, p_credits, '[]') AS s;
  IF FOUND THEN RETURN; END IF;
  PERFORM move_credits(p_event, p_visitor, 'hold', p_attempt, p_credits);
  UPDATE payment_attempts SET held_credits = p_credits WHERE voting_event_id = p_event AND id = p_attempt;
END $$;

-- Releases the credits that a payment held, because its ballot was cast and holds them itself, or because the payment has ended.
CREATE OR REPLACE FUNCTION release_attempt(p_event text, p_attempt text) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
  a record;
BEGIN
  SELECT lower(p.request ->> 'visitorId') AS visitor, p.held_credits INTO a FROM payment_attempts p
  WHERE p.voting_event_id = p_event AND p.id = p_attempt AND p.held_credits IS NOT NULL;
  IF NOT FOUND THEN RETURN; END IF;
  -- Balances are deleted with their event, but payments are not.
  PERFORM 1 FROM voting_events WHERE id = p_event FOR KEY SHARE;
  IF FOUND THEN
    PERFORM lock_credits(p_event, a.visitor);
    PERFORM move_credits(p_event, a.visitor, 'release', p_attempt, a.held_credits);
  END IF;
  UPDATE payment_attempts SET held_credits = NULL WHERE voting_event_id = p_event AND id = p_attempt;
END $$;

-- Unless p_credits are available, drops the visitor's pending ballots that hold credits of the position, and releases the holds of
-- payments for such ballots; the second call of such a payment may then fail for lack of credits.
CREATE OR REPLACE FUNCTION free_held_credits(p_event text, p_position text, p_visitor text, p_credits integer)
RETURNS void LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
DECLARE
  holds_it jsonb := jsonb_build_array(jsonb_build_object('position', p_position));
  holding text[];
  waiting record;
BEGIN
  -- Locks payments before credits, in the order of a payment's second call, to avoid deadlocks.
  SELECT array_agg(h.id) INTO holding FROM (
    SELECT p.id FROM payment_attempts p WHERE p.voting_event_id = p_event AND p.held_credits @> holds_it
      AND lower(p.request ->> 'visitorId') = p_visitor ORDER BY p.id FOR UPDATE) AS h;
  PERFORM lock_credits(p_event, p_visitor);
  IF EXISTS (SELECT 1 FROM credit_balances c WHERE c.voting_event_id = p_event AND c.position_id = p_position
    AND c.visitor_id = p_visitor AND c.base + c.purchased - c.held - c.spent >= p_credits) THEN RETURN; END IF;
  FOR waiting IN SELECT b.code_tag FROM pending_ballots b
    WHERE b.voting_event_id = p_event AND lower(b.visitor_id) = p_visitor AND b.credits @> holds_it
  LOOP
    PERFORM return_pending_ballot(p_event, waiting.code_tag);
  END LOOP;
  PERFORM release_attempt(p_event, h.id) FROM unnest(holding) AS h (id);
END $$;

-- A visitor's confirmed ballots that exceed the balance without p_credits of a position. Goes through the ballots in the order of their
-- confirmation, and returns each ballot that costs more than the credits left by the earlier ballots that are kept.
CREATE OR REPLACE FUNCTION ballots_beyond_credits(p_event text, p_position text, p_visitor text, p_credits integer)
RETURNS SETOF bytea LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
DECLARE
  room integer;
  ballot record;
BEGIN
  SELECT c.base + c.purchased - p_credits INTO room FROM credit_balances c
  WHERE c.voting_event_id = p_event AND c.position_id = p_position AND c.visitor_id = p_visitor;
  FOR ballot IN SELECT e.reason, e.credits FROM credit_entries e
    WHERE e.voting_event_id = p_event AND e.position_id = p_position AND e.visitor_id = p_visitor AND e.kind = 'spend'
      AND NOT EXISTS (SELECT 1 FROM credit_entries v WHERE v.voting_event_id = p_event AND v.position_id = p_position
        AND v.visitor_id = p_visitor AND v.kind = 'void' AND v.reason = e.reason)
    ORDER BY e.created_at, e.reason
  LOOP
    IF ballot.credits <= room THEN room := room - ballot.credits;
    ELSE RETURN NEXT decode(ballot.reason, 'hex');
    END IF;
  END LOOP;
END $$;

-- Returns the credits that a void ballot spent, on every position, only once.
CREATE OR REPLACE FUNCTION return_spent_credits(p_event text, p_visitor text, p_code_tag bytea) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_custom_plan AS $$
BEGIN
  PERFORM lock_credits(p_event, p_visitor);
  PERFORM move_credits(p_event, p_visitor, 'void', encode(p_code_tag, 'hex'), (
    SELECT jsonb_agg(jsonb_build_object('position', p.id, 'credits', e.credits) ORDER BY p.id)
    FROM positions p JOIN credit_entries e ON e.voting_event_id = p_event AND e.position_id = p.id AND e.visitor_id = p_visitor
      AND e.kind = 'spend' AND e.reason = encode(p_code_tag, 'hex')
    WHERE p.voting_event_id = p_event AND NOT EXISTS (SELECT 1 FROM credit_entries v WHERE v.voting_event_id = p_event
      AND v.position_id = p.id AND v.visitor_id = p_visitor AND v.kind = 'void' AND v.reason = e.reason)));
END $$;

-- Takes bought credits back after a refund, as far as they are available.
CREATE OR REPLACE FUNCTION take_free_credits(p_event text, p_position text, p_visitor text, p_credits integer, p_attempt text)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM lock_credits(p_event, p_visitor);
  PERFORM move_credits(p_event, p_visitor, 'refund', p_attempt, (
    SELECT jsonb_agg(jsonb_build_object('position', p_position, 'credits', least(p_credits, c.purchased, c.base + c.purchased - c.held - c.spent)))
    FROM credit_balances c WHERE c.voting_event_id = p_event AND c.position_id = p_position AND c.visitor_id = p_visitor));
END $$;
