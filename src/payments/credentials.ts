import { z } from 'zod';
import type { ProviderCredentials } from '#src/payment-providers/provider.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import type { PaymentBusiness } from './payment.ts';

const schema = z.object({
  secretKey: z.string(),
  webhookSecret: z.string().optional(),
  accountId: z.string().optional(),
});

export const credentialsPlace = (id: string) => ({ table: 'payment_businesses', column: 'credentials', row: id });

export function sealCredentials(secrets: Secrets, businessId: string, credentials: ProviderCredentials): string {
  return secrets.seal(JSON.stringify(credentials), credentialsPlace(businessId));
}

/** @throws Error when the text was moved, changed, or sealed under a key that is not configured */
export function openCredentials(
  secrets: Secrets,
  business: Pick<PaymentBusiness, 'id' | 'credentials'>,
): ProviderCredentials {
  return schema.parse(JSON.parse(secrets.open(business.credentials, credentialsPlace(business.id)).toString('utf8')));
}
