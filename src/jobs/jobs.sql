-- Enqueues a job in the caller's transaction. A job with the same key is replaced if it is not running, even if it waits for the end of a
-- move of its account. A running job keeps its row, but loses its key and is not retried. If an account has its share of waiting jobs with
-- this name at about this time, its further jobs run after all other due jobs of their group, so that thousands of jobs of one account do
-- not delay the jobs of others.
CREATE OR REPLACE FUNCTION add_job(p_name text, p_payload json DEFAULT '{}', p_run_at bigint DEFAULT NULL, p_max_attempts integer DEFAULT 25,
  p_key text DEFAULT NULL, p_last boolean DEFAULT false, p_account text DEFAULT '') RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
  share CONSTANT integer := 20;
  at bigint := now_ms();
  due bigint := coalesce(p_run_at, at);
  is_last boolean := p_last OR p_account <> '' AND share = (SELECT count(*) FROM (
    SELECT 1 FROM jobs w WHERE w.account = p_account AND w.name = p_name AND w.run_at BETWEEN due - 60000 AND due
      AND w.account <> '' AND w.held_by IS NULL AND w.attempts < w.max_attempts LIMIT share) AS waiting);
BEGIN
  LOOP
    INSERT INTO jobs AS j (name, key, payload, account, last, run_at, max_attempts, created_at)
    VALUES (p_name, p_key, p_payload, p_account, is_last, due, p_max_attempts, at)
    ON CONFLICT (key) DO UPDATE SET name = excluded.name, payload = excluded.payload, account = excluded.account, last = excluded.last,
      run_at = excluded.run_at, max_attempts = excluded.max_attempts, attempts = 0, counted = false, last_error = NULL
      WHERE j.held_by IS NULL OR starts_with(j.held_by, 'move ');
    EXIT WHEN FOUND;
    UPDATE jobs SET key = NULL, max_attempts = attempts WHERE key = p_key AND held_by IS NOT NULL;
  END LOOP;
  -- A later job needs no notification: runners query for due jobs at least every 3 s (BEAT_MS).
  IF p_run_at IS NULL OR p_run_at <= at + 3000 THEN NOTIFY job_added; END IF;
END $$;

-- Claims due jobs for a runner: in each group no more than its free places (p_places; a place runs one job). Reads up to that many jobs of
-- each name by the index, so that a long queue of one group does not slow down another. No job after p_until, the time of the runner's
-- machine, is due: if the server's clock jumps ahead, jobs planned for later must not all run at once. Accounts take turns in each group:
-- p_busy_groups and p_busy_accounts have an entry for each job that the runner already runs. An account with fewer jobs comes first, and no
-- account has more than p_most: a place is left even if all jobs of one account hang.
CREATE OR REPLACE FUNCTION take_jobs(p_runner text, p_names text[], p_groups text[], p_places integer[], p_most integer[], p_until bigint,
  p_busy_groups text[] DEFAULT '{}', p_busy_accounts text[] DEFAULT '{}')
