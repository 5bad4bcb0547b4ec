/** What of the contract the service at hand builds. Off: the model knows it, but doesn't ask for it. */
export const FEATURES = {
  /** Section 10 of the completions as a whole: voting page and mails, notify, import, copy, definition, list exports. */
  section10: false,
  /** `status: "rehearsal"` (10.5). */
  rehearsal: false,
  /** Keys with the scope `log`, details of `roll` and `close` leaves, the promised date. */
  logScope: false,
  /**
   * Disclosure in steps (5.6) of everything but the public live counts: `hasVoted`, filters, `disclosure`, stats; and that a step
   * is made within a minute. Off, the public live counts may still take a step late.
   */
  disclosure: false,
  /** Figures of a final result stay those of the close; `afterReversals` shows what is left (7.4). */
  afterReversals: true,
  /** `refund`, `providerDetails` and `refundedAt` of the organizer's payment attempt (7.4). */
  refundDetails: false,
  /** Further figures of 5.5: majorityRequired, runnerUp, margin, firstChoices, pairwise, finalTwo, byGroup. */
  furtherFigures: false,
  /** Referendum `threshold.base`, and the STV quota of weighted rolls, as 5.3 and 5.5 have them now. */
  newCounting: false,
  /** `voting_event.closing`, `voter.mail_failed`, `payment.refund_failed`. */
  newWebhooks: false,
  /** Fields of the event that came later: log, votingPageUrl, contactEmail, language, logoUrl, finalAt, disclosure. */
  laterEventFields: false,
} as const;
