CREATE TABLE "electorate_changes" (
	"voting_event_id" text NOT NULL,
	"id" bigint GENERATED ALWAYS AS IDENTITY (sequence name "electorate_changes_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"heads" bigint NOT NULL,
	"weight_micro" numeric NOT NULL,
	CONSTRAINT "electorate_changes_voting_event_id_id_pk" PRIMARY KEY("voting_event_id","id")
);
--> statement-breakpoint
ALTER TABLE "electorate_changes" ADD CONSTRAINT "electorate_changes_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "public"."voting_events"("id") ON DELETE cascade ON UPDATE no action;