-- Constants of the rules, each defined once. If TypeScript has the same constant, its name is given; a test compares both.

-- A ballot that was cast before the close may be confirmed this long after it, in milliseconds: `CONFIRM_GRACE_MS`.
CREATE OR REPLACE FUNCTION confirm_grace_ms() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN 15 * 60 * 1000;

-- A ballot that is not confirmed within this time is dropped, in milliseconds.
CREATE OR REPLACE FUNCTION pending_ballot_ms() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN 24 * 60 * 60 * 1000;

-- A ballot of an event without an end is sealed within this time of its confirmation, in milliseconds: `SEALED_WITHIN_MS`.
CREATE OR REPLACE FUNCTION sealed_within_ms() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN 24 * 60 * 60 * 1000;

-- An answer is kept under its Idempotency-Key this long, in milliseconds.
CREATE OR REPLACE FUNCTION idempotency_kept_ms() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN 24 * 60 * 60 * 1000;

-- Wrong keys are counted in windows of this length, in milliseconds.
CREATE OR REPLACE FUNCTION wrong_key_window_ms() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN 15 * 60 * 1000;

-- Wrong keys for one voter within a window before further wrong keys are delayed or refused: `FREE_TRIES`.
CREATE OR REPLACE FUNCTION free_wrong_keys() RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN 10;

-- Minimum number of an election's voters that are disclosed together as having voted: `DISCLOSED_TOGETHER`.
CREATE OR REPLACE FUNCTION disclosed_together() RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN 5;

-- How often one job asks a provider for a refund: `REFUND_TRIES`. Another job follows the last try.
CREATE OR REPLACE FUNCTION refund_tries() RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN 20;
