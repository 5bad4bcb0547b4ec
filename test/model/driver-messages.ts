import { createHmac } from 'node:crypto';
import { sandboxWebhookSecret } from '#sandbox/sandbox-keys.ts';
import type { DriverMessage, DriverProvider } from './driver.ts';
import { driverNow } from './driver-time.ts';

/** A provider's message as it was composed, before it is signed for its way. */
export interface Message extends DriverMessage {
  readonly secretKey: string;
  readonly body: string;
}

const RETRY_MS = 100;
const TRIES = 50;
const POST_TIMEOUT_MS = 60_000;
const ORIGIN = 'http://messages.invalid';
const takers = new Map<string, (request: { path: string; body: string }) => void>();
let drivers = 0;

/**
 * The sandbox sends a message in the same step in which the payer presses the button. Taken here, it is known to be under
 * way before anybody can ask; over a socket there would be a moment in which nobody knows of it.
 */
function interceptFetch(): void {
  const real = globalThis.fetch;
  globalThis.fetch = (input, init) => {
    if (typeof input !== 'string' || !input.startsWith(ORIGIN)) return real(input, init);
    const { pathname, port } = new URL(input);
    takers.get(port)?.({ path: pathname, body: String(init?.body) });
    // To the sandbox it has arrived: from here on the driver tries again where that is needed.
    return Promise.resolve(new Response(null, { status: 200 }));
  };
}

function sign({ provider, secretKey, body }: Message): Record<string, string> {
  if (provider === 'provider_b')
    return { 'x-paystack-signature': createHmac('sha512', secretKey).update(body).digest('hex') };
  // Signed anew for each way, as the provider does: a message may have been held for longer than a signature is good.
  const seconds = Math.floor(driverNow() / 1_000);
  const signature = createHmac('sha256', sandboxWebhookSecret(secretKey)).update(`${seconds}.${body}`).digest('hex');
  return { 'stripe-signature': `t=${seconds},v1=${signature}` };
}

function typeOf(body: string): string {
  const { type, event } = JSON.parse(body) as { type?: string; event?: string };
  return type ?? event ?? '';
}

/** The providers' messages of one driver, on their way from the sandbox to the service. */
export class Messages {
  readonly #place: string;
  readonly #service: () => string;
  readonly #secretOf: (businessId: string) => string;
  readonly #underWay = new Set<Promise<void>>();
  #held = false;
  #kept: Message[] = [];

  /** @param service the address of the process that takes messages */
  constructor(service: () => string, secretOf: (businessId: string) => string) {
    if (drivers === 0) interceptFetch();
    drivers += 1;
    this.#place = String(drivers);
    this.#service = service;
    this.#secretOf = secretOf;
    takers.set(this.#place, ({ path, body }) => {
      const [, , provider = '', businessId = ''] = path.split('/');
      this.arise(provider as DriverProvider, businessId, body);
    });
  }

  /** Where the sandbox sends the messages of a business. */
  target(provider: DriverProvider, businessId: string): string {
    return `${ORIGIN}:${this.#place}/provider-webhooks/${provider}/${businessId}`;
  }

  arise(provider: DriverProvider, businessId: string, body: string): void {
    const message = { provider, businessId, type: typeOf(body), secretKey: this.#secretOf(businessId), body };
    if (this.#held) {
      this.#kept.push(message);
      return;
    }
    const sent: Promise<void> = this.#sendPatiently(message).finally(() => this.#underWay.delete(sent));
    this.#underWay.add(sent);
  }

  async #sendPatiently(message: Message): Promise<void> {
    for (let attempt = 1; attempt <= TRIES; attempt += 1) {
      // A process that is being started again takes no connections for a moment.
      const status = await this.#send(message).catch(() => 0);
      if (status !== 0 && status < 500) return;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }

  async #send(message: Message): Promise<number> {
    const { provider, businessId, body } = message;
    const answer = await fetch(`${this.#service()}/provider-webhooks/${provider}/${businessId}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...sign(message) },
      body,
      signal: AbortSignal.timeout(POST_TIMEOUT_MS),
    });
    await answer.body?.cancel();
    return answer.status;
  }

  async arrived(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  hold(held: boolean): void {
    this.#held = held;
  }

  list(): DriverMessage[] {
    return this.#kept.map(({ provider, businessId, type }) => ({ provider, businessId, type }));
  }

  async deliver(order: readonly number[]): Promise<number[]> {
    const kept = this.#kept;
    this.#kept = [];
    const statuses: number[] = [];
    for (const index of order) {
      const message = kept[index];
      if (message === undefined) throw new Error(`there is no message ${index}: ${kept.length} are held`);
      statuses.push(await this.#send(message));
    }
    return statuses;
  }

  forget(): void {
    this.#held = false;
    this.#kept = [];
  }

  stop(): void {
    takers.delete(this.#place);
  }
}
