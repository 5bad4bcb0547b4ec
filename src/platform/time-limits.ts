/**
 * Every time limit of the service, in milliseconds. Inner limits are shorter than the outer ones around them, so that
 * the innermost one that knows what went wrong is the one that says so.
 */
export const TIME_LIMITS = {
  /** From the first byte of a request, or from the connection where none comes. */
  requestHeadersMs: 5_000,
  requestMs: 10_000,
  /** How often the two above are looked at: Node's own 30 s would make them 35 s and 40 s. */
  connectionsCheckIntervalMs: 500,
  /** Longer than the 60 s after which common load balancers drop an idle connection themselves. */
  keepAliveMs: 65_000,
  /** How long a peer may take none of the answer that waits for it, and how long it may take for all of it. */
  answerStallMs: 20_000,
  answerMs: 900_000,
  /** How long a refused peer may take to read why, before its connection is cut. */
  refusalLingerMs: 1_000,
  /** How long requests are taken after the signal to stop: a proxy learns meanwhile that they go elsewhere. */
  drainMs: 1_500,
  shutdownGraceMs: 10_000,
  /**
   * What a request waits for a connection. Half of it refuses a burst of 32 changes of one event, which take turns; a silent
   * database is noticed apart from this.
   */
  databaseConnectMs: 1_000,
  /** Jobs have more time: nothing waits for one of them. */
  databaseJobConnectMs: 2_000,
  /** How often each process shows that it is alive, and how long the database may leave that unanswered. */
  heartbeatMs: 500,
  databaseSilenceMs: 1_000,
  /** Counted by the client: the only limit that ends a query on a silent network. */
  databaseQueryMs: 4_000,
  databaseStatementMs: 3_000,
  databaseLockMs: 1_000,
  databaseIdleInTransactionMs: 5_000,
  databaseIdleMs: 60_000,
  webhookConnectMs: 5_000,
  webhookExchangeMs: 15_000,
  providerMs: 10_000,
  /** For one witness of the service's own log: its connection, and all that it is asked. */
  witnessMs: 10_000,
  /** What one call of a payer waits for a payment provider in all: its tries, and the answer to another call, together. */
  payerMs: 9_000,
  /** Until the mail server is connected, and until it says who it is. */
  smtpMs: 10_000,
  /** What RFC 5321 asks for after the end of a mail's text: who gives up earlier sends a mail twice that was taken. */
  smtpReplyMs: 600_000,
  /** Longer than the longest thing that a job waits for. */
  jobMs: 900_000,
  /** What jobs under way get to finish when the process stops. */
  jobGraceMs: 8_000,
  /** What closing connections gets then: more than it needs, unless something hangs. */
  closeMs: 3_000,
  /** From the signal to the end of the process, whatever hangs. */
  stopMs: 21_000,
} as const;
