import { randomUUID } from 'node:crypto';
import { type Database, inTransaction } from '#src/database/client.ts';
import { Gatherer } from '#src/database/gather.ts';
import { monotonicMs, SECOND_MS } from '#src/platform/clock.ts';
import { type Log, summariseFault } from '#src/platform/log.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';
import { openSecret } from './endpoint-secret.ts';
import type { Poster, PostOutcome } from './guarded-post.ts';
import { Lane, Turns } from './lane.ts';
import { noteFailure } from './note-failure.ts';
import type { RecordDeps } from './record-event.ts';
import {
  type DeliveredNote,
  type DueDelivery,
  holdDueEndpoints,
  listDue,
  noteDelivered,
  releaseHolds,
} from './sending-repository.ts';
import { signMessage } from './signature.ts';

export interface DeliverDeps extends RecordDeps {
  readonly db: Database;
  readonly log: Log;
  readonly secrets: Secrets;
}

const PER_PROCESS = 200;
/** Places that endpoints of which no quick answer is known may take together: the others always find one. */
const PER_PROCESS_DOUBTFUL = 150;
/** Deliveries under way, and answers that wait to be noted. */
const MAX_RUNNING = 3 * PER_PROCESS;
/** Endpoints that one process holds at most. */
const MAX_LANES = 1_000;
/** Longer than two exchanges, and short enough that what a killed sender held is taken up within a minute. */
const HOLD_MS = 45 * SECOND_MS;
const RENEW_BEFORE_MS = 30 * SECOND_MS;
const LOOK_AGAIN_MS = 200;
const BREATH_MS = 2;
/** While the database is away. */
const FAULT_PAUSE_MS = SECOND_MS;
const UNNOTED_PAUSE_MS = 5 * SECOND_MS;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms).unref());

/**
 * Sends due deliveries until it is stopped. Each endpoint belongs to one sender at a time, so that its limit of ten under
 * way holds over all processes; inside of a process every endpoint has a lane of its own, and lanes take turns.
 */
export class WebhookSender {
  readonly #deps: DeliverDeps;
  readonly #poster: Poster;
  readonly #name: string = randomUUID();
  readonly #lanes = new Map<string, Lane>();
  readonly #running = new Set<Promise<void>>();
  /** Successes are noted together, as many as came while the last ones were being noted. */
  readonly #notes: Gatherer<DeliveredNote, undefined>;
  readonly #turns = new Turns();
  /** Secrets that were opened, by what they are sealed as. */
  readonly #opened = new Map<string, string>();
  #underWay = 0;
  #doubtful = 0;
  #looksAgainAt = 0;
  #hurried = false;
  #timer: NodeJS.Timeout | undefined;
  #turning: Promise<void> | undefined;
  #stopped = false;
  readonly #stopping: Promise<void>;
  #beginStopping: () => void = () => undefined;
  /** What is under way is broken off: nothing that comes of it says anything of its receiver. */
  #cut = false;

