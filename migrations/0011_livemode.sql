-- Whether the money of a payment is real: that of the business it went through.
ALTER TABLE "payment_attempts" ADD COLUMN "livemode" boolean DEFAULT true NOT NULL;
UPDATE "payment_attempts" a SET "livemode" = false FROM "payment_businesses" b WHERE b."id" = a."payment_business_id" AND NOT b."livemode";
