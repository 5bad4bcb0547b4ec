import { createHash } from 'node:crypto';

/** An account of the sandbox. Its key contains its data, so that no account must be set up before its first use. */
export interface SandboxAccount {
  readonly secretKey: string;
  readonly businessId: string;
  readonly country: string;
}

const KEY = /^sk_test_sandbox_(biz_[a-z0-9]+)_([A-Z]{2})_[0-9a-f]{32}$/;

/** Makes the key of a business's sandbox account. @param random 32 hex digits */
export function sandboxKey(businessId: string, country: string, random: string): string {
  return `sk_test_sandbox_${businessId}_${country}_${random}`;
}

export function readSandboxKey(secretKey: string): SandboxAccount | undefined {
  const [, businessId, country] = KEY.exec(secretKey) ?? [];
  return businessId === undefined || country === undefined ? undefined : { secretKey, businessId, country };
}

/** The secret that signs provider_a's messages to an account. */
export function sandboxWebhookSecret(secretKey: string): string {
  return `whsec_${createHash('sha256').update(`webhooks of ${secretKey}`).digest('base64')}`;
}

/** The ID of an account at provider_a, which is the same for all keys of a business. */
export function sandboxAccountId(secretKey: string): string {
  const owner = readSandboxKey(secretKey)?.businessId ?? secretKey;
  return `acct_${createHash('sha256').update(`account of ${owner}`).digest('hex').slice(0, 16)}`;
}
