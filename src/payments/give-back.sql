-- Gives back what was paid for a ballot that will not count: the row says so, a job asks the provider, once.
CREATE OR REPLACE FUNCTION give_back_ballot(p_event text, p_attempt text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  a payment_attempts%ROWTYPE;
BEGIN
  SELECT * INTO a FROM payment_attempts t WHERE t.voting_event_id = p_event AND t.id = p_attempt;
  -- No money came in a rehearsal, and none goes back.
  IF a.provider_payment_id IS NULL OR a.rehearsal THEN RETURN; END IF;
  INSERT INTO payment_refunds (voting_event_id, attempt_id, provider_payment_id, reference, amount_minor, currency, status, created_at, updated_at)
  VALUES (p_event, a.id, a.provider_payment_id, coalesce(a.provider_reference, ''), a.amount_minor, a.currency, 'due', now_ms(), now_ms())
  ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN RETURN; END IF;
  PERFORM graphile_worker.add_job('refund_payment', max_attempts => 20, job_key => 'refund:' || a.id || ':' || a.provider_payment_id,
    payload => json_build_object('votingEventId', p_event, 'attemptId', a.id, 'providerPaymentId', a.provider_payment_id));
END $$;
