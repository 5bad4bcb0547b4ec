-- When the result of an event became final: the moment of its first close leaf.
ALTER TABLE "voting_events" ADD COLUMN "final_at" bigint;
UPDATE "voting_events" AS e SET "final_at" = c."created_at" FROM "ballot_logs" AS l
	JOIN "log_checkpoints" AS c ON c."voting_event_id" = l."voting_event_id" AND c."size" = l."closed_size"
	WHERE l."voting_event_id" = e."id" AND l."lot_root" IS NOT NULL;
-- Finds what the trail says of a person who is erased.
CREATE INDEX "audit_entries_resource" ON "audit_entries" USING btree ("voting_event_id","resource") WHERE voting_event_id IS NOT NULL;
