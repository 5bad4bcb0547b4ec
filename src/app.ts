import { randomUUID } from 'node:crypto';
import { Hono } from 'hono';
import { accountRouter } from '#src/accounts/routes.ts';
import { candidateRouter } from '#src/ballot-definition/candidate-routes.ts';
import { definitionRouter } from '#src/ballot-definition/definition-routes.ts';
import { groupRouter } from '#src/ballot-definition/group-routes.ts';
import { positionRouter } from '#src/ballot-definition/position-routes.ts';
import { publicBallotDefinitionRouter } from '#src/ballot-definition/public-routes.ts';
import { sponsorRouter } from '#src/ballot-definition/sponsor-routes.ts';
import { ballotLogRouter, logKeyRouter } from '#src/ballot-log/log-routes.ts';
import { createLogReceipts } from '#src/ballot-log/promise-leaf.ts';
import { castRouter } from '#src/ballots/cast-ballot.ts';
import { confirmBallotRouter } from '#src/ballots/confirm-ballot.ts';
import { hasMoved } from '#src/cells/find-cell.ts';
import { guardConsole } from '#src/console/guard-console.ts';
import { consoleRouter } from '#src/console/routes.ts';
import { publicCreditRouter } from '#src/credits/public-routes.ts';
import { serviceOf } from '#src/http/answer-once.ts';
import { type Authentication, authenticate } from '#src/http/authenticate.ts';
import type { Env, Service } from '#src/http/env.ts';
import { answerError, logRequest, type TraceableRequest } from '#src/http/errors.ts';
import {
  admitKeyless,
  checkHeaders,
  checkScope,
  findOperation,
  limitRate,
  shedLoad,
  startRequest,
  takeWork,
} from '#src/http/middleware.ts';
import { type Operation, operationsOf } from '#src/http/operation.ts';
import type { RateLimiter } from '#src/http/rate-limit.ts';
import { letterRouter } from '#src/letters/letter-routes.ts';
import { paymentRouter } from '#src/payments/organizer-routes.ts';
import { publicPaymentRouter } from '#src/payments/public-routes.ts';
import { rehearsedPaymentRouter } from '#src/payments/rehearse-payment.ts';
import { notFound } from '#src/platform/errors.ts';
import { makeOnce } from '#src/platform/make-once.ts';
import { describeApi } from '#src/reference/describe-api.ts';
import type { JsonSchema } from '#src/reference/describe-schema.ts';
import { documentRouter, referenceRouter } from '#src/reference/reference-routes.ts';
import { sdkRouter } from '#src/reference/sdk-routes.ts';
import { verifierRouter } from '#src/reference/verifier-routes.ts';
import { exportRouter } from '#src/results/export-routes.ts';
import { resultRouter } from '#src/results/result-routes.ts';
import { type Health, serviceRouter } from '#src/server/routes.ts';
import { serviceLogRouter } from '#src/service-log/public-routes.ts';
import { confirmAddressRouter } from '#src/voters/confirm-address.ts';
import { copyRouter } from '#src/voters/copy-event.ts';
import { notificationRouter } from '#src/voters/notification-routes.ts';
import { publicVoterRouter } from '#src/voters/public-routes.ts';
import { voterRouter } from '#src/voters/voter-routes.ts';
import { findSeenAccess, requireOpenLog } from '#src/voting-events/access.ts';
import { auditRouter } from '#src/voting-events/audit-routes.ts';
import { eventRouter } from '#src/voting-events/event-routes.ts';
import { inviteRouter } from '#src/voting-events/invite-routes.ts';
import { webhookRouter } from '#src/webhooks/endpoint-routes.ts';
import type { Deps } from './deps.ts';
import { paymentDeps, registrationCheckout } from './fulfilments.ts';
import { webhookMessages } from './webhook-messages.ts';

const EVENT = '/voting-events/:idOrCode';
const PUBLIC_EVENT = '/public/voting-events/:idOrCode';

