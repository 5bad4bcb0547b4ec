-- What a service must keep from one start to the next: check values of its keys, and the name of its logs.
CREATE TABLE "service_identity" (
	"kind" text NOT NULL,
	"id" text NOT NULL,
	"value" bytea NOT NULL,
	"created_at" bigint NOT NULL,
	CONSTRAINT "service_identity_kind_id_pk" PRIMARY KEY("kind","id")
);
