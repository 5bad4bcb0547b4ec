DROP INDEX "voters_fractional_weight";--> statement-breakpoint
CREATE INDEX "voters_fractional_weight" ON "voters" USING btree ("voting_event_id","weight_micro") WHERE weight_micro % 1000000 <> 0;