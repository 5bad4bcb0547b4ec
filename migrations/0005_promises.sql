-- When a waiting ballot is due in the log. Those that wait already are due as new ones would be.
ALTER TABLE "ballot_queue" ADD COLUMN "due_at" bigint;
UPDATE "ballot_queue" q SET due_at = (SELECT coalesce(e.ends_at + 15 * 60 * 1000, (extract(epoch FROM clock_timestamp()) * 1000)::bigint + 24 * 60 * 60 * 1000)
  FROM voting_events e WHERE e.id = q.voting_event_id);
