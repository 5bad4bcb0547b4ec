/**
 * Everything that a person has to look at. Each is a line of level `error` with the field `alarm`, stands in the metric
 * `voting_alarms_total` with 0 from the start, and has a row in docs/operations.md.
 */
export const ALARMS = [
  'ballot_key_kept',
  'ballot_key_missing',
  'ballot_log_changed',
  'ballot_log_set_back',
  'business_not_ready',
  'clock_drift',
  'database_not_durable',
  'jobs_stalled',
  'payment_mismatch',
  'payment_refused',
  'payment_unmatched',
  'refund_failed',
  'refund_needs_attention',
  'refund_refused',
  'secret_unreadable',
  'witness_ahead',
] as const;
