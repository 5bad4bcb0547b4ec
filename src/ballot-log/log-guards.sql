-- Makes leaves, tiles and checkpoints append-only. Allows a DELETE once the event is deleted (its row may already be gone), and
-- during a rehearsal, whose end wipes its log.
CREATE OR REPLACE FUNCTION guard_ballot_log() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' AND NOT EXISTS (SELECT 1 FROM voting_events e WHERE e.id = OLD.voting_event_id
    AND e.deleted_at IS NULL AND e.rehearsal_since IS NULL) THEN
    RETURN OLD;
  END IF;
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;

-- The voter IDs that a poll shows may be erased but not changed. No leaf of the log contains them.
CREATE OR REPLACE FUNCTION guard_shown_voter_ids() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM unnest(OLD.voter_ids, NEW.voter_ids) AS i (before, after) WHERE i.after <> i.before OR i.before IS NULL AND i.after IS NOT NULL) THEN
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END $$;

-- Lets a log only grow, and keeps the salt and content that open its `close` leaf.
CREATE OR REPLACE FUNCTION guard_log_head() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.voting_event_id <> OLD.voting_event_id OR NEW.size < OLD.size OR (NEW.size = OLD.size AND NEW.frontier <> OLD.frontier) OR NEW.dropped < OLD.dropped OR NEW.confirmed + NEW.dropped < OLD.confirmed THEN
    RAISE EXCEPTION 'a ballot log only grows' USING ERRCODE = 'restrict_violation';
  END IF;
  IF OLD.close_salt IS NOT NULL AND (NEW.close_salt IS DISTINCT FROM OLD.close_salt OR NEW.close_content IS DISTINCT FROM OLD.close_content) THEN
    RAISE EXCEPTION 'what was closed stays as it is' USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END $$;

-- Keeps a void ballot void, and the index of its `void` leaf unchanged once set.
CREATE OR REPLACE FUNCTION guard_voided_ballot() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.voting_event_id <> OLD.voting_event_id OR NEW.code_tag <> OLD.code_tag OR OLD.leaf_index IS NOT NULL THEN
    RAISE EXCEPTION 'a void ballot stays void' USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END $$;
