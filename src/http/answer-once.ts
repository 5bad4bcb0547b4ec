import type { MiddlewareHandler } from 'hono';
import { inTransaction, type Transaction } from '#src/database/client.ts';
import type { ApiError } from '#src/platform/errors.ts';
import { summariseFault } from '#src/platform/log.ts';
import type { Answer } from './answer.ts';
import { isKeyless } from './caller.ts';
import type { Env, RequestContext } from './env.ts';
import { envelope, toApiError } from './errors.ts';
import { ClaimRefused } from './idempotency.ts';
import type { Claim, DeferredClaim, SecretKeeping, StoredAnswer } from './idempotent-request.ts';
import type { JsonObject } from './json/strict-json.ts';
import { annotate } from './operation.ts';
import { readJsonBody } from './read-body.ts';
import { markRehearsalText, rehearsedEventOf, wipedWithRehearsalOf } from './rehearsal.ts';
import { inTurn, takeChangePlace } from './request-life.ts';
import { answer, send } from './send.ts';

type SettleError = (error: ApiError, body: string) => Promise<void>;

/** Stores a refusal for the key of its request, or frees the key. The caller's answer is that of the first fault whatever happens. */
async function settle(c: RequestContext, fault: unknown, settleError: SettleError): Promise<void> {
  const error = toApiError(fault, c.get('operation'));
  await settleError(error, envelope(error, c.get('requestId'), c.get('service').referenceUrl)).catch(
    (second: unknown) => {
      // `freeOver` frees the claim once the database is back.
      c.get('service').log.warn({ fault: summariseFault(second) }, 'an answer was not stored for its Idempotency-Key');
    },
  );
}

/**
 * Makes a change whose claim, effect and stored answer are one transaction: a crash leaves nothing of it behind.
 * @throws ApiError 429 after 2 s without a place among the changes of the account
 */
export async function change(c: RequestContext, effect: (tx: Transaction) => Promise<Answer>): Promise<Response> {
  const { db, idempotency, changed } = c.get('service');
  const request = c.get('repeatable')?.request;
  const place = await takeChangePlace(c);
  try {
    const transaction = async (tx: Transaction) => {
      const stored = request === undefined ? undefined : await idempotency.hold(tx, request);
      if (stored !== undefined) return () => replay(c, stored);
      const result = await effect(tx);
      if (request !== undefined) await idempotency.keep(tx, request, result);
      return () => answer(c, result);
    };
    const respond = await inTurn(c, () => inTransaction(db, transaction)).finally(() => {
      const id = eventIdOf(c.get('target'));
      if (id !== undefined) changed(id);
    });
    return await respond();
  } catch (fault) {
    if (fault instanceof ClaimRefused) throw fault.error;
    if (request !== undefined) await settle(c, fault, (error, body) => idempotency.keepError(request, error, body));
    throw fault;
  } finally {
    place.end();
  }
}

/**
 * Makes a change that is more than one transaction, and goes on where it was when it is asked for again under its key.
 * @throws ApiError 429 after 2 s without a place among the changes of the account
 */
export async function changeInSteps(
  c: RequestContext,
  work: (claim: Claim | undefined) => Promise<Answer>,
): Promise<Response> {
  const { changed } = c.get('service');
  const place = await takeChangePlace(c);
  try {
    return await claimFirst(c, (claim) => inTurn(c, () => work(claim)));
  } finally {
    const id = eventIdOf(c.get('target'));
    if (id !== undefined) changed(id);
    place.end();
  }
}

/** Claims a request before work that is more than one transaction, such as calls to payment providers. */
export async function claimFirst(
  c: RequestContext,
  work: (claim: Claim | undefined) => Promise<Answer>,
): Promise<Response> {
  const request = c.get('repeatable')?.request;
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
    await settle(c, fault, claim.settleError);
    throw fault;
  } finally {
    claim.end();
  }
}

/**
 * Lets the statement of an effect claim the request: one trip for all of it. What fails before that statement may still be
 * the repeat of a request that was answered: then that answer goes before the failure.
 */
export async function claimWithin(
  c: RequestContext,
  write: (claim: DeferredClaim | undefined) => Promise<Answer>,
): Promise<Response> {
  const request = c.get('repeatable')?.request;
  const { idempotency } = c.get('service');
  if (request === undefined) return answer(c, await write(undefined));
  // The statement looks a claim up by the present secret key alone.
  const earlier = idempotency.isRotating ? await idempotency.find(request) : undefined;
  if (earlier !== undefined) return replay(c, earlier);
  const deferred = idempotency.defer(request);
  try {
    const result = await write(deferred);
    if (result.replayed !== undefined) return replay(c, { status: result.status, body: result.replayed });
    await deferred.storeUnlessStored(result);
    return await answer(c, result);
  } catch (fault) {
    if (deferred.taken) {
      await settle(c, fault, deferred.settleError);
      throw fault;
    }
    const outcome = await idempotency.claim(request);
    if (outcome.kind === 'replay') return replay(c, outcome.answer);
    if (outcome.kind === 'again') throw fault;
    await settle(c, fault, outcome.claim.settleError).finally(() => outcome.claim.end());
    throw fault;
  } finally {
    deferred.end();
  }
}

/** The ID of the event that a request is about, or of whose rows it is. */
export function eventIdOf(target: unknown): string | undefined {
  const event = typeof target === 'object' && target !== null && 'event' in target ? target.event : undefined;
  return typeof event === 'object' && event !== null && 'id' in event ? String(event.id) : undefined;
}

/** The address of what a request is about. An event is one resource by its ID and by its code in any case. */
function resourceOf(c: RequestContext): string {
  const { segments } = c.get('requestTarget');
  const place = c.get('operation').path.slice(1).split('/').indexOf(':idOrCode');
  const id = eventIdOf(c.get('target'));
  return `/${(place === -1 || id === undefined ? segments : segments.with(place, id)).join('/')}`;
}

/**
 * Takes an Idempotency-Key: a request that was answered under it gets that answer again, from here on. Malformed JSON is
 * refused before (completions 1.6).
 * @param keepingOf how a claim is kept whose event is secret; `never` where none is: a repeat is then answered as a new request
 */
export function takeIdempotencyKey<Target>(
  keepingOf: (
    target: Target,
    body: JsonObject | undefined,
  ) => Promise<SecretKeeping | undefined | 'never'> = async () => undefined,
): MiddlewareHandler<Env & { Variables: { target: Target } }> {
  return annotate(
    async (c, next) => {
      const key = c.get('idempotencyKey');
      // Answers are stored for the sender's API key: without one, two strangers would share what they call their requests.
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
        // A body that cannot be kept was never taken: it is refused with all that is wrong with it.
        const isKept = body === undefined || body.faults.length === 0;
        if (isKept && secret !== 'never') c.set('repeatable', { request });
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

/** The answer that the same request got before. @throws ApiError 422 `idempotency_mismatch`, 409 while that one still runs */
export async function replayOf(c: RequestContext): Promise<Response | undefined> {
  const request = c.get('repeatable')?.request;
  const stored = request === undefined ? undefined : await c.get('service').idempotency.find(request);
  return stored === undefined ? undefined : replay(c, stored);
}
