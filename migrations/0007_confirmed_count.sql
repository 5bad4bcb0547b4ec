-- How many ballots were confirmed when the head of a log was signed last, and that note.
ALTER TABLE "ballot_logs" ADD COLUMN "confirmed" bigint DEFAULT 0 NOT NULL;
ALTER TABLE "ballot_logs" ADD COLUMN "note" text;
UPDATE "ballot_logs" SET confirmed = ballots;
