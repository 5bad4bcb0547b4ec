-- Which runners of jobs are alive. The queue's rows name the runner that holds them; one that is not seen here any more is
-- dead, and what it held is free.
CREATE TABLE "job_runners" (
	"id" text PRIMARY KEY NOT NULL,
	"seen_at" bigint NOT NULL
);
