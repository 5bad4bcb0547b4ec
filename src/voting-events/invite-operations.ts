import { answersCreated, answersList, answersNothing, answersOne } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { operation } from '#src/http/operation.ts';
import { listInvitesQuery } from './schemas.ts';
import { inviteView } from './view-schemas.ts';

export const listInvites = operation({
  operationId: 'listInvites',
  summary: 'List the invites of an event',
  method: 'GET',
  path: '/voting-events/:idOrCode/invites',
  scope: 'read',
  answers: answersList(inviteView, 'Every invite.'),
  query: listInvitesQuery,
});

export const createInvite = operation({
  operationId: 'createInvite',
  summary: 'Invite a person to an event by e-mail',
  method: 'POST',
  path: '/voting-events/:idOrCode/invites',
  scope: 'write',
  role: 'owner',
  description:
    'The mail carries a token, which the person accepts with a key of their own account within 7 days. A `viewer` reads, an `editor` changes too.',
  answers: answersCreated(inviteView, 'The invite. Its mail is on the way.'),
  refusals: ['invite_exists', 'plan_limit'],
  example: { email: 'greta@example.com', role: 'viewer' },
});

export const deleteInvite = operation({
  operationId: 'deleteInvite',
  summary: 'Take an invite back, accepted or not',
  method: 'DELETE',
  path: '/voting-events/:idOrCode/invites/:id',
  scope: 'write',
  role: 'owner',
  answers: answersNothing('The invite is gone; whoever had accepted it no longer sees the event.'),
});

export const acceptInvite = operation({
  operationId: 'acceptInvite',
  summary: 'Accept an invite in the name of the account of the key',
  method: 'POST',
  path: '/invites/accept',

  // Any organizer key of the account: what it may do in the event is its own scope's question.
  scope: 'read',
  description: 'Any organizer key of the account will do. Accepting again gives the same answer.',
  answers: answersOne(inviteView, 'The invite, accepted.'),
  refusals: ['not_found', 'invite_used', 'invite_expired', 'own_event', 'already_shared'],
  example: { token: EXAMPLE.inviteToken },
});
