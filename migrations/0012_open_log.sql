-- The log of logs: every checkpoint of an event becomes a leaf of the service's own log, those that are there included. And whether
-- the ballot log of an event answers without a key.
CREATE TABLE "checkpoint_queue" (
	"voting_event_id" text NOT NULL,
	"size" bigint NOT NULL,
	CONSTRAINT "checkpoint_queue_voting_event_id_size_pk" PRIMARY KEY("voting_event_id","size")
);
--> statement-breakpoint
CREATE TABLE "service_checkpoints" (
	"size" bigint PRIMARY KEY NOT NULL,
	"root_hash" "bytea" NOT NULL,
	"note" text NOT NULL,
	"created_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "service_cosignatures" (
	"size" bigint NOT NULL,
	"witness" text NOT NULL,
	"line" text NOT NULL,
	"cosigned_at" bigint NOT NULL,
	CONSTRAINT "service_cosignatures_witness_size_pk" PRIMARY KEY("witness","size")
);
--> statement-breakpoint
CREATE TABLE "service_log" (
	"id" text PRIMARY KEY NOT NULL,
	"size" bigint NOT NULL,
	"frontier" "bytea" NOT NULL
);
--> statement-breakpoint
CREATE TABLE "service_log_leaves" (
	"leaf_index" bigint PRIMARY KEY NOT NULL,
	"event_tag" "bytea" NOT NULL,
	"size" bigint NOT NULL,
	"data" "bytea" NOT NULL
);
--> statement-breakpoint
CREATE TABLE "service_log_tiles" (
	"level" integer NOT NULL,
	"tile_index" bigint NOT NULL,
	"hashes" "bytea" NOT NULL,
	"root" "bytea" NOT NULL,
	CONSTRAINT "service_log_tiles_level_tile_index_pk" PRIMARY KEY("level","tile_index")
);
--> statement-breakpoint
ALTER TABLE "voting_events" ADD COLUMN "log_open" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "checkpoint_queue" ADD CONSTRAINT "checkpoint_queue_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "voting_events"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "service_cosignatures_size" ON "service_cosignatures" USING btree ("size");--> statement-breakpoint
CREATE INDEX "service_log_leaves_event" ON "service_log_leaves" USING btree ("event_tag","size");
--> statement-breakpoint
INSERT INTO "checkpoint_queue" ("voting_event_id", "size") SELECT "voting_event_id", "size" FROM "log_checkpoints";
