import type { WebhookAttempt, WebhookDelivery, WebhookEndpoint } from './types.ts';
import type { DeliveryView, EndpointView } from './view-schemas.ts';

/** A webhook endpoint (contract, "Webhook endpoint"): its secret is shown when it is made or rotated, and never again. */
export function viewEndpoint(endpoint: WebhookEndpoint): EndpointView {
  return {
    id: endpoint.id,
    votingEventId: endpoint.votingEventId,
    url: endpoint.url,
    description: endpoint.description ?? '',
    eventTypes: endpoint.eventTypes,
    status: endpoint.status,
    disabledReason: endpoint.disabledReason,
    consecutiveFailures: endpoint.consecutiveFailures,
    secretHint: endpoint.secretHint,
    createdAt: endpoint.createdAt,
  };
}

/** A delivery with every attempt at it (completions 8.2). */
export function viewDelivery(
  delivery: Omit<WebhookDelivery, 'body'>,
  attempts: readonly WebhookAttempt[],
): DeliveryView {
  return {
    id: delivery.id,
    messageId: delivery.messageId,
    eventType: delivery.eventType,
    status: delivery.status,
    responseStatus: delivery.responseStatus,
    nextTryAt: delivery.status === 'pending' ? delivery.nextTryAt : null,
    createdAt: delivery.createdAt,
    deliveredAt: delivery.deliveredAt,
    attempts: attempts.map(({ number, at, durationMs, responseStatus, error, responseBody }) => ({
      number,
      at,
      durationMs,
      responseStatus,
      error,
      responseBody,
    })),
  };
}
