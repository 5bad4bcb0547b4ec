import type { Secrets } from '#src/platform/secrets.ts';

const place = (endpointId: string) => ({ table: 'webhook_endpoints', column: 'secret', row: endpointId });

export function sealSecret(secrets: Secrets, endpointId: string, secret: string): string {
  return secrets.seal(secret, place(endpointId));
}

export function openSecret(secrets: Secrets, endpointId: string, sealed: string): string {
  return secrets.open(sealed, place(endpointId)).toString('utf8');
}
