-- A mask for an unknown voter ID is made of voters that a keyed point picks: this order makes a point of every voter.
CREATE INDEX voters_point ON voters (voting_event_id, md5(id) COLLATE "C") WHERE email IS NOT NULL AND deleted_at IS NULL;

-- Every secret of the last day signs, not only the one before.
ALTER TABLE webhook_endpoints ADD COLUMN earlier_secrets jsonb NOT NULL DEFAULT '[]';

UPDATE webhook_endpoints SET earlier_secrets = jsonb_build_array(jsonb_build_object('secret', previous_secret, 'until', previous_secret_until))
WHERE previous_secret IS NOT NULL AND previous_secret_until IS NOT NULL;

-- Mails by what they are counted for (an address of an account, an address, an account), for an hour or a day. No address in clear.
CREATE TABLE mail_quotas (
  name bytea NOT NULL,
  window_ms bigint NOT NULL,
  began_at bigint NOT NULL,
  mails integer NOT NULL,
  PRIMARY KEY (name, window_ms)
);

-- Changes of the roll after the opening: the reader of a result sees that there were some.
ALTER TABLE voting_events ADD COLUMN identity_changes integer NOT NULL DEFAULT 0, ADD COLUMN roll_changes integer NOT NULL DEFAULT 0;
