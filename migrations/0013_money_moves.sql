ALTER TABLE "payment_attempts" ADD COLUMN "fee_minor" integer;--> statement-breakpoint
CREATE INDEX "payment_attempts_provider_payment" ON "payment_attempts" USING btree ("provider_payment_id") WHERE provider_payment_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX "payment_refunds_owed" ON "payment_refunds" USING btree ("created_at") WHERE status IN ('due', 'pending', 'attention', 'refused');