CREATE TABLE "event_invites" (
	"voting_event_id" text NOT NULL,
	"id" text NOT NULL,
	"email" text NOT NULL,
	"email_key" text NOT NULL,
	"role" text NOT NULL,
	"token_hash" "bytea" NOT NULL,
	"sealed_token" text,
	"account_id" text,
	"accepted_at" bigint,
	"expires_at" bigint NOT NULL,
	"created_at" bigint NOT NULL,
	CONSTRAINT "event_invites_voting_event_id_id_pk" PRIMARY KEY("voting_event_id","id")
);
--> statement-breakpoint
ALTER TABLE "event_invites" ADD CONSTRAINT "event_invites_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "public"."voting_events"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "event_invites" ADD CONSTRAINT "event_invites_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "event_invites_email" ON "event_invites" USING btree ("voting_event_id","email_key");--> statement-breakpoint
CREATE UNIQUE INDEX "event_invites_token" ON "event_invites" USING btree ("token_hash");--> statement-breakpoint
CREATE UNIQUE INDEX "event_invites_account" ON "event_invites" USING btree ("account_id","voting_event_id") WHERE account_id IS NOT NULL;