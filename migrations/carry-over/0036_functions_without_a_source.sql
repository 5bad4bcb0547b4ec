-- Functions of earlier builds that this one does not have. Those of builds that mark their functions go by themselves.
DROP FUNCTION IF EXISTS announce_ballot, count_ballots, cast_ballot, open_credit_balance, spend_credits, take_back_credits;
