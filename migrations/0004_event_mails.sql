-- What mails of an event say and where they lead.
ALTER TABLE "voting_events" ADD COLUMN "voting_page_url" text;
ALTER TABLE "voting_events" ADD COLUMN "contact_email" text;
ALTER TABLE "voting_events" ADD COLUMN "language" text DEFAULT 'en' NOT NULL;
ALTER TABLE "voting_events" ADD COLUMN "logo_url" text;
-- Whether the linked business takes real money, so that no request has to look it up.
ALTER TABLE "voting_events" ADD COLUMN "payment_livemode" boolean;
UPDATE "voting_events" e SET "payment_livemode" = b."livemode" FROM "payment_businesses" b WHERE b."id" = e."payment_business_id";
