import {
  answersBulkChange,
  answersCreated,
  answersList,
  answersNothing,
  answersOne,
  answersQueued,
} from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { operation } from '#src/http/operation.ts';
import { listCandidatesQuery, listPositionsQuery, searchQuery } from './schemas.ts';
import { candidateView, groupView, positionView, sponsorView } from './view-schemas.ts';

export const listPositions = operation({
  operationId: 'listPositions',
  summary: 'List positions',
  method: 'GET',
  path: '/',
  scope: 'read',
  answers: answersList(positionView, 'Every position of the event.'),
  query: listPositionsQuery,
});

export const createPosition = operation({
  operationId: 'createPosition',
  summary: 'Create a position',
  method: 'POST',
  path: '/',
  scope: 'write',
  answers: answersCreated(positionView, 'The new position.'),
  refusals: ['event_has_ballots', 'results_final', 'plan_limit', 'plan_feature'],
  example: { title: 'Chair', votingMethod: 'plurality' },
});

export const getPosition = operation({
  operationId: 'getPosition',
  summary: 'Read a position',
  method: 'GET',
  path: '/:id',
  scope: 'read',
  answers: answersOne(positionView, 'The position.'),
});

export const updatePosition = operation({
  operationId: 'updatePosition',
  summary: 'Change a position',
  method: 'PATCH',
  path: '/:id',
  scope: 'write',
  answers: answersOne(positionView, 'The position as it is now.'),
  refusals: ['event_has_ballots', 'results_final', 'plan_feature'],
  example: { title: 'Chair of the board', tieBreak: 'lot' },
});

export const deletePosition = operation({
  operationId: 'deletePosition',
  summary: 'Queue the deletion of a position',
  method: 'DELETE',
  path: '/:id',
  scope: 'write',
  answers: answersQueued('The position disappears within seconds.'),
  refusals: ['event_has_ballots', 'results_final'],
});

export const listCandidates = operation({
  operationId: 'listCandidates',
  summary: 'List candidates',
  method: 'GET',
  path: '/',
  scope: 'read',
  answers: answersList(candidateView, 'Every candidate of the event.'),
  query: listCandidatesQuery,
});

export const createCandidate = operation({
  operationId: 'createCandidate',
  summary: 'Create a candidate',
  method: 'POST',
  path: '/',
  scope: 'write',
  answers: answersCreated(candidateView, 'The new candidate.'),
  refusals: ['results_final', 'plan_limit'],
  example: { name: 'Greta Lind', positionIds: [EXAMPLE.position] },
});

export const changeCandidates = operation({
  operationId: 'changeCandidates',
  summary: 'Reject or delete up to 1,000 candidates, all or none',
  method: 'POST',
  path: '/bulk',
  scope: 'write',
  description:
    'What would be refused for one of them refuses them all. An unknown ID is named as `candidateIds[<index>]`. Rejected registrations free their place under the ceiling.',
  answers: answersBulkChange('How many candidates were changed: those that were rejected before stay as they are.'),
  refusals: ['event_has_ballots', 'results_final'],
  example: { action: 'reject', candidateIds: [EXAMPLE.candidate] },
});

export const getCandidate = operation({
  operationId: 'getCandidate',
  summary: 'Read a candidate',
  method: 'GET',
  path: '/:id',
  scope: 'read',
  answers: answersOne(candidateView, 'The candidate.'),
});

export const updateCandidate = operation({
  operationId: 'updateCandidate',
  summary: 'Change a candidate, or approve, reject or withdraw it',
  method: 'PATCH',
  path: '/:id',
  scope: 'write',
  answers: answersOne(candidateView, 'The candidate as it is now.'),
  refusals: ['event_has_ballots', 'results_final', 'plan_limit'],
  example: { description: 'Reads two books a week.' },
});

export const deleteCandidate = operation({
  operationId: 'deleteCandidate',
  summary: 'Queue the deletion of a candidate',
  method: 'DELETE',
  path: '/:id',
  scope: 'write',
  answers: answersQueued('The candidate disappears within seconds.'),
  refusals: ['event_has_ballots', 'results_final'],
});

export const listGroups = operation({
  operationId: 'listGroups',
  summary: 'List groups',
  method: 'GET',
  path: '/',
  scope: 'read',
  answers: answersList(groupView, 'Every group of the event.'),
  query: searchQuery,
});

export const createGroup = operation({
  operationId: 'createGroup',
  summary: 'Create a group',
  method: 'POST',
  path: '/',
  scope: 'write',
  answers: answersCreated(groupView, 'The new group.'),
  refusals: ['name_in_use', 'plan_limit'],
  example: { name: 'North' },
});

export const getGroup = operation({
  operationId: 'getGroup',
  summary: 'Read a group',
  method: 'GET',
  path: '/:id',
  scope: 'read',
  answers: answersOne(groupView, 'The group.'),
});

export const updateGroup = operation({
  operationId: 'updateGroup',
  summary: 'Change a group',
  method: 'PATCH',
  path: '/:id',
  scope: 'write',
  answers: answersOne(groupView, 'The group as it is now.'),
  refusals: ['name_in_use', 'results_final'],
  example: { description: 'North of the river.' },
});

export const deleteGroup = operation({
  operationId: 'deleteGroup',
  summary: 'Queue the deletion of a group',
  method: 'DELETE',
  path: '/:id',
  scope: 'write',
  answers: answersQueued('The group disappears within seconds.'),
  refusals: ['event_has_ballots', 'results_final', 'group_in_use'],
});

export const listSponsors = operation({
  operationId: 'listSponsors',
  summary: 'List sponsors',
  method: 'GET',
  path: '/',
  scope: 'read',
  answers: answersList(sponsorView, 'Every sponsor of the event.'),
  query: searchQuery,
});

export const createSponsor = operation({
  operationId: 'createSponsor',
  summary: 'Create a sponsor',
  method: 'POST',
  path: '/',
  scope: 'write',
  answers: answersCreated(sponsorView, 'The new sponsor.'),
  refusals: ['plan_limit'],
  example: { name: 'The corner bookshop', websiteUrl: 'https://bookshop.example/', tier: 'gold' },
});

export const getSponsor = operation({
  operationId: 'getSponsor',
  summary: 'Read a sponsor',
  method: 'GET',
  path: '/:id',
  scope: 'read',
  answers: answersOne(sponsorView, 'The sponsor.'),
});

export const updateSponsor = operation({
  operationId: 'updateSponsor',
  summary: 'Change a sponsor',
  method: 'PATCH',
  path: '/:id',
  scope: 'write',
  answers: answersOne(sponsorView, 'The sponsor as it is now.'),
  example: { tier: 'silver' },
});

export const deleteSponsor = operation({
  operationId: 'deleteSponsor',
  summary: 'Delete a sponsor',
  method: 'DELETE',
  path: '/:id',
  scope: 'write',
  answers: answersNothing('The sponsor is gone.'),
});
