-- Queues messages about several facts of one type, one row for each fact and subscribed endpoint, in the transaction of the
-- facts. Without a subscriber, it only reads the account's endpoints. During a rehearsal it adds `"rehearsal":true` to the data,
-- except for `voting_event.*`, whose data already show the rehearsal.
CREATE OR REPLACE FUNCTION record_webhook_events(p_account text, p_event text, p_type text, p_messages text[], p_data text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  at bigint := now_ms();
  time text := sortable_time(at);
  of_person boolean := p_type ~ '^(voter|candidate)\.' AND p_type NOT LIKE '%.deleted';
BEGIN
  IF p_type IN ('voter.deleted', 'candidate.deleted') THEN
    PERFORM erase_messages(p_event, ARRAY(SELECT f::json ->> 'id' FROM unnest(p_data) AS f), NULL);
  END IF;
  INSERT INTO webhook_deliveries (id, endpoint_id, message_id, event_type, body, person_event_id, person_id, status, next_try_at, created_at)
  SELECT 'whd_' || time || left(replace(gen_random_uuid()::text, '-', ''), 16), e.id, f.message, p_type,
    '{"id":' || to_json(f.message)::text || ',"type":' || to_json(p_type)::text || ',"createdAt":' || at ||
      ',"votingEventId":' || coalesce(to_json(p_event)::text, 'null') || ',"data":' ||
      CASE WHEN EXISTS (SELECT 1 FROM voting_events v WHERE v.id = p_event AND v.rehearsal_since IS NOT NULL)
        AND p_type NOT LIKE 'voting\_event.%'
        THEN regexp_replace(f.data, '^\{', '{"rehearsal":true,') ELSE f.data END || '}',
    CASE WHEN of_person THEN p_event END, CASE WHEN of_person THEN f.data::json ->> 'id' END,
    CASE WHEN e.status = 'active' THEN 'pending' ELSE 'skipped' END, at, at
  FROM webhook_endpoints e CROSS JOIN unnest(p_messages, p_data) AS f(message, data)
  WHERE e.account_id = p_account AND (e.voting_event_id IS NULL OR e.voting_event_id = p_event) AND p_type = ANY (e.event_types);
END $$;

-- Erases the messages about deleted voters or candidates: their texts, and the receivers' answers; pending messages are skipped. This
-- changes the version of the endpoints, which senders compare before they send a message that they have read. Erases at most p_limit
-- messages; without p_persons, messages about all persons of the event. Returns their number.
CREATE OR REPLACE FUNCTION erase_messages(p_event text, p_persons text[], p_limit integer) RETURNS integer
LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
DECLARE
  erased text[];
  endpoints text[];
BEGIN
  WITH gone AS (
    UPDATE webhook_deliveries d SET body = '', person_id = NULL, status = CASE d.status WHEN 'pending' THEN 'skipped' ELSE d.status END
    FROM (
      SELECT w.endpoint_id, w.id FROM webhook_deliveries w
      WHERE w.person_event_id = p_event AND w.person_id IS NOT NULL AND (p_persons IS NULL OR w.person_id = ANY (p_persons))
      LIMIT p_limit) AS f
    WHERE d.endpoint_id = f.endpoint_id AND d.id = f.id RETURNING d.endpoint_id, d.id, d.status
  )
  SELECT array_agg(id), array_agg(DISTINCT endpoint_id) FILTER (WHERE status = 'skipped') INTO erased, endpoints FROM gone;
  UPDATE webhook_attempts SET response_body = NULL WHERE delivery_id = ANY (erased);
  PERFORM 1 FROM webhook_endpoints WHERE id = ANY (endpoints) ORDER BY id FOR NO KEY UPDATE;
  UPDATE webhook_endpoints SET updated_at = greatest(updated_at + 1, now_ms()) WHERE id = ANY (endpoints);
  RETURN coalesce(cardinality(erased), 0);
END $$;
