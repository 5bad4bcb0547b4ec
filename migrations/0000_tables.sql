-- The tables of the service with their constraints and indexes. The first part is what drizzle-kit makes of src/*/tables.ts, where
-- the tables are explained. The second part is what drizzle-kit does not know, or no query builder needs. Functions have their sources
-- in src (src/database/function-sources.ts), triggers follow in 0001_triggers.sql. A later change of a table is a further migration.

CREATE TABLE "accounts" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"contact_email" text,
	"plan" text NOT NULL,
	"event_count" integer DEFAULT 0 NOT NULL,
	"moved_at" bigint DEFAULT 0 NOT NULL,
	"created_at" bigint NOT NULL
);

CREATE TABLE "api_keys" (
	"id" text PRIMARY KEY NOT NULL,
	"account_id" text NOT NULL,
	"name" text NOT NULL,
	"hash" "bytea" NOT NULL,
	"hint" text NOT NULL,
	"scopes" text[] NOT NULL,
	"voting_event_id" text,
	"expires_at" bigint,
	"tag" "bytea" NOT NULL,
	"revoked_at" bigint,
	"last_used_at" bigint,
	"created_at" bigint NOT NULL
);

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
	"rehearsal" boolean DEFAULT false NOT NULL,
	"deleted_at" bigint,
	"created_at" bigint NOT NULL,
	"updated_at" bigint NOT NULL,
	CONSTRAINT "candidates_voting_event_id_id_pk" PRIMARY KEY("voting_event_id","id")
);

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
	"majority_required" jsonb,
	"deleted_at" bigint,
	"created_at" bigint NOT NULL,
	"updated_at" bigint NOT NULL,
	CONSTRAINT "positions_voting_event_id_id_pk" PRIMARY KEY("voting_event_id","id")
);

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

CREATE TABLE "ballot_logs" (
	"voting_event_id" text PRIMARY KEY NOT NULL,
	"size" bigint NOT NULL,
	"ballots" bigint NOT NULL,
	"confirmed" bigint NOT NULL,
	"note" text NOT NULL,
	"frontier" "bytea" NOT NULL,
	"config_hash" text NOT NULL,
	"config_seq" integer NOT NULL,
	"dropped" integer DEFAULT 0 NOT NULL,
	"paper_version" bigint NOT NULL,
	"confirmed_at_change" bigint,
	"ends_at" bigint,
	"roll_heads" bigint,
	"roll_weight" text,
	"roll_identity_changes" integer,
	"roll_other_changes" integer,
	"roll_seq" integer NOT NULL,
	"closed_size" bigint,
	"lot_seed" text NOT NULL,
	"lot_root" "bytea",
	"close_salt" "bytea",
	"close_content" text,
	"roll_mixed_at" bigint,
	"roll_scattered_at" bigint
);

CREATE TABLE "checkpoint_queue" (
	"voting_event_id" text NOT NULL,
	"size" bigint NOT NULL,
	CONSTRAINT "checkpoint_queue_voting_event_id_size_pk" PRIMARY KEY("voting_event_id","size")
);

CREATE TABLE "log_checkpoints" (
	"voting_event_id" text NOT NULL,
	"size" bigint NOT NULL,
	"root_hash" "bytea" NOT NULL,
	"note" text NOT NULL,
	"created_at" bigint NOT NULL,
	CONSTRAINT "log_checkpoints_voting_event_id_size_pk" PRIMARY KEY("voting_event_id","size")
);

CREATE TABLE "log_configurations" (
	"voting_event_id" text NOT NULL,
	"number" integer NOT NULL,
	"leaf_index" bigint NOT NULL,
	"kind" text NOT NULL,
	"part_id" text NOT NULL,
	"content" text,
	CONSTRAINT "log_configurations_voting_event_id_number_pk" PRIMARY KEY("voting_event_id","number")
);

CREATE TABLE "log_leaves" (
	"voting_event_id" text NOT NULL,
	"leaf_index" bigint NOT NULL,
	"data" "bytea" NOT NULL,
	CONSTRAINT "log_leaves_voting_event_id_leaf_index_pk" PRIMARY KEY("voting_event_id","leaf_index")
);

CREATE TABLE "log_tiles" (
	"voting_event_id" text NOT NULL,
	"level" integer NOT NULL,
	"tile_index" bigint NOT NULL,
	"hashes" "bytea" NOT NULL,
	"root" "bytea" NOT NULL,
	CONSTRAINT "log_tiles_voting_event_id_level_tile_index_pk" PRIMARY KEY("voting_event_id","level","tile_index")
);

CREATE TABLE "voided_ballots" (
	"voting_event_id" text NOT NULL,
	"code_tag" "bytea" NOT NULL,
	"leaf_index" bigint,
	CONSTRAINT "voided_ballots_voting_event_id_code_tag_pk" PRIMARY KEY("voting_event_id","code_tag")
);

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
	"credits" jsonb,
	"payment_attempt_id" text,
	"cast_at" bigint NOT NULL,
	CONSTRAINT "pending_ballots_voting_event_id_participant_pk" PRIMARY KEY("voting_event_id","participant")
);

CREATE TABLE "credit_balances" (
	"voting_event_id" text NOT NULL,
	"position_id" text NOT NULL,
	"visitor_id" text NOT NULL,
	"base" integer NOT NULL,
	"purchased" integer NOT NULL,
	"held" integer NOT NULL,
	"spent" integer NOT NULL,
	CONSTRAINT "credit_balances_voting_event_id_position_id_visitor_id_pk" PRIMARY KEY("voting_event_id","position_id","visitor_id"),
	CONSTRAINT "credit_balances_never_below_zero" CHECK (base + purchased - held - spent >= 0 AND purchased >= 0 AND held >= 0 AND spent >= 0)
);

CREATE TABLE "idempotency_keys" (
	"api_key_id" text NOT NULL,
	"key" text NOT NULL,
	"fingerprint" "bytea" NOT NULL,
	"claim" "bytea" NOT NULL,
	"status" smallint,
	"body" text,
	"expires_at" bigint NOT NULL,
	"voting_event_id" text,
	CONSTRAINT "idempotency_keys_api_key_id_key_pk" PRIMARY KEY("api_key_id","key")
);

CREATE TABLE "payment_attempts" (
	"voting_event_id" text NOT NULL,
	"id" text NOT NULL,
	"account_id" text NOT NULL,
	"payment_business_id" text NOT NULL,
	"purpose" text NOT NULL,
	"status" text NOT NULL,
	"provider" text NOT NULL,
	"livemode" boolean DEFAULT true NOT NULL,
	"rehearsal" boolean DEFAULT false NOT NULL,
	"amount_minor" integer NOT NULL,
	"currency" text NOT NULL,
	"request" jsonb NOT NULL,
	"terms" jsonb NOT NULL,
	"page" jsonb,
	"pages" integer DEFAULT 0 NOT NULL,
	"expires_at" bigint NOT NULL,
	"request_key" "bytea",
	"provider_payment_id" text,
	"fee_minor" integer,
	"provider_reference" text,
	"end_reason" text,
	"confirmation_code" text,
	"answer" text,
	"answered_at" bigint,
	"held_credits" jsonb,
	"asked_at" bigint,
	"asking_until" bigint,
	"check_at" bigint,
	"checks" integer DEFAULT 0 NOT NULL,
	"paid_at" bigint,
	"succeeded_at" bigint,
	"paid_minor" bigint,
	"attention_at" bigint,
	"settled_at" bigint,
	"refunded_at" bigint,
	"reversed_at" bigint,
	"part_refunded_minor" integer DEFAULT 0 NOT NULL,
	"part_refunded_at" bigint,
	"created_at" bigint NOT NULL,
	"updated_at" bigint NOT NULL,
	CONSTRAINT "payment_attempts_voting_event_id_id_pk" PRIMARY KEY("voting_event_id","id")
);

CREATE TABLE "payment_businesses" (
	"id" text PRIMARY KEY NOT NULL,
	"account_id" text NOT NULL,
	"provider" text NOT NULL,
	"display_name" text NOT NULL,
	"country" text NOT NULL,
	"ready" boolean NOT NULL,
	"supported_currencies" text[] NOT NULL,
	"livemode" boolean NOT NULL,
	"sandbox" boolean NOT NULL,
	"credentials" text NOT NULL,
	"checked_at" bigint,
	"failed_comparisons" integer DEFAULT 0 NOT NULL,
	"disconnected_at" bigint,
	"created_at" bigint NOT NULL,
	"updated_at" bigint NOT NULL
);

CREATE TABLE "payment_refunds" (
	"voting_event_id" text NOT NULL,
	"attempt_id" text NOT NULL,
	"provider_payment_id" text NOT NULL,
	"reference" text NOT NULL,
	"amount_minor" bigint NOT NULL,
	"currency" text NOT NULL,
	"status" text NOT NULL,
	"refund_id" text,
	"asked_until" bigint,
	"settled_at" bigint,
	"created_at" bigint NOT NULL,
	"updated_at" bigint NOT NULL,
	CONSTRAINT "payment_refunds_voting_event_id_attempt_id_provider_payment_id_pk" PRIMARY KEY("voting_event_id","attempt_id","provider_payment_id")
);

CREATE TABLE "provider_events" (
	"payment_business_id" text NOT NULL,
	"event_key" text NOT NULL,
	"event_type" text NOT NULL,
	"attempt_id" text,
	"reference" text,
	"provider_payment_id" text,
	"outcome" text,
	"received_at" bigint NOT NULL,
	"processed_at" bigint,
	CONSTRAINT "provider_events_payment_business_id_event_key_pk" PRIMARY KEY("payment_business_id","event_key")
);

CREATE TABLE "service_checkpoints" (
	"size" bigint PRIMARY KEY NOT NULL,
	"root_hash" "bytea" NOT NULL,
	"note" text NOT NULL,
	"created_at" bigint NOT NULL
);

CREATE TABLE "service_cosignatures" (
	"size" bigint NOT NULL,
	"witness" text NOT NULL,
	"line" text NOT NULL,
	"cosigned_at" bigint NOT NULL,
	CONSTRAINT "service_cosignatures_witness_size_pk" PRIMARY KEY("witness","size")
);

CREATE TABLE "service_log" (
	"id" text PRIMARY KEY NOT NULL,
	"size" bigint NOT NULL,
	"frontier" "bytea" NOT NULL
);

CREATE TABLE "service_log_leaves" (
	"leaf_index" bigint PRIMARY KEY NOT NULL,
	"event_tag" "bytea" NOT NULL,
	"size" bigint NOT NULL,
	"data" "bytea" NOT NULL
);

CREATE TABLE "service_log_tiles" (
	"level" integer NOT NULL,
	"tile_index" bigint NOT NULL,
	"hashes" "bytea" NOT NULL,
	"root" "bytea" NOT NULL,
	CONSTRAINT "service_log_tiles_level_tile_index_pk" PRIMARY KEY("level","tile_index")
);

CREATE TABLE "letter_parts" (
	"voting_event_id" text NOT NULL,
	"run_id" text NOT NULL,
	"number" integer NOT NULL,
	"part" integer NOT NULL,
	"content" text NOT NULL,
	"reader" text,
	CONSTRAINT "letter_parts_voting_event_id_run_id_number_part_pk" PRIMARY KEY("voting_event_id","run_id","number","part")
);

CREATE TABLE "letter_runs" (
	"voting_event_id" text NOT NULL,
	"id" text NOT NULL,
	"audience" text NOT NULL,
	"paper" text NOT NULL,
	"total" integer NOT NULL,
	"files" integer NOT NULL,
	"done" integer DEFAULT 0 NOT NULL,
	"printed" integer DEFAULT 0 NOT NULL,
	"listed_to" text DEFAULT '' NOT NULL,
	"list_until" text NOT NULL,
	"downloads" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"rehearsal" boolean DEFAULT false NOT NULL,
	"key_id" text NOT NULL,
	"tag" "bytea" NOT NULL,
	"created_at" bigint NOT NULL,
	"finished_at" bigint,
	CONSTRAINT "letter_runs_voting_event_id_id_pk" PRIMARY KEY("voting_event_id","id")
);

CREATE TABLE "notification_mails" (
	"voting_event_id" text NOT NULL,
	"notification_id" text NOT NULL,
	"voter_id" text NOT NULL,
	CONSTRAINT "notification_mails_voting_event_id_notification_id_voter_id_pk" PRIMARY KEY("voting_event_id","notification_id","voter_id")
);

CREATE TABLE "notifications" (
	"voting_event_id" text NOT NULL,
	"id" text NOT NULL,
	"kind" text NOT NULL,
	"audience" text NOT NULL,
	"total" integer NOT NULL,
	"sent" integer DEFAULT 0 NOT NULL,
	"failed" integer DEFAULT 0 NOT NULL,
	"skipped" integer DEFAULT 0 NOT NULL,
	"voted" integer DEFAULT 0 NOT NULL,
	"listed_to" text DEFAULT '' NOT NULL,
	"list_until" text NOT NULL,
	"listed_at" bigint,
	"paused_until" bigint,
	"limited_until" bigint,
	"refused_tries" integer DEFAULT 0 NOT NULL,
	"rehearsal" boolean DEFAULT false NOT NULL,
	"created_at" bigint NOT NULL,
	"finished_at" bigint,
	CONSTRAINT "notifications_voting_event_id_id_pk" PRIMARY KEY("voting_event_id","id")
);

CREATE TABLE "notified_voters" (
	"voting_event_id" text NOT NULL,
	"voter_id" text NOT NULL,
	"kind" text NOT NULL,
	"notified_at" bigint NOT NULL,
	"notification_id" text NOT NULL,
	CONSTRAINT "notified_voters_voting_event_id_voter_id_kind_pk" PRIMARY KEY("voting_event_id","voter_id","kind")
);

CREATE TABLE "participation" (
	"voting_event_id" text NOT NULL,
	"participant" text NOT NULL,
	"exclusive" boolean DEFAULT true NOT NULL,
	"tag" "bytea",
	CONSTRAINT "participation_voting_event_id_participant_pk" PRIMARY KEY("voting_event_id","participant")
);

CREATE TABLE "roll_sums" (
	"voting_event_id" text NOT NULL,
	"id" text NOT NULL,
	"version" integer NOT NULL,
	"key" text,
	"sum" "bytea" NOT NULL,
	"mac" "bytea" NOT NULL,
	CONSTRAINT "roll_sums_voting_event_id_id_pk" PRIMARY KEY("voting_event_id","id")
);

CREATE TABLE "roll_copies" (
	"voting_event_id" text PRIMARY KEY NOT NULL,
	"source_id" text NOT NULL,
	"groups" jsonb NOT NULL,
	"copied_to" text DEFAULT '' NOT NULL,
	"key_id" text NOT NULL,
	"tag" "bytea" NOT NULL
);

CREATE TABLE "roll_imports" (
	"voting_event_id" text NOT NULL,
	"request_key" "bytea" NOT NULL,
	"rows_done" integer NOT NULL,
	"accepted" integer NOT NULL,
	"rejected_count" integer NOT NULL,
	"rejected" jsonb NOT NULL,
	"started_at" bigint NOT NULL,
	CONSTRAINT "roll_imports_voting_event_id_request_key_pk" PRIMARY KEY("voting_event_id","request_key")
);

CREATE TABLE "voter_keys" (
	"voting_event_id" text NOT NULL,
	"voter_id" text NOT NULL,
	"key_hash" "bytea" NOT NULL,
	"number" integer DEFAULT 0 NOT NULL,
	"rehearsal" boolean DEFAULT false NOT NULL,
	"printed" boolean DEFAULT false NOT NULL,
	CONSTRAINT "voter_keys_voting_event_id_voter_id_key_hash_pk" PRIMARY KEY("voting_event_id","voter_id","key_hash")
);

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
	"key_used" boolean DEFAULT false NOT NULL,
	"confirm_by" bigint,
	"key_generation" integer DEFAULT 0 NOT NULL,
	"letters" text,
	"tag" "bytea",
	"approved_by_key" boolean DEFAULT false NOT NULL,
	"before_rehearsal" jsonb,
	"deleted_at" bigint,
	"erased_at" bigint,
	"created_at" bigint NOT NULL,
	"updated_at" bigint NOT NULL,
	CONSTRAINT "voters_voting_event_id_id_pk" PRIMARY KEY("voting_event_id","id")
);

CREATE TABLE "ballot_keys" (
	"voting_event_id" text NOT NULL,
	"id" text NOT NULL,
	"wrapped" text,
	"created_at" bigint NOT NULL,
	"retired_at" bigint,
	"retired_tag" "bytea",
	"seen_in" text[] DEFAULT '{}' NOT NULL,
	CONSTRAINT "ballot_keys_voting_event_id_id_pk" PRIMARY KEY("voting_event_id","id")
);

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
	"tag" "bytea" NOT NULL,
	"expires_at" bigint NOT NULL,
	"created_at" bigint NOT NULL,
	CONSTRAINT "event_invites_voting_event_id_id_pk" PRIMARY KEY("voting_event_id","id")
);

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
	"final_at" bigint,
	"ready" boolean DEFAULT false NOT NULL,
	"missing" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"missed_start_at" bigint,
	"time_zone" text NOT NULL,
	"require_voter_id" boolean NOT NULL,
	"voter_self_registration" boolean NOT NULL,
	"voter_approval" text NOT NULL,
	"save_voter_info" boolean NOT NULL,
	"candidate_self_registration" boolean NOT NULL,
	"candidate_order" text NOT NULL,
	"ballot_opening" text NOT NULL,
	"ballot_receipt" text NOT NULL,
	"log_open" boolean DEFAULT false NOT NULL,
	"results_visibility" text NOT NULL,
	"results_published_at" bigint,
	"results_announced" boolean DEFAULT false NOT NULL,
	"pay_to_vote" jsonb,
	"pay_to_register_candidate" jsonb,
	"repeat_votes" boolean NOT NULL,
	"paid_votes" boolean DEFAULT false NOT NULL,
	"payment_business_id" text,
	"payment_provider" text,
	"payment_livemode" boolean,
	"voting_page_url" text,
	"contact_email" text,
	"language" text DEFAULT 'en' NOT NULL,
	"logo_url" text,
	"paper_version" bigint DEFAULT 1 NOT NULL,
	"announced_status" text,
	"last_position_number" integer DEFAULT 0 NOT NULL,
	"last_candidate_number" integer DEFAULT 0 NOT NULL,
	"identity_changes" integer DEFAULT 0 NOT NULL,
	"letters_printed" integer DEFAULT 0 NOT NULL,
	"rehearsal_letters" integer DEFAULT 0 NOT NULL,
	"roll_changes" integer DEFAULT 0 NOT NULL,
	"invite_generation" integer DEFAULT 0 NOT NULL,
	"copy_until" text,
	"roll_version" integer DEFAULT 0 NOT NULL,
	"copy_total" integer,
	"copy_done" integer,
	"rehearsal_since" bigint,
	"rehearsal_visibility" text,
	"rehearsal_number" integer DEFAULT 0 NOT NULL,
	"rehearsal_ballots" bigint DEFAULT 0 NOT NULL,
	"ballot_key" text,
	"real_key" text,
	"tag" "bytea" NOT NULL,
	"alarm" text,
	"deleted_at" bigint,
	"created_at" bigint NOT NULL,
	"updated_at" bigint NOT NULL,
	CONSTRAINT "voting_events_times" CHECK (least(starts_at, ends_at, opened_at, closed_at, rehearsal_since, final_at) > -9007199254740992 AND greatest(starts_at, ends_at, opened_at, closed_at, rehearsal_since, final_at) < 9007199254740992)
);

CREATE TABLE "webhook_attempts" (
	"delivery_id" text NOT NULL,
	"number" integer NOT NULL,
	"at" bigint NOT NULL,
	"duration_ms" integer NOT NULL,
	"response_status" integer,
	"error" text,
	"response_body" text,
	CONSTRAINT "webhook_attempts_delivery_id_number_pk" PRIMARY KEY("delivery_id","number")
);

CREATE TABLE "webhook_deliveries" (
	"id" text NOT NULL,
	"endpoint_id" text NOT NULL,
	"message_id" text NOT NULL,
	"event_type" text NOT NULL,
	"body" text NOT NULL,
	"person_event_id" text,
	"person_id" text,
	"status" text NOT NULL,
	"tries" integer DEFAULT 0 NOT NULL,
	"next_try_at" bigint NOT NULL,
	"response_status" integer,
	"created_at" bigint NOT NULL,
	"delivered_at" bigint,
	CONSTRAINT "webhook_deliveries_endpoint_id_id_pk" PRIMARY KEY("endpoint_id","id")
);

CREATE TABLE "webhook_endpoints" (
	"id" text PRIMARY KEY NOT NULL,
	"account_id" text NOT NULL,
	"voting_event_id" text,
	"url" text NOT NULL,
	"description" text,
	"event_types" text[] NOT NULL,
	"status" text NOT NULL,
	"disabled_reason" text,
	"consecutive_failures" integer DEFAULT 0 NOT NULL,
	"last_success_at" bigint NOT NULL,
	"secret" text NOT NULL,
	"secret_hint" text NOT NULL,
	"earlier_secrets" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"retired_at" bigint,
	"created_at" bigint NOT NULL,
	"updated_at" bigint NOT NULL
);

ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "accounts"("id");
ALTER TABLE "candidates" ADD CONSTRAINT "candidates_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "voting_events"("id") ON DELETE cascade;
ALTER TABLE "groups" ADD CONSTRAINT "groups_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "voting_events"("id") ON DELETE cascade;
ALTER TABLE "positions" ADD CONSTRAINT "positions_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "voting_events"("id") ON DELETE cascade;
ALTER TABLE "sponsors" ADD CONSTRAINT "sponsors_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "voting_events"("id") ON DELETE cascade;
ALTER TABLE "ballot_logs" ADD CONSTRAINT "ballot_logs_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "voting_events"("id") ON DELETE cascade;
ALTER TABLE "checkpoint_queue" ADD CONSTRAINT "checkpoint_queue_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "voting_events"("id") ON DELETE cascade;
ALTER TABLE "log_checkpoints" ADD CONSTRAINT "log_checkpoints_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "voting_events"("id") ON DELETE cascade;
ALTER TABLE "log_configurations" ADD CONSTRAINT "log_configurations_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "voting_events"("id") ON DELETE cascade;
ALTER TABLE "log_leaves" ADD CONSTRAINT "log_leaves_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "voting_events"("id") ON DELETE cascade;
ALTER TABLE "log_tiles" ADD CONSTRAINT "log_tiles_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "voting_events"("id") ON DELETE cascade;
ALTER TABLE "voided_ballots" ADD CONSTRAINT "voided_ballots_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "voting_events"("id") ON DELETE cascade;
ALTER TABLE "pending_ballots" ADD CONSTRAINT "pending_ballots_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "voting_events"("id") ON DELETE cascade;
ALTER TABLE "credit_balances" ADD CONSTRAINT "credit_balances_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "voting_events"("id") ON DELETE cascade;
ALTER TABLE "payment_businesses" ADD CONSTRAINT "payment_businesses_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "accounts"("id");
ALTER TABLE "letter_parts" ADD CONSTRAINT "letter_parts_run" FOREIGN KEY ("voting_event_id","run_id") REFERENCES "letter_runs"("voting_event_id","id") ON DELETE cascade;
ALTER TABLE "letter_runs" ADD CONSTRAINT "letter_runs_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "voting_events"("id") ON DELETE cascade;
ALTER TABLE "notifications" ADD CONSTRAINT "notifications_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "voting_events"("id") ON DELETE cascade;
ALTER TABLE "participation" ADD CONSTRAINT "participation_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "voting_events"("id") ON DELETE cascade;
ALTER TABLE "roll_sums" ADD CONSTRAINT "roll_sums_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "voting_events"("id") ON DELETE cascade;
ALTER TABLE "roll_copies" ADD CONSTRAINT "roll_copies_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "voting_events"("id") ON DELETE cascade;
ALTER TABLE "voters" ADD CONSTRAINT "voters_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "voting_events"("id") ON DELETE cascade;
ALTER TABLE "event_invites" ADD CONSTRAINT "event_invites_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "voting_events"("id") ON DELETE cascade;
ALTER TABLE "webhook_endpoints" ADD CONSTRAINT "webhook_endpoints_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "accounts"("id");

CREATE UNIQUE INDEX "api_keys_hash" ON "api_keys" USING btree ("hash");
CREATE INDEX "api_keys_account" ON "api_keys" USING btree ("account_id");
CREATE INDEX "audit_entries_event" ON "audit_entries" USING btree ("voting_event_id","id") WHERE voting_event_id IS NOT NULL;
CREATE INDEX "audit_entries_resource" ON "audit_entries" USING btree ("voting_event_id","resource") WHERE voting_event_id IS NOT NULL;
CREATE UNIQUE INDEX "candidates_number" ON "candidates" USING btree ("voting_event_id","number");
CREATE UNIQUE INDEX "candidates_payment" ON "candidates" USING btree ("voting_event_id","payment_attempt_id");
CREATE UNIQUE INDEX "groups_name" ON "groups" USING btree ("voting_event_id","name_key");
CREATE UNIQUE INDEX "positions_number" ON "positions" USING btree ("voting_event_id","number");
CREATE INDEX "sponsors_order" ON "sponsors" USING btree ("voting_event_id","sort_order");
CREATE INDEX "voided_ballots_leaf" ON "voided_ballots" USING btree ("voting_event_id","leaf_index");
CREATE UNIQUE INDEX "pending_ballots_code" ON "pending_ballots" USING btree ("voting_event_id","code_tag");
CREATE INDEX "pending_ballots_age" ON "pending_ballots" USING btree ("cast_at");
CREATE INDEX "idempotency_keys_expiry" ON "idempotency_keys" USING btree ("expires_at");
CREATE INDEX "idempotency_keys_running" ON "idempotency_keys" USING btree ("claim") WHERE status IS NULL;
CREATE INDEX "idempotency_keys_event" ON "idempotency_keys" USING btree ("voting_event_id") WHERE voting_event_id IS NOT NULL;
CREATE INDEX "payment_attempts_id" ON "payment_attempts" USING btree ("id");
CREATE UNIQUE INDEX "payment_attempts_request" ON "payment_attempts" USING btree ("voting_event_id","request_key");
CREATE UNIQUE INDEX "payment_attempts_payment" ON "payment_attempts" USING btree ("voting_event_id","payment_business_id","provider_payment_id");
CREATE INDEX "payment_attempts_provider_payment" ON "payment_attempts" USING btree ("provider_payment_id") WHERE provider_payment_id IS NOT NULL;
CREATE INDEX "payment_attempts_check" ON "payment_attempts" USING btree ("account_id","check_at") WHERE check_at IS NOT NULL;
CREATE INDEX "payment_attempts_holding" ON "payment_attempts" USING btree ("voting_event_id") WHERE held_credits IS NOT NULL;
CREATE INDEX "payment_attempts_account" ON "payment_attempts" USING btree ("account_id","id");
CREATE INDEX "payment_attempts_succeeded" ON "payment_attempts" USING btree ("succeeded_at") WHERE status = 'succeeded';
CREATE INDEX "payment_attempts_attention" ON "payment_attempts" USING btree ("payment_business_id") WHERE attention_at IS NOT NULL;
CREATE INDEX "payment_businesses_account" ON "payment_businesses" USING btree ("account_id","id");
CREATE INDEX "payment_refunds_owed" ON "payment_refunds" USING btree ("created_at") WHERE status IN ('due', 'pending', 'attention', 'refused');
CREATE INDEX "provider_events_received" ON "provider_events" USING btree ("received_at");
CREATE INDEX "service_cosignatures_size" ON "service_cosignatures" USING btree ("size");
CREATE INDEX "service_log_leaves_event" ON "service_log_leaves" USING btree ("event_tag","size");
CREATE UNIQUE INDEX "voters_email" ON "voters" USING btree ("voting_event_id","email_key") WHERE email_key IS NOT NULL;
CREATE UNIQUE INDEX "voters_voter_id" ON "voters" USING btree ("voting_event_id","voter_id_key") WHERE voter_id_key IS NOT NULL;
CREATE INDEX "voters_point" ON "voters" USING btree ("voting_event_id",md5(id) COLLATE "C") WHERE voter_id_key IS NOT NULL AND email IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX "voters_to_confirm" ON "voters" USING btree ("confirm_by","voting_event_id") WHERE confirm_by IS NOT NULL;
CREATE INDEX "voters_rehearsed" ON "voters" USING btree ("voting_event_id","id") WHERE before_rehearsal IS NOT NULL;
CREATE INDEX "roll_sums_to_fold" ON "roll_sums" USING btree ("voting_event_id") WHERE id <> '';
CREATE INDEX "voters_weight" ON "voters" USING btree ("voting_event_id","weight_micro");
CREATE INDEX "voters_approved_by_key" ON "voters" USING btree ("voting_event_id","id") WHERE approved_by_key;
CREATE INDEX "voters_fractional_weight" ON "voters" USING btree ("voting_event_id","weight_micro") WHERE weight_micro % 1000000 <> 0;
CREATE INDEX "voters_without_email" ON "voters" USING btree ("voting_event_id","id") WHERE email IS NULL;
CREATE INDEX "voters_by_group" ON "voters" USING btree ("voting_event_id","group_id","id") WHERE group_id IS NOT NULL;
CREATE INDEX "ballot_keys_retired" ON "ballot_keys" USING btree ("voting_event_id") WHERE retired_at IS NOT NULL;
CREATE UNIQUE INDEX "event_invites_email" ON "event_invites" USING btree ("voting_event_id","email_key");
CREATE UNIQUE INDEX "event_invites_token" ON "event_invites" USING btree ("token_hash","voting_event_id");
CREATE UNIQUE INDEX "event_invites_account" ON "event_invites" USING btree ("account_id","voting_event_id") WHERE account_id IS NOT NULL;
CREATE UNIQUE INDEX "voting_events_code" ON "voting_events" USING btree ("code_key");
CREATE INDEX "voting_events_deleted" ON "voting_events" USING btree ("id") WHERE deleted_at IS NOT NULL;
CREATE INDEX "voting_events_account" ON "voting_events" USING btree ("account_id","id");
CREATE INDEX "voting_events_timed" ON "voting_events" USING btree ("id") WHERE (starts_at IS NOT NULL OR ends_at IS NOT NULL) AND announced_status IS DISTINCT FROM 'closed';
CREATE INDEX "voting_events_missed" ON "voting_events" USING btree ("id") WHERE missed_start_at IS NOT NULL AND announced_status IS DISTINCT FROM 'not_opened';
CREATE INDEX "voting_events_unpublished" ON "voting_events" USING btree ("id") WHERE results_visibility = 'published' AND NOT results_announced;
CREATE INDEX "voting_events_rehearsed" ON "voting_events" USING btree ("id") WHERE rehearsal_since IS NOT NULL;
CREATE INDEX "voting_events_alarmed" ON "voting_events" USING btree ("id") WHERE alarm IS NOT NULL;
CREATE INDEX "voting_events_to_open" ON "voting_events" USING btree ("starts_at") WHERE opened_at IS NULL AND starts_at IS NOT NULL;
CREATE INDEX "webhook_deliveries_due" ON "webhook_deliveries" USING btree ("endpoint_id","next_try_at") WHERE status = 'pending';
CREATE INDEX "webhook_deliveries_person" ON "webhook_deliveries" USING btree ("person_event_id","person_id") WHERE person_id IS NOT NULL;
CREATE INDEX "webhook_endpoints_account" ON "webhook_endpoints" USING btree ("account_id","id");
CREATE INDEX "webhook_endpoints_retired" ON "webhook_endpoints" USING btree ("retired_at") WHERE retired_at IS NOT NULL;

-- Tables that only statements use, by the room of src whose they are.

-- ballots: every identity of a participant whose paid ballot waits for its confirmation. No other ballot of theirs is paid for or cast
-- meanwhile. A row goes with its ballot, when that is confirmed or dropped.
CREATE TABLE waiting_participants (
  voting_event_id text NOT NULL REFERENCES voting_events (id) ON DELETE CASCADE,
  participant text NOT NULL,
  code_tag bytea NOT NULL,
  PRIMARY KEY (voting_event_id, participant)
);

-- ballots: confirmed ballots on their way into the log. No voter; taken out in shuffled batches.
CREATE TABLE ballot_queue (
  voting_event_id text NOT NULL REFERENCES voting_events (id) ON DELETE CASCADE,
  -- Random: it says nothing of when the ballot came. Never empty: whoever goes through the queue begins behind the empty one.
  id text NOT NULL CHECK (id <> ''),
  -- What the pending ballot was found by.
  code_tag bytea NOT NULL,
  -- Sealed (src/ballots/waiting-ballot.ts).
  entries bytea NOT NULL,
  weight_micro bigint NOT NULL,
  -- Polls only; empty in an election, where it is sealed with the entries.
  salt bytea NOT NULL,
  -- When it was confirmed and until when it was promised to be in the log, readable only with the confirmation code: no time can be
  -- joined with a voter.
  sealed_time bytea NOT NULL,
  -- Polls only: pseudonymous ballots carry the visible voter ID, the country and the time.
  voter_id text,
  country_code text,
  submitted_at bigint,
  -- When it is to be sealed, however few wait (completions 6.2).
  due_at bigint NOT NULL,
  -- The service did not write the row as it stands: it counts nowhere, until an operator drops it.
  set_back boolean NOT NULL DEFAULT false,
  PRIMARY KEY (voting_event_id, id)
);
CREATE UNIQUE INDEX ballot_queue_code ON ballot_queue (voting_event_id, code_tag);
-- Looked for at each sealing; there is none unless somebody wrote to the table.
CREATE INDEX ballot_queue_set_back ON ballot_queue (voting_event_id, id) WHERE set_back;

-- ballot-log: rows of the queue that an operator dropped, each with a MAC of the service: what other SQL deletes has none.
CREATE TABLE dropped_ballots (
  voting_event_id text NOT NULL REFERENCES voting_events (id) ON DELETE CASCADE,
  id text NOT NULL,
  tag bytea NOT NULL,
  PRIMARY KEY (voting_event_id, id)
);

-- ballots: the box. Sealed ballots of consecutive leaves, in the order of the log (src/ballots/block-encoding.ts). A block is written
-- once, with its leaves, and never changes, but that a poll's voter IDs may be erased. What a count reads stands apart from what it does not.
CREATE TABLE ballot_blocks (
  voting_event_id text NOT NULL REFERENCES voting_events (id) ON DELETE CASCADE,
  first_leaf bigint NOT NULL,
  ballots integer NOT NULL CONSTRAINT ballot_blocks_ballots CHECK (ballots BETWEEN 1 AND 256),
  -- A list of packed ballots (src/ballots/ballot-encoding.ts).
  entries bytea NOT NULL,
  -- One for all, or one each.
  weights bigint[] NOT NULL,
  -- SHA-256 of "code" and each confirmation code, 32 bytes each; and the first eight bytes of each, which it is found by.
  tags bytea NOT NULL,
  tag_heads bigint[] NOT NULL,
  -- Lists. The times are readable only with the confirmation code, as in the queue.
  salts bytea NOT NULL,
  sealed_times bytea NOT NULL,
  -- Null where each follows from salt and tag.
  ids text[],
  -- Polls only: who voted for all to see, from where, and when.
  voter_ids text[],
  country_codes text[],
  submitted_at bigint[],
  PRIMARY KEY (voting_event_id, first_leaf)
);
CREATE INDEX ballot_blocks_heads ON ballot_blocks USING gin (tag_heads) WITH (fastupdate = false);

-- ballots: how many confirmed ballots of an event its webhooks have heard of.
CREATE TABLE ballot_announcements (
  voting_event_id text PRIMARY KEY REFERENCES voting_events (id) ON DELETE CASCADE,
  ballots bigint NOT NULL,
  announced_at bigint NOT NULL
);

-- voters: what changes of the roll added to its figures or took from them, by group, status and source; their sums are the statistics and the
-- electorate. Rows are only added, so that changes never wait for each other. The database writes them itself, and puts many together
-- into one now and then.
CREATE TABLE roll_figures (
  voting_event_id text NOT NULL REFERENCES voting_events (id) ON DELETE CASCADE,
  id bigint GENERATED ALWAYS AS IDENTITY,
  -- Empty for voters without a group.
  group_id text NOT NULL,
  -- Both are empty where the row counts who voted.
  status text NOT NULL,
  source text NOT NULL,
  heads bigint NOT NULL,
  weight_micro numeric NOT NULL,
  voted bigint NOT NULL,
  voted_weight_micro numeric NOT NULL,
  PRIMARY KEY (voting_event_id, id)
);

-- voters: mails asked for by one identity (known or not), for the hourly limit.
CREATE TABLE voter_key_requests (
  voting_event_id text NOT NULL,
  identity bytea NOT NULL,
  window_started_at bigint NOT NULL,
  requests integer NOT NULL,
  PRIMARY KEY (voting_event_id, identity)
);

-- voters: wrong keys given for one identity (known or not), for the brute-force limit.
CREATE TABLE voter_key_failures (
  voting_event_id text NOT NULL,
  identity bytea NOT NULL,
  window_started_at bigint NOT NULL,
  failures integer NOT NULL,
  PRIMARY KEY (voting_event_id, identity)
);

-- voters: who voted in a secret event and is not disclosed yet (completions 5.6).
CREATE TABLE undisclosed_voters (
  voting_event_id text NOT NULL REFERENCES voting_events (id) ON DELETE CASCADE,
  voter_id text NOT NULL,
  PRIMARY KEY (voting_event_id, voter_id)
);

-- results: the ballots of a secret event that the public is shown, as they were at the last step of the disclosure. Sealed under the key of
-- the event (src/results/disclosure.ts).
CREATE TABLE public_snapshots (
  voting_event_id text PRIMARY KEY REFERENCES voting_events (id) ON DELETE CASCADE,
  sealed bytea NOT NULL
);

-- credits: why a balance changed. Rows are added and never changed. One reason counts once: `base`, the payment attempt, or the tag of the
-- ballot's confirmation code.
CREATE TABLE credit_entries (
  voting_event_id text NOT NULL REFERENCES voting_events (id) ON DELETE CASCADE,
  position_id text NOT NULL,
  visitor_id text NOT NULL,
  -- grant, purchase, hold, release, spend, void, refund
  kind text NOT NULL,
  reason text NOT NULL,
  credits integer NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (voting_event_id, position_id, visitor_id, kind, reason)
);

-- webhooks: which sender an endpoint's deliveries belong to for the moment. One sender at a time keeps what is under way for an endpoint
-- below its limit however many processes there are, and needs no write for each delivery. A killed sender's hold ends within a minute.
-- A failing endpoint rests: its row then has an empty holder, and no sender takes it before the end of the hold.
CREATE TABLE webhook_holds (
  endpoint_id text PRIMARY KEY,
  holder text NOT NULL,
  held_until bigint NOT NULL
);

-- jobs: the queue. A job that has used all its attempts stays until an operator looks at it.
CREATE TABLE jobs (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL,
  -- Of two jobs with one key the later one replaces the earlier.
  key text UNIQUE,
  -- IDs only: a secret would stand here in the clear.
  payload json NOT NULL,
  -- The account whose request enqueued it; empty for the service itself.
  account text NOT NULL DEFAULT '',
  -- Runs when nothing else of its group is due.
  last boolean NOT NULL,
  run_at bigint NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  max_attempts integer NOT NULL,
  -- Its mail was counted against the limits, which no further attempt asks again.
  counted boolean NOT NULL DEFAULT false,
  created_at bigint NOT NULL,
  -- Names the job among all jobs ever, and its mail: it stays the same where a move or a restore gives the row another number.
  mark uuid NOT NULL DEFAULT gen_random_uuid(),
  -- The runner that does it, and since when.
  held_by text,
  held_at bigint,
  last_error text
);
CREATE INDEX jobs_due ON jobs (name, last, run_at, id) WHERE held_by IS NULL AND attempts < max_attempts;
CREATE INDEX jobs_held ON jobs (held_by) WHERE held_by IS NOT NULL;
-- jobs: what an account has waiting, of one name.
CREATE INDEX jobs_of_account ON jobs (account, name, run_at) WHERE account <> '' AND held_by IS NULL AND attempts < max_attempts;

-- jobs: runners that are alive. Every process writes down its own every few seconds, by the clock of the database.
CREATE TABLE job_runners (
  -- What the queue's rows name as their holder.
  id text PRIMARY KEY,
  seen_at bigint NOT NULL
);

-- accounts: mails to an address, or that an account causes, in a window.
CREATE TABLE mail_quotas (
  name bytea NOT NULL,
  window_ms bigint NOT NULL,
  began_at bigint NOT NULL,
  mails integer NOT NULL,
  PRIMARY KEY (name, window_ms)
);

-- ballot-log: check values of the service's keys, and the name of its logs.
CREATE TABLE service_identity (
  kind text NOT NULL,
  id text NOT NULL,
  value bytea NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (kind, id)
);

-- accounts: cells with events that may be shared with an account of this one (docs/scaling.md, "More than one database").
CREATE TABLE guest_cells (
  account_id text NOT NULL,
  cell text NOT NULL,
  PRIMARY KEY (account_id, cell)
);

-- accounts: keys of accounts of other cells that used an event of this one: their names for invites and the audit trail. No key that
-- a request may bear is found here.
CREATE TABLE guest_keys (
  id text PRIMARY KEY,
  account_id text NOT NULL,
  account_name text NOT NULL,
  name text NOT NULL,
  hint text NOT NULL
);
CREATE INDEX guest_keys_account ON guest_keys (account_id);

-- voting-events: codes that a cell is giving to an event right now, in the main cell. Over with the transaction of the event.
CREATE TABLE code_claims (
  code_key text PRIMARY KEY,
  cell text NOT NULL,
  -- The transaction, in the database of its cell.
  xid text NOT NULL,
  claimed_at bigint NOT NULL
);

-- cells: rows of an account on its way to this cell that would act where they stood in their tables.
CREATE TABLE arriving_rows (
  account_id text NOT NULL,
  -- The cell that the account comes from: only its word shows them. Empty for an older state of an account that another cell has.
  from_cell text NOT NULL,
  place bigint NOT NULL,
  table_name text NOT NULL,
  content json NOT NULL,
  PRIMARY KEY (account_id, place)
);

-- cells: accounts that moved to another cell, until the last of their rows is deleted here.
CREATE TABLE moved_accounts (
  account_id text PRIMARY KEY,
  to_cell text NOT NULL,
  -- The same stands in the account's row in the new cell: an account with a lesser number there is not the one that left.
  moved_at bigint NOT NULL
);

-- database: one row, written by `migrate` alone (src/database/schema-number.ts).
CREATE TABLE schema_number (
  number integer PRIMARY KEY,
  digest text NOT NULL,
  newest bigint NOT NULL,
  next integer,
  migrating boolean NOT NULL
);

-- A crash of the server empties these: what they hold is of the last seconds, or helps to explain a refusal of a moment ago.
-- http
CREATE UNLOGGED TABLE rate_limits (
  key text PRIMARY KEY,
  full_at double precision NOT NULL,
  noted_at bigint NOT NULL DEFAULT 0
);
-- database: processes that are alive.
CREATE UNLOGGED TABLE service_processes (
  id bytea PRIMARY KEY,
  seen_at bigint NOT NULL
);
-- http: the last refused and slow requests.
CREATE UNLOGGED TABLE request_traces (
  request_id text NOT NULL,
  at bigint NOT NULL,
  account_id text,
  key_hint text,
  method text NOT NULL,
  route text,
  status smallint NOT NULL,
  code text,
  reason text,
  ms real NOT NULL,
  PRIMARY KEY (request_id, at)
);
CREATE INDEX request_traces_at ON request_traces (at);

ALTER TABLE voters ADD CONSTRAINT voters_group FOREIGN KEY (voting_event_id, group_id) REFERENCES groups (voting_event_id, id);

-- Random bytes do not become shorter.
ALTER TABLE ballot_blocks ALTER entries SET STORAGE EXTERNAL, ALTER tags SET STORAGE EXTERNAL, ALTER tag_heads SET STORAGE EXTERNAL,
  ALTER salts SET STORAGE EXTERNAL, ALTER sealed_times SET STORAGE EXTERNAL;

-- Rows that name a voter beside a ballot, or that show the order of the votes: what is deleted of them goes soon.
ALTER TABLE pending_ballots SET (autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE waiting_participants SET (autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE ballot_queue SET (autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE participation SET (autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE undisclosed_voters SET (autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE idempotency_keys SET (autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0.02);

-- Statistics of the events of a table would say that an event which began after them has one row, and a join would then go through all
-- rows of that event for each other row. Without them the planner takes every event for a two-hundredth of the table.
DO $$
DECLARE
  one regclass;
BEGIN
  FOR one IN SELECT attrelid::regclass FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
    WHERE attname = 'voting_event_id' AND relkind = 'r' AND relnamespace = current_schema()::regnamespace
  LOOP
    EXECUTE format('ALTER TABLE %s ALTER voting_event_id SET STATISTICS 0', one);
  END LOOP;
END $$;
