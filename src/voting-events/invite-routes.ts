import { Hono } from 'hono';
import type { Deps } from '#src/deps.ts';
import { created, gone, list, ok } from '#src/http/answer.ts';
import { change } from '#src/http/answer-once.ts';
import { body } from '#src/http/body.ts';
import type { Env } from '#src/http/env.ts';
import { replayIfAnswered } from '#src/http/replay.ts';
import { answer } from '#src/http/send.ts';
import { loadEvent, loadRow } from './access.ts';
import { acceptWithToken, createInvite, withdrawInvite } from './change-invites.ts';
import * as operations from './invite-operations.ts';
import { findInvite, listInvites } from './invite-repository.ts';
import { viewInvite } from './invite-status.ts';
import { acceptInviteBody, createInviteBody } from './schemas.ts';

/** Sharing an event with other accounts (completions 2.5). */
export function inviteRouter(deps: Deps): Hono<Env> {
  const event = loadEvent(deps);
  const invite = loadRow(deps, findInvite);
  const router = new Hono<Env>();
  router.on(...operations.listInvites, event, async (c) => {
    const { search, role, status } = c.get('query');
    const nowMs = deps.clock.now();
    const rows = await listInvites(deps.db, c.get('target').event.id, { search, role, status }, nowMs);
    return answer(c, list(rows.map((row) => viewInvite(row, nowMs))));
  });
  router.on(...operations.createInvite, event, replayIfAnswered(), body(createInviteBody), (c) =>
    change(c, async (tx) =>
      created(viewInvite(await createInvite(tx, deps, c.get('target'), c.get('body')), deps.clock.now())),
    ),
  );
  router.on(...operations.deleteInvite, invite, (c) =>
    change(c, async (tx) => {
      await withdrawInvite(tx, deps, c.get('target'), c.get('target').row.id);
      return gone;
    }),
  );
  router.on(...operations.acceptInvite, replayIfAnswered(), body(acceptInviteBody), (c) =>
    change(c, async (tx) =>
      ok(viewInvite(await acceptWithToken(tx, deps, c.get('caller'), c.get('body').token), deps.clock.now())),
    ),
  );
  return router;
}
