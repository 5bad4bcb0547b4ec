-- A process updates its row twice a second, and counts as dead 2 s after its last update.
CREATE OR REPLACE FUNCTION is_process_alive(p_id bytea) RETURNS boolean LANGUAGE sql STABLE
AS $$
  SELECT EXISTS (SELECT 1 FROM service_processes p WHERE p.id = p_id AND p.seen_at > now_ms() - 2000)
$$;
