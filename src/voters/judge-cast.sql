-- The one rule of whether a ballot may be cast now: `cast`, or what stands against it. Casts (alone, together, paid) and the
-- eligibility check ask it. A set of one row, so that it becomes part of the statement that asks for many requests; nothing is
-- locked or written here. Call with the event's row locked, where the answer has to last.
--   p_at             now, read under that lock: a cast that waited for a close must not be judged by the time before it
--   p_paper_version  the version of the paper that the ballot was judged by; null where no ballot was
--   p_voter          elections: {"kind", "identity"}; null in polls
--   p_expected_group the group that the ballot was judged for, '' for none; null where no position asks for one
--   p_participants   polls: the identities of the participant; null in elections
--   p_attempt        paid ballots: the payment, and p_paid_at when it was made. They may come after the close when they were
--                    paid for before, and stand beside others of the participant where votes may be repeated
-- `participant` is what the ballot is stored under, `participants` what may vote once, `exclusive` whether that is asked for.
CREATE OR REPLACE FUNCTION judge_cast(
  p_event text, p_at bigint, p_paper_version bigint, p_voter jsonb, p_key_hash bytea, p_expected_group text,
  p_participants text[], p_attempt text, p_paid_at bigint
) RETURNS TABLE (
  verdict text, participant text, participants text[], exclusive boolean, weight_micro bigint, cast_at bigint, first_use boolean
) LANGUAGE sql STABLE AS $$
  SELECT CASE
      WHEN e.id IS NULL THEN 'event_gone'
      WHEN e.paper_version <> p_paper_version THEN 'stale'
      WHEN s.status <> 'open' THEN s.status
      WHEN p_voter IS NULL AND p_participants IS NULL THEN 'identity_required'
      WHEN v.verdict <> 'eligible' THEN v.verdict
      WHEN p_expected_group <> coalesce(v.group_id, '') THEN 'stale'
      WHEN h.voted THEN 'already_voted'
      ELSE 'cast' END,
    CASE WHEN p_voter IS NOT NULL THEN v.voter_id
      WHEN e.repeat_votes AND p_attempt IS NOT NULL THEN p_participants[1] || '#' || p_attempt
      ELSE p_participants[1] END,
    CASE WHEN p_voter IS NOT NULL THEN ARRAY[v.voter_id] ELSE p_participants END,
    p_voter IS NOT NULL OR NOT e.repeat_votes,
    CASE WHEN p_voter IS NOT NULL THEN v.weight_micro ELSE 1000000 END,
    least(p_at, e.closed_at, e.ends_at),
    coalesce(v.first_use AND s.status = 'open' AND (p_paper_version IS NULL OR e.paper_version = p_paper_version), false)
  FROM (SELECT 1) AS one
  LEFT JOIN voting_events e ON e.id = p_event
  LEFT JOIN LATERAL (
    SELECT CASE WHEN at_hand.status = 'closed' AND p_paid_at <= least(e.closed_at, e.ends_at)
        AND p_at < event_final_at(e) THEN 'open' ELSE at_hand.status END AS status
    FROM (SELECT event_status(e, p_at) AS status OFFSET 0) AS at_hand
    -- Asked once, however often the answer is used.
    OFFSET 0
  ) AS s ON true
  LEFT JOIN LATERAL judge_voter(p_event, p_voter, p_key_hash, e.voter_approval) AS v ON p_voter IS NOT NULL
  LEFT JOIN LATERAL has_voted(p_event, CASE WHEN p_voter IS NULL THEN p_participants END, e.repeat_votes) AS h ON p_voter IS NULL;
$$;

-- Whether a participant could cast a ballot now: `cast`, or what stands against it. A key that is used for the first time
-- counts as used.
CREATE OR REPLACE FUNCTION check_cast(p_event text, p_voter jsonb, p_key_hash bytea, p_participants text[])
RETURNS text LANGUAGE plpgsql
-- Kept plans, by keys alone: see `cast_ballots_together`.
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
DECLARE
  judged record;
BEGIN
  SELECT * INTO judged FROM judge_cast(p_event, now_ms(), NULL, p_voter, p_key_hash, NULL, p_participants, NULL, NULL);
  IF judged.first_use THEN PERFORM use_keys(ARRAY[p_event], ARRAY[judged.participant]); END IF;
  RETURN judged.verdict;
END $$;
