import { answersCreated } from '#src/http/answer-shapes.ts';
import { operation } from '#src/http/operation.ts';
import { votingEventView } from '#src/voting-events/view-schemas.ts';

export const copyVotingEvent = operation({
  operationId: 'copyVotingEvent',
  summary: 'Copy a voting event',
  method: 'POST',
  path: '/voting-events/:idOrCode/copy',
  scope: 'write',
  description:
    'A draft with a code of its own, in the account of the key: settings, groups, positions, candidates and sponsors, without times, ballots, invites and webhook endpoints. Prices and the payment business are taken along within one account, where the plan and the business still allow them. Registrations that were never approved stay behind. With `withVoters` the voters follow in the background: `copy` of the new event shows how many there are, and it does not open before all are.',
  answers: answersCreated(votingEventView, 'The copy, a draft.'),
  refusals: ['plan_limit'],
  example: { title: 'Board of the reading club 2027', withVoters: true },
});
