-- A process writes itself down twice a second; one that has not done so for 2 s counts as dead.
CREATE OR REPLACE FUNCTION is_process_alive(p_id bytea) RETURNS boolean LANGUAGE sql STABLE
AS $$
  SELECT EXISTS (SELECT 1 FROM service_processes p WHERE p.id = p_id AND p.seen_at > now_ms() - 2000)
$$;
