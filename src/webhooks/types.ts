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

export interface WebhookEndpoint {
  readonly id: string;
  readonly accountId: string;
  /** Null for an endpoint that hears of all events of its account. */
  readonly votingEventId: string | null;
  readonly url: string;
  readonly description: string | null;
  readonly eventTypes: readonly string[];
  readonly status: EndpointStatus;
  readonly disabledReason: DisabledReason | null;
  readonly consecutiveFailures: number;
  /** When a delivery last arrived, or when the endpoint was made or switched on. */
  readonly lastSuccessAt: number;
  /** Sealed. */
  readonly secret: string;
  readonly secretHint: string;
  readonly earlierSecrets: readonly EarlierSecret[];
  /** When its voting event was deleted. */
  readonly retiredAt: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface WebhookDelivery {
  readonly id: string;
  readonly endpointId: string;
  readonly messageId: string;
  readonly eventType: string;
  /** The exact text that is signed and sent. */
  readonly body: string;
  readonly status: DeliveryStatus;
  /** Attempts since it was first due, or since it was last asked for again. */
  readonly tries: number;
  readonly nextTryAt: number;
  readonly responseStatus: number | null;
  readonly createdAt: number;
  readonly deliveredAt: number | null;
}

export interface WebhookAttempt {
  readonly deliveryId: string;
  readonly number: number;
  readonly at: number;
  readonly durationMs: number;
  readonly responseStatus: number | null;
  readonly error: string | null;
  readonly responseBody: string | null;
}
