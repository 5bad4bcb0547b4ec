import { createHmac, randomBytes } from 'node:crypto';
import { placesIn, type Secrets } from '#src/platform/secrets.ts';

/** A secret is `whsec_` and the key in base64 (Standard Webhooks 1.0). */
const SECRET_PREFIX = 'whsec_';
const KEY_BYTES = 32;

export function generateWebhookSecret(): string {
  return SECRET_PREFIX + randomBytes(KEY_BYTES).toString('base64');
}

/** The part of a secret that may be shown. */
export function secretHintOf(secret: string): string {
  return `${SECRET_PREFIX}…${secret.slice(-4)}`;
}

/** The headers that prove a message's sender, one signature for each secret. @param timeSeconds of this attempt */
export function signMessage(secrets: readonly string[], messageId: string, timeSeconds: number, body: string) {
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${messageId}.${timeSeconds}.${body}`).digest('base64')}`;
  });
  return {
    'webhook-id': messageId,
    'webhook-timestamp': String(timeSeconds),
    'webhook-signature': signatures.join(' '),
  };
}

export const endpointSecretPlace = placesIn('webhook_endpoints', 'secret');

export function sealSecret(secrets: Secrets, endpointId: string, secret: string): string {
  return secrets.seal(secret, endpointSecretPlace(endpointId));
}

export function openSecret(secrets: Secrets, endpointId: string, sealed: string): string {
  return secrets.open(sealed, endpointSecretPlace(endpointId)).toString('utf8');
}
