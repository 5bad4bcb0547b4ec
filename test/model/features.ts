/** Parts of the contract that the model holds and the service at hand doesn't build yet (off: not asked for). */
export const FEATURES = {
  /**
   * Disclosure in steps (5.6) of everything but the public live counts: `hasVoted`, filters, `disclosure`, stats; and that a step
   * is made within a minute. Off, the public live counts may still take a step late.
   */
  disclosure: true,
  /** Figures of a final result stay those of the close; `afterReversals` shows what is left (7.4). */
  afterReversals: true,
  /** `refund` and `providerDetails` of the organizer's payment attempt (7.4). Off: absent, or as they should be. */
  refundDetails: true,
  /** `voting_event.closing`, `voter.mail_failed`, `payment.refund_failed` among the event types. */
  newWebhooks: true,
  /** `finalAt` of the event. Off: absent, or as it should be. */
  laterEventFields: true,
} as const;
