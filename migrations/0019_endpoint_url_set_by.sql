ALTER TABLE "webhook_endpoints" ADD COLUMN "url_set_by" text;
