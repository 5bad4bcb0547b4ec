-- What opens the close leaf of a log. Logs that are closed already keep theirs, whose figures stand in clear.
ALTER TABLE "ballot_logs" ADD COLUMN "close_salt" "bytea";
ALTER TABLE "ballot_logs" ADD COLUMN "close_content" text;
