-- Copies of events whose voters follow.
CREATE TABLE "roll_copies" (
	"voting_event_id" text PRIMARY KEY NOT NULL,
	"source_id" text NOT NULL,
	"groups" jsonb NOT NULL,
	"copied_to" text DEFAULT '' NOT NULL,
	"copy_until" text NOT NULL,
	"key_id" text NOT NULL
);
ALTER TABLE "voting_events" ADD COLUMN "copy_total" integer;
ALTER TABLE "voting_events" ADD COLUMN "copy_done" integer;
ALTER TABLE "roll_copies" ADD CONSTRAINT "roll_copies_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "voting_events"("id") ON DELETE cascade ON UPDATE no action;
