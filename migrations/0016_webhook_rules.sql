-- The time of an ID that sorts by creation, as src/platform/ids.ts writes it: 45 bits of milliseconds in base32.
CREATE FUNCTION sortable_time(p_ms bigint) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  alphabet CONSTANT text := '0123456789abcdefghjkmnpqrstvwxyz';
BEGIN
  RETURN substr(alphabet, (p_ms >> 40 & 31)::integer + 1, 1) || substr(alphabet, (p_ms >> 35 & 31)::integer + 1, 1) ||
    substr(alphabet, (p_ms >> 30 & 31)::integer + 1, 1) || substr(alphabet, (p_ms >> 25 & 31)::integer + 1, 1) ||
    substr(alphabet, (p_ms >> 20 & 31)::integer + 1, 1) || substr(alphabet, (p_ms >> 15 & 31)::integer + 1, 1) ||
    substr(alphabet, (p_ms >> 10 & 31)::integer + 1, 1) || substr(alphabet, (p_ms >> 5 & 31)::integer + 1, 1) ||
    substr(alphabet, (p_ms & 31)::integer + 1, 1);
END $$;
--> statement-breakpoint

-- An ID that sorts by creation. What follows the time is hexadecimal: 60 random bits.
CREATE OR REPLACE FUNCTION sortable_id(p_prefix text) RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT p_prefix || '_' || sortable_time(now_ms()) || left(replace(gen_random_uuid()::text, '-', ''), 16);
$$;
--> statement-breakpoint

-- Writes what receivers are told of several facts of one type, one row for each fact and endpoint that subscribed, in the
-- transaction of the facts. Where nobody subscribed it is one look at the account's endpoints.
CREATE FUNCTION record_webhook_events(p_account text, p_event text, p_type text, p_messages text[], p_data text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  at bigint := now_ms();
  time text := sortable_time(at);
BEGIN
  INSERT INTO webhook_deliveries (id, endpoint_id, message_id, event_type, body, status, next_try_at, created_at)
  SELECT 'whd_' || time || left(replace(gen_random_uuid()::text, '-', ''), 16), e.id, f.message, p_type,
    '{"id":' || to_json(f.message)::text || ',"type":' || to_json(p_type)::text || ',"createdAt":' || at ||
      ',"votingEventId":' || coalesce(to_json(p_event)::text, 'null') || ',"data":' || f.data || '}',
    CASE WHEN e.status = 'active' THEN 'pending' ELSE 'skipped' END, at, at
  FROM webhook_endpoints e CROSS JOIN unnest(p_messages, p_data) AS f(message, data)
  WHERE e.account_id = p_account AND (e.voting_event_id IS NULL OR e.voting_event_id = p_event) AND p_type = ANY (e.event_types);
END $$;
--> statement-breakpoint

CREATE OR REPLACE FUNCTION record_webhook_event(p_account text, p_event text, p_type text, p_message text, p_data text) RETURNS void LANGUAGE sql AS $$
  SELECT record_webhook_events(p_account, p_event, p_type, ARRAY[p_message], ARRAY[p_data]);
$$;
