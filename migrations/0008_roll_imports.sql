-- How far imports of rows over the API have come.
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
