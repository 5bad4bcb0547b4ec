CREATE TABLE "voter_imports" (
	"voting_event_id" text NOT NULL,
	"file_hash" "bytea" NOT NULL,
	"lines_done" bigint NOT NULL,
	"accepted" bigint NOT NULL,
	"rejected" bigint NOT NULL,
	"existing" bigint NOT NULL,
	"report_bytes" bigint NOT NULL,
	"started_at" bigint NOT NULL,
	"finished_at" bigint,
	CONSTRAINT "voter_imports_voting_event_id_file_hash_pk" PRIMARY KEY("voting_event_id","file_hash")
);
--> statement-breakpoint
DROP INDEX "candidates_payment";--> statement-breakpoint
DROP INDEX "event_invites_token";--> statement-breakpoint
ALTER TABLE "voter_imports" ADD CONSTRAINT "voter_imports_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "public"."voting_events"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "candidates_payment" ON "candidates" USING btree ("voting_event_id","payment_attempt_id");--> statement-breakpoint
CREATE UNIQUE INDEX "event_invites_token" ON "event_invites" USING btree ("token_hash","voting_event_id");