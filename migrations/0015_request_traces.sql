-- Lost at a crash of the server, as befits what helps to explain a refusal of a moment ago.
CREATE UNLOGGED TABLE request_traces (
  request_id text NOT NULL,
  at bigint NOT NULL,
  account_id text,
  key_hint text,
  method text NOT NULL,
  route text,
  status smallint NOT NULL,
  code text,
  reason text,
  ms real NOT NULL,
  CONSTRAINT request_traces_pkey PRIMARY KEY (request_id, at)
);
--> statement-breakpoint
CREATE INDEX request_traces_at ON request_traces USING btree (at);
