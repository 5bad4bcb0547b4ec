-- Clean-up goes in chunks, so that no statement grows with what there is to clean.

-- A deleted event is seen by nobody from that moment on; its rows go in the background.
ALTER TABLE "voting_events" ADD COLUMN "deleted_at" bigint;
CREATE INDEX "voting_events_deleted" ON "voting_events" ("id") WHERE deleted_at IS NOT NULL;
CREATE INDEX "pending_ballots_age" ON "pending_ballots" ("cast_at");
