-- The triggers of the service. Applied after the functions that they call; each statement may be run again.

-- Processes keep callers and events in memory: each change of one is announced at its commit.
CREATE OR REPLACE TRIGGER accounts_tell_change AFTER UPDATE OF plan ON accounts
  FOR EACH ROW
  WHEN (OLD.plan IS DISTINCT FROM NEW.plan)
  EXECUTE FUNCTION tell_account_change();
CREATE OR REPLACE TRIGGER voting_events_tell_change AFTER DELETE OR UPDATE ON voting_events
  FOR EACH ROW EXECUTE FUNCTION tell_event_change();
CREATE OR REPLACE TRIGGER event_invites_tell_change AFTER INSERT OR DELETE OR UPDATE ON event_invites
  FOR EACH ROW EXECUTE FUNCTION tell_sharing_change();

-- A job looks after the log of an event that opened, changed or closed.
CREATE OR REPLACE TRIGGER voting_events_tend_ballot_log AFTER UPDATE OF paper_version ON voting_events
  FOR EACH ROW EXECUTE FUNCTION tend_ballot_log();

-- What was logged, sealed or booked is never rewritten, by no role.
CREATE OR REPLACE TRIGGER log_leaves_append_only BEFORE DELETE OR UPDATE ON log_leaves
  FOR EACH ROW EXECUTE FUNCTION guard_ballot_log();
CREATE OR REPLACE TRIGGER log_leaves_not_emptied BEFORE TRUNCATE ON log_leaves
  FOR EACH STATEMENT EXECUTE FUNCTION guard_ballot_log();
CREATE OR REPLACE TRIGGER log_configurations_append_only BEFORE DELETE OR UPDATE ON log_configurations
  FOR EACH ROW EXECUTE FUNCTION guard_ballot_log();
CREATE OR REPLACE TRIGGER log_configurations_not_emptied BEFORE TRUNCATE ON log_configurations
  FOR EACH STATEMENT EXECUTE FUNCTION guard_ballot_log();
CREATE OR REPLACE TRIGGER log_tiles_append_only BEFORE DELETE OR UPDATE ON log_tiles
  FOR EACH ROW EXECUTE FUNCTION guard_ballot_log();
CREATE OR REPLACE TRIGGER log_tiles_not_emptied BEFORE TRUNCATE ON log_tiles
  FOR EACH STATEMENT EXECUTE FUNCTION guard_ballot_log();
CREATE OR REPLACE TRIGGER log_checkpoints_append_only BEFORE DELETE OR UPDATE ON log_checkpoints
  FOR EACH ROW EXECUTE FUNCTION guard_ballot_log();
CREATE OR REPLACE TRIGGER log_checkpoints_not_emptied BEFORE TRUNCATE ON log_checkpoints
  FOR EACH STATEMENT EXECUTE FUNCTION guard_ballot_log();
CREATE OR REPLACE TRIGGER ballot_logs_grow BEFORE UPDATE ON ballot_logs
  FOR EACH ROW EXECUTE FUNCTION guard_log_head();
CREATE OR REPLACE TRIGGER ballot_logs_not_emptied BEFORE TRUNCATE ON ballot_logs
  FOR EACH STATEMENT EXECUTE FUNCTION guard_ballot_log();
CREATE OR REPLACE TRIGGER ballot_logs_stay BEFORE DELETE ON ballot_logs
  FOR EACH ROW EXECUTE FUNCTION guard_ballot_log();
CREATE OR REPLACE TRIGGER ballot_blocks_checked BEFORE INSERT ON ballot_blocks
  FOR EACH ROW EXECUTE FUNCTION check_ballot_block();
CREATE OR REPLACE TRIGGER ballot_blocks_stay BEFORE DELETE OR UPDATE OF voting_event_id, first_leaf, ballots, entries, weights, tags, tag_heads,
  salts, sealed_times, ids, country_codes, submitted_at ON ballot_blocks
  FOR EACH ROW EXECUTE FUNCTION guard_ballot_log();
CREATE OR REPLACE TRIGGER ballot_blocks_keep_shown BEFORE UPDATE OF voter_ids ON ballot_blocks
  FOR EACH ROW EXECUTE FUNCTION guard_shown_voter_ids();
CREATE OR REPLACE TRIGGER ballot_blocks_not_emptied BEFORE TRUNCATE ON ballot_blocks
  FOR EACH STATEMENT EXECUTE FUNCTION guard_ballot_log();
CREATE OR REPLACE TRIGGER voided_ballots_not_emptied BEFORE TRUNCATE ON voided_ballots
  FOR EACH STATEMENT EXECUTE FUNCTION guard_ballot_log();
CREATE OR REPLACE TRIGGER voided_ballots_stay BEFORE DELETE ON voided_ballots
  FOR EACH ROW EXECUTE FUNCTION guard_ballot_log();
CREATE OR REPLACE TRIGGER voided_ballots_stay_void BEFORE UPDATE ON voided_ballots
  FOR EACH ROW EXECUTE FUNCTION guard_voided_ballot();
CREATE OR REPLACE TRIGGER credit_entries_append_only BEFORE UPDATE ON credit_entries
  FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- The figures of a roll, its electorate among them, are kept as sums of changes. Row by row only where most changes leave the figure as it is.
CREATE OR REPLACE TRIGGER voters_count_added AFTER INSERT ON voters REFERENCING NEW TABLE AS roll
  FOR EACH STATEMENT EXECUTE FUNCTION count_roll_of_statement();
CREATE OR REPLACE TRIGGER voters_count_changed AFTER UPDATE ON voters
  FOR EACH ROW
  WHEN ((OLD.status, OLD.source, OLD.weight_micro, OLD.group_id, OLD.deleted_at) IS DISTINCT FROM
    (NEW.status, NEW.source, NEW.weight_micro, NEW.group_id, NEW.deleted_at))
  EXECUTE FUNCTION count_changed_voter();
CREATE OR REPLACE TRIGGER voters_count_removed AFTER DELETE ON voters REFERENCING OLD TABLE AS roll
  FOR EACH STATEMENT EXECUTE FUNCTION count_roll_of_statement();
