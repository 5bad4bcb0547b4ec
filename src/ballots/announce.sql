-- Writes a message for every event with a subscriber that has more ballots than its last message said, where that one is at
-- least p_pause_ms old. Several processes may call it at once: the row of an event decides which of them writes.
CREATE OR REPLACE FUNCTION announce_ballots(p_pause_ms integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  event record;
  at bigint := now_ms();
  written integer := 0;
BEGIN
  FOR event IN
    SELECT e.id, e.account_id, coalesce(l.ballots, 0) + (SELECT count(*) FROM ballot_queue q WHERE q.voting_event_id = e.id) AS ballots
    FROM voting_events e
    LEFT JOIN ballot_logs l ON l.voting_event_id = e.id
    LEFT JOIN ballot_announcements a ON a.voting_event_id = e.id
    WHERE e.deleted_at IS NULL AND (a.announced_at IS NULL OR a.announced_at <= at - p_pause_ms)
      AND EXISTS (SELECT 1 FROM webhook_endpoints w WHERE w.account_id = e.account_id
        AND (w.voting_event_id IS NULL OR w.voting_event_id = e.id) AND 'ballot.confirmed' = ANY (w.event_types))
      AND coalesce(l.ballots, 0) + (SELECT count(*) FROM ballot_queue q WHERE q.voting_event_id = e.id) > coalesce(a.ballots, 0)
    ORDER BY e.id LIMIT 500
  LOOP
    INSERT INTO ballot_announcements AS a (voting_event_id, ballots, announced_at) VALUES (event.id, event.ballots, at)
    ON CONFLICT (voting_event_id) DO UPDATE SET ballots = excluded.ballots, announced_at = excluded.announced_at
      WHERE a.ballots < excluded.ballots AND a.announced_at <= at - p_pause_ms;
    IF FOUND THEN
      PERFORM record_webhook_event(event.account_id, event.id, 'ballot.confirmed', sortable_id('msg'),
        json_build_object('votingEventId', event.id, 'ballots', event.ballots)::text);
      written := written + 1;
    END IF;
  END LOOP;
  RETURN written;
END $$;
