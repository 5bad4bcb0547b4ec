import { describe, expect, test } from 'vitest';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';
import { HTTP_SERVER_OPTIONS } from '#src/server/listen.ts';

describe('time limits', () => {
  test('are those that the design promises', () => {
    expect(TIME_LIMITS).toMatchObject({
      requestHeadersMs: 5_000,
      requestMs: 10_000,
      connectionsCheckIntervalMs: 500,
      keepAliveMs: 65_000,
      shutdownGraceMs: 10_000,
      databaseConnectMs: 1_000,
      databaseSilenceMs: 1_000,
      drainMs: 1_500,
      databaseQueryMs: 4_000,
      databaseStatementMs: 3_000,
      databaseLockMs: 1_000,
      databaseIdleInTransactionMs: 5_000,
      webhookExchangeMs: 15_000,
      providerMs: 10_000,
      payerMs: 9_000,
      smtpMs: 10_000,
    });
  });

  test('reach the HTTP server under the names that Node knows', () => {
    expect(HTTP_SERVER_OPTIONS).toMatchObject({
      headersTimeout: 5_000,
      requestTimeout: 10_000,
      connectionsCheckingInterval: 500,
      keepAliveTimeout: 65_000,
    });
  });

  test.each([
    ['databaseLockMs', 'databaseStatementMs'],
    ['databaseStatementMs', 'databaseQueryMs'],
    ['databaseQueryMs', 'databaseIdleInTransactionMs'],
    ['databaseConnectMs', 'databaseQueryMs'],
    ['heartbeatMs', 'databaseSilenceMs'],
    ['databaseSilenceMs', 'databaseStatementMs'],
    ['databaseQueryMs', 'requestMs'],
    ['databaseIdleInTransactionMs', 'requestMs'],
    ['connectionsCheckIntervalMs', 'requestHeadersMs'],
    ['requestHeadersMs', 'requestMs'],
    ['requestMs', 'keepAliveMs'],
    ['webhookConnectMs', 'webhookExchangeMs'],
    ['refusalLingerMs', 'shutdownGraceMs'],
  ] as const)('%s passes before %s around it', (inner, outer) => {
    expect(TIME_LIMITS[inner]).toBeLessThan(TIME_LIMITS[outer]);
  });

  test('a query and the wait for its connection together fit into one request', () => {
    expect(TIME_LIMITS.databaseConnectMs + TIME_LIMITS.databaseQueryMs).toBeLessThan(TIME_LIMITS.requestMs);
  });
});
