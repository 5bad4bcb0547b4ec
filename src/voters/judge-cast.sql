-- The hashes under which a voter's key may be stored: as a mailed key, and as a key of the voter's last printed letter.
-- p_key_hash is the concatenation of the sent key's hashes under each of the service's secret keys, 32 bytes each.
CREATE OR REPLACE FUNCTION voter_key_hashes(p_key_hash bytea, p_voter text, p_generation integer, p_letters text) RETURNS SETOF bytea
LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT sha256(substr(p_key_hash, i, 32) || convert_to(p_voter || chr(10) || p_generation || way, 'UTF8'))
  FROM generate_series(1, length(p_key_hash), 32) AS i, unnest(ARRAY['', chr(10) || p_letters]) AS way WHERE way IS NOT NULL;
$$;

-- Judges a voter key: `eligible`, or the reason against the voter. p_voter: {"kind": "email" or "voter_id", "identity"}. A known and an
-- unknown voter take the same path. `first_use`: the voter has used no key before. If approval is automatic, the first use approves the
-- voter, and the caller stores this with a new tag. The caller also checks the row's tag against the values in `tagged` (`TAGGED_VOTER` of
-- `voter-tag.ts`). Returns a set of one row, so that PostgreSQL can inline the function into a query over many voters.
--
-- Several indexes of a table begin with the event. A plan that was cached while the table was small may use any of them, and later read
-- all rows of the event. So each look-up asks for the first row from its key on, in the order of its index: ORDER BY forces this index.
CREATE OR REPLACE FUNCTION judge_voter(p_event text, p_voter jsonb, p_key_hash bytea, p_approval text)
RETURNS TABLE (verdict text, voter_id text, weight_micro bigint, group_id text, first_use boolean, tagged jsonb) LANGUAGE sql STABLE AS $$
  SELECT CASE
      WHEN NOT key.genuine THEN 'voter_key_invalid'
      WHEN v.status = 'rejected' THEN 'voter_rejected'
      WHEN v.status = 'pending' AND p_approval <> 'automatic' THEN 'voter_pending'
      WHEN key.voted THEN 'already_voted'
      ELSE 'eligible' END,
    v.id, v.weight_micro, v.group_id,
    key.genuine AND (v.status = 'approved' AND NOT v.key_used OR v.status = 'pending' AND p_approval = 'automatic'),
    CASE WHEN key.genuine THEN jsonb_build_array(v.id, v.name, v.email, v.email_key, v.voter_id, v.voter_id_key, v.group_id,
      v.weight_micro::text, v.status, v.source, v.key_generation, v.letters, encode(v.tag, 'hex')) END
  FROM (SELECT p_voter ->> 'kind' AS kind, p_voter ->> 'identity' AS identity) AS asked
  LEFT JOIN LATERAL (
    SELECT * FROM (
      SELECT w.* FROM voters w
      WHERE w.voting_event_id = p_event AND w.email_key BETWEEN asked.identity AND asked.identity ORDER BY w.email_key LIMIT 1
    ) AS w WHERE asked.kind = 'email'
    UNION ALL
    SELECT * FROM (
      SELECT w.* FROM voters w
      WHERE w.voting_event_id = p_event AND w.voter_id_key BETWEEN asked.identity AND asked.identity ORDER BY w.voter_id_key LIMIT 1
    ) AS w WHERE asked.kind <> 'email'
  ) AS v ON v.deleted_at IS NULL
  CROSS JOIN LATERAL (
    SELECT p_voter IS NOT NULL AND EXISTS (SELECT 1 FROM voter_keys k WHERE k.voting_event_id = p_event AND k.voter_id = coalesce(v.id, '')
        AND k.key_hash IN (
          SELECT h FROM voter_key_hashes(p_key_hash, coalesce(v.id, ''), coalesce(v.key_generation, 0), v.letters) AS h) OFFSET 0) AS genuine,
      EXISTS (SELECT 1 FROM participation p WHERE p.voting_event_id = p_event AND p.participant = v.id OFFSET 0) AS voted
    -- Prevents inlining, so that the look-ups run once for all uses of their columns.
    OFFSET 0
  ) AS key;
$$;

