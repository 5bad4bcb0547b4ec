-- Whether the ballot log of an event answers without a key.
ALTER TABLE "voting_events" ADD COLUMN "log_open" boolean DEFAULT false NOT NULL;
