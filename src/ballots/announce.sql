-- Writes a webhook message for each event that has a subscriber and more ballots than its last message stated. Returns the events whose
-- last message is younger than p_pause_ms, for the caller to try again. Safe to call concurrently: the event's row in
-- `ballot_announcements` decides which process writes.
CREATE OR REPLACE FUNCTION announce_ballots(p_events text[], p_pause_ms integer) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  event record;
  at bigint := now_ms();
  confirmed bigint;
BEGIN
  FOR event IN
    SELECT e.id, e.account_id, a.announced_at > at - p_pause_ms AS is_early, coalesce(a.ballots, 0) AS announced
    FROM voting_events e LEFT JOIN ballot_announcements a ON a.voting_event_id = e.id
    WHERE e.id = ANY (p_events) AND e.deleted_at IS NULL
      AND EXISTS (SELECT 1 FROM webhook_endpoints w WHERE w.account_id = e.account_id
        AND (w.voting_event_id IS NULL OR w.voting_event_id = e.id) AND 'ballot.confirmed' = ANY (w.event_types))
    ORDER BY e.id
  LOOP
    IF event.is_early THEN
      RETURN NEXT event.id;
      CONTINUE;
    END IF;
    SELECT coalesce((SELECT l.ballots FROM ballot_logs l WHERE l.voting_event_id = event.id), 0)
      + (SELECT count(*) FROM ballot_queue q WHERE q.voting_event_id = event.id) INTO confirmed;
    CONTINUE WHEN confirmed <= event.announced;
    INSERT INTO ballot_announcements AS a (voting_event_id, ballots, announced_at) VALUES (event.id, confirmed, at)
    ON CONFLICT (voting_event_id) DO UPDATE SET ballots = excluded.ballots, announced_at = excluded.announced_at
      WHERE a.ballots < excluded.ballots AND a.announced_at <= at - p_pause_ms;
    IF FOUND THEN
      PERFORM record_webhook_events(event.account_id, event.id, 'ballot.confirmed', ARRAY[sortable_id('msg')],
        ARRAY[json_build_object('votingEventId', event.id, 'ballots', confirmed)::text]);
    ELSE
      RETURN NEXT event.id;
    END IF;
  END LOOP;
END $$;

-- Called when an endpoint subscribes to `ballot.confirmed`: only later ballots are announced to it. The present ballots of its events count
-- as announced, unless another endpoint subscribes to the event too.
CREATE OR REPLACE FUNCTION begin_ballot_announcements(p_endpoint text) RETURNS void LANGUAGE sql AS $$
  INSERT INTO ballot_announcements AS a (voting_event_id, ballots, announced_at)
  SELECT e.id, now_confirmed.ballots, 0
  FROM webhook_endpoints w
  JOIN voting_events e ON e.account_id = w.account_id AND (w.voting_event_id IS NULL OR w.voting_event_id = e.id)
  CROSS JOIN LATERAL (SELECT coalesce((SELECT l.ballots FROM ballot_logs l WHERE l.voting_event_id = e.id), 0)
    + (SELECT count(*) FROM ballot_queue q WHERE q.voting_event_id = e.id) AS ballots) AS now_confirmed
  WHERE w.id = p_endpoint AND e.deleted_at IS NULL AND now_confirmed.ballots > 0
    AND NOT EXISTS (SELECT 1 FROM webhook_endpoints o WHERE o.account_id = w.account_id AND o.id <> w.id
      AND (o.voting_event_id IS NULL OR o.voting_event_id = e.id) AND 'ballot.confirmed' = ANY (o.event_types))
  ON CONFLICT (voting_event_id) DO UPDATE SET ballots = excluded.ballots WHERE a.ballots < excluded.ballots;
$$;
