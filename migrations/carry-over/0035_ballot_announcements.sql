-- `ballot.confirmed` is written from the counts, at most once in 5 s an event, and never in the transaction of a confirm: a
-- receiver that hears of each confirm at its moment could join it with a person who was seen voting (completions 8.1).
CREATE TABLE "ballot_announcements" (
	"voting_event_id" text NOT NULL,
	"ballots" bigint NOT NULL,
	"announced_at" bigint NOT NULL,
	CONSTRAINT "ballot_announcements_voting_event_id_pk" PRIMARY KEY("voting_event_id")
);

ALTER TABLE "ballot_announcements" ADD CONSTRAINT "ballot_announcements_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "public"."voting_events"("id") ON DELETE cascade ON UPDATE no action;

-- What was announced by the confirms so far is not announced again.
INSERT INTO ballot_announcements (voting_event_id, ballots, announced_at)
SELECT e.id, coalesce(l.ballots, 0) + (SELECT count(*) FROM ballot_queue q WHERE q.voting_event_id = e.id), now_ms()
FROM voting_events e LEFT JOIN ballot_logs l ON l.voting_event_id = e.id WHERE e.opened_at IS NOT NULL OR l.ballots > 0;
