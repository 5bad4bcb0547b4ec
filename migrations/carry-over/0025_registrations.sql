-- Voters that registered themselves have a ceiling of their own. Rejected ones hold no place under it.
ALTER TABLE "voting_events" ADD COLUMN "registration_count" integer DEFAULT 0 NOT NULL, ADD COLUMN "rejected_registration_count" integer DEFAULT 0 NOT NULL;
UPDATE "voting_events" AS e SET "registration_count" = r."held", "rejected_registration_count" = r."rejected" FROM (
	SELECT "voting_event_id", count(*) FILTER (WHERE "status" <> 'rejected') AS "held", count(*) FILTER (WHERE "status" = 'rejected') AS "rejected"
	FROM "voters" WHERE "source" = 'registration' AND "deleted_at" IS NULL GROUP BY "voting_event_id") AS r
	WHERE e."id" = r."voting_event_id";
-- Until when the link mailed at registration may confirm the address; null where none was mailed, or once it is confirmed.
ALTER TABLE "voters" ADD COLUMN "confirm_by" bigint;
CREATE INDEX "voters_to_confirm" ON "voters" USING btree ("confirm_by","voting_event_id") WHERE confirm_by IS NOT NULL;
