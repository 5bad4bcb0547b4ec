CREATE TABLE "webhook_holds" (
	"endpoint_id" text PRIMARY KEY NOT NULL,
	"holder" text NOT NULL,
	"held_until" bigint NOT NULL
);
--> statement-breakpoint
ALTER TABLE "webhook_attempts" DROP CONSTRAINT "webhook_attempts_delivery_id_webhook_deliveries_id_fk";
--> statement-breakpoint
ALTER TABLE "webhook_deliveries" DROP CONSTRAINT "webhook_deliveries_endpoint_id_webhook_endpoints_id_fk";
--> statement-breakpoint
DROP INDEX "webhook_deliveries_endpoint";--> statement-breakpoint
DROP INDEX "webhook_deliveries_age";--> statement-breakpoint
ALTER TABLE "webhook_deliveries" DROP CONSTRAINT "webhook_deliveries_pkey";--> statement-breakpoint
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_endpoint_id_id_pk" PRIMARY KEY("endpoint_id","id");--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD COLUMN "retired_at" bigint;--> statement-breakpoint
CREATE INDEX "webhook_endpoints_retired" ON "webhook_endpoints" USING btree ("retired_at") WHERE retired_at IS NOT NULL;