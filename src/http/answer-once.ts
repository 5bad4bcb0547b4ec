import path from 'node:path';
import { inTransaction, type Transaction } from '#src/database/client.ts';
import { requireServed, servedCells } from '#src/database/other-cells.ts';
import type { Deps } from '#src/deps.ts';
import { ApiError } from '#src/platform/errors.ts';
import { summariseFault } from '#src/platform/log.ts';
import { pick } from '#src/platform/pick.ts';
import type { Answer } from './answer.ts';
import { isKeyless } from './caller.ts';
import type { Env, RequestContext, Service, TargetStep } from './env.ts';
import { envelope, toApiError, unlessMoved } from './errors.ts';
import { ClaimRefused } from './idempotency.ts';
import type { Claim, DeferredClaim, IdempotentRequest, SecretKeeping, StoredAnswer } from './idempotent-request.ts';
import type { JsonObject } from './json/strict-json.ts';
import { annotate, placeOfEvent } from './operation.ts';
import { readJsonBody } from './read-body.ts';
import { markRehearsalText, rehearsedEventOf, wipedWithRehearsalOf } from './rehearsal.ts';
import { inTurn, takeChangePlace } from './request-life.ts';
import { answer, send } from './send.ts';

/** The parts of a cell that the steps of a request need. */
export function serviceOf(deps: Deps, moves: Pick<Service, 'isElsewhere' | 'hasLeft'>): Service {
  return {
    ...pick(moves, ['isElsewhere', 'hasLeft']),
    ...pick(deps, ['db', 'log', 'leases', 'load', 'threads', 'idempotency']),
    referenceUrl: deps.config.apiDocUrl,
    bodyFolder: path.join(deps.config.dataDir, 'bodies'),
    // Invalidate this process's cache at once, so that the caller's next request sees the change. The database notifies other processes.
    changed: (eventId) => deps.events.forget(eventId),
    answersOf: (cells) =>
      servedCells(deps).flatMap(({ cell, idempotency }) => (cells.includes(cell) ? idempotency : [])),
    answersIn: (cell) => requireServed(deps.cells.get(cell) ?? deps).idempotency,
  };
}

interface Settable extends Pick<RequestContext, 'get'> {
  set(name: 'service', service: Env['Variables']['service']): void;
}

/** Moves the effect of a request into another cell: its transaction, and the claim of its Idempotency-Key. */
export const changeIn = (c: Settable, there: Deps): void => c.set('service', serviceOf(there, c.get('service')));

type SettleError = (error: ApiError, body: string) => Promise<void>;

/**
 * Stores an error under the Idempotency-Key, or frees the key. A failure to do so is only logged: the caller gets the first error.
 * @returns the fault to throw
 */
async function settle(c: RequestContext, thrown: unknown, settleError: SettleError): Promise<unknown> {
  const fault = await unlessMoved(c, thrown);
  const error = toApiError(fault, c.get('operation'));
  await settleError(error, envelope(error, c.get('requestId'), c.get('service').referenceUrl)).catch(
    (second: unknown) => {
      // `freeOver` frees the claim once the database is back.
      c.get('service').log.warn({ fault: summariseFault(second) }, 'an answer was not stored for its Idempotency-Key');
    },
  );
  return fault;
}

/** Makes a change in one transaction with claim and stored answer. @throws ApiError 429 if no place for changes is free within 2 s */
export async function change(c: RequestContext, effect: (tx: Transaction) => Promise<Answer>): Promise<Response> {
  const { db, idempotency } = c.get('service');
  const request = c.get('repeatable');
  const place = await takeChangePlace(c);
  try {
    const transaction = async (tx: Transaction) => {
      const stored = request === undefined ? undefined : await idempotency.hold(tx, request);
      if (stored !== undefined) return () => replay(c, stored);
      const result = await effect(tx);
      if (request !== undefined) await idempotency.keep(tx, request, result);
      return () => answer(c, result);
    };
    const respond = await inTurn(c, () => inTransaction(db, transaction)).finally(() => forgetEvent(c));
    return await respond();
  } catch (fault) {
    if (fault instanceof ClaimRefused) throw fault.error;
    if (request === undefined) throw fault;
    throw await settle(c, fault, (error, body) => idempotency.keepError(request, error, body));
  } finally {
    place.end();
  }
}

/** Makes a change of several transactions, which a retry continues. @throws ApiError 429 if no place for changes is free within 2 s */
export async function changeInSteps(
  c: RequestContext,
  work: (claim: Claim | undefined) => Promise<Answer>,
): Promise<Response> {
  const place = await takeChangePlace(c);
  try {
    return await claimFirst(c, (claim) => inTurn(c, () => work(claim)));
  } finally {
    forgetEvent(c);
    place.end();
  }
}

/** Claims the Idempotency-Key before work that is more than one transaction, such as calls to payment providers. */
export async function claimFirst(
  c: RequestContext,
  work: (claim: Claim | undefined) => Promise<Answer>,
): Promise<Response> {
  const request = c.get('repeatable');
  if (request === undefined) return answer(c, await work(undefined));
  const outcome = await c.get('service').idempotency.claim(request);
  if (outcome.kind === 'replay') return replay(c, outcome.answer);
  if (outcome.kind === 'again') {
    c.get('headers')['Idempotent-Replayed'] = 'true';
    return answer(c, await work(undefined));
  }
  const { claim } = outcome;
  try {
    const result = await work(claim);
    await claim.storeUnlessStored(result);
    return await answer(c, result);
  } catch (fault) {
    throw await settle(c, fault, claim.settleError);
  } finally {
    claim.end();
  }
}

