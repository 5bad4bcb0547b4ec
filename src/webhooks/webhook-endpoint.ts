import { z } from 'zod';
import { listShape, timeShape } from '#src/http/answer-shapes.ts';
import { windowFields } from '#src/http/cursor.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import {
  addressField,
  BESIDE_FAULTY_ENTRIES,
  changesSomething,
  descriptionField,
  idField,
  refuseRepeated,
  searchField,
} from '#src/http/fields.ts';
import { namesOf, pick } from '#src/platform/pick.ts';
import { EVENT_TYPE_NAMES, EVENT_TYPES, isEventType } from './record-event.ts';
import type { webhookAttempts, webhookDeliveries, webhookEndpoints } from './tables.ts';

const ENDPOINT_STATUSES = ['active', 'disabled'] as const;
export type EndpointStatus = (typeof ENDPOINT_STATUSES)[number];
const DISABLED_REASONS = ['manual', 'consecutive_failures', 'gone', 'url_not_allowed'] as const;
export type DisabledReason = (typeof DISABLED_REASONS)[number];
const DELIVERY_STATUSES = ['pending', 'delivered', 'failed', 'skipped'] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** A secret that a rotation replaced. Until `until`, messages are also signed with it. */
export interface EarlierSecret {
  /** Encrypted by `sealSecret`. */
  readonly secret: string;
  /** Unix ms. */
  readonly until: number;
}

export type WebhookEndpoint = Readonly<typeof webhookEndpoints.$inferSelect>;

export type WebhookDelivery = Readonly<typeof webhookDeliveries.$inferSelect>;

export type WebhookAttempt = Readonly<typeof webhookAttempts.$inferSelect>;

const eventTypes = z
  .array(z.string())
  .min(1, 'must name at least one event type')
  .max(100)
  .superRefine((types, context) => {
    types.forEach((type, index) => {
      if (typeof type === 'string' && !isEventType(type)) {
        const message = 'is not a type of event: GET /webhook-event-types';
        context.addIssue({ code: 'custom', path: [index], message });
      }
    });
    refuseRepeated(
      types.map((type) => (isEventType(type) ? type : undefined)),
      context,
    );
  }, BESIDE_FAULTY_ENTRIES);

type UrlFault = (url: string) => string | undefined;

const url = (faultOf: UrlFault) => addressField(faultOf).meta({ format: 'uri' });

export const createEndpointBody = (faultOf: UrlFault) =>
  z.strictObject({
    url: url(faultOf),
    description: descriptionField(200).optional(),
    eventTypes,
    votingEventCode: idField().optional().describe('Restricts the endpoint to one event.'),
  });

export const updateEndpointBody = (faultOf: UrlFault) =>
  z
    .strictObject({
      url: url(faultOf).optional(),
      description: descriptionField(200).optional(),
      eventTypes: eventTypes.optional(),
      status: z.enum(ENDPOINT_STATUSES).optional(),
    })
    .refine(...changesSomething);

export type NewEndpoint = z.output<ReturnType<typeof createEndpointBody>>;
export type EndpointChange = z.output<ReturnType<typeof updateEndpointBody>>;

export const listEndpointsQuery = z.strictObject({
  votingEventCode: idField()
    .optional()
    .describe('Lists the endpoints of one event; those of the account when left out.'),
  search: searchField().optional(),
  status: z.enum(ENDPOINT_STATUSES).optional(),
});
export const listDeliveriesQuery = z.strictObject({
  search: searchField().optional(),
  status: z.enum(DELIVERY_STATUSES).optional(),
  eventType: z.string().max(100).optional(),
  ...windowFields(),
});

const endpointFields = {
  id: z.string(),
  votingEventId: z.string().nullable().meta({ description: 'Null for an endpoint of the whole account.' }),
  url: z.string(),
  description: z.string(),
  eventTypes: listShape(z.string()),
  status: z.enum(ENDPOINT_STATUSES),
  disabledReason: z.enum(DISABLED_REASONS).nullable(),
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

export const endpointWithSecretView = z
  .object({
    ...endpointFields,
    secret: z.string().meta({ description: 'Signs the messages. Told this once: store it, never log it.' }),
  })
  .meta({
    id: 'WebhookEndpointWithSecret',
    examples: [{ ...ENDPOINT_EXAMPLE, secret: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDazfcSrkkW8=' }],
  });

const attemptView = z.object({
  number: z.int(),
  at: timeShape(),
  durationMs: z.int(),
  responseStatus: z.int().nullable(),
  error: z.string().nullable(),
  responseBody: z.string().nullable().meta({ description: 'At most the first 2 KiB.' }),
});

/** The API form of a delivery with its last attempts (completions 8.2). */
export const deliveryView = z
  .object({
    id: z.string(),
    messageId: z.string().meta({ description: 'The `webhook-id` of the message.' }),
    eventType: z.string(),
    status: z.enum(DELIVERY_STATUSES),
    responseStatus: z.int().nullable(),
    nextTryAt: timeShape().nullable().meta({ description: 'Null where it is over, or its endpoint is switched off.' }),
    createdAt: timeShape(),
    deliveredAt: timeShape().nullable(),
    attempts: listShape(attemptView).meta({ description: 'The last 20, oldest first.' }),
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

export const eventTypeView = z
  .object({ type: z.enum(EVENT_TYPE_NAMES as [string, ...string[]]), description: z.string() })
  .meta({
    id: 'WebhookEventType',
    examples: [{ type: 'voter.created', description: EVENT_TYPES['voter.created'] }],
  });

/** An endpoint in the form of the API (contract, "Webhook endpoint"). The secret is left out: only creation and rotation return it. */
export const viewEndpoint = (endpoint: WebhookEndpoint): z.output<typeof endpointView> =>
  pick({ ...endpoint, description: endpoint.description ?? '' }, namesOf(endpointFields));

/** When a delivery is tried next; null if it has ended or its endpoint is disabled. */
export const nextTryOf = (
  { status, nextTryAt }: Pick<WebhookDelivery, 'status' | 'nextTryAt'>,
  endpoint: Pick<WebhookEndpoint, 'status'>,
): number | null => (status === 'pending' && endpoint.status === 'active' ? nextTryAt : null);

/** Converts a delivery and its last attempts into the API form (completions 8.2). */
export function viewDelivery(
  delivery: Omit<WebhookDelivery, 'body'>,
  attempts: readonly WebhookAttempt[],
  endpoint: WebhookEndpoint,
): z.output<typeof deliveryView> {
  const nextTryAt = nextTryOf(delivery, endpoint);
  return pick(
    { ...delivery, nextTryAt, attempts: attempts.map((attempt) => pick(attempt, namesOf(attemptView.shape))) },
    namesOf(deliveryView.shape),
  );
}
