import { z } from 'zod';
import {
  answersBulkChange,
  answersCreated,
  answersOne,
  answersPage,
  answersQueued,
  answersText,
} from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { operation } from '#src/http/operation.ts';
import { listVotersQuery } from './schemas.ts';
import { importedRollView, voterView } from './view-schemas.ts';

export const listVoters = operation({
  operationId: 'listVoters',
  summary: 'List voters',
  method: 'GET',
  path: '/',
  scope: 'read',
  answers: answersPage(voterView, 'A page of voters.'),
  query: listVotersQuery,
  description: 'A page of a filter may hold fewer rows than `limit`, even none, and still have a `nextCursor`.',
});

export const createVoter = operation({
  operationId: 'createVoter',
  summary: 'Create a voter',
  method: 'POST',
  path: '/',
  scope: 'write',
  answers: answersCreated(voterView, 'The new voter.'),
  refusals: ['voter_exists', 'roll_closed', 'plan_limit'],
  example: { name: 'Vera Okafor', email: 'vera@club.example' },
});

export const createVoters = operation({
  operationId: 'createVoters',
  summary: 'Create up to 100 voters, all or none',
  method: 'POST',
  path: '/batch',
  scope: 'write',
  description: 'One bad or duplicate row refuses them all, and is named as `voters[<index>].<field>`.',
  answers: answersCreated(z.array(voterView), 'The new voters, in the order sent.'),
  refusals: ['voter_exists', 'roll_closed', 'plan_limit'],
  example: {
    voters: [
      { name: 'Vera Okafor', email: 'vera@club.example' },
      { name: 'Tomás Ruiz', voterId: 'M-1042', weight: 1.5 },
    ],
  },
});

export const importRoll = operation({
  operationId: 'importRoll',
  summary: 'Import up to 5,000 voters, with a report of the rows that were not taken',
  method: 'POST',
  path: '/import',
  scope: 'write',
  description:
    'With `mode: "all"` one bad row keeps all of them out: `accepted` is 0 then, and the report says why. With `mode: "partial"` rows are stored 500 at a time; a request that was cut off goes on where it was when it is sent again with its `Idempotency-Key`. Where the plan has no room for all good rows, none is taken. Takes bodies of up to 4 MiB and 60,000 values.',
  bounds: { bytes: 4 * 1024 * 1024, values: 60_000 },
  answers: answersOne(importedRollView, 'What became of the rows.'),
  refusals: ['voter_exists', 'roll_closed', 'plan_limit'],
  example: {
    mode: 'partial',
    voters: [
      { name: 'Vera Okafor', email: 'vera@club.example' },
      { name: 'Tomás Ruiz', voterId: 'M-1042', weight: 1.5 },
    ],
  },
});

export const getVotersCsv = operation({
  operationId: 'getVotersCsv',
  summary: 'Read the roll as a table (CSV)',
  method: 'GET',
  path: '/csv',
  scope: 'read',
  description:
    'Every voter, in the order of their creation. Who took part is shown as in the list: in an election at least five voters at a time until the result is final.',
  answers: answersText('text/csv', 'The voters, oldest first.'),
  refusals: ['plan_feature'],
});

export const changeVoters = operation({
  operationId: 'changeVoters',
  summary: 'Reject or delete up to 1,000 voters, all or none',
  method: 'POST',
  path: '/bulk',
  scope: 'write',
  description:
    'What would be refused for one of them refuses them all. An unknown ID is named as `voterIds[<index>]`. Rejected registrations free their place under the ceiling.',
  answers: answersBulkChange('How many voters were changed: those that were rejected before stay as they are.'),
  refusals: ['event_has_ballots', 'roll_closed'],
  example: { action: 'reject', voterIds: [EXAMPLE.voter] },
});

export const getVoter = operation({
  operationId: 'getVoter',
  summary: 'Read a voter',
  method: 'GET',
  path: '/:id',
  scope: 'read',
  answers: answersOne(voterView, 'The voter.'),
});

export const updateVoter = operation({
  operationId: 'updateVoter',
  summary: 'Change, approve or reject a voter',
  method: 'PATCH',
  path: '/:id',
  scope: 'write',
  description: 'Weight and group of somebody who voted are frozen.',
  answers: answersOne(voterView, 'The voter as it is now.'),
  refusals: ['voter_exists', 'event_has_ballots', 'roll_closed', 'results_final', 'plan_limit'],
  example: { status: 'approved', name: 'Vera Okafor-Lind' },
});

export const deleteVoter = operation({
  operationId: 'deleteVoter',
  summary: 'Queue the deletion of a voter',
  method: 'DELETE',
  path: '/:id',
  scope: 'write',
  answers: answersQueued('The voter disappears within seconds.'),
  refusals: ['event_has_ballots', 'roll_closed'],
});

export const mailVoterKey = operation({
  operationId: 'mailVoterKey',
  summary: 'E-mail a voter key again',
  method: 'POST',
  path: '/:id/voter-key',
  scope: 'write',
  answers: answersQueued('The mail is on its way; `keyStatus` of the voter tells what became of it.'),
  refusals: ['not_an_election', 'no_email', 'mails_closed'],
});
