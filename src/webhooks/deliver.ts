import { type Database, inTransaction, type Transaction } from '#src/database/client.ts';
import { Gatherer } from '#src/database/gather.ts';
import type { Mailer } from '#src/mail/mailer.ts';
import { HOUR_MS, SECOND_MS } from '#src/platform/clock.ts';
import { type Log, summariseFault } from '#src/platform/log.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';
import { disableEndpoint } from './disable-endpoint.ts';
import { openSecret } from './endpoint-secret.ts';
import type { Poster, PostOutcome } from './guarded-post.ts';
import type { RecordDeps } from './record-event.ts';
import {
  type ClaimedDelivery,
  claimDeliveries,
  type DeliveredNote,
  lockEndpoint,
  noteAttempt,
  noteDelivered,
  updateEndpoint,
} from './repository.ts';
import { MAX_TRIES, pauseAfter } from './schedule.ts';
import { signMessage } from './signature.ts';

export interface DeliverDeps extends RecordDeps {
  readonly db: Database;
  readonly log: Log;
  readonly secrets: Secrets;
  readonly mailer: Mailer;
}

const PER_ENDPOINT = 10;
const PER_LANE = 40;
const PER_PROCESS = 200;
const MAX_HELD = 4 * PER_PROCESS;
/** Longer than an exchange and the wait for a place among ten; short enough that a killed sender's rows are taken up within a minute. */
const LEASE_MS = 45 * SECOND_MS;
const LOOK_AGAIN_MS = 200;
const BREATH_MS = 5;
/** Failures in a row, and time without any success, after which nobody is there. */
const FAILURES_TO_DISABLE = 10;
const SILENCE_TO_DISABLE_MS = 72 * HOUR_MS;
const PATIENT_STATUSES = new Set([429, 502, 503, 504]);

/** What one endpoint is given at a time: ten under way, and a few that wait for a place. */
interface Lane {
  readonly waiting: { readonly delivery: ClaimedDelivery; readonly leaseEndsAt: number }[];
  underWay: number;
}

/** Sends due deliveries until it is stopped. */
export class WebhookSender {
  readonly #deps: DeliverDeps;
  readonly #poster: Poster;
  readonly #lanes = new Map<string, Lane>();
  readonly #running = new Set<Promise<void>>();
  /** Successes are noted together, as many as came while the last ones were being noted. */
  readonly #notes: Gatherer<DeliveredNote, undefined>;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #stopped = false;

