-- A mask for a voter ID that nobody has is made of voters that a keyed point picks: this order makes a point of every voter.
CREATE INDEX voters_point ON voters (voting_event_id, md5(id) COLLATE "C") WHERE email IS NOT NULL AND deleted_at IS NULL;
