-- Counts a wrong key for the voter for whom it was sent, and for the API key that sent it. Returns the voter's wrong keys within the
-- window, and how long further wrong keys are refused. A right key is never delayed.
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
  SELECT p.total INTO roll FROM voter_places(p_event) AS p;
  wrong := by_voter.failures;
  retry_after_ms := greatest(
    CASE WHEN by_voter.failures > free_wrong_keys() THEN by_voter.window_started_at + window_ms - at ELSE 0 END,
    CASE WHEN by_caller.failures > greatest(100, roll / 50) THEN by_caller.window_started_at + window_ms - at ELSE 0 END);
END $$;

-- Deletes voter keys, which are valid until the close, and the times of key requests, which would show when a voter voted.
CREATE OR REPLACE FUNCTION forget_voter_keys(p_event text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM voter_keys WHERE voting_event_id = p_event;
  DELETE FROM voter_key_requests WHERE voting_event_id = p_event;
  DELETE FROM voter_key_failures WHERE voting_event_id = p_event;
  -- No mail is sent after the close, so the remaining mails count as skipped.
  DELETE FROM notified_voters WHERE voting_event_id = p_event;
  DELETE FROM notification_mails WHERE voting_event_id = p_event;
  UPDATE notifications SET finished_at = now_ms(), listed_at = coalesce(listed_at, now_ms()), 
    skipped = greatest(0, total - sent - failed - voted)
  WHERE voting_event_id = p_event AND finished_at IS NULL;
END $$;
