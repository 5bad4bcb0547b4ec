-- Who voted in a secret event and is not disclosed yet (completions 5.6). Rows come with participation and go together, at least
-- five at a time or all of them with the final result.
CREATE TABLE "undisclosed_voters" (
	"voting_event_id" text NOT NULL,
	"voter_id" text NOT NULL,
	CONSTRAINT "undisclosed_voters_voting_event_id_voter_id_pk" PRIMARY KEY("voting_event_id","voter_id")
);
ALTER TABLE "undisclosed_voters" ADD CONSTRAINT "undisclosed_voters_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "voting_events"("id") ON DELETE cascade ON UPDATE no action;
-- Approved by the first use of a key, which is not shown before the vote is.
ALTER TABLE "voters" ADD COLUMN "approved_by_key" boolean DEFAULT false NOT NULL;
CREATE INDEX "voters_approved_by_key" ON "voters" USING btree ("voting_event_id","id") WHERE approved_by_key;
-- Finds how many voters share a weight, whatever it is.
CREATE INDEX "voters_weight" ON "voters" USING btree ("voting_event_id","weight_micro");
DROP INDEX "voters_weight_not_one";
-- The figures of who has voted are written at the disclosure.
DROP TRIGGER IF EXISTS participation_count_added ON participation;
DROP TRIGGER IF EXISTS participation_count_removed ON participation;
DROP FUNCTION IF EXISTS count_participation();
DROP FUNCTION IF EXISTS release_ballots(text);
