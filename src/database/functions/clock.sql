-- The database's clock in Unix milliseconds: it decides windows and expiry, so that all processes go by one clock.
CREATE OR REPLACE FUNCTION now_ms() RETURNS bigint LANGUAGE sql VOLATILE PARALLEL SAFE
  RETURN (extract(epoch FROM clock_timestamp()) * 1000)::bigint;
