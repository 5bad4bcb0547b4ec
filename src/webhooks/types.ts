import type { webhookAttempts, webhookDeliveries, webhookEndpoints } from './tables.ts';

export type EndpointStatus = 'active' | 'disabled';
export type DisabledReason = 'manual' | 'consecutive_failures' | 'gone' | 'url_not_allowed';
export type DeliveryStatus = 'pending' | 'delivered' | 'failed' | 'skipped';
export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed', 'skipped'] as const;

/** A secret before a rotation: it signs too until its time is over. */
export interface EarlierSecret {
  /** Sealed. */
  readonly secret: string;
  /** Unix ms. */
  readonly until: number;
}

export type WebhookEndpoint = Readonly<
  Omit<typeof webhookEndpoints.$inferSelect, 'previousSecret' | 'previousSecretUntil'>
>;

export type WebhookDelivery = Readonly<Omit<typeof webhookDeliveries.$inferSelect, 'lockedUntil'>>;

export type WebhookAttempt = Readonly<typeof webhookAttempts.$inferSelect>;
