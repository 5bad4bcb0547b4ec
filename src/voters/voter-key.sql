-- The stored forms that a key may have for a voter, one for each of the service's secret keys (32 bytes one after the other).
CREATE OR REPLACE FUNCTION voter_key_hashes(p_key_hash bytea, p_voter text) RETURNS bytea[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT array_agg(sha256(substr(p_key_hash, i, 32) || convert_to(p_voter, 'UTF8')))
  FROM generate_series(1, length(p_key_hash), 32) AS i;
$$;

-- Judges a voter key: `eligible`, or what stands against the voter. p_voter: {"kind": "email" or "voter_id", "identity"}. A
-- known and an unknown voter take the same path. `first_use` says that this key is the first one that the voter used, which
-- approves the voter where approval is automatic: `use_keys` writes it down. A set of one row, so that it becomes part of the
-- statement that asks for many voters.
--
-- A table has several indexes that begin with the event. Where the planner takes the table for tiny, all of them look alike to
-- it, and a plan that is kept from then goes on reading all rows of the event. So a look-up by one of them asks for the first
-- row from its key on, in the order of that index: no other index gives it for less.
CREATE OR REPLACE FUNCTION judge_voter(p_event text, p_voter jsonb, p_key_hash bytea, p_approval text)
RETURNS TABLE (verdict text, voter_id text, weight_micro bigint, group_id text, first_use boolean) LANGUAGE sql STABLE AS $$
  SELECT CASE
      WHEN NOT key.genuine THEN 'voter_key_invalid'
      WHEN v.status = 'rejected' THEN 'voter_rejected'
      WHEN v.status = 'pending' AND p_approval <> 'automatic' THEN 'voter_pending'
      WHEN key.voted THEN 'already_voted'
      ELSE 'eligible' END,
    v.id, v.weight_micro, v.group_id,
    key.genuine AND (v.status = 'approved' AND v.key_status <> 'used' OR v.status = 'pending' AND p_approval = 'automatic')
  FROM (SELECT p_voter ->> 'kind' AS kind, p_voter ->> 'identity' AS identity) AS asked
  LEFT JOIN LATERAL (
    SELECT * FROM (
      SELECT * FROM voters w WHERE w.voting_event_id = p_event AND w.email_key BETWEEN asked.identity AND asked.identity ORDER BY w.email_key LIMIT 1
    ) AS w WHERE asked.kind = 'email'
    UNION ALL
    SELECT * FROM (
      SELECT * FROM voters w WHERE w.voting_event_id = p_event AND w.voter_id_key BETWEEN asked.identity AND asked.identity ORDER BY w.voter_id_key LIMIT 1
    ) AS w WHERE asked.kind <> 'email'
  ) AS v ON v.deleted_at IS NULL
  CROSS JOIN LATERAL (
    SELECT p_voter IS NOT NULL AND EXISTS (SELECT 1 FROM voter_keys k WHERE k.voting_event_id = p_event AND k.voter_id = coalesce(v.id, '')
        AND k.key_hash = ANY (voter_key_hashes(p_key_hash, coalesce(v.id, ''))) OFFSET 0) AS genuine,
      EXISTS (SELECT 1 FROM participation p WHERE p.voting_event_id = p_event AND p.participant = v.id OFFSET 0) AS voted
    -- Asked once, however often the answer is used.
    OFFSET 0
  ) AS key;
$$;

-- Writes down that voters have used a key. Once for each voter: planned each time. The events are held, so that none is
-- approved by a key that the end of a rehearsal wipes at this moment.
CREATE OR REPLACE FUNCTION use_keys(p_event text[], p_voter text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM (SELECT e.id FROM voting_events e WHERE e.id = ANY (p_event) ORDER BY e.id FOR KEY SHARE) AS held;
  FOR i IN 1 .. coalesce(cardinality(p_voter), 0) LOOP
    EXECUTE 'SELECT note_before_rehearsal($1, $2)' USING p_event[i], p_voter[i];
    EXECUTE 'UPDATE voters SET approved_by_key = approved_by_key OR status = ''pending'', status = ''approved'', key_status = ''used''
      WHERE voting_event_id = $1 AND id = $2
        AND EXISTS (SELECT 1 FROM voter_keys k WHERE k.voting_event_id = $1 AND k.voter_id = $2)'
    USING p_event[i], p_voter[i];
  END LOOP;
END $$;

-- Judges a voter key on its own, whatever the state of the event.
CREATE OR REPLACE FUNCTION verify_voter(
  p_event text, p_kind text, p_identity text, p_key_hash bytea, p_approval text, OUT verdict text, OUT voter_id text,
  OUT weight_micro bigint, OUT group_id text
) RETURNS record LANGUAGE plpgsql
-- Kept plans, by keys alone: see `cast_ballots_together`.
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
DECLARE
  first_use boolean;
BEGIN
  SELECT j.verdict, j.voter_id, j.weight_micro, j.group_id, j.first_use INTO verdict, voter_id, weight_micro, group_id, first_use
  FROM judge_voter(p_event, jsonb_build_object('kind', p_kind, 'identity', p_identity), p_key_hash, p_approval) AS j;
  IF first_use THEN PERFORM use_keys(ARRAY[p_event], ARRAY[voter_id]); END IF;
END $$;

-- Counts a wrong key for the voter that it was sent for and for the API key that sent it. Returns how often that voter's was
-- wrong, and how long the next cast has to wait: a right key is never held up by it.
CREATE OR REPLACE FUNCTION count_wrong_key(p_event text, p_voter bytea, p_caller bytea, OUT wrong integer, OUT retry_after_ms bigint)
RETURNS record LANGUAGE plpgsql AS $$
DECLARE
  at bigint := now_ms();
  window_ms CONSTANT bigint := wrong_key_window_ms();
  by_voter record;
  by_caller record;
  roll bigint;
BEGIN
  INSERT INTO voter_key_failures AS f (voting_event_id, identity, window_started_at, failures) VALUES (p_event, p_voter, at, 1)
  ON CONFLICT (voting_event_id, identity) DO UPDATE SET
    failures = CASE WHEN f.window_started_at > at - window_ms THEN f.failures + 1 ELSE 1 END,
    window_started_at = CASE WHEN f.window_started_at > at - window_ms THEN f.window_started_at ELSE at END
  RETURNING f.failures, f.window_started_at INTO by_voter;
  INSERT INTO voter_key_failures AS f (voting_event_id, identity, window_started_at, failures) VALUES (p_event, p_caller, at, 1)
  ON CONFLICT (voting_event_id, identity) DO UPDATE SET
    failures = CASE WHEN f.window_started_at > at - window_ms THEN f.failures + 1 ELSE 1 END,
    window_started_at = CASE WHEN f.window_started_at > at - window_ms THEN f.window_started_at ELSE at END
  RETURNING f.failures, f.window_started_at INTO by_caller;
  SELECT e.voter_count INTO roll FROM voting_events e WHERE e.id = p_event;
  wrong := by_voter.failures;
  retry_after_ms := greatest(
    CASE WHEN by_voter.failures > free_wrong_keys() THEN by_voter.window_started_at + window_ms - at ELSE 0 END,
    CASE WHEN by_caller.failures > greatest(100, roll / 50) THEN by_caller.window_started_at + window_ms - at ELSE 0 END);
END $$;

-- Voter keys are valid until the close. The time of a request for one would show when somebody voted.
CREATE OR REPLACE FUNCTION forget_voter_keys(p_event text) RETURNS void LANGUAGE sql AS $$
  DELETE FROM voter_keys WHERE voting_event_id = p_event;
  DELETE FROM voter_key_requests WHERE voting_event_id = p_event;
  DELETE FROM voter_key_failures WHERE voting_event_id = p_event;
  -- Nothing is mailed any more: what is left of mails to many voters was not sent.
  DELETE FROM notified_voters WHERE voting_event_id = p_event;
  DELETE FROM notification_mails WHERE voting_event_id = p_event;
  UPDATE notifications SET finished_at = now_ms(), listed_at = coalesce(listed_at, now_ms()), skipped = total - sent - failed - voted
  WHERE voting_event_id = p_event AND finished_at IS NULL;
$$;
