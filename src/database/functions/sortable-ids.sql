-- The time at the beginning of an ID that sorts by creation, as in src/platform/ids.ts: 45 bits of milliseconds in base32.
CREATE OR REPLACE FUNCTION sortable_time(p_ms bigint) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  alphabet CONSTANT text := '0123456789abcdefghjkmnpqrstvwxyz';
BEGIN
  RETURN substr(alphabet, (p_ms >> 40 & 31)::integer + 1, 1) || substr(alphabet, (p_ms >> 35 & 31)::integer + 1, 1) ||
    substr(alphabet, (p_ms >> 30 & 31)::integer + 1, 1) || substr(alphabet, (p_ms >> 25 & 31)::integer + 1, 1) ||
    substr(alphabet, (p_ms >> 20 & 31)::integer + 1, 1) || substr(alphabet, (p_ms >> 15 & 31)::integer + 1, 1) ||
    substr(alphabet, (p_ms >> 10 & 31)::integer + 1, 1) || substr(alphabet, (p_ms >> 5 & 31)::integer + 1, 1) ||
    substr(alphabet, (p_ms & 31)::integer + 1, 1);
END $$;

-- An ID that sorts by creation: the time, then 16 hexadecimal digits with 60 random bits.
CREATE OR REPLACE FUNCTION sortable_id(p_prefix text) RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT p_prefix || '_' || sortable_time(now_ms()) || left(replace(gen_random_uuid()::text, '-', ''), 16);
$$;
