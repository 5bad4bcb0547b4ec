-- Whether a participant of a poll, by any identity, has a confirmed ballot, or a paid ballot that waits for its confirmation. This is the
-- one rule for casts, paid casts, credits and the eligibility check. Returns a set of one row, so that PostgreSQL can inline the function
-- into a query over many participants.
CREATE OR REPLACE FUNCTION has_voted(p_event text, p_participants text[], p_repeat_votes boolean)
RETURNS TABLE (voted boolean) LANGUAGE sql STABLE AS $$
  SELECT NOT p_repeat_votes AND (
    EXISTS (SELECT 1 FROM participation p WHERE p.voting_event_id = p_event AND p.participant = ANY (p_participants) OFFSET 0)
    OR EXISTS (SELECT 1 FROM waiting_participants w WHERE w.voting_event_id = p_event AND w.participant = ANY (p_participants) OFFSET 0));
$$;

-- Removes the identities of a poll's erased voters from its participation, except identities that another voter of the roll has. p_ids
-- are voter IDs as keys, p_prefix is the prefix of their kind, p_emails are keys of addresses. Returns removed addresses; null for IDs.
CREATE OR REPLACE FUNCTION erase_participation(p_event text, p_prefix text, p_ids text[], p_emails text[]) RETURNS SETOF text
LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  RETURN QUERY UPDATE participation p SET participant = 'erased:' || gen_random_uuid(), tag = NULL
    FROM (SELECT 'e:' AS kind, email AS own FROM unnest(p_emails) AS email UNION SELECT p_prefix, id FROM unnest(p_ids) AS id) AS i
    WHERE p.voting_event_id = p_event AND p.participant = i.kind || i.own
      AND NOT EXISTS (SELECT 1 FROM voters v WHERE v.voting_event_id = p_event AND v.voter_id_key IN (i.own, chr(1) || i.own))
      AND NOT EXISTS (SELECT 1 FROM voters v WHERE v.voting_event_id = p_event AND v.email_key IN (i.own, chr(1) || i.own))
    RETURNING CASE i.kind WHEN 'e:' THEN i.own END;
END $$;
