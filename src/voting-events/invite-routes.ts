import type { Deps } from '#src/deps.ts';
import { created, gone, list, ok } from '#src/http/answer.ts';
import { answersCreated, answersList, answersNothing, answersOne } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { changeRoute, type RequestContext, type Route, readRoute } from '#src/http/route.ts';
import { notFound } from '#src/platform/errors.ts';
import { type Organizer, requireOrganizer } from './access.ts';
import { acceptWithToken, createInvite, withdrawInvite } from './change-invites.ts';
import { findInvite, listInvites } from './invite-repository.ts';
import { viewInvite } from './invite-status.ts';
import { acceptInviteBody, createInviteBody, listInvitesQuery } from './schemas.ts';
import type { Invite } from './types.ts';
import { inviteView } from './view-schemas.ts';

/** Sharing an event with other accounts (completions 2.5). */
export function inviteRoutes(deps: Deps): Route[] {
  const event = (context: RequestContext) => requireOrganizer(deps, context);
  const invite = async (context: RequestContext): Promise<Organizer & { row: Invite }> => {
    const organizer = await requireOrganizer(deps, context);
    const row = await findInvite(deps.db, organizer.event.id, context.params['id'] ?? '');
    if (row === undefined) throw notFound();
    return { ...organizer, row };
  };
  const path = '/voting-events/:idOrCode/invites';
  return [
    readRoute({
      operationId: 'listInvites',
      summary: 'List the invites of an event',
      method: 'GET',
      path,
      scope: 'read',
      answers: answersList(inviteView, 'Every invite.'),
      query: listInvitesQuery,
      find: event,
      read: async ({ target, query: { search, role, status } }) => {
        const nowMs = deps.clock.now();
        const rows = await listInvites(deps.db, target.event.id, { search, role, status }, nowMs);
        return list(rows.map((row) => viewInvite(row, nowMs)));
      },
    }),
    changeRoute({
      operationId: 'createInvite',
      summary: 'Invite a person to an event by e-mail',
      method: 'POST',
      path,
      scope: 'write',
      role: 'owner',
      description:
        'The mail carries a token, which the person accepts with a key of their own account within 7 days. A `viewer` reads, an `editor` changes too.',
      answers: answersCreated(inviteView, 'The invite. Its mail is on the way.'),
      refusals: ['invite_exists', 'plan_limit'],
      example: { email: 'greta@example.com', role: 'viewer' },
      body: createInviteBody,
      find: event,
      change: async ({ target, body }, tx) =>
        created(viewInvite(await createInvite(tx, deps, target, body), deps.clock.now())),
    }),
    changeRoute({
      operationId: 'deleteInvite',
      summary: 'Take an invite back, accepted or not',
      method: 'DELETE',
      path: `${path}/:id`,
      scope: 'write',
      role: 'owner',
      answers: answersNothing('The invite is gone; whoever had accepted it no longer sees the event.'),
      find: invite,
      change: async ({ target }, tx) => {
        await withdrawInvite(tx, deps, target, target.row.id);
        return gone;
      },
    }),
    changeRoute({
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
      body: acceptInviteBody,
      find: async ({ caller }) => caller,
      change: async ({ caller, body }, tx) =>
        ok(viewInvite(await acceptWithToken(tx, deps, caller, body.token), deps.clock.now())),
    }),
  ];
}
