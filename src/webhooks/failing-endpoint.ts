import { mailAccount } from '#src/accounts/mail-account.ts';
import type { Transaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '#src/platform/clock.ts';
import type { PostOutcome } from './guarded-post.ts';
import { type RecordDeps, recordEvent } from './record-event.ts';
import { findDelivery, lockEndpoint, updateEndpoint } from './repository.ts';
import { type DueDelivery, noteFailedAttempt } from './sending-repository.ts';
import { type DisabledReason, viewEndpoint, type WebhookEndpoint } from './webhook-endpoint.ts';

const REASONS: Readonly<Record<DisabledReason, string>> = {
  manual: 'it was switched off',
  gone: 'it answered 410 Gone',
  consecutive_failures: 'it has failed ten times or more, and took nothing for three days',
  url_not_allowed: 'its address is not one that may be called',
};

/** Disables a failing endpoint, and mails its owner. Pending deliveries resume when the endpoint is switched on again. */
async function disableEndpoint(
  tx: Transaction,
  deps: RecordDeps,
  endpoint: WebhookEndpoint,
  reason: DisabledReason,
): Promise<void> {
  if (endpoint.status === 'disabled') return;
  const disabled = await updateEndpoint(tx, endpoint.id, {
    status: 'disabled',
    disabledReason: reason,
    updatedAt: deps.clock.now(),
  });
  const { id, accountId, votingEventId } = endpoint;
  await recordEvent(tx, deps, {
    type: 'webhook_endpoint.disabled',
    data: viewEndpoint(disabled),
    change: {
      accountId,
      votingEventId,
      keyId: null,
      action: 'webhook_endpoint.disabled',
      resource: id,
      after: { reason },
    },
  });
  // The address may have a token in its query, so the mail names only host and path.
  const { origin, pathname } = new URL(endpoint.url);
  await mailAccount(
    tx,
    accountId,
    'A webhook endpoint was switched off',
    (name) =>
      `the webhook endpoint ${id} (${origin}${pathname}) of "${name}" was switched off: ${REASONS[reason]}.\n\nWhat happens meanwhile is kept and can be sent again. Switch it on with\nPATCH /webhook-endpoints/${id} and { "status": "active" }.`,
  );
}

/** The pause after each attempt. The ten attempts take 75 hours, so that an outage over a weekend loses nothing. */
const PAUSES_MS = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
];
export const MAX_TRIES = PAUSES_MS.length + 1;
/** Each pause is changed at random by up to this share, so that deliveries that failed together are not retried together. */
const JITTER = 0.2;
/** Minimum pause after a timeout or an answer 429. */
const PATIENCE_MS = 60 * SECOND_MS;

interface FailedTry {
  /** Number of attempts so far, with this one. */
  readonly tries: number;
  /** Whether the receiver answered 429, or did not answer in time. */
  readonly slow: boolean;
  /** The pause that the receiver's Retry-After asks for. */
  readonly retryAfterMs: number | undefined;
}

/** How long to wait after a failed attempt, in ms; undefined after the last attempt. @param random 0 to 1 */
export function pauseAfter({ tries, slow, retryAfterMs }: FailedTry, random: number): number | undefined {
  const planned = PAUSES_MS[tries - 1];
  if (planned === undefined) return undefined;
  const spread = planned * (1 + JITTER * (2 * random - 1));
  // Retry-After can at most double the planned pause, so that a receiver cannot postpone deliveries for ever.
  const asked = retryAfterMs === undefined ? spread : Math.min(Math.max(retryAfterMs, spread), 2 * planned);
  return Math.round(Math.max(asked, slow ? PATIENCE_MS : 0));
}

/** An endpoint is disabled after this many failures in a row, if it also had no success for `SILENCE_TO_DISABLE_MS`. */
const FAILURES_TO_DISABLE = 10;
const SILENCE_TO_DISABLE_MS = 72 * HOUR_MS;
const PATIENT_STATUSES = new Set([429, 502, 503, 504]);

/** The pause that Retry-After (seconds or a date) asks for, in ms. Undefined without a valid header and one of `PATIENT_STATUSES`. */
function retryAfterMs({ status, retryAfter }: PostOutcome, nowMs: number): number | undefined {
  if (status === null || !PATIENT_STATUSES.has(status) || retryAfter === null) return undefined;
  if (/^\d{1,9}$/.test(retryAfter)) return Number(retryAfter) * SECOND_MS;
  const at = Date.parse(retryAfter);
  return Number.isNaN(at) ? undefined : Math.max(at - nowMs, 0);
}

/** Stores a failed attempt, plans the next one, and disables the endpoint after 410, a forbidden address or a long outage. */
export async function noteFailure(
  tx: Transaction,
  deps: RecordDeps,
  delivery: DueDelivery,
  at: number,
  outcome: PostOutcome,
): Promise<void> {
  const endpoint = await lockEndpoint(tx, delivery.endpointId);
  // The endpoint was deleted during the exchange.
  if (endpoint === undefined) return;
  const nowMs = await readNow(tx);
  const { status, durationMs, body } = outcome;
  // Read it under the lock, because the organizer may have asked for the message again during the exchange.
  const tries = ((await findDelivery(tx, endpoint.id, delivery.id))?.tries ?? delivery.tries) + 1;
  const slow = outcome.error === 'timeout' || status === 429;
  const pauseMs = pauseAfter({ tries, slow, retryAfterMs: retryAfterMs(outcome, nowMs) }, Math.random());
  // The message failed at an old address, and the endpoint has another one now: it goes to the new address at once.
  const isMoved = endpoint.url !== delivery.url;
  const ended = !isMoved && (tries >= MAX_TRIES || pauseMs === undefined);
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
    {
      status: ended ? 'failed' : 'pending',
      nextTryAt: isMoved ? nowMs : pauseMs === undefined ? undefined : nowMs + pauseMs,
    },
  );
  if (isMoved) return;
  const consecutiveFailures = endpoint.consecutiveFailures + 1;
  const failed = await updateEndpoint(tx, endpoint.id, { consecutiveFailures });
  const silent = nowMs - endpoint.lastSuccessAt >= SILENCE_TO_DISABLE_MS;
  if (status === 410) await disableEndpoint(tx, deps, failed, 'gone');
  else if (outcome.error === 'url_not_allowed') await disableEndpoint(tx, deps, failed, 'url_not_allowed');
  else if (consecutiveFailures >= FAILURES_TO_DISABLE && silent) {
    await disableEndpoint(tx, deps, failed, 'consecutive_failures');
  }
}
