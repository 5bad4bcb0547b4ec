-- Credits are held when a ballot is cast, spent when it is confirmed, released when it is replaced or dropped. A balance is
-- read and changed in one step, under one lock for each visitor.
CREATE OR REPLACE FUNCTION lock_credits(p_event text, p_visitor text) RETURNS void LANGUAGE sql AS $$
  SELECT pg_advisory_xact_lock(hashtextextended('credits ' || p_event || ' ' || p_visitor, 0));
$$;

-- A balance begins with the base credits of its position.
CREATE OR REPLACE FUNCTION open_credit_balance(p_event text, p_position text, p_visitor text, p_base integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO credit_balances (voting_event_id, position_id, visitor_id, base, purchased, held, spent)
  VALUES (p_event, p_position, p_visitor, p_base, 0, 0, 0) ON CONFLICT DO NOTHING;
  IF FOUND THEN
    INSERT INTO credit_entries (voting_event_id, position_id, visitor_id, kind, reason, credits, created_at)
    VALUES (p_event, p_position, p_visitor, 'grant', 'base', p_base, now_ms());
  END IF;
END $$;

-- Gives back what a ballot held. Call with the visitor's credits locked.
CREATE OR REPLACE FUNCTION release_credits(p_event text, p_visitor text, p_code_tag bytea, p_credits jsonb) RETURNS void LANGUAGE plpgsql AS $$
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

-- Holds what a ballot costs, in place of what the ballot that it replaces held. Where anything is short, nothing changes.
-- Call with the visitor's credits locked.
CREATE OR REPLACE FUNCTION hold_credits(
  p_event text, p_participant text, p_visitor text, p_code_tag bytea, p_credits jsonb, OUT short_position text,
  OUT required bigint, OUT available bigint
) RETURNS record LANGUAGE plpgsql AS $$
DECLARE
  replaced record;
  need record;
BEGIN
  SELECT b.code_tag, coalesce(b.credits, '[]') AS credits INTO replaced FROM (
    SELECT * FROM pending_ballots b WHERE b.voting_event_id = p_event AND b.participant >= p_participant ORDER BY b.participant LIMIT 1
  ) AS b WHERE b.participant = p_participant;
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

-- Turns what a confirmed ballot held into spent credits. Call with the visitor's credits locked.
CREATE OR REPLACE FUNCTION spend_credits(p_event text, p_visitor text, p_code_tag bytea, p_credits jsonb) RETURNS void LANGUAGE plpgsql AS $$
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

-- Adds credits that were bought.
CREATE OR REPLACE FUNCTION add_credits(p_event text, p_position text, p_visitor text, p_base integer, p_credits integer, p_attempt text)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM lock_credits(p_event, p_visitor);
  PERFORM open_credit_balance(p_event, p_position, p_visitor, p_base);
  INSERT INTO credit_entries (voting_event_id, position_id, visitor_id, kind, reason, credits, created_at)
  VALUES (p_event, p_position, p_visitor, 'purchase', p_attempt, p_credits, now_ms());
  UPDATE credit_balances c SET purchased = c.purchased + p_credits
  WHERE c.voting_event_id = p_event AND c.position_id = p_position AND c.visitor_id = p_visitor;
END $$;

-- Takes bought credits back after the money went back: those that are free, then those in ballots that were not confirmed.
-- Returns how many were spent already; a balance never falls below zero.
CREATE OR REPLACE FUNCTION take_back_credits(p_event text, p_position text, p_visitor text, p_credits integer, p_attempt text)
 RETURNS integer
 LANGUAGE plpgsql
AS $$
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
      WHERE b.voting_event_id = p_event AND lower(b.visitor_id) = p_visitor AND b.credits @> jsonb_build_array(jsonb_build_object('position', p_position))
    LOOP
      PERFORM return_pending_ballot(p_event, pending.code_tag);
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
