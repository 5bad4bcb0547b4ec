import { randomUUID } from 'node:crypto';
import { accountRoutes } from '#src/accounts/routes.ts';
import { createLogReceipts } from '#src/ballot-log/promise-leaf.ts';
import { ballotLogRoutes } from '#src/ballot-log/public-routes.ts';
import { candidateRoutes, groupRoutes, positionRoutes, sponsorRoutes } from '#src/ballot-paper/organizer-routes.ts';
import { publicBallotPaperRoutes } from '#src/ballot-paper/public-routes.ts';
import { publicBallotRoutes } from '#src/ballots/public-routes.ts';
import { publicCreditRoutes } from '#src/credits/public-routes.ts';
import type { Deps } from '#src/deps.ts';
import { paymentDeps, registrationCheckout } from '#src/fulfilments.ts';
import { CostlyReads } from '#src/http/costly-reads.ts';
import { IdempotencyStore } from '#src/http/idempotency.ts';
import type { Metrics } from '#src/http/metrics.ts';
import { createPipeline } from '#src/http/pipeline.ts';
import type { RateLimiter } from '#src/http/rate-limit.ts';
import type { Route } from '#src/http/route.ts';
import { type Health, serviceRoutes } from '#src/http/service-routes.ts';
import { paymentRoutes } from '#src/payments/organizer-routes.ts';
import { publicPaymentRoutes } from '#src/payments/public-routes.ts';
import { describeApi } from '#src/reference/describe-api.ts';
import { documentRoute } from '#src/reference/document-route.ts';
import { referenceRoutes } from '#src/reference/reference-routes.ts';
import { exportRoutes } from '#src/results/export-routes.ts';
import { resultRoutes } from '#src/results/routes.ts';
import { confirmationRoutes } from '#src/voters/confirmation-routes.ts';
import { voterRoutes } from '#src/voters/organizer-routes.ts';
import { publicVoterRoutes } from '#src/voters/public-routes.ts';
import { isAboutEvent } from '#src/voting-events/access.ts';
import { auditRoutes } from '#src/voting-events/audit-routes.ts';
import { findEventByReference, findOwnEvent } from '#src/voting-events/find-event.ts';
import { inviteRoutes } from '#src/voting-events/invite-routes.ts';
import { eventRoutes } from '#src/voting-events/organizer-routes.ts';
import { webhookMessages } from '#src/webhook-messages.ts';
import { webhookRoutes } from '#src/webhooks/routes.ts';

/** The whole route map, in the order of the API reference. */
export function routeMap(deps: Deps, rateLimiter: RateLimiter, readHealth: () => Promise<Health>): Route[] {
  const payments = { ...paymentDeps(deps), rateLimiter };
  const routes = [
    ...serviceRoutes({ ...deps.config, version: deps.version }, readHealth),
    ...accountRoutes(),
    ...eventRoutes(deps),
    ...inviteRoutes(deps),
    ...auditRoutes(deps),
    ...positionRoutes(deps),
    ...candidateRoutes(deps),
    ...groupRoutes(deps),
    ...sponsorRoutes(deps),
    ...voterRoutes(deps),
    ...paymentRoutes(deps, payments),
    ...resultRoutes(deps),
    ...exportRoutes(deps),
    ...webhookRoutes(deps, {
      seen: async (accountId, code) => (await findEventByReference(deps.db, accountId, code)).id,
      owned: async (accountId, code) => (await findOwnEvent(deps.db, accountId, code)).id,
    }),
    ...publicBallotPaperRoutes(deps, registrationCheckout(payments)),
    ...publicVoterRoutes(deps),
    ...confirmationRoutes(deps),
    ...publicBallotRoutes(deps, payments, createLogReceipts(deps)),
    ...publicCreditRoutes(deps, payments),
    ...publicPaymentRoutes(deps, payments),
    ...ballotLogRoutes(deps, rateLimiter),
  ];
  const describe = () =>
    describeApi({
      title: deps.config.companyName,
      version: deps.version,
      serverUrl: deps.config.baseUrl,
      websiteUrl: deps.config.websiteUrl,
      referenceUrl: deps.config.apiDocUrl,
      routes: all,
      messages: webhookMessages(),
    });
  const all: Route[] = [...routes, ...referenceRoutes(describe), documentRoute(describe)];
  return all;
}

/** The service as a function from request to response, with the guard in front of every route. */
export function createApp(deps: Deps, rateLimiter: RateLimiter, readHealth: () => Promise<Health>, metrics: Metrics) {
  return createPipeline(routeMap(deps, rateLimiter, readHealth), {
    db: deps.db,
    clock: deps.clock,
    log: deps.log,
    observe: (request) => metrics.observe(request),
    newRequestId: randomUUID,
    authenticator: deps.authenticator,
    rateLimiter,
    costlyReads: new CostlyReads(),
    load: deps.load,
    idempotency: new IdempotencyStore(deps.db, deps.secrets, deps.processId),
    // Who changes an event sees the change with their next request; other processes are told by the database.
    changed: (target) => {
      if (isAboutEvent(target)) deps.events.forget(target.event.id);
    },
    trustProxy: deps.config.trustProxy,
    secure: deps.config.baseUrl.startsWith('https://'),
  });
}
