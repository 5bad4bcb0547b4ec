import type { webhooks as messages } from './schema.d.ts';

type MessageOf<Webhook> = Webhook extends { post: { requestBody: { content: { 'application/json': infer Message } } } }
  ? Message
  : never;

/** A message to a webhook endpoint. `type` says what `data` contains. Ignore types that you do not know: new types may come. */
export type WebhookMessage = { [Type in keyof messages]: MessageOf<messages[Type]> }[keyof messages];

/** The headers of the request, as Node's `request.headers` or as `Headers`. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface VerifyOptions {
  /** Largest difference between the message's time and this machine's, in seconds. Default: 300. */
  readonly toleranceSeconds?: number;
}

/** The message is not from the service, or is too old. Answer 401, and do nothing else. */
export class WebhookVerificationError extends Error {
  override name = 'WebhookVerificationError';
}

const TOLERANCE_SECONDS = 300;

function headerOf(headers: WebhookHeaders, name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : headers[name];
  if (typeof value !== 'string' || value === '') throw new WebhookVerificationError(`The header ${name} is missing.`);
  return value;
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    // The text is not base64.
    return undefined;
  }
}

async function importKey(secret: string): Promise<CryptoKey> {
  const bytes = bytesOf(secret.replace(/^whsec_/, ''));
  // With an empty key, anybody could sign a message.
  if (bytes === undefined || bytes.length === 0) throw new TypeError('a webhook secret is whsec_ and base64');
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
}

/**
 * Verifies a message by Standard Webhooks 1.0, and parses it.
 * @param body exactly as received: a body that was parsed and written again does not match the signature
 * @param secret of the endpoint; a list if one receiver serves several endpoints
 * @throws WebhookVerificationError if the service has not signed the message, or its time is outside of the tolerance
 */
async function verify(
  body: string | Uint8Array,
  headers: WebhookHeaders,
  secret: string | readonly string[],
  { toleranceSeconds = TOLERANCE_SECONDS }: VerifyOptions = {},
): Promise<WebhookMessage> {
  const keys = await Promise.all((typeof secret === 'string' ? [secret] : secret).map(importKey));
  const id = headerOf(headers, 'webhook-id');
  const time = headerOf(headers, 'webhook-timestamp');
  const signatures = headerOf(headers, 'webhook-signature')
    .split(' ')
    .flatMap((signature) => (signature.startsWith('v1,') ? (bytesOf(signature.slice('v1,'.length)) ?? []) : []));
  const age = Math.abs(Date.now() / 1_000 - Number(time));
  if (!/^\d+$/.test(time) || !(age <= toleranceSeconds)) throw new WebhookVerificationError('The message is too old.');
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
  const signed = new TextEncoder().encode(`${id}.${time}.${text}`);
  for (const key of keys) {
    for (const signature of signatures) {
      // This comparison takes constant time.
      if (await crypto.subtle.verify('HMAC', key, signature, signed)) return JSON.parse(text) as WebhookMessage;
    }
  }
  throw new WebhookVerificationError('No signature is of this secret.');
}

/** Verifies the messages that the service sends to your endpoints. */
export const webhooks = { verify };
