ALTER TABLE "positions" ADD COLUMN "majority_required" jsonb;
UPDATE "positions" SET "rules" = jsonb_set("rules", '{threshold,base}', '"yes_no"') WHERE "rules" IS NOT NULL;
-- The seed of the lot is drawn when the log opens, and stands with the log; events that opened before keep theirs.
ALTER TABLE "voting_events" ALTER COLUMN "tie_seed" DROP NOT NULL;
ALTER TABLE "ballot_logs" ADD COLUMN "lot_seed" text;
-- The root before the first close leaf: with it the lot can be drawn, and the seed is revealed.
ALTER TABLE "ballot_logs" ADD COLUMN "lot_root" bytea;
UPDATE "ballot_logs" AS l SET "lot_root" = c."root_hash" FROM "log_checkpoints" AS c
	WHERE c."voting_event_id" = l."voting_event_id" AND c."size" = l."closed_size" - 1;
CREATE INDEX "voters_weight_not_one" ON "voters" USING btree ("voting_event_id","weight_micro") WHERE weight_micro <> 1000000;
