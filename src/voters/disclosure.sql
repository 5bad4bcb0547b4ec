-- Whether an event hides who voted: an election does until its result is final.
CREATE OR REPLACE FUNCTION keeps_back(p_event text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN EXISTS (SELECT 1 FROM voting_events e CROSS JOIN (SELECT now_ms() AS at) AS t
    WHERE e.id = p_event AND e.type = 'election'
      AND is_final(e.starts_at, e.ends_at, e.opened_at, e.closed_at, e.rehearsal_since, e.ready, t.at) IS NOT TRUE);
END $$;

-- One step of the disclosure (completions 5.6). Once five voters are undisclosed, all of them are disclosed together, and their ballots
-- appear in the public live count. The final result discloses the rest. The step also writes the figures of who has voted. A single
-- statement does all this, so that voters and ballots come from one snapshot.
-- Voters whose ballots look alike are disclosed at least five at a time. Otherwise the only disclosed voter of a weight, or of a group with
-- its own position, could be linked with the only ballot of that kind. All weights that fewer than five voters have are one kind: each of
-- their ballots can be recognised in any case. Until five of a kind wait, the public count moves without them.
-- Returns the voters whose approval by a first key is now disclosed (`approved`). Before the final result, also returns the data of the
-- public snapshot: the last logged leaf with the last signed head (`box`), queued ballots (`queue`), the previous snapshot (`before`). One
-- call looks at a page of undisclosed voters; a row `more` asks for another call. Before the final result, that call has p_goes_on: it
-- discloses further voters, whose ballots are in the first call's snapshot, and returns no snapshot. Does nothing while more than p_most
-- ballots are queued, nor if the event's key is still p_key and there are fewer than p_least ballots: the state is older than one that the
-- caller has shown. A request (NOT p_waits) gets nothing while a change or another step locks the event, nor, before the final result, if
-- a full page of voters waits, which is left to a job.
-- The settings force custom plans by the index of each ORDER BY. A plan that was cached for a small roll, or made with statistics older
-- than the event's voters, would read a large roll once for each voter.
CREATE OR REPLACE FUNCTION disclose_voters(p_event text, p_most integer, p_least bigint, p_key text, p_waits boolean, p_goes_on boolean)
RETURNS TABLE (kind text, id text, number bigint, tag bytea, content bytea) LANGUAGE plpgsql
SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
  whole boolean;
  queued bigint;
  lightest bigint;
  heavier bigint;
  -- Number of voters of one call: a statement may take three seconds.
  page integer;
  -- The last undisclosed voter of the page.
  upto text;
  -- The last voter whose approval this call discloses at the final result.
  approved_upto text;
  -- Whether the page is full, so that more voters may wait.
  is_full boolean;
  -- The weights on the page that five voters share.
  shared bigint[];
  -- The voters to disclose; null for all undisclosed voters of the page.
  chosen text[];
BEGIN
  -- The event's lock excludes a change that reopens it or rewrites its roll.
  IF p_waits THEN
    PERFORM pg_advisory_xact_lock(hashtextextended('disclose ' || p_event, 0));
    PERFORM 1 FROM voting_events e WHERE e.id = p_event FOR KEY SHARE;
  ELSE
    IF NOT pg_try_advisory_xact_lock(hashtextextended('disclose ' || p_event, 0)) THEN RETURN; END IF;
    PERFORM 1 FROM voting_events e WHERE e.id = p_event FOR KEY SHARE SKIP LOCKED;
    IF NOT FOUND THEN RETURN; END IF;
  END IF;
  whole := NOT keeps_back(p_event);
  page := CASE WHEN whole THEN 20000 ELSE 10000 END;
  SELECT max(n.voter_id), count(*) = page INTO upto, is_full FROM (
    SELECT u.voter_id FROM undisclosed_voters u WHERE u.voting_event_id = p_event ORDER BY u.voter_id LIMIT page) AS n;
  IF whole THEN
    approved_upto := (SELECT max(n.id) FROM (
      SELECT w.id FROM voters w WHERE w.voting_event_id = p_event AND w.approved_by_key ORDER BY w.id LIMIT page) AS n);
  END IF;
  IF NOT whole THEN
    IF is_full AND NOT p_waits OR (SELECT count(*) FROM (SELECT 1 FROM undisclosed_voters u WHERE u.voting_event_id = p_event LIMIT disclosed_together()) AS u)
      < disclosed_together() THEN RETURN; END IF;
    SELECT count(*) INTO queued FROM (SELECT 1 FROM ballot_queue q WHERE q.voting_event_id = p_event LIMIT p_most + 1) AS q;
    IF NOT p_goes_on AND (queued > p_most OR EXISTS (SELECT 1 FROM ballot_logs l JOIN voting_events e ON e.id = l.voting_event_id
      WHERE l.voting_event_id = p_event AND e.ballot_key = p_key AND l.ballots + queued < p_least)) THEN RETURN; END IF;
    SELECT min(v.weight_micro) INTO lightest FROM voters v WHERE v.voting_event_id = p_event;
    SELECT min(v.weight_micro) INTO heavier FROM voters v WHERE v.voting_event_id = p_event AND v.weight_micro > lightest;
    IF heavier IS NOT NULL OR EXISTS (SELECT 1 FROM positions p WHERE p.voting_event_id = p_event AND p.group_id IS NOT NULL AND p.deleted_at IS NULL)
    THEN
      shared := shared_weights(p_event, ARRAY(
        SELECT DISTINCT v.weight_micro FROM undisclosed_voters u CROSS JOIN LATERAL (
          SELECT r.weight_micro FROM voters r WHERE r.voting_event_id = p_event AND r.id BETWEEN u.voter_id AND u.voter_id
          ORDER BY r.id LIMIT 1) AS v
        WHERE u.voting_event_id = p_event AND u.voter_id <= upto));
      SELECT coalesce(array_agg(w.voter_id), '{}') INTO chosen FROM (
        SELECT u.voter_id, count(*) OVER (PARTITION BY CASE WHEN v.weight_micro = ANY (shared) THEN v.weight_micro END, (
          SELECT min(p.group_id) FROM positions p
          WHERE p.voting_event_id = p_event AND p.group_id = v.group_id AND p.deleted_at IS NULL)) AS alike
        FROM undisclosed_voters u CROSS JOIN LATERAL (
          SELECT r.weight_micro, r.group_id FROM voters r WHERE r.voting_event_id = p_event AND r.id BETWEEN u.voter_id AND u.voter_id
          ORDER BY r.id LIMIT 1) AS v
        WHERE u.voting_event_id = p_event AND u.voter_id <= upto) AS w
      WHERE w.alike >= disclosed_together();
    END IF;
  END IF;
  RETURN QUERY WITH shown AS (
    -- Not `= ANY (chosen)`: a cached plan does not hash an array, and would compare each voter with all elements.
    DELETE FROM undisclosed_voters u WHERE u.voting_event_id = p_event AND u.voter_id <= upto
      AND (chosen IS NULL OR u.voter_id IN (SELECT c.voter_id FROM unnest(chosen) AS c (voter_id)))
    RETURNING u.voter_id
  ), figures AS (
    INSERT INTO roll_figures (voting_event_id, group_id, status, source, heads, weight_micro, voted, voted_weight_micro)
    SELECT p_event, coalesce(v.group_id, ''), '', '', 0, 0, count(*), sum(v.weight_micro)
    -- Look up each voter by the primary key, because a join may read the whole roll for five voters.
    FROM shown s CROSS JOIN LATERAL (
      SELECT w.group_id, w.weight_micro FROM voters w WHERE w.voting_event_id = p_event AND w.id BETWEEN s.voter_id AND s.voter_id
      ORDER BY w.id LIMIT 1) AS v
    GROUP BY 2
  ), outlived AS (
    DELETE FROM public_snapshots p WHERE p.voting_event_id = p_event AND whole
  ), approvals AS (
    UPDATE voters v SET approved_by_key = false WHERE v.voting_event_id = p_event AND v.approved_by_key
      AND (v.id <= approved_upto OR NOT whole AND v.id IN (SELECT s.voter_id FROM shown s))
    RETURNING v.id
  )
  SELECT 'approved', a.id, NULL::bigint, NULL::bytea, NULL::bytea FROM approvals a
  UNION ALL SELECT 'more', NULL, NULL, NULL, NULL
    WHERE is_full AND EXISTS (SELECT 1 FROM shown) OR whole AND (SELECT count(*) FROM approvals) = page
  UNION ALL SELECT 'box', NULL, coalesce((SELECT k.first_leaf + k.ballots - 1 FROM ballot_blocks k WHERE k.voting_event_id = p_event
    ORDER BY k.first_leaf DESC LIMIT 1), -1), NULL,
    (SELECT convert_to(l.note, 'UTF8') FROM ballot_logs l WHERE l.voting_event_id = p_event) WHERE NOT whole AND NOT p_goes_on
  UNION ALL SELECT 'queue', NULL, q.weight_micro, q.code_tag, q.entries FROM ballot_queue q WHERE q.voting_event_id = p_event AND NOT whole AND NOT p_goes_on
  UNION ALL SELECT 'before', NULL, NULL, NULL, p.sealed FROM public_snapshots p WHERE p.voting_event_id = p_event AND NOT whole AND NOT p_goes_on;
END $$;

-- By group: voters whose approval by a first key is not disclosed yet. All views and figures show these voters as pending.
CREATE OR REPLACE FUNCTION withheld_approvals(p_event text)
RETURNS TABLE (group_id text, heads bigint, weight_micro numeric) LANGUAGE plpgsql STABLE
-- Forces the index of these voters, so that a large roll is not scanned.
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
  RETURN QUERY SELECT coalesce(v.group_id, ''), count(*), sum(v.weight_micro) FROM voters v
  WHERE v.voting_event_id = p_event AND v.approved_by_key AND v.status = 'approved' AND v.deleted_at IS NULL AND keeps_back(p_event)
  GROUP BY 1;
END $$;

-- The weights in p_weights with at least five visibly approved voters. ORDER BY forces the look-up of each by the index of weights.
CREATE OR REPLACE FUNCTION shared_weights(p_event text, p_weights bigint[]) RETURNS bigint[] LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
BEGIN
  RETURN ARRAY(SELECT w.weight FROM unnest(p_weights) AS w (weight) WHERE disclosed_together() = (SELECT count(*) FROM (
    SELECT 1 FROM voters v WHERE v.voting_event_id = p_event AND v.weight_micro BETWEEN w.weight AND w.weight
      AND v.status = 'approved' AND NOT v.approved_by_key AND v.deleted_at IS NULL ORDER BY v.weight_micro LIMIT disclosed_together()) AS h));
END $$;

-- Whether fewer than five visibly approved voters have some weight: a weighted count could then expose their votes. If all weights are
-- equal, no voter can be identified. Reads each weight once, by the index, 500 in a statement.
CREATE OR REPLACE FUNCTION has_rare_weight(p_event text) RETURNS boolean LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
  weights bigint[];
  heaviest bigint := 0;
  seen integer := 0;
  rare boolean := false;
BEGIN
  LOOP
    weights := ARRAY(WITH RECURSIVE next AS (
      (SELECT v.weight_micro FROM voters v WHERE v.voting_event_id = p_event AND v.weight_micro > heaviest ORDER BY v.weight_micro LIMIT 1)
      UNION ALL SELECT h.weight_micro FROM next n CROSS JOIN LATERAL (
        SELECT v.weight_micro FROM voters v WHERE v.voting_event_id = p_event AND v.weight_micro > n.weight_micro
        ORDER BY v.weight_micro LIMIT 1) AS h
    ) SELECT n.weight_micro FROM next n LIMIT 500);
    seen := seen + cardinality(weights);
    rare := rare OR cardinality(shared_weights(p_event, weights)) < cardinality(weights);
    IF rare AND seen > 1 THEN RETURN true; END IF;
    IF cardinality(weights) < 500 THEN RETURN false; END IF;
    heaviest := weights[500];
  END LOOP;
END $$;
