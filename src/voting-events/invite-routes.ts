import { Hono } from 'hono';
import { noteGuestCell, noteGuestKey } from '#src/accounts/guests.ts';
import type { Deps } from '#src/deps.ts';
import { created, goneAfter, list, ok } from '#src/http/answer.ts';
import { change, changeIn, takeIdempotencyKey } from '#src/http/answer-once.ts';
import { answersCreated, answersList, answersNothing, answersOne } from '#src/http/answer-shapes.ts';
import { body } from '#src/http/body.ts';
import type { Env } from '#src/http/env.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { operation } from '#src/http/operation.ts';
import { accountMoves } from '#src/http/refusals.ts';
import { answer } from '#src/http/send.ts';
import { loadEvent, loadRow } from './access.ts';
import { acceptIn, cellOfInvite, createInvite, withdrawInvite } from './change-invites.ts';
import {
  acceptInviteBody,
  createInviteBody,
  findInvite,
  inviteView,
  listInvites,
  listInvitesQuery,
  viewInvite,
} from './invite.ts';

/** Sharing an event with other accounts (completions 2.5). */
export function inviteRouter(deps: Deps): Hono<Env> {
  const event = loadEvent(deps);
  const invite = loadRow(deps, findInvite);
  const router = new Hono<Env>();
  router.on(
    ...operation('listInvites', 'GET /voting-events/:idOrCode/invites', {
      summary: 'List the invites of an event',
      scope: 'read',
      answers: answersList(inviteView, 'Every invite.'),
      query: listInvitesQuery,
    }),
    event,
    async (c) => {
      const nowMs = deps.clock.now();
      const rows = await listInvites(deps.db, c.get('target').event.id, c.get('query'), nowMs);
      return answer(c, list(rows.map((row) => viewInvite(row, nowMs))));
    },
  );
  router.on(
    ...operation('createInvite', 'POST /voting-events/:idOrCode/invites', {
      summary: 'Invite a person to an event by e-mail',
      scope: 'write',
      role: 'owner',
      description:
        'The mail carries a token, which the person accepts with a key of their own account within 7 days. A `viewer` reads, an `editor` changes too.',
      answers: answersCreated(inviteView, 'The invite. Its mail is on the way.'),
      refusals: ['invite_exists', 'plan_limit'],
      example: { email: 'greta@example.com', role: 'viewer' },
    }),
    event,
    takeIdempotencyKey(),
    body(createInviteBody),
    (c) =>
      change(c, async (tx) =>
        created(viewInvite(await createInvite(tx, deps, c.get('target'), c.get('body')), deps.clock.now())),
      ),
  );
  router.on(
    ...operation('deleteInvite', 'DELETE /voting-events/:idOrCode/invites/:id', {
      summary: 'Take an invite back, accepted or not',
      scope: 'write',
      role: 'owner',
      answers: answersNothing('The invite is gone; whoever had accepted it no longer sees the event.'),
    }),
    invite,
    (c) => change(c, (tx) => goneAfter(withdrawInvite(tx, deps, c.get('target'), c.get('target').row.id))),
  );
  router.on(
    ...operation('acceptInvite', 'POST /invites/accept', {
      summary: 'Accept an invite in the name of the account of the key',

      // Any organizer key of the account may accept. The key's own scope limits what it may do in the event.
      scope: 'read',
      description: 'Any organizer key of the account will do. Accepting again gives the same answer.',
      answers: answersOne(inviteView, 'The invite, accepted.'),
      refusals: ['not_found', 'invite_used', 'invite_expired', 'own_event', 'already_shared', 'rows_disagree'],
      example: { token: EXAMPLE.inviteToken },
    }),
    takeIdempotencyKey(),
    body(acceptInviteBody),
    async (c) => {
      const [caller, { token }] = [c.get('caller'), c.get('body')];
      const there = await cellOfInvite(deps, token);
      if (there !== deps) {
        // Note it before the event is shared: otherwise requests would not be sent to the event's cell, and would not find the event.
        if (!(await noteGuestCell(deps.db, caller.accountId, there.cell))) throw accountMoves();
        await noteGuestKey(there.db, caller);
        changeIn(c, there);
      }
      return change(c, async (tx) => ok(viewInvite(await acceptIn(tx, deps, there, caller, token), there.clock.now())));
    },
  );
  return router;
}
