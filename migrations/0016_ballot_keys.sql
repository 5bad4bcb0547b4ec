-- Keys of events that stand outside of the database; events that are open already go on without.
CREATE TABLE "ballot_keys" (
	"voting_event_id" text NOT NULL,
	"id" text NOT NULL,
	"wrapped" text,
	"created_at" bigint NOT NULL,
	"retired_at" bigint,
	CONSTRAINT "ballot_keys_voting_event_id_id_pk" PRIMARY KEY("voting_event_id","id")
);
--> statement-breakpoint
ALTER TABLE "voting_events" ADD COLUMN "ballot_key" text;--> statement-breakpoint
CREATE INDEX "ballot_keys_retired" ON "ballot_keys" USING btree ("voting_event_id") WHERE retired_at IS NOT NULL;--> statement-breakpoint
-- Rows that name a voter beside a ballot, or that show the order of the votes: what is deleted of them goes soon.
ALTER TABLE "pending_ballots" SET (autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0.02);--> statement-breakpoint
ALTER TABLE "waiting_participants" SET (autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0.02);--> statement-breakpoint
ALTER TABLE "ballot_queue" SET (autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0.02);--> statement-breakpoint
ALTER TABLE "participation" SET (autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0.02);--> statement-breakpoint
ALTER TABLE "undisclosed_voters" SET (autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0.02);--> statement-breakpoint
ALTER TABLE "idempotency_keys" SET (autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0.02);
