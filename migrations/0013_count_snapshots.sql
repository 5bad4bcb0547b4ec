CREATE TABLE "count_snapshots" (
	"voting_event_id" text PRIMARY KEY NOT NULL,
	"paper_version" bigint NOT NULL,
	"last_leaf" bigint NOT NULL,
	"state" "bytea" NOT NULL,
	"seal" "bytea" NOT NULL,
	"saved_at" bigint NOT NULL
);
--> statement-breakpoint
ALTER TABLE "count_snapshots" ADD CONSTRAINT "count_snapshots_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "public"."voting_events"("id") ON DELETE cascade ON UPDATE no action;