CREATE TABLE "credit_balances" (
	"voting_event_id" text NOT NULL,
	"position_id" text NOT NULL,
	"visitor_id" text NOT NULL,
	"base" integer NOT NULL,
	"purchased" integer NOT NULL,
	"held" integer NOT NULL,
	"spent" integer NOT NULL,
	CONSTRAINT "credit_balances_voting_event_id_position_id_visitor_id_pk" PRIMARY KEY("voting_event_id","position_id","visitor_id"),
	CONSTRAINT "credit_balances_never_below_zero" CHECK (base + purchased - held - spent >= 0 AND purchased >= 0 AND held >= 0 AND spent >= 0)
);
--> statement-breakpoint
CREATE TABLE "credit_entries" (
	"voting_event_id" text NOT NULL,
	"position_id" text NOT NULL,
	"visitor_id" text NOT NULL,
	"kind" text NOT NULL,
	"reason" text NOT NULL,
	"credits" integer NOT NULL,
	"created_at" bigint NOT NULL,
	CONSTRAINT "credit_entries_voting_event_id_position_id_visitor_id_kind_reason_pk" PRIMARY KEY("voting_event_id","position_id","visitor_id","kind","reason")
);
--> statement-breakpoint
CREATE TABLE "payment_attempts" (
	"voting_event_id" text NOT NULL,
	"id" text NOT NULL,
	"account_id" text NOT NULL,
	"payment_business_id" text NOT NULL,
	"purpose" text NOT NULL,
	"status" text NOT NULL,
	"provider" text NOT NULL,
	"amount_minor" integer NOT NULL,
	"currency" text NOT NULL,
	"request" jsonb NOT NULL,
	"terms" jsonb NOT NULL,
	"page" jsonb,
	"pages" integer DEFAULT 0 NOT NULL,
	"expires_at" bigint NOT NULL,
	"request_key" "bytea",
	"provider_payment_id" text,
	"provider_reference" text,
	"end_reason" text,
	"confirmation_code" text,
	"answer" text,
	"asked_at" bigint,
	"asking_until" bigint,
	"check_at" bigint,
	"checks" integer DEFAULT 0 NOT NULL,
	"paid_at" bigint,
	"refunded_at" bigint,
	"reversed_at" bigint,
	"created_at" bigint NOT NULL,
	"updated_at" bigint NOT NULL,
	CONSTRAINT "payment_attempts_voting_event_id_id_pk" PRIMARY KEY("voting_event_id","id")
);
--> statement-breakpoint
CREATE TABLE "payment_businesses" (
	"id" text PRIMARY KEY NOT NULL,
	"account_id" text NOT NULL,
	"provider" text NOT NULL,
	"display_name" text NOT NULL,
	"country" text NOT NULL,
	"ready" boolean NOT NULL,
	"supported_currencies" text[] NOT NULL,
	"livemode" boolean NOT NULL,
	"sandbox" boolean NOT NULL,
	"credentials" text NOT NULL,
	"disconnected_at" bigint,
	"created_at" bigint NOT NULL,
	"updated_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "payment_refunds" (
	"voting_event_id" text NOT NULL,
	"attempt_id" text NOT NULL,
	"provider_payment_id" text NOT NULL,
	"reference" text NOT NULL,
	"amount_minor" bigint NOT NULL,
	"currency" text NOT NULL,
	"status" text NOT NULL,
	"refund_id" text,
	"created_at" bigint NOT NULL,
	"updated_at" bigint NOT NULL,
	CONSTRAINT "payment_refunds_voting_event_id_attempt_id_provider_payment_id_pk" PRIMARY KEY("voting_event_id","attempt_id","provider_payment_id")
);
--> statement-breakpoint
CREATE TABLE "provider_events" (
	"payment_business_id" text NOT NULL,
	"event_key" text NOT NULL,
	"event_type" text NOT NULL,
	"attempt_id" text,
	"reference" text,
	"checkout_session_id" text,
	"provider_payment_id" text,
	"body" text NOT NULL,
	"outcome" text,
	"received_at" bigint NOT NULL,
	"processed_at" bigint,
	CONSTRAINT "provider_events_payment_business_id_event_key_pk" PRIMARY KEY("payment_business_id","event_key")
);
--> statement-breakpoint
ALTER TABLE "pending_ballots" ADD COLUMN "credits" jsonb;--> statement-breakpoint
ALTER TABLE "pending_ballots" ADD COLUMN "payment_attempt_id" text;--> statement-breakpoint
ALTER TABLE "voting_events" ADD COLUMN "payment_provider" text;--> statement-breakpoint
ALTER TABLE "credit_balances" ADD CONSTRAINT "credit_balances_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "public"."voting_events"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "credit_entries" ADD CONSTRAINT "credit_entries_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "public"."voting_events"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "payment_attempts" ADD CONSTRAINT "payment_attempts_payment_business_id_payment_businesses_id_fk" FOREIGN KEY ("payment_business_id") REFERENCES "public"."payment_businesses"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "payment_businesses" ADD CONSTRAINT "payment_businesses_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "payment_attempts_id" ON "payment_attempts" USING btree ("id");--> statement-breakpoint
CREATE UNIQUE INDEX "payment_attempts_request" ON "payment_attempts" USING btree ("voting_event_id","request_key");--> statement-breakpoint
CREATE UNIQUE INDEX "payment_attempts_payment" ON "payment_attempts" USING btree ("voting_event_id","payment_business_id","provider_payment_id");--> statement-breakpoint
CREATE INDEX "payment_attempts_check" ON "payment_attempts" USING btree ("check_at") WHERE check_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX "payment_businesses_account" ON "payment_businesses" USING btree ("account_id","id");--> statement-breakpoint
CREATE INDEX "provider_events_received" ON "provider_events" USING btree ("received_at");