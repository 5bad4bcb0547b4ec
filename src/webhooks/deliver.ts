import { type Database, inTransaction, type Transaction } from '#src/database/client.ts';
import type { Mailer } from '#src/mail/mailer.ts';
import { HOUR_MS, SECOND_MS } from '#src/platform/clock.ts';
import { type Log, summariseFault } from '#src/platform/log.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import { disableEndpoint } from './disable-endpoint.ts';
import { openSecret } from './endpoint-secret.ts';
import type { Poster, PostOutcome } from './guarded-post.ts';
import type { RecordDeps } from './record-event.ts';
import { type ClaimedDelivery, claimDeliveries, lockEndpoint, noteAttempt, updateEndpoint } from './repository.ts';
import { MAX_TRIES, pauseAfter } from './schedule.ts';
import { signMessage } from './signature.ts';

export interface DeliverDeps extends RecordDeps {
  readonly db: Database;
  readonly log: Log;
  readonly secrets: Secrets;
  readonly mailer: Mailer;
}

const PER_ENDPOINT = 10;
const PER_PROCESS = 200;
/** Longer than an exchange and the wait for a place among ten; short enough that a killed sender's rows are taken up within a minute. */
const LEASE_MS = 45 * SECOND_MS;
const LOOK_AGAIN_MS = 200;
/** Failures in a row, and time without any success, after which nobody is there. */
const FAILURES_TO_DISABLE = 10;
const SILENCE_TO_DISABLE_MS = 72 * HOUR_MS;
const PATIENT_STATUSES = new Set([429, 502, 503, 504]);

/** Sends due deliveries until it is stopped. */
export class WebhookSender {
  readonly #deps: DeliverDeps;
  readonly #poster: Poster;
  readonly #busy = new Map<string, number>();
  readonly #running = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #stopped = false;

  constructor(deps: DeliverDeps, poster: Poster) {
    this.#deps = deps;
    this.#poster = poster;
  }

  start(): void {
    this.#schedule(0);
  }

  #schedule(waitMs: number): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(() => {
      this.#looking = this.#look().finally(() => {
        this.#looking = undefined;
      });
    }, waitMs);
  }

  async #look(): Promise<void> {
    let found = 0;
    try {
      found = await this.#takeUp();
    } catch (fault) {
      this.#deps.log.warn({ fault: summariseFault(fault) }, 'due webhooks could not be read');
    }
    // A full hand means that more wait.
    this.#schedule(found >= PER_ENDPOINT ? 0 : LOOK_AGAIN_MS);
  }

  /** Takes up what is due. A receiver that is slow fills its own ten places and nobody else's. */
  async #takeUp(): Promise<number> {
    const free = PER_PROCESS - this.#running.size;
    if (free <= 0) return 0;
    const full = [...this.#busy].filter(([, count]) => count > 0).map(([endpointId]) => endpointId);
    const claimed = await claimDeliveries(this.#deps.db, {
      perEndpoint: PER_ENDPOINT,
      limit: free,
      leaseMs: LEASE_MS,
      full,
    });
    for (const delivery of claimed) {
      this.#busy.set(delivery.endpointId, (this.#busy.get(delivery.endpointId) ?? 0) + 1);
      const run = this.#deliver(delivery)
        .catch((fault: unknown) => {
          // The lease ends by itself, and the delivery is taken up again.
          this.#deps.log.error({ delivery: delivery.id, fault: summariseFault(fault) }, 'a webhook was not noted');
        })
        .finally(() => {
          this.#running.delete(run);
          const left = (this.#busy.get(delivery.endpointId) ?? 1) - 1;
          if (left === 0) this.#busy.delete(delivery.endpointId);
          else this.#busy.set(delivery.endpointId, left);
        });
      this.#running.add(run);
    }
    return claimed.length;
  }

  async #deliver(delivery: ClaimedDelivery): Promise<void> {
    const at = this.#deps.clock.now();
    const headers = signMessage(
      secretsOf(this.#deps.secrets, delivery, at),
      delivery.messageId,
      Math.floor(at / 1_000),
      delivery.body,
    );
    const outcome = await this.#poster.post(delivery.url, { ...headers }, delivery.body);
    await inTransaction(this.#deps.db, (tx) => noteOutcome(tx, this.#deps, delivery, at, outcome));
  }

  /** Takes up nothing more; what is under way may end, for a while. */
  async stop(graceMs: number): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#looking;
    const late = new Promise<void>((resolve) => setTimeout(resolve, graceMs).unref());
    await Promise.race([Promise.all(this.#running), late]);
    await this.#poster.close();
    await Promise.all(this.#running);
  }
}

function secretsOf(secrets: Secrets, delivery: ClaimedDelivery, atMs: number): string[] {
  const { endpointId, previousSecret, previousSecretUntil } = delivery;
  const current = openSecret(secrets, endpointId, delivery.secret);
  if (previousSecret === null || (previousSecretUntil ?? 0) <= atMs) return [current];
  return [current, openSecret(secrets, endpointId, previousSecret)];
}

const isDelivered = ({ status }: PostOutcome): boolean => status !== null && status >= 200 && status < 300;

function retryAfterMs({ status, retryAfter }: PostOutcome): number | undefined {
  if (status === null || !PATIENT_STATUSES.has(status) || retryAfter === null) return undefined;
  return /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) * SECOND_MS : undefined;
}

async function noteOutcome(
  tx: Transaction,
  deps: DeliverDeps,
  delivery: ClaimedDelivery,
  at: number,
  outcome: PostOutcome,
): Promise<void> {
  const endpoint = await lockEndpoint(tx, delivery.endpointId);
  // Deleted while it was under way: there is nothing left to note.
  if (endpoint === undefined) return;
  const delivered = isDelivered(outcome);
  const tries = delivery.tries + 1;
  const pauseMs = delivered
    ? undefined
    : pauseAfter(
        { tries, slow: outcome.error === 'timeout' || outcome.status === 429, retryAfterMs: retryAfterMs(outcome) },
        Math.random(),
      );
  const ended = tries >= MAX_TRIES || pauseMs === undefined;
  const attempt = {
    at,
    durationMs: outcome.durationMs,
    responseStatus: outcome.status,
    error:
      outcome.error ?? (outcome.status !== null && outcome.status >= 300 && outcome.status < 400 ? 'redirect' : null),
    responseBody: outcome.body,
  };
  await noteAttempt(tx, delivery.id, attempt, {
    status: delivered ? 'delivered' : ended ? 'failed' : 'pending',
    nextTryAt: pauseMs === undefined ? undefined : deps.clock.now() + pauseMs,
  });
  if (delivered) {
    await updateEndpoint(tx, endpoint.id, { consecutiveFailures: 0, lastSuccessAt: deps.clock.now() });
    return;
  }
  const consecutiveFailures = endpoint.consecutiveFailures + 1;
  const failed = await updateEndpoint(tx, endpoint.id, { consecutiveFailures });
  const silent = deps.clock.now() - endpoint.lastSuccessAt >= SILENCE_TO_DISABLE_MS;
  if (outcome.status === 410) await disableEndpoint(tx, deps, failed, 'gone');
  else if (outcome.error === 'url_not_allowed') await disableEndpoint(tx, deps, failed, 'url_not_allowed');
  else if (consecutiveFailures >= FAILURES_TO_DISABLE && silent) {
    await disableEndpoint(tx, deps, failed, 'consecutive_failures');
  }
}