  constructor(deps: DeliverDeps, poster: Poster) {
    this.#deps = deps;
    this.#poster = poster;
    this.#notes = new Gatherer({
      runTogether: async (notes) => {
        await noteDelivered(deps.db, notes);
        return notes.map(() => undefined);
      },
      runAlone: async (note) => void (await noteDelivered(deps.db, [note])),
      keyOf: ({ deliveryId }) => deliveryId,
      maxRows: PER_PROCESS,
      maxWaiting: PER_PROCESS * 2,
      refusal: () => new Error('too many deliveries wait to be noted'),
    });
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
    // Where something was due, more is likely to be.
    this.#schedule(found > 0 ? BREATH_MS : LOOK_AGAIN_MS);
  }

  /** Takes up what is due. A receiver that is slow fills its own lane and nobody else's. */
  async #takeUp(): Promise<number> {
    const held = [...this.#lanes.values()].reduce((sum, lane) => sum + lane.waiting.length, 0);
    const free = MAX_HELD - this.#running.size - held;
    // Few places are not worth a look: they fill up faster than it takes.
    if (free < PER_LANE) return PER_LANE;
    const full = [...this.#lanes].filter(([, { waiting }]) => waiting.length > 0).map(([endpointId]) => endpointId);
    const leaseEndsAt = this.#deps.clock.now() + LEASE_MS;
    const claimed = await claimDeliveries(this.#deps.db, {
      perEndpoint: PER_LANE,
      limit: free,
      leaseMs: LEASE_MS,
      full,
    });
    for (const delivery of claimed) {
      const lane = this.#lanes.get(delivery.endpointId) ?? { waiting: [], underWay: 0 };
      this.#lanes.set(delivery.endpointId, lane);
      lane.waiting.push({ delivery, leaseEndsAt });
      this.#advance(delivery.endpointId, lane);
    }
    return claimed.length;
  }

  #advance(endpointId: string, lane: Lane): void {
    while (!this.#stopped && lane.underWay < PER_ENDPOINT && this.#running.size < PER_PROCESS) {
      const next = lane.waiting.shift();
      if (next === undefined) break;
      // One whose lease could end under way is left to whoever takes it up then.
      if (this.#deps.clock.now() + TIME_LIMITS.webhookExchangeMs > next.leaseEndsAt) continue;
      lane.underWay += 1;
      const run = this.#deliver(next.delivery)
        .catch((fault: unknown) => {
          // The lease ends by itself, and the delivery is taken up again.
          this.#deps.log.error({ delivery: next.delivery.id, fault: summariseFault(fault) }, 'a webhook was not noted');
        })
        .finally(() => {
          this.#running.delete(run);
          lane.underWay -= 1;
          this.#advance(endpointId, lane);
        });
      this.#running.add(run);
    }
    if (lane.underWay === 0 && lane.waiting.length === 0) this.#lanes.delete(endpointId);
  }

  async #deliver(delivery: ClaimedDelivery): Promise<void> {
    const at = this.#deps.clock.now();
    const secrets = secretsOf(this.#deps.secrets, delivery, at);
    const headers = signMessage(secrets, delivery.messageId, Math.floor(at / 1_000), delivery.body);
    const outcome = await this.#poster.post(delivery.url, { ...headers }, delivery.body);
    if (isDelivered(outcome)) {
      const { id: deliveryId, endpointId } = delivery;
      const { durationMs, status, body } = outcome;
      await this.#notes.submit({ deliveryId, endpointId, at, durationMs, responseStatus: status, responseBody: body });
      return;
    }
    await inTransaction(this.#deps.db, (tx) => noteFailure(tx, this.#deps, delivery, at, outcome));
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

function isDelivered(outcome: PostOutcome): outcome is PostOutcome & { status: number } {
  return outcome.status !== null && outcome.status >= 200 && outcome.status < 300;
}

function retryAfterMs({ status, retryAfter }: PostOutcome): number | undefined {
  if (status === null || !PATIENT_STATUSES.has(status) || retryAfter === null) return undefined;
  return /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) * SECOND_MS : undefined;
}

async function noteFailure(
  tx: Transaction,
  deps: DeliverDeps,
  delivery: ClaimedDelivery,
  at: number,
  outcome: PostOutcome,
): Promise<void> {
  const endpoint = await lockEndpoint(tx, delivery.endpointId);
  // Deleted while it was under way: there is nothing left to note.
  if (endpoint === undefined) return;
  const tries = delivery.tries + 1;
  const slow = outcome.error === 'timeout' || outcome.status === 429;
  const pauseMs = pauseAfter({ tries, slow, retryAfterMs: retryAfterMs(outcome) }, Math.random());
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
    status: ended ? 'failed' : 'pending',
    nextTryAt: pauseMs === undefined ? undefined : deps.clock.now() + pauseMs,
  });
  const consecutiveFailures = endpoint.consecutiveFailures + 1;
  const failed = await updateEndpoint(tx, endpoint.id, { consecutiveFailures });
  const silent = deps.clock.now() - endpoint.lastSuccessAt >= SILENCE_TO_DISABLE_MS;
  if (outcome.status === 410) await disableEndpoint(tx, deps, failed, 'gone');
  else if (outcome.error === 'url_not_allowed') await disableEndpoint(tx, deps, failed, 'url_not_allowed');
  else if (consecutiveFailures >= FAILURES_TO_DISABLE && silent) {
    await disableEndpoint(tx, deps, failed, 'consecutive_failures');
  }
}
