/** Every time limit of the service in one place, in milliseconds. Inner limits are shorter than the outer ones around them. */
export const TIME_LIMITS = {
  requestHeadersMs: 5_000,
  requestMs: 10_000,
  connectionsCheckIntervalMs: 500,
  keepAliveMs: 65_000,
  shutdownGraceMs: 10_000,
  databaseConnectMs: 1_000,
  databaseQueryMs: 4_000,
  databaseStatementMs: 3_000,
  databaseLockMs: 2_000,
  databaseIdleInTransactionMs: 5_000,
  webhookConnectMs: 5_000,
  webhookExchangeMs: 15_000,
  providerMs: 10_000,
  smtpMs: 10_000,
} as const;
