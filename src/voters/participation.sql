-- Whether a participant of a poll, by any of its identities, has a confirmed ballot, or a paid ballot that awaits its confirmation: the
-- one rule for casts, paid casts, credits and the eligibility check. Returns a set of one row, so that PostgreSQL can inline the function
-- into a query over many participants.
CREATE OR REPLACE FUNCTION has_voted(p_event text, p_participants text[], p_repeat_votes boolean)
RETURNS TABLE (voted boolean) LANGUAGE sql STABLE AS $$
  SELECT NOT p_repeat_votes AND (
    EXISTS (SELECT 1 FROM participation p WHERE p.voting_event_id = p_event AND p.participant = ANY (p_participants) OFFSET 0)
    OR EXISTS (SELECT 1 FROM waiting_participants w WHERE w.voting_event_id = p_event AND w.participant = ANY (p_participants) OFFSET 0));
$$;
