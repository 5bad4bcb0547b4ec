ALTER TABLE "candidates" ADD COLUMN "rehearsal" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "payment_attempts" ADD COLUMN "rehearsal" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "notifications" ADD COLUMN "rehearsal" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "voter_keys" ADD COLUMN "rehearsal" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "voters" ADD COLUMN "before_rehearsal" jsonb;--> statement-breakpoint
ALTER TABLE "voting_events" ADD COLUMN "rehearsal_since" bigint;--> statement-breakpoint
ALTER TABLE "voting_events" ADD COLUMN "rehearsal_number" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "voting_events" ADD COLUMN "rehearsal_ballots" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX "voters_rehearsed" ON "voters" USING btree ("voting_event_id","id") WHERE before_rehearsal IS NOT NULL;--> statement-breakpoint
CREATE INDEX "voting_events_rehearsed" ON "voting_events" USING btree ("id") WHERE rehearsal_since IS NOT NULL;