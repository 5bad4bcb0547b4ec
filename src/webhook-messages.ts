import { z } from 'zod';
import { candidateView } from '#src/ballot-definition/candidate.ts';
import { timeShape } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { attemptView } from '#src/payments/payment.ts';
import type { WebhookMessage } from '#src/reference/describe-api.ts';
import { voterView } from '#src/voters/voter.ts';
import { votingEventView } from '#src/voting-events/voting-event.ts';
import { EVENT_TYPE_NAMES, EVENT_TYPES, type EventType } from '#src/webhooks/record-event.ts';
import { endpointView } from '#src/webhooks/webhook-endpoint.ts';

/** The schema of data that only webhooks publish, with an example. */
const fact = <Shape extends z.ZodRawShape>(shape: Shape, example: z.output<z.ZodObject<Shape>>) =>
  z.object(shape).meta({ examples: [example] });

const id = z.string();
const votingEventId = z.string();

/** The schema of `data` in each type of message. */
const DATA: Readonly<Record<EventType, z.ZodType>> = {
  'voting_event.created': votingEventView,
  'voting_event.updated': votingEventView,
  'voting_event.deleted': fact(
    { id, code: z.string(), title: z.string() },
    { id: EXAMPLE.event, code: EXAMPLE.eventCode, title: 'Board of the reading club' },
  ),
  'voting_event.opened': votingEventView,
  'voting_event.not_opened': votingEventView,
  'voting_event.closing': votingEventView,
  'voting_event.closed': votingEventView,
  'candidate.created': candidateView,
  'candidate.updated': candidateView,
  'candidate.deleted': fact({ id, name: z.string() }, { id: EXAMPLE.candidate, name: 'Greta Lind' }),
  'voter.created': voterView,
  'voter.updated': voterView,
  'voter.deleted': fact({ id }, { id: EXAMPLE.voter }),
  'voter.mail_failed': voterView,
  'ballot.confirmed': fact({ votingEventId, ballots: z.int() }, { votingEventId: EXAMPLE.event, ballots: 3 }),
  'payment.succeeded': attemptView,
  'payment.fulfilled': attemptView,
  'payment.failed': attemptView,
  'payment.cancelled': attemptView,
  'payment.refunded': attemptView,
  'payment.refund_failed': attemptView,
  'payment.needs_attention': attemptView,
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

/** When each type of message is sent, for the API reference. */
const WHEN: Readonly<Record<EventType, string>> = {
  'voting_event.created': 'A voting event was created.',
  'voting_event.updated': 'A voting event was changed, or got or lost its payment business.',
  'voting_event.deleted': 'A voting event was deleted.',
  'voting_event.opened': 'A voting event takes ballots, because somebody opened it or its `startsAt` has come.',
  'voting_event.not_opened':
    'The `startsAt` of a voting event came, and it was not ready: it is a draft again. The owner gets a mail, too.',
  'voting_event.closing':
    'The `endsAt` of a voting event is 24 hours away, or was set nearer than that: once for each end that is set. The owner gets a mail, too.',
  'voting_event.closed': 'A voting event takes no more ballots, because somebody closed it or its `endsAt` has come.',
  'candidate.created': 'A candidate was created or has registered.',
  'candidate.updated': 'A candidate was changed, approved, rejected or withdrawn.',
  'candidate.deleted': 'A candidate was deleted.',
  'voter.created': 'A voter was put on the roll or has registered.',
  'voter.updated': 'A voter was changed, approved or rejected.',
  'voter.deleted': 'A voter was taken off the roll.',
  'voter.mail_failed':
    'A mail to a voter was refused for good, or given up after two days of trying: the voter has no voter key from it.',
  'ballot.confirmed':
    'Ballots were confirmed: how many so far, those included that were voided since. At most once in 5 seconds an event.',
  'payment.succeeded': 'A payer has paid: make the second call.',
  'payment.fulfilled':
    'What was paid for is done: the ballot is cast, the candidate registered, the credits are there.',
  'payment.failed': 'A payment was declined.',
  'payment.cancelled': 'A payment was given up: nobody paid in time, or it cannot be fulfilled any more.',
  'payment.refunded': 'What was paid went back to the payer.',
  'payment.refund_failed':
    'The provider refused for 30 days to give a payment back, or did not answer: the organizer has to pay the payer back by hand.',
  'payment.needs_attention':
    'A person has to look at the money of a payment: another amount was paid than was asked for, a refund failed, a part went back, or 72 hours have passed and it is neither given, back nor settled.',
  'payment.reversed': 'A payment was taken back at the provider after it was fulfilled, by a refund or a chargeback.',
  'results.published': 'Results have become public.',
  'log.checkpoint': 'The ballot log has grown, and its new head is signed.',
  'webhook_endpoint.disabled': 'A webhook endpoint was switched off: by hand, or because its receiver fails.',
};

export const webhookMessages = (): WebhookMessage[] =>
  EVENT_TYPE_NAMES.map((type) => ({
    type,
    description: `${WHEN[type]}\n\n\`data\`: ${EVENT_TYPES[type]}.`,
    data: DATA[type],
  }));
