-- Queues messages about several facts of one type, one row for each fact and subscribed endpoint, in the transaction of the
-- facts. Without a subscriber it only reads the account's endpoints. During a rehearsal it adds `"rehearsal":true` to the data,
-- except for `voting_event.*`, whose data already shows the rehearsal.
CREATE OR REPLACE FUNCTION record_webhook_events(p_account text, p_event text, p_type text, p_messages text[], p_data text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  at bigint := now_ms();
  time text := sortable_time(at);
BEGIN
  INSERT INTO webhook_deliveries (id, endpoint_id, message_id, event_type, body, status, next_try_at, created_at)
  SELECT 'whd_' || time || left(replace(gen_random_uuid()::text, '-', ''), 16), e.id, f.message, p_type,
    '{"id":' || to_json(f.message)::text || ',"type":' || to_json(p_type)::text || ',"createdAt":' || at ||
      ',"votingEventId":' || coalesce(to_json(p_event)::text, 'null') || ',"data":' ||
      CASE WHEN EXISTS (SELECT 1 FROM voting_events v WHERE v.id = p_event AND v.rehearsal_since IS NOT NULL)
        AND p_type NOT LIKE 'voting\_event.%'
        THEN regexp_replace(f.data, '^\{', '{"rehearsal":true,') ELSE f.data END || '}',
    CASE WHEN e.status = 'active' THEN 'pending' ELSE 'skipped' END, at, at
  FROM webhook_endpoints e CROSS JOIN unnest(p_messages, p_data) AS f(message, data)
  WHERE e.account_id = p_account AND (e.voting_event_id IS NULL OR e.voting_event_id = p_event) AND p_type = ANY (e.event_types);
END $$;
