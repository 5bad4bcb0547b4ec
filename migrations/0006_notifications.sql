-- Mails to many voters: how far each round is, what waits, and who was mailed a short time ago.
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
	"created_at" bigint NOT NULL,
	"finished_at" bigint,
	CONSTRAINT "notifications_voting_event_id_id_pk" PRIMARY KEY("voting_event_id","id")
);
CREATE TABLE "notified_voters" (
	"voting_event_id" text NOT NULL,
	"voter_id" text NOT NULL,
	"kind" text NOT NULL,
	"notified_at" bigint NOT NULL,
	CONSTRAINT "notified_voters_voting_event_id_voter_id_kind_pk" PRIMARY KEY("voting_event_id","voter_id","kind")
);
ALTER TABLE "notifications" ADD CONSTRAINT "notifications_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "voting_events"("id") ON DELETE cascade ON UPDATE no action;
