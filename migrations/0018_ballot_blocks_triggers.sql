-- Sealed ballots in blocks. What stands in rows goes on in rows until `pack_ballots` has taken it into blocks; a view with the
-- old name shows both to processes of an earlier version, and takes what they seal.
ALTER TABLE "ballots" RENAME TO "ballot_rows";
ALTER TABLE "ballot_rows" RENAME CONSTRAINT "ballots_voting_event_id_voting_events_id_fk" TO "ballot_rows_voting_event_id_voting_events_id_fk";
CREATE TABLE "ballot_blocks" (
	"voting_event_id" text NOT NULL,
	"first_leaf" bigint NOT NULL,
	"ballots" integer NOT NULL,
	"entries" "bytea" NOT NULL,
	"weights" bigint[] NOT NULL,
	"tags" "bytea" NOT NULL,
	"tag_heads" bigint[] NOT NULL,
	"salts" "bytea" NOT NULL,
	"sealed_times" "bytea" NOT NULL,
	"ids" text[],
	"voter_ids" text[],
	"country_codes" text[],
	"submitted_at" bigint[],
	CONSTRAINT "ballot_blocks_voting_event_id_first_leaf_pk" PRIMARY KEY("voting_event_id","first_leaf"),
	CONSTRAINT "ballot_blocks_ballots" CHECK (ballots BETWEEN 1 AND 256)
);
CREATE TABLE "undisclosed_ballots" (
	"voting_event_id" text NOT NULL,
	"leaf_index" bigint NOT NULL,
	CONSTRAINT "undisclosed_ballots_voting_event_id_leaf_index_pk" PRIMARY KEY("voting_event_id","leaf_index")
);
ALTER TABLE "ballot_blocks" ADD CONSTRAINT "ballot_blocks_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "voting_events"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "undisclosed_ballots" ADD CONSTRAINT "undisclosed_ballots_voting_event_id_voting_events_id_fk" FOREIGN KEY ("voting_event_id") REFERENCES "voting_events"("id") ON DELETE cascade ON UPDATE no action;
CREATE INDEX "ballot_blocks_heads" ON "ballot_blocks" USING gin ("tag_heads") WITH (fastupdate=false);
-- Random bytes do not become shorter.
ALTER TABLE "ballot_blocks" ALTER "entries" SET STORAGE EXTERNAL, ALTER "tags" SET STORAGE EXTERNAL, ALTER "tag_heads" SET STORAGE EXTERNAL,
  ALTER "salts" SET STORAGE EXTERNAL, ALTER "sealed_times" SET STORAGE EXTERNAL;
-- Which ballots were shown together, joined with who was, would narrow down whose they are.
ALTER TABLE "undisclosed_ballots" SET (autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0.02);

-- The ballots of the blocks, a row each.
CREATE VIEW "unpacked_blocks" AS
  SELECT k.voting_event_id, k.first_leaf, k.first_leaf + b.place - 1 AS leaf_index,
    coalesce(k.ids[b.place], ballot_id(b.salt, substring(k.tags FROM b.place::integer * 32 - 31 FOR 32))) AS id,
    substring(k.tags FROM b.place::integer * 32 - 31 FOR 32) AS code_tag, b.entries,
    k.weights[least(b.place, cardinality(k.weights))] AS weight_micro, b.salt, b.sealed_time,
    k.voter_ids[b.place] AS voter_id, k.country_codes[b.place] AS country_code, k.submitted_at[b.place] AS submitted_at
  FROM ballot_blocks k CROSS JOIN LATERAL ROWS FROM (split_list(k.entries), split_list(k.salts), split_list(k.sealed_times))
    WITH ORDINALITY AS b(entries, salt, sealed_time, place);

-- The whole box, a row a ballot: what earlier versions read and write. `voting_event_id` and `leaf_index` order it.
CREATE VIEW "ballots" AS
  SELECT voting_event_id, id, code_tag, entries, weight_micro, salt, sealed_time, voter_id, country_code, submitted_at, released, leaf_index
  FROM ballot_rows
  UNION ALL
  SELECT u.voting_event_id, u.id, u.code_tag, u.entries, u.weight_micro, u.salt, u.sealed_time, u.voter_id, u.country_code, u.submitted_at,
    NOT EXISTS (SELECT 1 FROM undisclosed_ballots x WHERE x.voting_event_id = u.voting_event_id AND x.leaf_index = u.leaf_index),
    u.leaf_index
  FROM unpacked_blocks u;
CREATE TRIGGER ballots_to_rows INSTEAD OF INSERT ON ballots FOR EACH ROW EXECUTE FUNCTION put_ballot();

-- The whole box as blocks, a row of an earlier version as a block of one ballot: what is read from now on.
CREATE VIEW "box_blocks" AS
  SELECT voting_event_id, first_leaf, ballots, entries, weights, tags, salts, sealed_times, ids, voter_ids, country_codes, submitted_at
  FROM ballot_blocks
  UNION ALL
  SELECT voting_event_id, leaf_index, 1, list_of(entries), ARRAY[weight_micro], code_tag, list_of(salt), list_of(sealed_time), ARRAY[id],
    CASE WHEN voter_id IS NOT NULL THEN ARRAY[voter_id] END, CASE WHEN country_code IS NOT NULL THEN ARRAY[country_code] END,
    CASE WHEN submitted_at IS NOT NULL THEN ARRAY[submitted_at] END
  FROM ballot_rows;

DROP TRIGGER ballots_stay ON ballot_rows;
CREATE TRIGGER ballot_rows_stay AFTER DELETE ON ballot_rows REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION guard_ballot_rows();
CREATE TRIGGER ballot_blocks_checked BEFORE INSERT ON ballot_blocks
  FOR EACH ROW EXECUTE FUNCTION check_ballot_block();
CREATE TRIGGER ballot_blocks_stay BEFORE DELETE OR UPDATE ON ballot_blocks
  FOR EACH ROW EXECUTE FUNCTION guard_ballot_log();
CREATE TRIGGER ballot_blocks_not_emptied BEFORE TRUNCATE ON ballot_blocks
  FOR EACH STATEMENT EXECUTE FUNCTION guard_ballot_log();

-- Whether a process knows the blocks. Rows are taken into blocks when no other is left.
ALTER TABLE service_processes ADD COLUMN "reads_blocks" boolean DEFAULT false NOT NULL;

-- A role of the service that the tables belonged to neither goes on while the rights of the new release are not given yet.
DO $$
DECLARE
  role text;
BEGIN
  FOR role IN SELECT DISTINCT a.grantee::regrole::text FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) AS a
    WHERE c.oid = 'ballot_rows'::regclass AND a.privilege_type = 'INSERT' AND a.grantee NOT IN (0, c.relowner)
  LOOP
    EXECUTE format('GRANT SELECT, INSERT ON ballot_blocks, undisclosed_ballots, ballots, box_blocks, unpacked_blocks TO %s', role);
    EXECUTE format('GRANT DELETE ON undisclosed_ballots TO %s', role);
  END LOOP;
END $$;