-- Records that a voter has used a key of an open event without casting (a ballot shows the use itself). Approves no voter. Planned at each
-- call. Locks the event, so that the end of a rehearsal cannot wipe the key at the same time.
CREATE OR REPLACE FUNCTION use_key(p_event text, p_voter text) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_custom_plan AS $$
BEGIN
  PERFORM 1 FROM voting_events e WHERE e.id = p_event AND event_status(e.starts_at, e.ends_at, e.opened_at, e.closed_at, e.rehearsal_since,
    e.ready, now_ms()) = 'open' FOR KEY SHARE;
  IF NOT FOUND THEN RETURN; END IF;
  PERFORM note_before_rehearsal(p_event, p_voter);
  UPDATE voters v SET key_used = true WHERE v.voting_event_id = p_event AND v.id = p_voter
    AND EXISTS (SELECT 1 FROM voter_keys k WHERE k.voting_event_id = p_event AND k.voter_id = p_voter);
END $$;

-- The one rule of whether a ballot may be cast now: `cast`, or the reason against it. All casts (single, batched, paid) and the
-- eligibility check call it. Returns a set of one row, so that PostgreSQL can inline it into a query over many requests. Locks and writes
-- nothing: if the verdict must last, call it with the event's row locked.
--   p_at             now, read under the event's lock: a cast that waited for a close must not be judged by the time before the wait
--   p_paper          version of the ballot definition and end of the event (`event_ends`) by which the ballot was judged; null without one
--   p_voter          elections: {"kind", "identity"}; null in polls
--   p_expected_group the voter's group by which the ballot was judged, '' for none; null if no position depends on a group
--   p_participants   polls: the identities of the participant; null in elections
--   p_attempt        paid ballots: the payment, made at p_paid_at. A ballot that was paid before the close may be cast after it; with
--                    repeated votes, it may stand beside other ballots of the participant
-- `participant` is the key of the stored ballot, `participants` are all identities of the voter; `exclusive`: each may vote only once.
CREATE OR REPLACE FUNCTION judge_cast(
  p_event text, p_at bigint, p_paper text, p_voter jsonb, p_key_hash bytea, p_expected_group text,
  p_participants text[], p_attempt text, p_paid_at bigint
) RETURNS TABLE (
  verdict text, participant text, participants text[], exclusive boolean, weight_micro bigint, cast_at bigint, first_use boolean,
  tagged jsonb
) LANGUAGE sql STABLE AS $$
  SELECT CASE
      WHEN e.id IS NULL THEN 'event_gone'
      WHEN s.stale THEN 'stale'
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
    coalesce(v.first_use AND s.status = 'open' AND NOT s.stale, false),
    v.tagged
  FROM (SELECT 1) AS one
  LEFT JOIN voting_events e ON e.id = p_event AND e.deleted_at IS NULL
  LEFT JOIN LATERAL (
    SELECT CASE WHEN at_hand.status = 'closed' AND p_paid_at <= least(e.closed_at, e.ends_at)
        AND p_at < event_final_at(e.ends_at, e.closed_at, e.rehearsal_since) THEN 'open' ELSE at_hand.status END AS status,
      coalesce(e.paper_version || ' ' || event_ends(e.ends_at, e.closed_at, e.rehearsal_since, e.rehearsal_number, e.type, e.voter_approval,
        e.repeat_votes, e.require_voter_id) <> p_paper, false) AS stale
    FROM (SELECT event_status(e.starts_at, e.ends_at, e.opened_at, e.closed_at, e.rehearsal_since, e.ready, p_at) AS status OFFSET 0) AS at_hand
    -- Prevents inlining, so that the status is computed once for all its uses.
    OFFSET 0
  ) AS s ON true
  LEFT JOIN LATERAL judge_voter(p_event, p_voter, p_key_hash, e.voter_approval) AS v ON p_voter IS NOT NULL
  LEFT JOIN LATERAL has_voted(p_event, CASE WHEN p_voter IS NULL THEN p_participants END, e.repeat_votes) AS h ON p_voter IS NULL;
$$;

-- Whether a participant could cast a ballot now: `cast`, or the reason against it. Records the first use of a voter key.
CREATE OR REPLACE FUNCTION check_cast(p_event text, p_voter jsonb, p_key_hash bytea, p_participants text[], OUT verdict text, OUT tagged jsonb)
RETURNS record LANGUAGE plpgsql
-- Cached plans that look up rows only by key: see `cast_ballots_together`.
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
DECLARE
  judged record;
BEGIN
  SELECT * INTO judged FROM judge_cast(p_event, now_ms(), NULL, p_voter, p_key_hash, NULL, p_participants, NULL, NULL);
  IF judged.first_use THEN PERFORM use_key(p_event, judged.participant); END IF;
  verdict := judged.verdict;
  tagged := judged.tagged;
END $$;
