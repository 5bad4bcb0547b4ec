import { createHmac } from 'node:crypto';
import { z } from 'zod';
import { equalSecrets, sha256 } from '#src/platform/secrets.ts';
import { isLiveKey, type ProviderCredentials, type WebhookNotice, type WebhookVerdict } from './provider.ts';
import { parseKeepingIds } from './provider-b-http.ts';
import { attemptIdOf } from './provider-b-state.ts';

const SIGNATURE_HEADER = 'x-paystack-signature';

const id = z.union([z.string(), z.number()]).nullish();
const dataSchema = z.object({
  id,
  domain: z.string().nullish(),
  reference: z.string().nullish(),
  transaction_reference: z.string().nullish(),
  refund_reference: z.string().nullish(),
  metadata: z.unknown().optional(),
  transaction: z
    .object({ id, reference: z.string().nullish(), metadata: z.unknown().optional() })
    .nullish()
    .catch(null),
});
// Some events have a list as `data`; such events do not concern payments of this service.
const eventSchema = z.object({ event: z.string().min(1), data: z.union([dataSchema, z.array(z.unknown())]) });
type ProviderEvent = z.infer<typeof eventSchema>;

/** Hex HMAC-SHA512 of the received bytes, keyed with the secret key. */
export function signatureOf(rawBody: Uint8Array, secretKey: string): string {
  return createHmac('sha512', secretKey).update(rawBody).digest('hex');
}

function isSigned(rawBody: Uint8Array, secretKey: string, signature: string | null): boolean {
  // Accept exactly 128 hex digits: `Buffer.from` would silently stop at the first other character.
  if (signature === null || !/^[0-9a-f]{128}$/i.test(signature) || secretKey === '') return false;
  return equalSecrets(Buffer.from(signature, 'hex'), Buffer.from(signatureOf(rawBody, secretKey), 'hex'));
}

function topicOf(event: string): WebhookNotice['topic'] {
  if (event.startsWith('charge.dispute.')) return 'dispute';
  if (event.startsWith('refund.')) return 'refund';
  return event.startsWith('charge.') ? 'payment' : 'other';
}

function textOrNull(value: string | number | null | undefined): string | null {
  return value === null || value === undefined || value === '' ? null : String(value);
}

/** The key that identifies an event, which has no ID: its type, reference and object ID, or its type and a digest of the body. */
function eventKeyOf({ event, data }: ProviderEvent, rawBody: Uint8Array): string {
  const parts = Array.isArray(data)
    ? []
    : [data.reference ?? data.transaction_reference, textOrNull(data.refund_reference ?? data.id)];
  const known = parts.filter((part): part is string => typeof part === 'string' && part !== '');
  const key = [event, ...known].join(':');
  return known.length > 0 && key.length <= 200 ? key : `${event.slice(0, 64)}:${sha256(rawBody).toString('hex')}`;
}

function noticeOf(parsed: ProviderEvent, rawBody: Uint8Array): WebhookNotice {
  const data = Array.isArray(parsed.data) ? undefined : parsed.data;
  const topic = topicOf(parsed.event);
  return {
    eventKey: eventKeyOf(parsed, rawBody),
    eventType: parsed.event,
    topic,
    attemptId: attemptIdOf(data?.metadata) ?? attemptIdOf(data?.transaction?.metadata),
    reference: textOrNull(data?.reference ?? data?.transaction_reference ?? data?.transaction?.reference),
    // In an event of a refund or a dispute, `id` is not the payment's.
    providerPaymentId: textOrNull(topic === 'payment' ? data?.id : data?.transaction?.id),
  };
}

/** Whether provider_b sent these bytes to this business. The bytes contain no time of signing: only the event key stops a replay. */
export function verifyWebhookB(
  credentials: ProviderCredentials,
  rawBody: Uint8Array,
  headers: Headers,
): WebhookVerdict {
  if (!isSigned(rawBody, credentials.secretKey, headers.get(SIGNATURE_HEADER))) {
    return { kind: 'forged', reason: 'signature' };
  }
  let json: unknown;
  try {
    json = parseKeepingIds(new TextDecoder('utf-8', { fatal: true }).decode(rawBody));
  } catch {
    return { kind: 'unreadable' };
  }
  const parsed = eventSchema.safeParse(json);
  if (!parsed.success) return { kind: 'unreadable' };
  const domain = Array.isArray(parsed.data.data) ? undefined : parsed.data.data.domain;
  if (typeof domain === 'string' && (domain === 'live') !== isLiveKey(credentials.secretKey)) {
    return { kind: 'forged', reason: 'livemode' };
  }
  return { kind: 'genuine', notice: noticeOf(parsed.data, rawBody) };
}
