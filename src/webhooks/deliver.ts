import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Batcher } from '#src/database/batcher.ts';
import { inTransaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { monotonicMs, SECOND_MS } from '#src/platform/clock.ts';
import { summariseFault } from '#src/platform/log.ts';
import { SharedTurns } from '#src/platform/shared-turns.ts';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';
import { EndpointQueue, Places, RoundRobin } from './endpoint-queue.ts';
import { noteFailure } from './failing-endpoint.ts';
import type { Poster, PostOutcome } from './guarded-post.ts';
import type { RecordDeps } from './record-event.ts';
import {
  type DeliveredNote,
  type DueDelivery,
  holdDueEndpoints,
  listDue,
  noteDelivered,
  releaseHolds,
} from './sending-repository.ts';
import { openSecret, signMessage } from './signature.ts';

type DeliverDeps = RecordDeps & Pick<Deps, 'db' | 'log' | 'secrets'>;

const PER_PROCESS = 200;
/** Most concurrent deliveries to endpoints that are not known yet to answer quickly: slow receivers must not use up `PER_PROCESS`. */
const PER_PROCESS_UNPROVEN = 150;
/** Most deliveries that are under way or whose outcome is not stored yet. */
const MAX_RUNNING = 3 * PER_PROCESS;
/** Most endpoints that a process holds (has leased). Beyond these, it holds only one for each account that has none. */
const MAX_QUEUES = 1_000;
/** Duration of a hold, which is the lease of an endpoint: longer than two exchanges, but over within a minute if the sender crashes. */
const HOLD_MS = 45 * SECOND_MS;
const RENEW_BEFORE_MS = 30 * SECOND_MS;
const LOOK_AGAIN_MS = 200;
/** Time between queries for due endpoints while this process holds none, because nothing was due recently. */
const IDLE_LOOK_MS = SECOND_MS;
/** Time between these queries while there is no endpoint. The first message to the first endpoint waits at most this long. */
const NO_ENDPOINT_LOOK_MS = 5 * SECOND_MS;
const BREATH_MS = 2;
/** Pause after a failed turn, for example if the database cannot be reached. */
const FAULT_PAUSE_MS = SECOND_MS;
const UNNOTED_PAUSE_MS = 5 * SECOND_MS;

/** Sends due deliveries. One sender at a time holds an endpoint, so that its limit applies across processes. Queues take turns. */
export class WebhookSender {
  readonly #deps: DeliverDeps;
  readonly #poster: Poster;
  readonly #name: string = randomUUID();
  readonly #queues = new Map<string, EndpointQueue>();
  readonly #running = new Set<Promise<void>>();
  /** Group commit: successes that arrive while a statement runs are stored together by the next statement. */
  readonly #notes: Batcher<DeliveredNote, undefined>;
  /** Each failure is stored in a transaction. An account's run one after the other, so that connections stay free for other accounts. */
  readonly #failures = new SharedTurns();
  readonly #roundRobin = new RoundRobin();
  readonly #underWay = new Places(PER_PROCESS);
  readonly #unproven = new Places(PER_PROCESS_UNPROVEN);
  readonly #unfinished = new Places(MAX_RUNNING);
  #looksAgainAt = 0;
  #hurried = false;
  #timer: NodeJS.Timeout | undefined;
  #turning: Promise<void> | undefined;
  readonly #stopping = new AbortController();
  /** Set when `stop` aborts the running exchanges. Their failures say nothing about the receivers, and are not stored. */
  #cut = false;

  constructor(deps: DeliverDeps, poster: Poster) {
    this.#deps = deps;
    this.#poster = poster;
    const pool = deps.db.$client;
    this.#notes = new Batcher({
      runTogether: async (notes) => {
        await noteDelivered(pool, notes);
        return notes.map(() => undefined);
      },
      runAlone: async (note) => void (await noteDelivered(pool, [note])),
      ...{ laneOf: () => '', places: 1, concernsAll: () => false },
      keyOf: ({ deliveryId }) => deliveryId,
      maxRows: PER_PROCESS,
      maxWaiting: MAX_RUNNING,
      refusal: () => new Error('too many deliveries wait to be noted'),
    });
  }

  start(): void {
    this.#schedule(0);
  }

  #schedule(waitMs: number): void {
    if (this.#stopping.signal.aborted) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#turning = this.#turn().finally(() => {
        this.#turning = undefined;
      });
    }, waitMs);
  }

  /** Starts the next turn at once, because a queue needs new deliveries. */
  #wake(): void {
    if (this.#timer === undefined || this.#hurried) return;
    this.#hurried = true;
    clearTimeout(this.#timer);
    this.#schedule(BREATH_MS);
  }

  async #turn(): Promise<void> {
    this.#hurried = false;
    let waitMs = FAULT_PAUSE_MS;
    try {
      if (monotonicMs() >= this.#looksAgainAt) await this.#look();
      await this.#read();
      for (const queue of this.#queues.values()) this.#roundRobin.add(queue);
      this.#send();
      const needing = [...this.#queues.values()].some((queue) => queue.needsRefill);
      waitMs = needing ? BREATH_MS : Math.max(this.#looksAgainAt - monotonicMs(), BREATH_MS);
    } catch (fault) {
      this.#deps.log.warn({ fault: summariseFault(fault) }, 'due webhooks could not be read');
    }
    this.#schedule(waitMs);
  }

  /** Takes and renews holds on endpoints with due deliveries. Drops deliveries that were read before a change of their endpoint. */
  async #look(): Promise<void> {
    // This process's clock decides only its own schedule. The statement compares holds by the database's clock.
    const nowMs = monotonicMs();
    const isCrowded = this.#queues.size > MAX_QUEUES / 2;
    const left = new Map<string, number>();
    for (const queue of this.#queues.values()) {
      queue.wake(nowMs);
      // The hold has ended: nothing was due for a while, or another sender has taken the endpoint.
      const hasEnded = queue.heldUntil <= nowMs && !queue.isAtWork;
      if (!hasEnded && !(isCrowded && queue.canLeave)) continue;
      this.#queues.delete(queue.endpointId);
      if (!hasEnded) left.set(queue.endpointId, queue.restMs(nowMs));
    }
    const queues = [...this.#queues.values()];
    const idsOf = (some: readonly EndpointQueue[]): string[] => some.map(({ endpointId }) => endpointId);
    const read = queues.filter(({ waiting }) => waiting.length > 0);
    const { taken, due, versions, hasEndpoints } = await holdDueEndpoints(this.#deps.db.$client, {
      holder: this.#name,
      holdMs: HOLD_MS,
      held: idsOf(queues),
      renewed: idsOf(queues.filter((queue) => queue.isBusy && queue.heldUntil < nowMs + RENEW_BEFORE_MS)),
      read: idsOf(read),
      left,
      limit: MAX_QUEUES - queues.length,
    });
    for (const queue of read) queue.check(versions.get(queue.endpointId));
    for (const { endpointId, accountId, failures } of taken) {
      const create = () => new EndpointQueue(endpointId, accountId, failures);
      const queue = this.#queues.getOrInsertComputed(endpointId, create);
      queue.heldUntil = nowMs + HOLD_MS;
    }
    for (const endpointId of due) {
      const queue = this.#queues.get(endpointId);
      if (queue !== undefined) queue.mayHaveMore = true;
    }
    const idleMs = hasEndpoints ? IDLE_LOOK_MS : NO_ENDPOINT_LOOK_MS;
    this.#looksAgainAt = monotonicMs() + (this.#queues.size > 0 ? LOOK_AGAIN_MS : idleMs);
  }

  async #read(): Promise<void> {
    const needing = [...this.#queues.values()].filter((queue) => queue.needsRefill);
    if (needing.length === 0) return;
    for (const queue of needing) queue.ended.clear();
    const places = new Map(needing.map((queue) => [queue.endpointId, queue.wanted]));
    const due = Map.groupBy(await listDue(this.#deps.db.$client, places), ({ endpointId }) => endpointId);
    for (const queue of needing) queue.fill(due.get(queue.endpointId) ?? [], places.get(queue.endpointId) ?? 0);
  }

  /** Begins deliveries, from one queue after the other, until a limit is reached or nothing waits. */
  #send(): void {
    while (!this.#stopping.signal.aborted) {
      const queue = this.#roundRobin.next([this.#underWay, this.#unfinished], this.#unproven);
      if (queue === undefined) return;
      // The hold could end during the exchange, so this queue waits until the hold is renewed.
      if (!queue.isReady || queue.heldUntil < monotonicMs() + TIME_LIMITS.webhookExchangeMs) continue;
      const delivery = queue.begin();
      if (delivery !== undefined) this.#run(queue, delivery);
      this.#roundRobin.add(queue);
    }
  }

  #run(queue: EndpointQueue, delivery: DueDelivery): void {
    const { accountId } = queue;
    const places = queue.isUnproven ? [this.#underWay, this.#unproven] : [this.#underWay];
    for (const some of [...places, this.#unfinished]) some.take(accountId);
    const freePlace = (durationMs: number, arrived: boolean): void => {
      for (const some of places) some.leave(accountId);
      queue.answer(delivery.id, durationMs, arrived, monotonicMs());
      this.#goOn(queue);
    };
    const run = this.#deliver(delivery, accountId, freePlace)
      .catch(async (fault: unknown) => {
        this.#deps.log.error({ delivery: delivery.id, fault: summariseFault(fault) }, 'a webhook was not noted');
        // The outcome was not stored, so the delivery is sent again (at-least-once). The pause prevents a tight loop.
        await pause(UNNOTED_PAUSE_MS, undefined, { ref: false, signal: this.#stopping.signal }).catch(() => undefined);
      })
      .finally(() => {
        this.#running.delete(run);
        this.#unfinished.leave(accountId);
        queue.end(delivery.id);
        this.#goOn(queue);
      });
    this.#running.add(run);
  }

  #goOn(queue: EndpointQueue): void {
    this.#roundRobin.add(queue);
    this.#send();
    if (queue.needsRefill) this.#wake();
  }

  async #deliver(
    delivery: DueDelivery,
    accountId: string,
    freePlace: (durationMs: number, arrived: boolean) => void,
  ): Promise<void> {
    const at = this.#deps.clock.now();
    let outcome: PostOutcome | undefined;
    try {
      const headers = this.#sign(delivery, at);
      outcome = await this.#poster.post(delivery.url, headers, delivery.body);
    } finally {
      freePlace(outcome?.durationMs ?? 0, outcome !== undefined && isDelivered(outcome));
    }
    await this.#note(delivery, accountId, at, outcome);
  }

  #sign({ endpointId, messageId, body, ...endpoint }: DueDelivery, atMs: number): Record<string, string> {
    const { secret, earlierSecrets } = endpoint;
    const old = earlierSecrets.filter(({ until }) => until > atMs).map((earlier) => earlier.secret);
    const secrets = [secret, ...old].map((sealed) => openSecret(this.#deps.secrets, endpointId, sealed));
    return { ...signMessage(secrets, messageId, Math.floor(atMs / SECOND_MS), body) };
  }

  async #note(delivery: DueDelivery, accountId: string, at: number, outcome: PostOutcome): Promise<void> {
    if (isDelivered(outcome)) {
      const { id: deliveryId, endpointId } = delivery;
      const { durationMs, status, body } = outcome;
      await this.#notes.submit({ deliveryId, endpointId, at, durationMs, responseStatus: status, responseBody: body });
    } else if (!this.#cut) {
      const note = () => inTransaction(this.#deps.db, (tx) => noteFailure(tx, this.#deps, delivery, at, outcome));
      await this.#failures.take(accountId, note);
    }
  }

  /** Waits up to `graceMs` for running deliveries, then aborts the rest. Releases the holds, so that another sender continues at once. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    await this.#turning;
    await Promise.race([Promise.all(this.#running), pause(graceMs, undefined, { ref: false })]);
    this.#cut = true;
    await this.#poster.close();
    await Promise.all(this.#running);
    try {
      await releaseHolds(this.#deps.db.$client, this.#name);
    } catch (fault) {
      this.#deps.log.warn(
        { fault: summariseFault(fault) },
        'webhooks were not handed back: their holds end by themselves',
      );
    }
  }
}

function isDelivered(outcome: PostOutcome): outcome is PostOutcome & { status: number } {
  return outcome.status !== null && outcome.status >= 200 && outcome.status < 300;
}
