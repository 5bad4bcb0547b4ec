-- The database's clock in Unix milliseconds. It decides time windows and expiry, so that all processes use one clock.
CREATE OR REPLACE FUNCTION now_ms() RETURNS bigint LANGUAGE sql VOLATILE PARALLEL SAFE
  RETURN (extract(epoch FROM clock_timestamp()) * 1000)::bigint;
