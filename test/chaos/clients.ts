import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { hangUp } from '#test/harness/raw-http.ts';
import { type Chaos, note } from './world.ts';

/** How long a client waits for an answer before it takes the process for dead. */
const PATIENCE_MS = 5_000;
const CLOSED_PAUSE_MS = 200;
/** Who has no answer by then gives up, which is amiss: on a broken build it may never come. */
export const GIVES_UP_MS = 60_000;
/** More than the longest answer has. */
const ANSWER_BYTES = 4_000;

/** What was asked for was refused, which is amiss. */
export class Refused extends Error {}

export interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: clients name the parts of an answer that they look at
  readonly data: any;
  readonly reason: string | undefined;
}

/** One request until its answer, with the same Idempotency-Key each time. Times are of `performance.now()`. */
export interface Asked {
  readonly what: string;
  readonly beganAt: number;
  readonly answeredAt: number;
  readonly tries: number;
  readonly last: string;
}

/**
 * A client that follows the API reference: it repeats a request after a closed connection, after a silence, and after an answer with
 * `Retry-After` when that is over, each time with the same Idempotency-Key and at the next process.
 */
export class Client {
  readonly #chaos: Chaos;
  readonly #key: string;
  #turn: number;

  constructor(chaos: Chaos, key: string, turn: number) {
    this.#chaos = chaos;
    this.#key = key;
    this.#turn = turn;
  }

  /** @returns the answer that says nothing of trying again, whatever its status @throws Refused where none came */
  async send(method: string, path: string, body?: unknown): Promise<Answer> {
    const idempotencyKey = randomUUID();
    const beganAt = performance.now();
    const failed: string[] = [];
    for (let tries = 1; ; tries += 1) {
      const answer = await this.#once(method, path, idempotencyKey, body);
      if (typeof answer !== 'string') {
        const asked = { what: `${method} ${path}`, beganAt, answeredAt: performance.now(), tries };
        this.#chaos.asked.push({ ...asked, last: failed.slice(-3).join('; ') });
        if (answer.status >= 500) this.#chaos.amiss.push(`${asked.what}: ${answer.status} without Retry-After`);
        return answer;
      }
      failed.push(answer);
      if (performance.now() - beganAt < GIVES_UP_MS) continue;
      this.#chaos.amiss.push(`${method} ${path}: no answer after ${tries} tries (${failed.slice(-3).join('; ')})`);
      throw new Refused();
    }
  }

  /** @returns in words why it is to be sent again, after the wait that is asked for */
  async #once(method: string, path: string, idempotencyKey: string, body: unknown): Promise<Answer | string> {
    const { places, dice } = this.#chaos;
    const port = places[this.#turn % places.length]?.port ?? 0;
    const headers = {
      Authorization: `Bearer ${this.#key}`,
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...(method === 'GET' ? {} : { 'Idempotency-Key': idempotencyKey }),
    };
    const text = body === undefined ? '' : JSON.stringify(body);
    if (dice(100) < this.#chaos.hangUps) {
      await this.#hangUp(port, method, path, headers, text);
      return 'hung up';
    }
    try {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
        ...{ method, headers, signal: AbortSignal.timeout(PATIENCE_MS) },
        ...(body === undefined ? {} : { body: text }),
      });
      const json = (await answer.json()) as { data?: unknown; error?: { details?: { reason?: string } } };
      const again = answer.headers.get('retry-after');
      const reason = json.error?.details?.reason;
      if (again === null) return { status: answer.status, data: json.data, reason };
      this.#turn += 1;
      await delay(Number(again) * 1_000);
      return `${answer.status} ${reason}`;
    } catch (fault) {
      this.#turn += 1;
      await delay(CLOSED_PAUSE_MS);
      return fault instanceof Error ? fault.name : String(fault);
    }
  }

  /** Goes away at any byte of the request, or of its answer, and comes back soon, to the same process or the next one. */
  async #hangUp(port: number, method: string, path: string, headers: object, body: string): Promise<void> {
    const { dice } = this.#chaos;
    const lines = Object.entries({ Host: 'x', ...headers, 'Content-Length': Buffer.byteLength(body) });
    const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    const bytes = `${method} ${path} HTTP/1.1\r\n${head}\r\n${body}`;
    const isEarly = dice(3) === 0;
    note(this.#chaos, isEarly ? 'a client hangs up within its request' : 'a client hangs up on its answer');
    await hangUp(
      port,
      isEarly ? bytes.slice(0, dice(bytes.length)) : bytes,
      isEarly ? 0 : dice(3) * dice(ANSWER_BYTES),
    );
    this.#turn += dice(2);
    await delay(dice(CLOSED_PAUSE_MS));
  }

  /** What is sent must be answered so. @returns the data of the answer @throws Refused where it was answered otherwise */
  async must(status: number, method: string, path: string, body?: unknown): Promise<Answer['data']> {
    const answer = await this.send(method, path, body);
    if (answer.status === status) return answer.data;
    this.#chaos.amiss.push(`${method} ${path}: ${answer.status} ${answer.reason}, where ${status} was right`);
    throw new Refused();
  }
}
