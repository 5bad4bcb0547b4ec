-- The key of the job that asks a provider for a refund. In TypeScript: `refundJobKey`.
CREATE OR REPLACE FUNCTION refund_job_key(p_attempt text, p_payment text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN 'refund:' || p_attempt || ':' || p_payment;

-- Queues the refund of an attempt's payment: inserts its row, and a job that asks the provider. Does nothing if the row exists.
CREATE OR REPLACE FUNCTION give_back(p_event text, p_attempt text, p_payment text, p_reference text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO payment_refunds (voting_event_id, attempt_id, provider_payment_id, reference, amount_minor, currency, status, created_at, updated_at)
  SELECT p_event, a.id, p_payment, p_reference, a.amount_minor, a.currency, 'due', now_ms(), now_ms()
  -- A rehearsal moves no money, so there is nothing to refund.
  FROM payment_attempts a WHERE a.voting_event_id = p_event AND a.id = p_attempt AND NOT a.rehearsal
  ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN RETURN; END IF;
  PERFORM add_job('refund_payment', p_max_attempts => refund_tries(), p_key => refund_job_key(p_attempt, p_payment),
    p_payload => json_build_object('votingEventId', p_event, 'attemptId', p_attempt, 'providerPaymentId', p_payment));
END $$;

-- Refunds the payment for a ballot that will not count.
CREATE OR REPLACE FUNCTION give_back_ballot(p_event text, p_attempt text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM give_back(p_event, a.id, a.provider_payment_id, coalesce(a.provider_reference, ''))
  FROM payment_attempts a WHERE a.voting_event_id = p_event AND a.id = p_attempt AND a.provider_payment_id IS NOT NULL;
END $$;

-- Refunds the fulfilled payments of a deleted event whose IDs are above p_after: 500 now, and the next 500 by a job a minute later.
CREATE OR REPLACE FUNCTION give_event_back(p_event text, p_after text) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
  given CONSTANT text[] := ARRAY(SELECT p.id FROM payment_attempts p WHERE p.voting_event_id = p_event AND p.id > p_after
    AND p.status = 'fulfilled' AND p.reversed_at IS NULL AND p.refunded_at IS NULL ORDER BY p.id LIMIT 500);
BEGIN
  PERFORM give_back_ballot(p_event, a.id) FROM unnest(given) AS a (id);
  IF cardinality(given) = 500 THEN PERFORM add_job('give_event_back', p_run_at => now_ms() + 60000, p_key => 'give_event_back:' || p_event,
    p_payload => json_build_object('eventId', p_event, 'after', given[500]));
  END IF;
END $$;
