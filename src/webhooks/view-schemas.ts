import { z } from 'zod';
import { listShape, timeShape } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { EVENT_TYPE_NAMES, EVENT_TYPES } from './event-catalogue.ts';
import { DELIVERY_STATUSES } from './types.ts';

const endpointFields = {
  id: z.string(),
  votingEventId: z.string().nullable().meta({ description: 'Null for an endpoint of the whole account.' }),
  url: z.string(),
  description: z.string(),
  eventTypes: listShape(z.string()),
  status: z.enum(['active', 'disabled']),
  disabledReason: z.enum(['manual', 'consecutive_failures', 'gone', 'url_not_allowed']).nullable(),
  consecutiveFailures: z.int(),
  secretHint: z.string(),
  createdAt: timeShape(),
};

const ENDPOINT_EXAMPLE = {
  id: EXAMPLE.endpoint,
  votingEventId: null,
  url: 'https://club.example/hooks',
  description: '',
  eventTypes: ['payment.succeeded', 'voting_event.closed'],
  status: 'active',
  disabledReason: null,
  consecutiveFailures: 0,
  secretHint: 'whsec_…kW8=',
  createdAt: EXAMPLE.createdAt,
} as const;

/** A webhook endpoint (contract, "Webhook endpoint"). */
export const endpointView = z
  .object(endpointFields)
  .meta({ id: 'WebhookEndpoint', description: 'Where events are sent.', examples: [ENDPOINT_EXAMPLE] });
export type EndpointView = z.output<typeof endpointView>;

export const endpointWithSecretView = z
  .object({
    ...endpointFields,
    secret: z.string().meta({ description: 'Signs the messages. Told this once: store it, never log it.' }),
  })
  .meta({
    id: 'WebhookEndpointWithSecret',
    examples: [{ ...ENDPOINT_EXAMPLE, secret: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDazfcSrkkW8=' }],
  });

/** A delivery with every attempt at it (completions 8.2). */
export const deliveryView = z
  .object({
    id: z.string(),
    messageId: z.string().meta({ description: 'The `webhook-id` of the message.' }),
    eventType: z.string(),
    status: z.enum(DELIVERY_STATUSES),
    responseStatus: z.int().nullable(),
    nextTryAt: timeShape().nullable(),
    createdAt: timeShape(),
    deliveredAt: timeShape().nullable(),
    attempts: listShape(
      z.object({
        number: z.int(),
        at: timeShape(),
        durationMs: z.int(),
        responseStatus: z.int().nullable(),
        error: z.string().nullable(),
        responseBody: z.string().nullable().meta({ description: 'At most the first 2 KiB.' }),
      }),
    ),
  })
  .meta({
    id: 'WebhookDelivery',
    examples: [
      {
        id: EXAMPLE.delivery,
        messageId: 'msg_01m8wz3qc1k6s9v3x8b5e0',
        eventType: 'payment.succeeded',
        status: 'delivered',
        responseStatus: 200,
        nextTryAt: null,
        createdAt: EXAMPLE.openedAt,
        deliveredAt: EXAMPLE.openedAt,
        attempts: [
          {
            number: 1,
            at: EXAMPLE.openedAt,
            durationMs: 84,
            responseStatus: 200,
            error: null,
            responseBody: 'ok',
          },
        ],
      },
    ],
  });
export type DeliveryView = z.output<typeof deliveryView>;

export const eventTypeView = z
  .object({ type: z.enum(EVENT_TYPE_NAMES as [string, ...string[]]), description: z.string() })
  .meta({
    id: 'WebhookEventType',
    examples: [{ type: 'voter.created', description: EVENT_TYPES['voter.created'] }],
  });
