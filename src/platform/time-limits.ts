/** All time limits, in ms. An inner limit is shorter than the limits around it, because the innermost code knows the cause. */
export const TIME_LIMITS = {
  /** From the first byte of a request, or from the beginning of the connection if no byte comes. */
  requestHeadersMs: 5_000,
  requestMs: 10_000,
  /** How often Node checks the two limits above: its default of 30 s would make them 35 s and 40 s. */
  connectionsCheckIntervalMs: 500,
  /** Longer than the 60 s after which common load balancers drop an idle connection themselves. */
  keepAliveMs: 65_000,
  /** How long a peer may read nothing of its answer, and how long it may take to read all of it. */
  answerStallMs: 20_000,
  answerMs: 900_000,
  /** How long a refused peer may take to read the refusal, before its connection is cut. */
  refusalLingerMs: 1_000,
  /** How long requests are still accepted after the signal to stop, until proxies send them elsewhere. */
  drainMs: 1_500,
  shutdownGraceMs: 10_000,
  /**
   * How long a request waits for a connection. Half of this limit would refuse some requests in a burst of 32 changes of one event,
   * because these run one after the other. Another limit detects a silent database (`databaseSilenceMs`).
   */
  databaseConnectMs: 1_000,
  /** How long a job waits for a connection: longer than a request, because no client waits for a job's answer. */
  databaseJobConnectMs: 2_000,
  /** The interval at which each process shows the database that it is alive, and how long the answer may take. */
  heartbeatMs: 500,
  databaseSilenceMs: 1_000,
  /** The client's own limit: the only one that ends a query if the network is silent. */
  databaseQueryMs: 4_000,
  databaseStatementMs: 3_000,
  databaseLockMs: 1_000,
  databaseIdleInTransactionMs: 5_000,
  databaseIdleMs: 60_000,
  /** How long a caller waits for a count. The count goes on after that, so that a retry is fast. */
  countMs: 20_000,
  webhookConnectMs: 5_000,
  webhookExchangeMs: 15_000,
  providerMs: 10_000,
  /** For one witness of the service's own log: the connection and all requests to it together. */
  witnessMs: 10_000,
  /** How long one call of a payer waits for a payment provider, with retries and the wait for a concurrent call. */
  payerMs: 9_000,
  /** The wait until the connection to the mail server is open, and then until its greeting. */
  smtpMs: 10_000,
  /** The wait for a reply after the text of a mail (RFC 5321): a client that gives up earlier sends an accepted mail twice. */
  smtpReplyMs: 600_000,
  /** Maximum duration of a job: longer than any single wait within a job. */
  jobMs: 900_000,
  /** How long running jobs may take to finish when the process stops. */
  jobGraceMs: 8_000,
  /** After that, how long connections may take to close. They need less, unless something hangs. */
  closeMs: 3_000,
  /** From the signal to the end of the process, even if something hangs. */
  stopMs: 21_000,
} as const;
