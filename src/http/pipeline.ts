import { type Context, Hono } from 'hono';
import type { Database } from '#src/database/client.ts';
import { inTransaction } from '#src/database/client.ts';
import type { Clock } from '#src/platform/clock.ts';
import { ApiError, badRequest, notFound } from '#src/platform/errors.ts';
import { type Log, summariseFault } from '#src/platform/log.ts';
import { type Authentication, admit } from './admit.ts';
import type { Answer } from './answer.ts';
import type { Caller } from './caller.ts';
import type { CostlyReads } from './costly-reads.ts';
import { ClaimRefused, type IdempotencyStore, type IdempotentRequest, type StoredAnswer } from './idempotency.ts';
import { type Load, urgencyOf } from './load.ts';
import type { ObservedRequest } from './metrics.ts';
import type { RateLimiter } from './rate-limit.ts';
import { readRequestBody } from './read-body.ts';
import { announcesBody, checkContentType, ownRequestId, parseIdempotencyKey } from './request-headers.ts';
import { parseRequestTarget } from './request-target.ts';
import type { DeferredClaim, Method, RequestContext, Route, UntypedCall } from './route.ts';
import { paramsOf, resourceOf } from './route-path.ts';
import { answer, type Env, replay, send } from './send-answer.ts';
import { type JsonObject, parseJsonBody } from './strict-json.ts';
import { toApiError } from './to-api-error.ts';
import { parseBody, parseQuery } from './validation.ts';

export interface PipelineOptions {
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Log;
  /** Told of every answer. */
  readonly observe: (request: ObservedRequest) => void;
  readonly newRequestId: () => string;
  readonly authenticator: Authentication;
  readonly rateLimiter: RateLimiter;
  readonly costlyReads: CostlyReads;
  /** Says what there is no time for. */
  readonly load: Load;
  readonly idempotency: IdempotencyStore;
  /** Told what a request was about whose change was committed. */
  readonly changed: (target: unknown) => void;
  /** How many hops of `X-Forwarded-For` to believe. */
  readonly trustProxy: number;
  /** Served over https: browsers are told to stay there. */
  readonly secure: boolean;
}

function envelope(error: ApiError, requestId: string): string {
  const details = error.details === undefined ? {} : { details: error.details };
  return JSON.stringify({ error: { code: error.code, message: error.message, ...details, requestId } });
}

/** Puts the guard in front of a table of routes. The order of answers is that of completions 1.6. */
export function createPipeline(routes: readonly Route[], options: PipelineOptions): Hono<Env> {
  const app = new Hono<Env>();
  app.use('*', (c, next) => frame(c, next, options));
  for (const [path, byMethod] of groupByPath(routes)) {
    app.all(path, (c) => dispatch(c, byMethod, options));
  }
  app.notFound((c) => answerError(c, notFound(), options));
  app.onError((fault, c) => answerError(c, fault, options));
  return app;
}

function groupByPath(routes: readonly Route[]): Map<string, Map<Method, Route>> {
  const paths = new Map<string, Map<Method, Route>>();
  for (const route of routes) {
    const byMethod = paths.get(route.path) ?? new Map<Method, Route>();
    if (byMethod.has(route.method)) throw new Error(`two routes for ${route.method} ${route.path}`);
    byMethod.set(route.method, route);
    paths.set(route.path, byMethod);
  }
  return paths;
}

/** What every request gets, whoever answers it: an ID, safe headers, one line in the log. */
async function frame(c: Context<Env>, next: () => Promise<void>, options: PipelineOptions): Promise<void> {
  const startedAt = performance.now();
  const { rawHeaders, url } = c.env.incoming;
  const requestId = ownRequestId(rawHeaders) ?? options.newRequestId();
  c.set('requestId', requestId);
  c.set('log', options.log);
  c.set('startedAt', startedAt);
  c.set('known', { address: c.env.incoming.socket.remoteAddress });
  c.set('headers', {
    'X-Request-Id': requestId,
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
    ...(options.secure ? { 'Strict-Transport-Security': 'max-age=31536000' } : {}),
  });
  // Headers and target were checked before the app was called (`listen`): what comes here is well-formed.
  c.set('target', parseRequestTarget(url ?? ''));
  await next();
}

function answerError(c: Context<Env>, fault: unknown, options: PipelineOptions): Response {
  const error = toApiError(fault);
  const [requestId, startedAt] = [c.get('requestId'), c.get('startedAt')];
  // What there was no time for stands in the line of the request, and needs no time for a second one.
  if (error.status === 500 && error.details?.['reason'] !== 'overloaded') {
    options.log.error(
      { requestId, reason: error.details?.['reason'], fault: summariseFault(fault) },
      'a request failed',
    );
  }
  logLine(c, error.status, startedAt, options, error);
  if (error.retryAfterSeconds !== undefined) c.get('headers')['Retry-After'] = String(error.retryAfterSeconds);
  return send(c, error.status, 'application/json', envelope(error, requestId));
}

/**
 * The one line of a request, refused or not. Only these fields are ever in it: no target, body, header or value. What was
 * known of the request when it was answered stands there: a refused key has no account.
 */
