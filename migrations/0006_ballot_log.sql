CREATE TABLE "ballot_logs" (
	"voting_event_id" text PRIMARY KEY NOT NULL,
	"size" bigint NOT NULL,
	"ballots" bigint NOT NULL,
	"frontier" "bytea" NOT NULL,
	"config_hash" text NOT NULL,
	"config_seq" integer NOT NULL,
	"paper_version" bigint NOT NULL,
	"closed_size" bigint,
	"roll_scattered_at" bigint
);
--> statement-breakpoint
CREATE TABLE "log_checkpoints" (
	"voting_event_id" text NOT NULL,
	"size" bigint NOT NULL,
	"root_hash" "bytea" NOT NULL,
	"note" text NOT NULL,
	"created_at" bigint NOT NULL,
	CONSTRAINT "log_checkpoints_voting_event_id_size_pk" PRIMARY KEY("voting_event_id","size")
);
--> statement-breakpoint
CREATE TABLE "log_leaves" (
	"voting_event_id" text NOT NULL,
	"leaf_index" bigint NOT NULL,
	"data" "bytea" NOT NULL,
	CONSTRAINT "log_leaves_voting_event_id_leaf_index_pk" PRIMARY KEY("voting_event_id","leaf_index")
);
--> statement-breakpoint
CREATE TABLE "log_tiles" (
	"voting_event_id" text NOT NULL,
	"level" integer NOT NULL,
	"tile_index" bigint NOT NULL,
	"hashes" "bytea" NOT NULL,
	"root" "bytea" NOT NULL,
	CONSTRAINT "log_tiles_voting_event_id_level_tile_index_pk" PRIMARY KEY("voting_event_id","level","tile_index")
);
--> statement-breakpoint
CREATE TABLE "voided_ballots" (
	"voting_event_id" text NOT NULL,
	"code_tag" "bytea" NOT NULL,
	"leaf_index" bigint,
	CONSTRAINT "voided_ballots_voting_event_id_code_tag_pk" PRIMARY KEY("voting_event_id","code_tag")
);
--> statement-breakpoint
ALTER TABLE "ballot_logs" ADD CONSTRAINT "ballot_logs_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "public"."voting_events"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "log_checkpoints" ADD CONSTRAINT "log_checkpoints_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "public"."voting_events"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "log_leaves" ADD CONSTRAINT "log_leaves_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "public"."voting_events"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "log_tiles" ADD CONSTRAINT "log_tiles_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "public"."voting_events"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "voided_ballots" ADD CONSTRAINT "voided_ballots_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "public"."voting_events"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "voided_ballots_leaf" ON "voided_ballots" USING btree ("voting_event_id","leaf_index");