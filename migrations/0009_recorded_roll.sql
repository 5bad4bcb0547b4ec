-- The roll that a log has recorded last. Logs that are open already record it next time they are looked after.
ALTER TABLE "ballot_logs" ADD COLUMN "roll_heads" bigint;
ALTER TABLE "ballot_logs" ADD COLUMN "roll_weight" text;
ALTER TABLE "ballot_logs" ADD COLUMN "roll_identity_changes" integer;
ALTER TABLE "ballot_logs" ADD COLUMN "roll_other_changes" integer;
ALTER TABLE "ballot_logs" ADD COLUMN "roll_seq" integer DEFAULT 0 NOT NULL;