function logLine(c: Context<Env>, status: number, startedAt: number, options: PipelineOptions, error?: ApiError): void {
  const ms = Math.round((performance.now() - startedAt) * 10) / 10;
  const { method } = c.req;
  const route = c.get('route');
  const { address, accountId, keyHint } = c.get('known');
  const reason = error?.details?.['reason'];
  options.observe({ method, route: route?.path ?? 'none', status, ms, code: error?.code, reason });
  options.log.info(
    {
      requestId: c.get('requestId'),
      ...{ address, method, route: route?.path, status, ms },
      ...{ code: error?.code, reason, account: accountId, key: keyHint },
    },
    'request',
  );
}

async function dispatch(c: Context<Env>, byMethod: Map<Method, Route>, options: PipelineOptions): Promise<Response> {
  const method = c.req.method === 'HEAD' ? 'GET' : c.req.method;
  const route = byMethod.get(method as Method);
  if (route === undefined) {
    const allowed = [...byMethod.keys()].flatMap((name) => (name === 'GET' ? ['GET', 'HEAD'] : [name])).join(', ');
    c.get('headers')['Allow'] = allowed;
    return answerError(
      c,
      badRequest(`This address takes ${allowed}, not ${c.req.method}.`, { allow: allowed }),
      options,
    );
  }
  c.set('route', route);
  let leave: (() => void) | undefined;
  try {
    if (route.unlimited !== true) leave = options.load.enter(urgencyOf(route));
    const caller = await admit(c, route, options);
    const result = await respond(c, route, caller, options);
    logLine(c, result.status, c.get('startedAt'), options);
    return result;
  } catch (fault) {
    return answerError(c, fault, options);
  } finally {
    leave?.();
  }
}

function whenGone({ env: { outgoing } }: Context<Env>): AbortSignal {
  const controller = new AbortController();
  if (outgoing.destroyed) controller.abort();
  else outgoing.once('close', () => controller.abort());
  return controller.signal;
}

async function respond(c: Context<Env>, route: Route, caller: Caller, options: PipelineOptions): Promise<Response> {
  const { rawHeaders } = c.env.incoming;
  const hasBody = announcesBody(rawHeaders);
  if (route.run.kind === 'raw') return respondRaw(c, route, route.run.handle, caller);
  const takesBody = route.method !== 'GET' && route.method !== 'DELETE';
  const idempotencyKey = route.method === 'POST' ? parseIdempotencyKey(rawHeaders) : undefined;
  if (hasBody && !takesBody) throw badRequest(`A ${route.method} request takes no body.`);
  if (hasBody) checkContentType(rawHeaders);
  const query = parseQuery(route.query, c.get('target').query);

  const context: RequestContext = {
    caller,
    params: paramsOf(route, c.get('target')),
    requestId: c.get('requestId'),
    whenGone: () => whenGone(c),
  };
  const target = await route.find(context);
  if (route.run.kind === 'read') {
    const { handle, costly } = route.run;
    const call = { ...context, query, body: undefined, target };
    const account = costly?.(call);
    if (account === undefined) return answer(c, await handle(call));
    return answer(c, await options.costlyReads.run(account, c.req.method === 'HEAD', () => handle(call)));
  }
  const bytes = hasBody ? await readRequestBody(c.env.incoming) : new Uint8Array();
  const raw = bytes.length > 0 || route.bodyFor !== undefined ? parseJsonBody(bytes) : undefined;
  route.requirePlan?.(target, raw ?? {});
  const request: IdempotentRequest | undefined =
    idempotencyKey === undefined
      ? undefined
      : {
          apiKeyId: caller.keyId,
          key: idempotencyKey,
          method: route.method,
          path: resourceOf(route, context, target),
          query,
          body: raw,
        };
  let body: unknown;
  try {
    body = readBody(route, target, raw);
  } catch (fault) {
    // What the key was used for comes before the body (completions 1.6): a body that is refused by now may be the repeat of
    // one that was taken. A body that is refused never uses a key up.
    const stored = request === undefined ? undefined : await options.idempotency.find(request);
    if (stored !== undefined) return replayStored(c, route, target, stored);
    throw fault;
  }
  return run(c, route, { ...context, query, body, target }, request, options);
}

/** Gives a stored answer again, as far as its route still tells it. */
function replayStored(c: Context<Env>, route: Route, target: unknown, stored: StoredAnswer): Response {
  const revise = route.run.kind === 'work' ? route.run.replayed : undefined;
  return replay(c, revise === undefined ? stored : { status: stored.status, body: revise(target, stored.body) });
}

async function respondRaw(
  c: Context<Env>,
  route: Route,
  handle: Extract<Route['run'], { kind: 'raw' }>['handle'],
  caller: Caller,
): Promise<Response> {
  parseQuery(undefined, c.get('target').query);
  const context: RequestContext = {
    caller,
    params: paramsOf(route, c.get('target')),
    requestId: c.get('requestId'),
    whenGone: () => whenGone(c),
  };
  return answer(c, await handle(context, await readRequestBody(c.env.incoming), c.req.raw.headers));
}

