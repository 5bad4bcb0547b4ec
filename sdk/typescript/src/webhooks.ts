import type { webhooks as messages } from './schema.d.ts';

type MessageOf<Webhook> = Webhook extends { post: { requestBody: { content: { 'application/json': infer Message } } } }
  ? Message
  : never;

/** A message to a webhook endpoint; `type` says what `data` is. Pass over types that you do not know: new ones may come. */
export type WebhookMessage = { [Type in keyof messages]: MessageOf<messages[Type]> }[keyof messages];

/** The headers of the request, as Node's `request.headers` or as `Headers`. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface VerifyOptions {
  /** How far the message's time may be from this machine's, in seconds. 300 unless said otherwise. */
  readonly toleranceSeconds?: number;
}

/** Not a message of the service, or too old: answer 401, and do nothing. */
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
    // Not base64.
    return undefined;
  }
}

async function importKey(secret: string): Promise<CryptoKey> {
  const bytes = bytesOf(secret.replace(/^whsec_/, ''));
  // An empty key would accept what anybody signs.
  if (bytes === undefined || bytes.length === 0) throw new TypeError('a webhook secret is whsec_ and base64');
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
}

/**
 * Verifies a message by Standard Webhooks 1.0, and parses it.
 * @param body as it came: parsing and writing it again breaks the signature
 * @param secret of the endpoint; several where one receiver serves several endpoints
 * @throws WebhookVerificationError for a message that the service has not signed, or not within the tolerance
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
      // Compares in constant time.
      if (await crypto.subtle.verify('HMAC', key, signature, signed)) return JSON.parse(text) as WebhookMessage;
    }
  }
  throw new WebhookVerificationError('No signature is of this secret.');
}

/** Messages that the service sends to your endpoints. */
export const webhooks = { verify };
