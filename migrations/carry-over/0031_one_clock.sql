-- When the quota was written down: were the clock set back, what was used is reckoned from then and not from a future.
ALTER TABLE "rate_limits" ADD COLUMN "noted_at" bigint DEFAULT 0 NOT NULL;