function readBody(route: Route, target: unknown, raw: JsonObject | undefined): unknown {
  if (route.bodyFor !== undefined) return parseBody(route.bodyFor(target, raw ?? {}), raw ?? {});
  const extra = Object.keys(raw ?? {})[0];
  if (extra !== undefined)
    throw new ApiError('validation_error', 'This request takes no body.', {
      field: extra,
      issues: [{ field: extra, message: 'is not a known field' }],
    });
  return undefined;
}

async function run(
  c: Context<Env>,
  route: Route,
  call: UntypedCall,
  request: IdempotentRequest | undefined,
  options: PipelineOptions,
): Promise<Response> {
  if (route.run.kind === 'work' && route.run.statement?.when(call) === true) {
    return runStatement(c, route.run.statement.write, call, request, options);
  }
  if (route.run.kind === 'change' && request !== undefined) {
    return runChange(c, { ...route, run: route.run }, call, request, options);
  }
  const outcome = request === undefined ? undefined : await options.idempotency.claim(request);
  if (outcome?.kind === 'replay') return replayStored(c, route, call.target, outcome.answer);
  const claim = outcome?.claim;
  try {
    const result = await perform(route, call, claim, options);
    await claim?.storeUnlessStored(result);
    return answer(c, result);
  } catch (fault) {
    if (claim !== undefined) await settle(claim, toApiError(fault), c, options);
    throw fault;
  }
}

/** Runs a change whose claim, effect and stored answer are one transaction: a crash leaves nothing of it behind. */
async function runChange(
  c: Context<Env>,
  route: Route & { readonly run: Extract<Route['run'], { kind: 'change' }> },
  call: UntypedCall,
  request: IdempotentRequest,
  options: PipelineOptions,
): Promise<Response> {
  const { idempotency } = options;
  try {
    return await inTransaction(options.db, async (tx) => {
      const stored = await idempotency.hold(tx, request);
      if (stored !== undefined) return () => replayStored(c, route, call.target, stored);
      const result = await route.run.handle(call, tx);
      await idempotency.keep(tx, request, result);
      return () => answer(c, result);
    })
      .finally(() => options.changed(call.target))
      .then((respondNow) => respondNow());
  } catch (fault) {
    if (fault instanceof ClaimRefused) throw fault.error;
    const error = toApiError(fault);
    try {
      await idempotency.keepError(request, error, envelope(error, c.get('requestId')));
    } catch (second) {
      // The next request with this key is judged like a first one; the caller is told of the first fault.
      options.log.warn({ fault: summariseFault(second) }, 'an answer was not stored for its Idempotency-Key');
    }
    throw fault;
  }
}

/**
 * Runs a route whose statement claims by itself. What fails before that statement may still be the repeat of a request
 * that was answered: then that answer goes before the failure.
 */
async function runStatement(
  c: Context<Env>,
  handle: (call: UntypedCall, claim: DeferredClaim | undefined) => Promise<Answer>,
  call: UntypedCall,
  request: IdempotentRequest | undefined,
  options: PipelineOptions,
): Promise<Response> {
  if (request === undefined) return answer(c, await handle(call, undefined));
  // The statement looks a claim up by the present secret key alone.
  const earlier = options.idempotency.isRotating ? await options.idempotency.find(request) : undefined;
  if (earlier !== undefined) return replay(c, earlier);
  const deferred = options.idempotency.defer(request);
  try {
    const result = await handle(call, deferred);
    if (result.replayed !== undefined) return replay(c, { status: result.status, body: result.replayed });
    await deferred.storeUnlessStored(result);
    return answer(c, result);
  } catch (fault) {
    const error = toApiError(fault);
    if (deferred.taken) {
      await settle(deferred, error, c, options);
      throw fault;
    }
    const outcome = await options.idempotency.claim(request);
    if (outcome.kind === 'replay') return replay(c, outcome.answer);
    await settle(outcome.claim, error, c, options);
    throw fault;
  }
}

async function settle(
  claim: { settleError(error: ApiError, body: string): Promise<void> },
  error: ApiError,
  c: Context<Env>,
  options: PipelineOptions,
): Promise<void> {
  try {
    await claim.settleError(error, envelope(error, c.get('requestId')));
  } catch (second) {
    // The claim frees itself when this process ends; the caller is told of the first fault.
    options.log.warn({ fault: summariseFault(second) }, 'an idempotency claim was not settled');
  }
}

async function perform(
  route: Route,
  call: UntypedCall,
  claim: Parameters<Extract<Route['run'], { kind: 'work' }>['handle']>[1],
  options: PipelineOptions,
): Promise<Answer> {
  const { run: step } = route;
  if (step.kind === 'read') return step.handle(call);
  if (step.kind === 'raw') throw new Error('this kind of route is run elsewhere');
  if (step.kind === 'work') return step.handle(call, claim);
  return inTransaction(options.db, async (tx) => {
    const result = await step.handle(call, tx);
    await claim?.store(tx, result);
    return result;
  }).finally(() => options.changed(call.target));
}
