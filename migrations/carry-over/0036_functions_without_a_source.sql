-- Functions of earlier builds that this one does not have. Those of builds that mark their functions go by themselves.
DROP FUNCTION IF EXISTS announce_ballot(text, text), count_ballots(text);
