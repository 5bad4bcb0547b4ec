-- Which processes are alive. Each writes itself down twice a second; what a dead one had begun is free for the next. Not
-- logged: after a crash of the server every process that is alive stands here again within a second.
CREATE UNLOGGED TABLE "service_processes" (
	"id" "bytea" PRIMARY KEY NOT NULL,
	"seen_at" bigint NOT NULL
);

-- The process that asks the provider: when it has died, the next one need not wait for the end of its time.
ALTER TABLE "payment_attempts" ADD COLUMN "asking_by" "bytea";
