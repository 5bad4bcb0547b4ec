CREATE TABLE "accounts" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"plan" text NOT NULL,
	"event_count" integer DEFAULT 0 NOT NULL,
	"created_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "api_keys" (
	"id" text PRIMARY KEY NOT NULL,
	"account_id" text NOT NULL,
	"name" text NOT NULL,
	"hash" "bytea" NOT NULL,
	"hint" text NOT NULL,
	"scopes" text[] NOT NULL,
	"voting_event_id" text,
	"expires_at" bigint,
	"revoked_at" bigint,
	"last_used_at" bigint,
	"created_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "audit_entries" (
	"account_id" text NOT NULL,
	"id" text NOT NULL,
	"voting_event_id" text,
	"key_id" text,
	"action" text NOT NULL,
	"resource" text NOT NULL,
	"before" jsonb,
	"after" jsonb,
	"created_at" bigint NOT NULL,
	CONSTRAINT "audit_entries_account_id_id_pk" PRIMARY KEY("account_id","id")
);
--> statement-breakpoint
CREATE TABLE "candidates" (
	"voting_event_id" text NOT NULL,
	"id" text NOT NULL,
	"number" integer NOT NULL,
	"name" text NOT NULL,
	"description" text,
	"email" text,
	"position_ids" text[] NOT NULL,
	"group_id" text,
	"referendum_role" text,
	"avatar_url" text,
	"status" text NOT NULL,
	"source" text NOT NULL,
	"sort_order" integer NOT NULL,
	"payment_attempt_id" text,
	"deleted_at" bigint,
	"created_at" bigint NOT NULL,
	"updated_at" bigint NOT NULL,
	CONSTRAINT "candidates_voting_event_id_id_pk" PRIMARY KEY("voting_event_id","id")
);
--> statement-breakpoint
CREATE TABLE "groups" (
	"voting_event_id" text NOT NULL,
	"id" text NOT NULL,
	"name" text NOT NULL,
	"name_key" text,
	"description" text,
	"deleted_at" bigint,
	"created_at" bigint NOT NULL,
	"updated_at" bigint NOT NULL,
	CONSTRAINT "groups_voting_event_id_id_pk" PRIMARY KEY("voting_event_id","id")
);
--> statement-breakpoint
CREATE TABLE "positions" (
	"voting_event_id" text NOT NULL,
	"id" text NOT NULL,
	"number" integer NOT NULL,
	"title" text NOT NULL,
	"description" text,
	"voting_method" text NOT NULL,
	"group_id" text,
	"sort_order" integer NOT NULL,
	"seats" smallint NOT NULL,
	"min_selections" integer NOT NULL,
	"max_selections" integer,
	"score_min" integer,
	"score_max" integer,
	"cumulative_point_budget" integer,
	"quadratic_base_credit_budget" integer,
	"quadratic_top_up" jsonb,
	"tie_break" text NOT NULL,
	"rules" jsonb,
	"deleted_at" bigint,
	"created_at" bigint NOT NULL,
	"updated_at" bigint NOT NULL,
	CONSTRAINT "positions_voting_event_id_id_pk" PRIMARY KEY("voting_event_id","id")
);
--> statement-breakpoint
CREATE TABLE "sponsors" (
	"voting_event_id" text NOT NULL,
	"id" text NOT NULL,
	"name" text NOT NULL,
	"logo_url" text,
	"website_url" text,
	"tier" text,
	"sort_order" integer NOT NULL,
	"created_at" bigint NOT NULL,
	"updated_at" bigint NOT NULL,
	CONSTRAINT "sponsors_voting_event_id_id_pk" PRIMARY KEY("voting_event_id","id")
);
--> statement-breakpoint
CREATE TABLE "ballot_queue" (
	"voting_event_id" text NOT NULL,
	"id" text NOT NULL,
	"code_tag" "bytea" NOT NULL,
	"entries" "bytea" NOT NULL,
	"weight_micro" bigint NOT NULL,
	"salt" "bytea" NOT NULL,
	"sealed_time" "bytea" NOT NULL,
	"voter_id" text,
	"country_code" text,
	"submitted_at" bigint,
	"released" boolean DEFAULT false NOT NULL,
	CONSTRAINT "ballot_queue_voting_event_id_id_pk" PRIMARY KEY("voting_event_id","id")
);
--> statement-breakpoint
CREATE TABLE "ballots" (
	"voting_event_id" text NOT NULL,
	"id" text NOT NULL,
	"code_tag" "bytea" NOT NULL,
	"entries" "bytea" NOT NULL,
	"weight_micro" bigint NOT NULL,
	"salt" "bytea" NOT NULL,
	"sealed_time" "bytea" NOT NULL,
	"voter_id" text,
	"country_code" text,
	"submitted_at" bigint,
	"released" boolean DEFAULT false NOT NULL,
	"leaf_index" bigint NOT NULL,
	CONSTRAINT "ballots_voting_event_id_leaf_index_pk" PRIMARY KEY("voting_event_id","leaf_index")
);
--> statement-breakpoint
CREATE TABLE "pending_ballots" (
	"voting_event_id" text NOT NULL,
	"participant" text NOT NULL,
	"participants" text[] NOT NULL,
	"code_tag" "bytea" NOT NULL,
	"entries" "bytea" NOT NULL,
	"weight_micro" bigint NOT NULL,
	"visitor_id" text,
	"voter_id" text,
	"email" text,
	"name" text,
	"country_code" text,
	"cast_at" bigint NOT NULL,
	CONSTRAINT "pending_ballots_voting_event_id_participant_pk" PRIMARY KEY("voting_event_id","participant")
);
--> statement-breakpoint
CREATE TABLE "idempotency_keys" (
	"api_key_id" text NOT NULL,
	"key" text NOT NULL,
	"fingerprint" "bytea" NOT NULL,
	"claim" "bytea" NOT NULL,
	"claimed_at" bigint NOT NULL,
	"status" smallint,
	"body" text,
	"expires_at" bigint NOT NULL,
	CONSTRAINT "idempotency_keys_api_key_id_key_pk" PRIMARY KEY("api_key_id","key")
);
--> statement-breakpoint
CREATE TABLE "participation" (
	"voting_event_id" text NOT NULL,
	"participant" text NOT NULL,
	"exclusive" boolean DEFAULT true NOT NULL,
	CONSTRAINT "participation_voting_event_id_participant_pk" PRIMARY KEY("voting_event_id","participant")
);
--> statement-breakpoint
CREATE TABLE "voter_key_failures" (
	"voting_event_id" text NOT NULL,
	"identity" "bytea" NOT NULL,
	"window_started_at" bigint NOT NULL,
	"failures" integer NOT NULL,
	CONSTRAINT "voter_key_failures_voting_event_id_identity_pk" PRIMARY KEY("voting_event_id","identity")
);
--> statement-breakpoint
CREATE TABLE "voter_key_requests" (
	"voting_event_id" text NOT NULL,
	"identity" "bytea" NOT NULL,
	"window_started_at" bigint NOT NULL,
	"requests" integer NOT NULL,
	CONSTRAINT "voter_key_requests_voting_event_id_identity_pk" PRIMARY KEY("voting_event_id","identity")
);
--> statement-breakpoint
CREATE TABLE "voter_keys" (
	"voting_event_id" text NOT NULL,
	"voter_id" text NOT NULL,
	"key_hash" "bytea" NOT NULL,
	"created_at" bigint NOT NULL,
	CONSTRAINT "voter_keys_voting_event_id_voter_id_key_hash_pk" PRIMARY KEY("voting_event_id","voter_id","key_hash")
);
--> statement-breakpoint
CREATE TABLE "voters" (
	"voting_event_id" text NOT NULL,
	"id" text NOT NULL,
	"name" text NOT NULL,
	"email" text,
	"email_key" text,
	"voter_id" text,
	"voter_id_key" text,
	"group_id" text,
	"weight_micro" bigint NOT NULL,
	"status" text NOT NULL,
	"source" text NOT NULL,
	"key_status" text NOT NULL,
	"deleted_at" bigint,
	"created_at" bigint NOT NULL,
	"updated_at" bigint NOT NULL,
	CONSTRAINT "voters_voting_event_id_id_pk" PRIMARY KEY("voting_event_id","id")
);
--> statement-breakpoint
CREATE TABLE "voting_events" (
	"id" text PRIMARY KEY NOT NULL,
	"account_id" text NOT NULL,
	"code" text NOT NULL,
	"code_key" text NOT NULL,
	"title" text NOT NULL,
	"description" text,
	"type" text NOT NULL,
	"starts_at" bigint,
	"ends_at" bigint,
	"opened_at" bigint,
	"closed_at" bigint,
	"ready" boolean DEFAULT false NOT NULL,
	"time_zone" text NOT NULL,
	"require_voter_id" boolean NOT NULL,
	"voter_self_registration" boolean NOT NULL,
	"voter_approval" text NOT NULL,
	"save_voter_info" boolean NOT NULL,
	"candidate_self_registration" boolean NOT NULL,
	"candidate_order" text NOT NULL,
	"ballot_opening" text NOT NULL,
	"ballot_receipt" text NOT NULL,
	"results_visibility" text NOT NULL,
	"results_published_at" bigint,
	"pay_to_vote" jsonb,
	"pay_to_register_candidate" jsonb,
	"repeat_votes" boolean NOT NULL,
	"payment_business_id" text,
	"tie_seed" text NOT NULL,
	"paper_version" bigint DEFAULT 1 NOT NULL,
	"voter_count" integer DEFAULT 0 NOT NULL,
	"last_position_number" integer DEFAULT 0 NOT NULL,
	"last_candidate_number" integer DEFAULT 0 NOT NULL,
	"created_at" bigint NOT NULL,
	"updated_at" bigint NOT NULL
);
--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "candidates" ADD CONSTRAINT "candidates_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "public"."voting_events"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "groups" ADD CONSTRAINT "groups_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "public"."voting_events"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "positions" ADD CONSTRAINT "positions_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "public"."voting_events"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sponsors" ADD CONSTRAINT "sponsors_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "public"."voting_events"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "ballot_queue" ADD CONSTRAINT "ballot_queue_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "public"."voting_events"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "ballots" ADD CONSTRAINT "ballots_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "public"."voting_events"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "pending_ballots" ADD CONSTRAINT "pending_ballots_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "public"."voting_events"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "participation" ADD CONSTRAINT "participation_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "public"."voting_events"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "voters" ADD CONSTRAINT "voters_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "public"."voting_events"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "voting_events" ADD CONSTRAINT "voting_events_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "api_keys_hash" ON "api_keys" USING btree ("hash");--> statement-breakpoint
CREATE INDEX "api_keys_account" ON "api_keys" USING btree ("account_id");--> statement-breakpoint
CREATE INDEX "audit_entries_event" ON "audit_entries" USING btree ("voting_event_id","id") WHERE voting_event_id IS NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "candidates_number" ON "candidates" USING btree ("voting_event_id","number");--> statement-breakpoint
CREATE UNIQUE INDEX "candidates_payment" ON "candidates" USING btree ("payment_attempt_id");--> statement-breakpoint
CREATE UNIQUE INDEX "groups_name" ON "groups" USING btree ("voting_event_id","name_key");--> statement-breakpoint
CREATE UNIQUE INDEX "positions_number" ON "positions" USING btree ("voting_event_id","number");--> statement-breakpoint
CREATE INDEX "sponsors_order" ON "sponsors" USING btree ("voting_event_id","sort_order");--> statement-breakpoint
CREATE UNIQUE INDEX "ballot_queue_code" ON "ballot_queue" USING btree ("voting_event_id","code_tag");--> statement-breakpoint
CREATE UNIQUE INDEX "ballots_code" ON "ballots" USING btree ("voting_event_id","code_tag");--> statement-breakpoint
CREATE INDEX "ballots_id" ON "ballots" USING btree ("voting_event_id","id");--> statement-breakpoint
CREATE INDEX "ballots_unreleased" ON "ballots" USING btree ("voting_event_id") WHERE NOT released;--> statement-breakpoint
CREATE UNIQUE INDEX "pending_ballots_code" ON "pending_ballots" USING btree ("voting_event_id","code_tag");--> statement-breakpoint
CREATE INDEX "idempotency_keys_expiry" ON "idempotency_keys" USING btree ("expires_at");--> statement-breakpoint
CREATE UNIQUE INDEX "voters_email" ON "voters" USING btree ("voting_event_id","email_key");--> statement-breakpoint
CREATE UNIQUE INDEX "voters_voter_id" ON "voters" USING btree ("voting_event_id","voter_id_key");--> statement-breakpoint
CREATE INDEX "voters_fractional_weight" ON "voters" USING btree ("voting_event_id") WHERE weight_micro % 1000000 <> 0;--> statement-breakpoint
CREATE UNIQUE INDEX "voting_events_code" ON "voting_events" USING btree ("code_key");--> statement-breakpoint
CREATE INDEX "voting_events_account" ON "voting_events" USING btree ("account_id","id");--> statement-breakpoint
CREATE INDEX "voting_events_to_open" ON "voting_events" USING btree ("starts_at") WHERE opened_at IS NULL AND starts_at IS NOT NULL;