  constructor(deps: DeliverDeps, poster: Poster) {
    this.#deps = deps;
    this.#poster = poster;
    this.#stopping = new Promise((resolve) => {
      this.#beginStopping = resolve;
    });
    const pool = deps.db.$client;
    this.#notes = new Gatherer({
      runTogether: async (notes) => {
        await noteDelivered(pool, notes);
        return notes.map(() => undefined);
      },
      runAlone: async (note) => void (await noteDelivered(pool, [note])),
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
    if (this.#stopped) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#turning = this.#turn().finally(() => {
        this.#turning = undefined;
      });
    }, waitMs);
  }

  /** A lane has run dry: the next turn comes at once, and not only when it is time to look. */
  #hurry(): void {
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
      for (const lane of this.#lanes.values()) this.#turns.add(lane);
      this.#send();
      const hungry = [...this.#lanes.values()].some((lane) => lane.isHungry);
      waitMs = hungry ? BREATH_MS : Math.max(this.#looksAgainAt - monotonicMs(), BREATH_MS);
    } catch (fault) {
      this.#deps.log.warn({ fault: summariseFault(fault) }, 'due webhooks could not be read');
    }
    this.#schedule(waitMs);
  }

  /** Looks for endpoints with something due, keeps those that are held, and drops what was read of one that was changed. */
  async #look(): Promise<void> {
    // Of this process alone: what counts between processes is the database's time, in the statement.
    const nowMs = monotonicMs();
    for (const lane of this.#lanes.values()) {
      lane.wake();
      // Its hold was not renewed: nothing was due for a while, or another sender has taken it up.
      if (lane.heldUntil <= nowMs && !lane.isAtWork) this.#lanes.delete(lane.endpointId);
    }
    const lanes = [...this.#lanes.values()];
    const idsOf = (some: readonly Lane[]): string[] => some.map(({ endpointId }) => endpointId);
    const read = lanes.filter(({ waiting }) => waiting.length > 0);
    const { taken, due, versions } = await holdDueEndpoints(this.#deps.db.$client, {
      holder: this.#name,
      holdMs: HOLD_MS,
      held: idsOf(lanes),
      renewed: idsOf(lanes.filter((lane) => lane.isBusy && lane.heldUntil < nowMs + RENEW_BEFORE_MS)),
      read: idsOf(read),
      limit: Math.max(MAX_LANES - lanes.length, 0),
    });
    for (const lane of read) lane.check(versions.get(lane.endpointId));
    for (const endpointId of taken) {
      const lane = this.#lanes.get(endpointId) ?? new Lane(endpointId);
      lane.heldUntil = nowMs + HOLD_MS;
      this.#lanes.set(endpointId, lane);
    }
    for (const endpointId of due) {
      const lane = this.#lanes.get(endpointId);
      if (lane !== undefined) lane.mayHaveMore = true;
    }
    this.#looksAgainAt = monotonicMs() + LOOK_AGAIN_MS;
  }

  /** Reads what is due for the lanes that have run dry. */
  async #read(): Promise<void> {
    const hungry = [...this.#lanes.values()].filter((lane) => lane.isHungry);
    if (hungry.length === 0) return;
    for (const lane of hungry) lane.ended.clear();
    const places = new Map(hungry.map((lane) => [lane.endpointId, lane.wanted]));
    const due = Map.groupBy(await listDue(this.#deps.db.$client, places), ({ endpointId }) => endpointId);
    for (const lane of hungry) lane.fill(due.get(lane.endpointId) ?? [], places.get(lane.endpointId) ?? 0);
  }

  /** Lets lanes take turns until all places are taken or nothing waits. */
  #send(): void {
    while (!this.#stopped && this.#underWay < PER_PROCESS && this.#running.size < MAX_RUNNING) {
      const lane = this.#turns.next(this.#doubtful < PER_PROCESS_DOUBTFUL);
      if (lane === undefined) return;
      // An exchange that the hold might not outlast is left for when it was renewed.
      if (lane.heldUntil < monotonicMs() + TIME_LIMITS.webhookExchangeMs) continue;
      const delivery = lane.begin();
      if (delivery !== undefined) this.#run(lane, delivery);
      this.#turns.add(lane);
    }
  }

  #run(lane: Lane, delivery: DueDelivery): void {
    this.#underWay += 1;
    const doubtful = lane.isDoubtful;
    if (doubtful) this.#doubtful += 1;
    const freePlace = (durationMs: number, arrived: boolean): void => {
      this.#underWay -= 1;
      if (doubtful) this.#doubtful -= 1;
      lane.answer(delivery.id, durationMs, arrived);
      this.#goOn(lane);
    };
    const run = this.#deliver(delivery, freePlace)
      .catch(async (fault: unknown) => {
        this.#deps.log.error({ delivery: delivery.id, fault: summariseFault(fault) }, 'a webhook was not noted');
        // It is still due, and is sent again (at least once): but not at once, over and over.
        await Promise.race([pause(UNNOTED_PAUSE_MS), this.#stopping]);
      })
      .finally(() => {
        this.#running.delete(run);
        lane.end(delivery.id);
        this.#goOn(lane);
      });
    this.#running.add(run);
  }

  #goOn(lane: Lane): void {
    this.#turns.add(lane);
    this.#send();
    if (lane.isHungry) this.#hurry();
  }

  async #deliver(delivery: DueDelivery, freePlace: (durationMs: number, arrived: boolean) => void): Promise<void> {
    const at = this.#deps.clock.now();
    let outcome: PostOutcome | undefined;
    try {
      const headers = this.#sign(delivery, at);
      outcome = await this.#poster.post(delivery.url, headers, delivery.body);
    } finally {
      freePlace(outcome?.durationMs ?? 0, outcome !== undefined && isDelivered(outcome));
    }
    await this.#note(delivery, at, outcome);
  }

  #sign({ endpointId, messageId, body, ...endpoint }: DueDelivery, atMs: number): Record<string, string> {
    const { secret, earlierSecrets } = endpoint;
    const old = earlierSecrets.filter(({ until }) => until > atMs).map((earlier) => earlier.secret);
    const secrets = [secret, ...old].map((sealed) => this.#open(endpointId, sealed));
    return { ...signMessage(secrets, messageId, Math.floor(atMs / SECOND_MS), body) };
  }

  #open(endpointId: string, sealed: string): string {
    const known = this.#opened.get(sealed);
    if (known !== undefined) return known;
    if (this.#opened.size >= 2 * MAX_LANES) this.#opened.clear();
    const secret = openSecret(this.#deps.secrets, endpointId, sealed);
    this.#opened.set(sealed, secret);
    return secret;
  }

  async #note(delivery: DueDelivery, at: number, outcome: PostOutcome): Promise<void> {
    if (isDelivered(outcome)) {
      const { id: deliveryId, endpointId } = delivery;
      const { durationMs, status, body } = outcome;
      await this.#notes.submit({ deliveryId, endpointId, at, durationMs, responseStatus: status, responseBody: body });
    } else if (!this.#cut) {
      await inTransaction(this.#deps.db, (tx) => noteFailure(tx, this.#deps, delivery, at, outcome));
    }
  }

  /** Begins nothing more; what is under way may end, for a while. Another sender goes on at once. */
  async stop(graceMs: number): Promise<void> {
    this.#stopped = true;
    this.#beginStopping();
    clearTimeout(this.#timer);
    await this.#turning;
    await Promise.race([Promise.all(this.#running), pause(graceMs)]);
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