/** Middlewares are in the order in which refusals take precedence (completions 1.6); routers are in the order of the API reference. */
export function createApp(
  deps: Deps,
  rateLimiter: RateLimiter,
  readHealth: () => Promise<Health>,
  observe: (request: TraceableRequest) => void,
  authenticator: Authentication = deps.authenticator,
  hasLeft: Service['hasLeft'] = async () => false,
): Hono<Env> {
  const { config, presence } = deps;
  const moves = { isElsewhere: (account: string, named: string) => hasMoved(deps, account, named), hasLeft };
  const app = new Hono<Env>();
  app.use(deps.loopWatch.middleware);
  app.use(logRequest(deps.log, observe));
  app.use(startRequest(serviceOf(deps, moves), randomUUID, config.baseUrl.startsWith('https://')));
  app.use('/console/*', guardConsole); // 404
  app.use(findOperation(app, () => operations)); // 404, 400
  app.use(shedLoad(deps.load, authenticator)); // 500
  app.use(authenticate({ authenticator, presence, rateLimiter, trustProxy: config.trustProxy })); // 401
  app.use(limitRate(rateLimiter)); // 429
  app.use(admitKeyless((idOrCode) => requireOpenLog(deps, idOrCode))); // 401
  app.use(checkScope); // 403
  app.use(checkHeaders); // 400
  app.use(takeWork); // 429
  app.notFound((c) => answerError(notFound(), c));
  app.onError(answerError);

  const payments = { ...paymentDeps(deps), rateLimiter };
  app.route('/', serviceRouter({ ...config, version: deps.version }, readHealth));
  app.route('/me', accountRouter());
  app.route('/', definitionRouter(deps));
  app.route('/voting-events', eventRouter(deps));
  app.route('/', copyRouter(deps));
  app.route('/', inviteRouter(deps));
  app.route(`${EVENT}/audit`, auditRouter(deps));
  app.route(`${EVENT}/positions`, positionRouter(deps));
  app.route(`${EVENT}/candidates`, candidateRouter(deps));
  app.route(`${EVENT}/groups`, groupRouter(deps));
  app.route(`${EVENT}/sponsors`, sponsorRouter(deps));
  app.route('/', notificationRouter(deps));
  app.route('/', letterRouter(deps));
  app.route(`${EVENT}/voters`, voterRouter(deps));
  app.route('/', paymentRouter(deps, payments));
  app.route('/', resultRouter(deps));
  app.route('/', exportRouter(deps));
  app.route(
    '/',
    webhookRouter(deps, (accountId, reference) => findSeenAccess(deps, accountId, reference)),
  );
  app.route(PUBLIC_EVENT, publicBallotDefinitionRouter(deps, registrationCheckout(payments)));
  app.route(PUBLIC_EVENT, publicVoterRouter(deps));
  app.route('/confirm-address', confirmAddressRouter(deps));
  app.route(`${PUBLIC_EVENT}/ballot`, castRouter(deps, payments));
  app.route(`${PUBLIC_EVENT}/ballot`, confirmBallotRouter(deps, rateLimiter, createLogReceipts(deps)));
  app.route(`${PUBLIC_EVENT}/quadratic-credits`, publicCreditRouter(deps, payments));
  app.route('/', publicPaymentRouter(deps, payments));
  app.route('/rehearsal-payments', rehearsedPaymentRouter(payments));
  app.route('/.well-known/voting-log-key', logKeyRouter(deps));
  app.route(`${PUBLIC_EVENT}/log`, ballotLogRouter(deps, rateLimiter));
  app.route('/', serviceLogRouter(deps));
  if (deps.consoleFeed !== undefined) app.route('/console', consoleRouter(deps, deps.consoleFeed));
  const describe = makeOnce(() => describeApp([...operations.values()], deps));
  app.route('/', referenceRouter(describe));
  app.route('/verify', verifierRouter(deps.config.companyName));
  app.route('/sdk', sdkRouter());
  app.route('/openapi.json', documentRouter(describe));
  const operations = operationsOf(app);
  return app;
}

export function describeApp(operations: readonly Operation[], { config, version }: Deps): Promise<JsonSchema> {
  return describeApi({
    title: config.companyName,
    version,
    serverUrl: config.baseUrl,
    websiteUrl: config.websiteUrl,
    referenceUrl: config.apiDocUrl,
    operations: operations.filter(({ undocumented }) => undocumented !== true),
    messages: webhookMessages(),
  });
}
