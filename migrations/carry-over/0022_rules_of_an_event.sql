ALTER TABLE "voting_events" ADD COLUMN "paid_votes" boolean DEFAULT false NOT NULL;

ALTER TABLE "voting_events" ADD COLUMN "results_announced" boolean DEFAULT false NOT NULL;

ALTER TABLE "voters" ADD COLUMN "erased_at" bigint;

CREATE INDEX "voters_by_group" ON "voters" USING btree ("voting_event_id","group_id","id") WHERE group_id IS NOT NULL;

CREATE TABLE "waiting_participants" (
	"voting_event_id" text NOT NULL,
	"participant" text NOT NULL,
	"code_tag" "bytea" NOT NULL,
	CONSTRAINT "waiting_participants_voting_event_id_participant_pk" PRIMARY KEY("voting_event_id","participant")
);

ALTER TABLE "waiting_participants" ADD CONSTRAINT "waiting_participants_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "voting_events"("id") ON DELETE cascade ON UPDATE no action;

-- Paid ballots that wait for their confirmation: of two by one participant the first one stands.
INSERT INTO waiting_participants (voting_event_id, participant, code_tag)
SELECT b.voting_event_id, lower(p), b.code_tag FROM pending_ballots b JOIN voting_events e ON e.id = b.voting_event_id
  CROSS JOIN unnest(b.participants) AS p
WHERE b.payment_attempt_id IS NOT NULL AND NOT e.repeat_votes ORDER BY b.cast_at ON CONFLICT DO NOTHING;

-- Results that were public already were announced then.
UPDATE voting_events SET results_announced = true WHERE results_published_at IS NOT NULL;

UPDATE voting_events e SET paid_votes = true WHERE EXISTS (
  SELECT 1 FROM payment_attempts a WHERE a.voting_event_id = e.id AND a.purpose = 'vote');

-- A stored key belongs to one voter: copied to another one it opens nothing.
UPDATE voter_keys SET key_hash = sha256(key_hash || convert_to(voter_id, 'UTF8'));

-- A poll's participants are listed whoever else has their ID or address.
UPDATE voters SET email_key = NULL, voter_id_key = chr(1) || lower(voter_id) WHERE source = 'poll';