/**
 * Lets the SQL statement of a change claim the Idempotency-Key: one round trip for both. A request that fails before that
 * statement may be the retry of an answered request, which gets the stored answer instead of the failure.
 */
export async function claimWithin(
  c: RequestContext,
  write: (claim: DeferredClaim | undefined) => Promise<Answer>,
): Promise<Response> {
  const request = c.get('repeatable');
  const { idempotency } = c.get('service');
  if (request === undefined) return answer(c, await write(undefined));
  // The statement finds claims under the present secret key only.
  const earlier = idempotency.isRotating ? await idempotency.find(request) : undefined;
  if (earlier !== undefined) return replay(c, earlier);
  const deferred = idempotency.defer(request);
  try {
    const result = await write(deferred);
    if (result.replayed !== undefined) return replay(c, { status: result.status, body: result.replayed });
    await deferred.storeUnlessStored(result);
    return await answer(c, result);
  } catch (fault) {
    if (deferred.taken) throw await settle(c, fault, deferred.settleError);
    const outcome = await idempotency.claim(request);
    if (outcome.kind === 'replay') return replay(c, outcome.answer);
    if (outcome.kind === 'again') throw fault;
    throw await settle(c, fault, outcome.claim.settleError).finally(() => outcome.claim.end());
  } finally {
    deferred.end();
  }
}

/** Drops the cached state of the event that a change is about. */
function forgetEvent(c: RequestContext): void {
  const id = eventIdOf(c.get('target'));
  if (id !== undefined) c.get('service').changed(id);
}

export function eventIdOf(target: unknown): string | undefined {
  const event = typeof target === 'object' && target !== null && 'event' in target ? target.event : undefined;
  return typeof event === 'object' && event !== null && 'id' in event ? String(event.id) : undefined;
}

/** The path of a request with its event's ID in place of the event's code: both paths name the same resource. */
function resourceOf(c: RequestContext): string {
  const { segments } = c.get('requestTarget');
  const place = placeOfEvent(c.get('operation'));
  const id = eventIdOf(c.get('target'));
  return `/${(place === -1 || id === undefined ? segments : segments.with(place, id)).join('/')}`;
}

/** Makes an Idempotency-Key serve one request in all cells of the caller. @throws ApiError 422 `idempotency_mismatch`, 409 while it runs */
async function inAllCells(c: RequestContext, request: IdempotentRequest, next: () => Promise<void>): Promise<void> {
  const { cells = [] } = c.get('caller');
  const [home] = cells;
  if (home === undefined) return next();
  const { answersIn, answersOf } = c.get('service');
  const endTurn = await answersIn(home).takeTurn(request);
  try {
    for (const store of answersOf(cells))
      await store.find(request).catch((fault: unknown) => {
        // The database of another cell does not answer: this must not stop the request.
        if (fault instanceof ApiError) throw fault;
      });
    await next();
  } finally {
    await endTurn();
  }
}

/**
 * Reads the Idempotency-Key: the steps after this one can replay the answer stored under it. Malformed JSON is refused first (completions
 * 1.6).
 * @param keepingOf how to store a claim about a secret event; with `never`, no claim is stored, and a retry runs as a new request
 */
export function takeIdempotencyKey<Target>(
  keepingOf: (
    target: Target,
    body: JsonObject | undefined,
  ) => Promise<SecretKeeping | undefined | 'never'> = async () => undefined,
): TargetStep<Target> {
  return annotate(
    async (c, next) => {
      const key = c.get('idempotencyKey');
      // Answers are stored per API key: without one, the Idempotency-Keys of two strangers could collide.
      if (key !== undefined && !isKeyless(c.get('caller'))) {
        const [body, target] = [await readJsonBody(c), c.get('target')];
        const secret = await keepingOf(target, body?.value);
        const request = {
          apiKeyId: c.get('caller').keyId,
          key,
          method: c.get('operation').method,
          path: resourceOf(c),
          query: c.get('query'),
          body: body?.digest === undefined ? body?.value : { digest: body.digest },
          rehearsal: wipedWithRehearsalOf(c),
          secret: secret === 'never' ? undefined : secret,
        };
        // A body with values that cannot be stored never succeeded, so no answer exists: validation refuses it later.
        const isKept = body === undefined || body.faults.length === 0;
        if (isKept && secret !== 'never') {
          c.set('repeatable', request);
          return inAllCells(c, request, next);
        }
      }
      await next();
    },
    { idempotent: true },
  );
}

export function replay(c: RequestContext, { status, body: stored }: StoredAnswer): Response {
  const body = rehearsedEventOf(c) === undefined ? stored : markRehearsalText(stored);
  c.get('headers')['Idempotent-Replayed'] = 'true';
  return body === '' ? send(c, status, undefined, null) : send(c, status, 'application/json', body);
}

/** The stored answer of the same request. @throws ApiError 422 `idempotency_mismatch`, 409 while the first still runs */
export async function replayOf(c: RequestContext): Promise<Response | undefined> {
  const request = c.get('repeatable');
  const stored = request === undefined ? undefined : await c.get('service').idempotency.find(request);
  return stored === undefined ? undefined : replay(c, stored);
}
