import { answersCreated, answersNothing, answersOne, answersPage } from '#src/http/answer-shapes.ts';
import { operation } from '#src/http/operation.ts';
import { deleteEventQuery, listEventsQuery } from './schemas.ts';
import { votingEventView } from './view-schemas.ts';

export const listVotingEvents = operation({
  operationId: 'listVotingEvents',
  summary: 'List voting events',
  method: 'GET',
  path: '/',
  scope: 'read',
  answers: answersPage(votingEventView, 'A page of voting events.'),
  query: listEventsQuery,
});

export const createVotingEvent = operation({
  operationId: 'createVotingEvent',
  summary: 'Create a voting event',
  method: 'POST',
  path: '/',
  scope: 'write',
  answers: answersCreated(votingEventView, 'The voting event, a draft.'),
  refusals: ['code_in_use', 'plan_limit', 'ballot_key_unavailable'],
  example: { title: 'Board of the reading club', type: 'election', timeZone: 'Europe/Berlin' },
});

export const getVotingEvent = operation({
  operationId: 'getVotingEvent',
  summary: 'Read a voting event',
  method: 'GET',
  path: '/:idOrCode',
  scope: 'read',
  answers: answersOne(votingEventView, 'The voting event.'),
});

export const updateVotingEvent = operation({
  operationId: 'updateVotingEvent',
  summary: 'Change, open or close a voting event',
  method: 'PATCH',
  path: '/:idOrCode',
  scope: 'write',
  description:
    'Any subset of the fields. `status: "open"` opens the event now, `status: "closed"` closes it, `status: "rehearsal"` begins a rehearsal. Once ballots are cast, what they depend on is frozen.',
  answers: answersOne(votingEventView, 'The voting event as it is now.'),
  refusals: [
    'code_in_use',
    'event_has_ballots',
    'not_ready',
    'not_open',
    'was_open',
    'results_final',
    'plan_feature',
    'ballot_key_unavailable',
  ],
  example: { title: 'Board of the reading club 2027', results: { visibility: 'live' } },
});

export const deleteVotingEvent = operation({
  operationId: 'deleteVotingEvent',
  summary: 'Delete a voting event',
  method: 'DELETE',
  path: '/:idOrCode',
  scope: 'write',
  role: 'owner',
  description: 'An event with confirmed ballots is deleted with `?force=true` only.',
  answers: answersNothing('The voting event is gone.'),
  refusals: ['event_has_ballots'],
  query: deleteEventQuery,
});