RETURNS TABLE (id bigint, name text, key text, payload json, account text, attempts integer, max_attempts integer, mark uuid,
  taken_at bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  -- Read once into a variable, because a volatile function cannot bound an index scan.
  at bigint := least(now_ms(), p_until);
BEGIN
  RETURN QUERY WITH waiting AS MATERIALIZED (
    SELECT d.id, d.run_at, o.last, w.job_group, w.places, w.most,
      row_number() OVER (PARTITION BY w.job_group, d.account ORDER BY o.last, d.run_at, d.id) + (
        SELECT count(*) FROM unnest(p_busy_groups, p_busy_accounts) AS b (job_group, account)
        WHERE b.job_group = w.job_group AND b.account = d.account) AS turn
    FROM unnest(p_names, p_groups, p_places, p_most) AS w (name, job_group, places, most)
    CROSS JOIN (VALUES (false), (true)) AS o (last)
    CROSS JOIN LATERAL (
      SELECT j.id, j.run_at, j.account FROM jobs j
      WHERE j.name = w.name AND j.last = o.last AND j.held_by IS NULL AND j.attempts < j.max_attempts AND j.run_at <= at
      -- Reads past the jobs of accounts that have their share, up to a bounded number, because every run of a runner does so.
      ORDER BY j.run_at, j.id LIMIT CASE WHEN w.job_group = ANY (p_busy_groups) THEN 1000 ELSE w.places END) AS d
  ), due AS MATERIALIZED (
    SELECT w.id, w.places, row_number() OVER (PARTITION BY w.job_group ORDER BY w.last, w.turn, w.run_at, w.id) AS place
    FROM waiting w WHERE w.turn <= w.most
  ), free AS MATERIALIZED (
    SELECT j.id FROM jobs j
    WHERE j.id = ANY (ARRAY(SELECT d.id FROM due d WHERE d.place <= d.places)) AND j.held_by IS NULL AND j.attempts < j.max_attempts
    FOR UPDATE SKIP LOCKED
  )
  UPDATE jobs j SET held_by = p_runner, held_at = now_ms(), attempts = j.attempts + 1 FROM free f WHERE j.id = f.id
  RETURNING j.id, j.name, j.key, j.payload, j.account, j.attempts, j.max_attempts, j.mark, at;
END $$;

-- Milliseconds until the next job with one of these names is due, 0 or less if it is due now; NULL if no job waits.
CREATE OR REPLACE FUNCTION until_next_job(p_names text[], p_until bigint) RETURNS bigint LANGUAGE sql AS $$
  SELECT min(n.run_at) - least(now_ms(), p_until)
  FROM unnest(p_names) AS w (name) CROSS JOIN (VALUES (false), (true)) AS o (last) CROSS JOIN LATERAL (
    SELECT j.run_at FROM jobs j WHERE j.name = w.name AND j.last = o.last AND j.held_by IS NULL AND j.attempts < j.max_attempts
    ORDER BY j.run_at, j.id LIMIT 1) AS n;
$$;

-- Records that a runner is alive, and releases claimed jobs that no living runner runs: jobs of a runner that was not seen for p_dead_ms or
-- has no row, and jobs that this runner claimed without learning of it (not in p_under_way). Returns the number of released jobs.
CREATE OR REPLACE FUNCTION free_dead_jobs(p_runner text, p_under_way bigint[], p_dead_ms integer) RETURNS bigint LANGUAGE sql AS $$
  WITH seen AS (
    INSERT INTO job_runners (id, seen_at) VALUES (p_runner, now_ms()) ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at
  ), dead AS (
    DELETE FROM job_runners WHERE id IN (
      SELECT r.id FROM job_runners r WHERE r.seen_at < now_ms() - p_dead_ms AND r.id <> p_runner FOR UPDATE SKIP LOCKED)
  ), freed AS (
    UPDATE jobs SET held_by = NULL, held_at = NULL WHERE id IN (
      SELECT j.id FROM jobs j
      WHERE j.held_by IS NOT NULL AND j.held_at < now_ms() - p_dead_ms AND CASE WHEN j.held_by = p_runner THEN j.id <> ALL (p_under_way)
        ELSE NOT EXISTS (SELECT 1 FROM job_runners r WHERE r.id = j.held_by AND r.seen_at >= now_ms() - p_dead_ms) END
      FOR UPDATE SKIP LOCKED)
    RETURNING 1
  )
  SELECT count(*) FROM freed;
$$;

-- Makes jobs due now, with all their attempts. Running jobs are not changed. `last_error` shows that attempts may have been made before.
CREATE OR REPLACE FUNCTION run_jobs_again(p_ids bigint[]) RETURNS SETOF jobs LANGUAGE sql AS $$
  NOTIFY job_added;
  UPDATE jobs SET run_at = now_ms(), attempts = 0, counted = false, last_error = coalesce(last_error, 'run again')
  WHERE id = ANY (p_ids) AND held_by IS NULL RETURNING *;
$$;
