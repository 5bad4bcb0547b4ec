import { z } from 'zod';
import { candidateView } from '#src/ballot-paper/view-schemas.ts';
import { timeShape } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { attemptView } from '#src/payments/view-schemas.ts';
import type { WebhookMessage } from '#src/reference/describe-api.ts';
import { voterView } from '#src/voters/view-schemas.ts';
import { votingEventView } from '#src/voting-events/view-schemas.ts';
import { EVENT_TYPE_NAMES, EVENT_TYPES, type EventType } from '#src/webhooks/event-catalogue.ts';
import { endpointView } from '#src/webhooks/view-schemas.ts';

/** A fact that only messages tell. */
const fact = <Shape extends z.ZodRawShape>(shape: Shape, example: z.output<z.ZodObject<Shape>>) =>
  z.object(shape).meta({ examples: [example] });

const id = z.string();
const votingEventId = z.string();

/** What each type of message carries, put together from the slices whose facts they are. */
const DATA: Readonly<Record<EventType, z.ZodType>> = {
  'voting_event.created': votingEventView,
  'voting_event.updated': votingEventView,
  'voting_event.deleted': fact(
    { id, code: z.string(), title: z.string() },
    { id: EXAMPLE.event, code: EXAMPLE.eventCode, title: 'Board of the reading club' },
  ),
  'voting_event.opened': votingEventView,
  'voting_event.closed': votingEventView,
  'candidate.created': candidateView,
  'candidate.updated': candidateView,
  'candidate.deleted': fact({ id, name: z.string() }, { id: EXAMPLE.candidate, name: 'Greta Lind' }),
  'voter.created': voterView,
  'voter.updated': voterView,
  'voter.deleted': fact({ id }, { id: EXAMPLE.voter }),
  'ballot.confirmed': fact({ votingEventId, ballots: z.int() }, { votingEventId: EXAMPLE.event, ballots: 3 }),
  'payment.succeeded': attemptView,
  'payment.fulfilled': attemptView,
  'payment.failed': attemptView,
  'payment.cancelled': attemptView,
  'payment.refunded': attemptView,
  'payment.reversed': attemptView,
  'results.published': fact(
    { votingEventId, code: z.string(), title: z.string(), publishedAt: timeShape() },
    {
      votingEventId: EXAMPLE.event,
      code: EXAMPLE.eventCode,
      title: 'Board of the reading club',
      publishedAt: EXAMPLE.closesAt,
    },
  ),
  'log.checkpoint': fact(
    { votingEventId, size: z.int(), rootHash: z.string(), checkpoint: z.string() },
    {
      votingEventId: EXAMPLE.event,
      size: 5,
      rootHash: 'TIXaRfYCwUJLGnVPyMWk8yhl4cqWKgE3xDVdCNHxuZA=',
      checkpoint: 'vote.example/log\n5\nTIXaRfYCwUJLGnVPyMWk8yhl4cqWKgE3xDVdCNHxuZA=\n',
    },
  ),
  'webhook_endpoint.disabled': endpointView,
};

/** Every message that receivers may get, for the API document. */
export const webhookMessages = (): WebhookMessage[] =>
  EVENT_TYPE_NAMES.map((type) => ({ type, description: EVENT_TYPES[type], data: DATA[type] }));
