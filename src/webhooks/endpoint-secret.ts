import type { Secrets } from '#src/platform/secrets.ts';

export const endpointSecretPlace = (endpointId: string) => ({
  table: 'webhook_endpoints',
  column: 'secret',
  row: endpointId,
});

export function sealSecret(secrets: Secrets, endpointId: string, secret: string): string {
  return secrets.seal(secret, endpointSecretPlace(endpointId));
}

export function openSecret(secrets: Secrets, endpointId: string, sealed: string): string {
  return secrets.open(sealed, endpointSecretPlace(endpointId)).toString('utf8');
}
