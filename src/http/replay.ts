import type { MiddlewareHandler } from 'hono';
import { isKeyless } from './caller.ts';
import type { Env, RequestContext } from './env.ts';
import type { SecretKeeping, StoredAnswer } from './idempotent-request.ts';
import type { JsonObject } from './json/strict-json.ts';
import { annotate } from './operation.ts';
import { readJsonBody } from './read-body.ts';
import { markRehearsalText, rehearsedEventOf, wipedWithRehearsalOf } from './rehearsal.ts';
import { send } from './send.ts';

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
