ALTER TABLE "payment_attempts" ADD COLUMN "part_refunded_minor" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "payment_attempts" ADD COLUMN "part_refunded_at" bigint;