import type { Transaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import { HOUR_MS, SECOND_MS } from '#src/platform/clock.ts';
import { disableEndpoint } from './disable-endpoint.ts';
import type { PostOutcome } from './guarded-post.ts';
import type { RecordDeps } from './record-event.ts';
import { lockEndpoint, updateEndpoint } from './repository.ts';
import { MAX_TRIES, pauseAfter } from './schedule.ts';
import { type DueDelivery, noteFailedAttempt } from './sending-repository.ts';

/** Failures in a row, and time without any success, after which the receiver counts as gone. */
const FAILURES_TO_DISABLE = 10;
const SILENCE_TO_DISABLE_MS = 72 * HOUR_MS;
const PATIENT_STATUSES = new Set([429, 502, 503, 504]);

/** What Retry-After asks for, in ms: seconds, or a date. Undefined where it is not asked, or not heard. */
export function retryAfterMs({ status, retryAfter }: PostOutcome, nowMs: number): number | undefined {
  if (status === null || !PATIENT_STATUSES.has(status) || retryAfter === null) return undefined;
  if (/^\d{1,9}$/.test(retryAfter)) return Number(retryAfter) * SECOND_MS;
  const at = Date.parse(retryAfter);
  return Number.isNaN(at) ? undefined : Math.max(at - nowMs, 0);
}

/** Notes a failed attempt, plans the next one, and switches the endpoint off where the receiver is gone. */
export async function noteFailure(
  tx: Transaction,
  deps: RecordDeps,
  delivery: DueDelivery,
  at: number,
  outcome: PostOutcome,
): Promise<void> {
  const endpoint = await lockEndpoint(tx, delivery.endpointId);
  // Deleted while it was under way: there is nothing left to note.
  if (endpoint === undefined) return;
  const nowMs = await readNow(tx);
  const { status, durationMs, body } = outcome;
  const tries = delivery.tries + 1;
  const slow = outcome.error === 'timeout' || status === 429;
  const pauseMs = pauseAfter({ tries, slow, retryAfterMs: retryAfterMs(outcome, nowMs) }, Math.random());
  const ended = tries >= MAX_TRIES || pauseMs === undefined;
  const redirected = status !== null && status >= 300 && status < 400;
  await noteFailedAttempt(
    tx,
    {
      endpointId: endpoint.id,
      deliveryId: delivery.id,
      at,
      durationMs,
      responseStatus: status,
      error: outcome.error ?? (redirected ? 'redirect' : null),
      responseBody: body,
    },
    { status: ended ? 'failed' : 'pending', nextTryAt: pauseMs === undefined ? undefined : nowMs + pauseMs },
  );
  const consecutiveFailures = endpoint.consecutiveFailures + 1;
  const failed = await updateEndpoint(tx, endpoint.id, { consecutiveFailures });
  const silent = nowMs - endpoint.lastSuccessAt >= SILENCE_TO_DISABLE_MS;
  if (status === 410) await disableEndpoint(tx, deps, failed, 'gone');
  else if (outcome.error === 'url_not_allowed') await disableEndpoint(tx, deps, failed, 'url_not_allowed');
  else if (consecutiveFailures >= FAILURES_TO_DISABLE && silent) {
    await disableEndpoint(tx, deps, failed, 'consecutive_failures');
  }
}
