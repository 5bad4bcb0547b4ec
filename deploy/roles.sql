-- The three roles of the service, with exactly the rights that each needs. Pure SQL; it may be run any number of times.
--
--   voting_owner   owns the database and its tables: for `migrate`, and for nothing else
--   voting_app     the service: reads and writes, and cannot rewrite logs, ballots or credits
--   voting_backup  base backups: replication, and reading the server's settings
--
-- Run it in the service's own database, twice: once before the first `migrate`, as the server's superuser (postgres), or as
-- what a managed service gives you instead, and again after that `migrate` and every later one, as the same or as voting_owner:
--
--   psql -v ON_ERROR_STOP=1 -d voting -f deploy/roles.sql
--
-- It is one transaction over tables that a running service uses. Where PostgreSQL ends it with "deadlock detected", nothing was
-- changed: run it again.
--
-- Roles are made without a password; give each one its own with \password voting_owner (and so on) in psql.

BEGIN;
SET LOCAL client_min_messages = 'warning';

DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'voting_owner') THEN CREATE ROLE voting_owner LOGIN; END IF;
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'voting_app') THEN CREATE ROLE voting_app LOGIN; END IF;
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'voting_backup') THEN CREATE ROLE voting_backup LOGIN; END IF;
  -- Only what is lacking is done: voting_owner could do none of it, and need not.
  IF NOT (SELECT rolreplication FROM pg_roles WHERE rolname = 'voting_backup') THEN ALTER ROLE voting_backup REPLICATION; END IF;
  -- `migrate` ends the sessions of the service's processes that do not end by themselves.
  IF NOT pg_has_role('voting_owner', 'voting_app', 'USAGE') THEN GRANT voting_app TO voting_owner; END IF;
  IF NOT pg_has_role('voting_backup', 'pg_read_all_settings', 'USAGE') THEN GRANT pg_read_all_settings TO voting_backup; END IF;
  -- What owns a database may be given only by its member.
  IF NOT pg_has_role('voting_owner', 'USAGE') THEN GRANT voting_owner TO CURRENT_USER; END IF;
  IF (SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = current_database()) <> 'voting_owner' THEN
    EXECUTE format('ALTER DATABASE %I OWNER TO voting_owner', current_database());
  END IF;
END $$;

-- A database that another role has migrated so far is handed over with everything in it.
DO $$
DECLARE
  one record;
BEGIN
  FOR one IN
    -- A sequence of a column follows its table.
    SELECT format('%s %s', CASE c.relkind WHEN 'S' THEN 'SEQUENCE' WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END, c.oid::regclass) AS named
    FROM pg_class c
    WHERE c.relnamespace::regnamespace::text = 'public' AND c.relkind IN ('r', 'p', 'v', 'S')
      AND c.relowner <> 'voting_owner'::regrole
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype IN ('a', 'i', 'e'))
    UNION ALL
    SELECT format('ROUTINE %s', p.oid::regprocedure) FROM pg_proc p
    WHERE p.pronamespace::regnamespace::text = 'public' AND p.proowner <> 'voting_owner'::regrole
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
    UNION ALL
    SELECT format('TYPE %s', t.oid::regtype) FROM pg_type t
    WHERE t.typnamespace::regnamespace::text = 'public' AND t.typowner <> 'voting_owner'::regrole
      AND (t.typtype IN ('e', 'd') OR (t.typtype = 'c' AND (SELECT relkind FROM pg_class WHERE oid = t.typrelid) = 'c'))
  LOOP
    EXECUTE format('ALTER %s OWNER TO voting_owner', one.named);
  END LOOP;
END $$;

-- The rights of the service, as soon as there are tables.
DO $$
BEGIN
  IF to_regclass('public.voting_events') IS NULL THEN
    RAISE WARNING 'The roles are there. Now run `migrate` as voting_owner, then this file again: voting_app has no rights yet.';
    RETURN;
  END IF;
  REVOKE ALL ON ALL TABLES IN SCHEMA public FROM voting_app;
  REVOKE ALL ON ALL SEQUENCES IN SCHEMA public FROM voting_app;
  GRANT USAGE ON SCHEMA public TO voting_app;
  GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO voting_app;
  GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO voting_app;
  REVOKE UPDATE, DELETE ON log_leaves, log_configurations, log_tiles, log_checkpoints, credit_entries, audit_entries FROM voting_app;
  REVOKE UPDATE, DELETE ON ballot_blocks FROM voting_app;
  REVOKE UPDATE, DELETE ON service_log_leaves, service_log_tiles, service_checkpoints, service_cosignatures FROM voting_app;
  -- `log adopt-key` signs heads again.
  GRANT UPDATE (note) ON service_checkpoints TO voting_app;
  REVOKE INSERT, UPDATE, DELETE ON schema_number FROM voting_app;
  REVOKE DELETE ON service_log FROM voting_app;
  REVOKE DELETE ON ballot_logs, voided_ballots, service_identity FROM voting_app;
  -- Dead rows of these would show who voted when: the service vacuums them when a result is final. Older servers leave that to
  -- the owner and to autovacuum.
  IF current_setting('server_version_num')::int >= 170000 THEN
    EXECUTE 'GRANT MAINTAIN ON pending_ballots, waiting_participants, ballot_queue, participation, undisclosed_voters, idempotency_keys,
      voters, voter_keys TO voting_app';
  END IF;
  GRANT EXECUTE ON FUNCTION delete_event_rows(text, integer) TO voting_app;
  GRANT EXECUTE ON FUNCTION delete_entries_of_moved(text, integer) TO voting_app;
  GRANT EXECUTE ON FUNCTION end_rehearsal(text, integer) TO voting_app;
  GRANT EXECUTE ON FUNCTION erase_from_trail(text, text[]) TO voting_app;
  GRANT EXECUTE ON FUNCTION erase_participants(text, jsonb, integer) TO voting_app;
END $$;

COMMIT;
