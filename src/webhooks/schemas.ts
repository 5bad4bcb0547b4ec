import { z } from 'zod';
import {
  BESIDE_FAULTY_ENTRIES,
  descriptionField,
  idField,
  refuseRepeated,
  searchField,
  trimUrl,
} from '#src/http/fields.ts';
import { windowFields } from '#src/http/newest.ts';
import { endpointUrlFault } from './endpoint-url.ts';
import { isEventType } from './event-catalogue.ts';
import { DELIVERY_STATUSES } from './types.ts';

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

const url = (allowPrivate: boolean) =>
  z
    .string()
    .overwrite(trimUrl)
    .check((context) => {
      const message = endpointUrlFault(context.value, allowPrivate);
      if (message !== undefined) context.issues.push({ code: 'custom', message, input: context.value });
    })
    .meta({ format: 'uri', maxLength: 2_048 });

export const createEndpointBody = (allowPrivate: boolean) =>
  z.strictObject({
    url: url(allowPrivate),
    description: descriptionField(200).optional(),
    eventTypes,
    votingEventCode: idField().optional().describe('Restricts the endpoint to one event.'),
  });

export const updateEndpointBody = (allowPrivate: boolean) =>
  z
    .strictObject({
      url: url(allowPrivate).optional(),
      description: descriptionField(200).optional(),
      eventTypes: eventTypes.optional(),
      status: z.enum(['active', 'disabled']).optional(),
    })
    .refine((body) => Object.keys(body).length > 0, 'must change at least one field');

export type NewEndpoint = z.output<ReturnType<typeof createEndpointBody>>;
export type EndpointChange = z.output<ReturnType<typeof updateEndpointBody>>;

export const listEndpointsQuery = z.strictObject({
  votingEventCode: idField()
    .optional()
    .describe('Lists the endpoints of one event; those of the account when left out.'),
  search: searchField().optional(),
  status: z.enum(['active', 'disabled']).optional(),
});
export const listDeliveriesQuery = z.strictObject({
  search: searchField().optional(),
  status: z.enum(DELIVERY_STATUSES).optional(),
  eventType: z.string().max(100).optional(),
  ...windowFields(),
});
