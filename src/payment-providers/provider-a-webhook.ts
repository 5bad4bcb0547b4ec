import ProviderClient from 'stripe';
import { z } from 'zod';
import {
  ATTEMPT_PARAMETER,
  isLiveKey,
  type MessageTarget,
  type ProviderCredentials,
  type WebhookNotice,
  type WebhookVerdict,
} from './provider.ts';
import { readAnswer } from './provider-a-state.ts';

const SIGNATURE_HEADER = 'stripe-signature';
/** Maximum age of a signature: without a limit, an intercepted message could be replayed for ever. */
const WEBHOOK_TOLERANCE_SECONDS = 300;

/** Message types to select at the provider. A change of any other type is found only later, by polling jobs, or never. */
const NEEDED_KINDS = [
  'account.updated',
  'charge.dispute.closed',
  'charge.dispute.created',
  'charge.refunded',
  'checkout.session.async_payment_failed',
  'checkout.session.async_payment_succeeded',
  'checkout.session.completed',
  'checkout.session.expired',
  'payment_intent.payment_failed',
  'refund.failed',
  'refund.updated',
];

const endpointsSchema = z.object({
  data: z.array(z.object({ url: z.string(), status: z.string(), enabled_events: z.array(z.string()) })),
});

export function readMessageTargets(answer: unknown): MessageTarget[] {
  return readAnswer(endpointsSchema, answer).data.map(({ url, status, enabled_events: kinds }) => ({
    url,
    enabled: status === 'enabled',
    missingKinds: kinds.includes('*') ? [] : NEEDED_KINDS.filter((kind) => !kinds.includes(kind)),
  }));
}

const reference = z.union([z.string(), z.object({ id: z.string() })]).nullish();
const eventSchema = z.object({
  id: z.string().min(1),
  type: z.string(),
  account: z.string().nullish(),
  livemode: z.boolean(),
  data: z.object({
    object: z.object({
      id: z.string().nullish(),
      object: z.string().nullish(),
      client_reference_id: z.string().nullish(),
      metadata: z.record(z.string(), z.unknown()).nullish(),
      payment_intent: reference,
    }),
  }),
});

function topicOf(type: string): WebhookNotice['topic'] {
  if (type.startsWith('charge.dispute.')) return 'dispute';
  if (type === 'charge.refunded' || /^(?:charge\.)?refund\./.test(type)) return 'refund';
  if (type === 'account.updated') return 'account';
  return /^(?:checkout\.session|payment_intent)\./.test(type) ? 'payment' : 'other';
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

function noticeOf(event: z.infer<typeof eventSchema>): WebhookNotice {
  const { object } = event.data;
  const intent = typeof object.payment_intent === 'object' ? object.payment_intent?.id : object.payment_intent;
  return {
    eventKey: event.id,
    eventType: event.type,
    topic: topicOf(event.type),
    attemptId: textOrNull(object.metadata?.[ATTEMPT_PARAMETER]) ?? textOrNull(object.client_reference_id),
    reference: textOrNull(object.client_reference_id),
    providerPaymentId: object.object === 'payment_intent' ? textOrNull(object.id) : textOrNull(intent),
  };
}

/** The time of signing in the header, Unix seconds; null unless the header has exactly one. */
function signedAt(header: string): number | null {
  const times = header.split(',').flatMap((part) => /^\s*t=(.*)$/.exec(part)?.[1] ?? []);
  const [time] = times;
  return time !== undefined && times.length === 1 && /^\d{1,12}$/.test(time) ? Number(time) : null;
}

/** Whether provider_a sent these bytes in the last five minutes. @param nowMs by the service's clock */
export function verifyWebhookA(
  credentials: ProviderCredentials,
  rawBody: Uint8Array,
  headers: Headers,
  nowMs: number,
): WebhookVerdict {
  const header = headers.get(SIGNATURE_HEADER);
  // Without a secret, nothing can be checked. With an empty secret, anyone could compute a valid signature.
  if (header === null || credentials.webhookSecret === undefined || credentials.webhookSecret === '') {
    return { kind: 'forged', reason: 'signature' };
  }
  // The library rejects only old signatures: a signature dated tomorrow could be replayed until then.
  const signedAtSeconds = signedAt(header);
  if (signedAtSeconds === null) return { kind: 'forged', reason: 'signature' };
  if (Math.abs(Math.floor(nowMs / 1_000) - signedAtSeconds) > WEBHOOK_TOLERANCE_SECONDS) {
    return { kind: 'forged', reason: 'timestamp' };
  }
  const body = Buffer.from(rawBody);
  let event: unknown;
  try {
    event = ProviderClient.webhooks.constructEvent(
      body,
      header,
      credentials.webhookSecret,
      WEBHOOK_TOLERANCE_SECONDS,
      undefined,
      nowMs,
    );
  } catch (fault) {
    const forged = fault instanceof ProviderClient.errors.StripeSignatureVerificationError;
    return forged ? { kind: 'forged', reason: 'signature' } : readThin(body);
  }
  return readEvent(credentials, event);
}

/** A "thin" event, which lacks its object. It names no payment, but jobs poll every open payment anyway. */
const thinSchema = z.object({ id: z.string().min(1), type: z.string(), object: z.literal('v2.core.event') });

/** Reads a signed body that the library does not accept as an event. */
function readThin(body: Buffer): WebhookVerdict {
  let json: unknown;
  try {
    json = JSON.parse(body.toString('utf8'));
  } catch {
    return { kind: 'unreadable' };
  }
  const thin = thinSchema.safeParse(json);
  if (!thin.success) return { kind: 'unreadable' };
  const { id: eventKey, type: eventType } = thin.data;
  const topic = /\.account\b|\baccount\./.test(eventType) ? 'account' : 'other';
  const nothing = { attemptId: null, reference: null, providerPaymentId: null };
  return { kind: 'genuine', notice: { eventKey, eventType, topic, ...nothing } };
}

function readEvent(credentials: ProviderCredentials, event: unknown): WebhookVerdict {
  const parsed = eventSchema.safeParse(event);
  if (!parsed.success) return { kind: 'unreadable' };
  const { account, livemode } = parsed.data;
  if (livemode !== isLiveKey(credentials.secretKey)) return { kind: 'forged', reason: 'livemode' };
  if (typeof account === 'string' && credentials.accountId !== undefined && account !== credentials.accountId) {
    return { kind: 'forged', reason: 'account' };
  }
  return { kind: 'genuine', notice: noticeOf(parsed.data) };
}
