import { createHmac } from 'node:crypto';
import { type Checkout, newId } from './checkouts.ts';
import { viewAccountA, viewEventA } from './provider-a-account.ts';
import { eventOf } from './provider-a-api.ts';
import { noticeOf } from './provider-b-api.ts';
import type { Happening, SandboxContext } from './sandbox-context.ts';
import { readSandboxKey, sandboxAccountId, sandboxWebhookSecret } from './sandbox-keys.ts';

export interface WebhookOptions {
  /** The URL to which an account's messages go; undefined if there is no receiver. */
  readonly target: (account: {
    readonly secretKey: string;
    readonly provider: Checkout['provider'];
  }) => string | undefined;
  /** The wall clock, in Unix milliseconds, for the time in signatures. */
  readonly now: () => number;
}

interface Message {
  readonly url: string;
  readonly body: string;
  readonly headers: Record<string, string>;
}

/** Pauses between the attempts to deliver a message, in milliseconds. A real provider's pauses are longer. */
const RETRY_PAUSES_MS = [250, 1_000, 4_000];
const ANSWER_TIME_MS = 10_000;

function compose(
  context: SandboxContext,
  options: WebhookOptions,
  checkout: Checkout,
  happening: Happening,
): Message | undefined {
  const { secretKey, provider } = checkout;
  const url = options.target({ secretKey, provider });
  if (url === undefined) return undefined;
  const { webhooks } = context.faults;
  const spoilt = webhooks === 'wrong_signature' || webhooks === 'older_secret';
  if (provider === 'provider_a') {
    const secret = spoilt ? `whsec_${webhooks}` : sandboxWebhookSecret(secretKey);
    return signedEvent(url, secret, options.now(), eventOf(context, checkout, happening));
  }
  const notice = noticeOf(checkout, happening);
  if (notice === undefined) return undefined;
  const body = JSON.stringify(notice);
  const signature = createHmac('sha512', spoilt ? 'wrong' : secretKey)
    .update(body)
    .digest('hex');
  return { url, body, headers: { 'x-paystack-signature': signature } };
}

/** A signed message of provider_a about an object. */
function signedEvent(
  url: string,
  secret: string,
  nowMs: number,
  { type, object }: { readonly type: string; readonly object: unknown },
): Message {
  const seconds = Math.floor(nowMs / 1_000);
  const body = JSON.stringify(viewEventA(newId('evt_'), nowMs, type, object));
  const signature = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex');
  return { url, body, headers: { 'stripe-signature': `t=${seconds},v1=${signature}` } };
}

async function post({ url, body, headers }: Message): Promise<boolean> {
  try {
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(ANSWER_TIME_MS),
    });
    await answer.body?.cancel();
    return answer.status >= 200 && answer.status < 300;
  } catch {
    // No receiver answered in time. A provider counts that as a failed attempt.
    return false;
  }
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms).unref());

async function deliver(message: Message): Promise<void> {
  for (const pauseMs of [0, ...RETRY_PAUSES_MS]) {
    if (pauseMs > 0) await pause(pauseMs);
    if (await post(message)) return;
  }
}

/** Sends signed messages as the providers do, with the faults that are switched on. */
export function createWebhookSender(
  context: () => SandboxContext,
  options: WebhookOptions,
): Pick<SandboxContext, 'tell' | 'tellAccount'> {
  let heldBack: Message | undefined;
  const takeHeldBack = async (): Promise<void> => {
    const message = heldBack;
    heldBack = undefined;
    if (message !== undefined) await deliver(message);
  };
  const tellAccount = async (secretKey: string): Promise<void> => {
    const url = options.target({ secretKey, provider: 'provider_a' });
    if (url === undefined || context().faults.webhooks === 'lost') return;
    const ready = !context().restricted.has(secretKey);
    const object = viewAccountA(sandboxAccountId(secretKey), readSandboxKey(secretKey)?.country ?? 'US', ready);
    const secret = sandboxWebhookSecret(secretKey);
    await deliver(signedEvent(url, secret, options.now(), { type: 'account.updated', object }));
  };
  const tell: SandboxContext['tell'] = async (checkout, happening) => {
    const { faults } = context();
    const message = compose(context(), options, checkout, happening);
    if (message === undefined || faults.webhooks === 'lost') return;
    if (faults.webhooks === 'reordered' && heldBack === undefined) {
      // Hold the message back until the next one has been sent. If no other comes, it is late, but not lost.
      heldBack = message;
      void pause(faults.lateMs).then(() => (heldBack === message ? takeHeldBack() : undefined));
      return;
    }
    if (faults.webhooks === 'late') await pause(faults.lateMs);
    await deliver(message);
    if (faults.webhooks === 'duplicate') await deliver(message);
    await takeHeldBack();
  };
  return { tell, tellAccount };
}
