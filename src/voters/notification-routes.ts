import { Hono } from 'hono';
import type { Deps } from '#src/deps.ts';
import { ok } from '#src/http/answer.ts';
import { change } from '#src/http/answer-once.ts';
import { body } from '#src/http/body.ts';
import type { Env } from '#src/http/env.ts';
import { noOtherMethod } from '#src/http/find-operation.ts';
import { listNewest } from '#src/http/newest.ts';
import { replayIfAnswered } from '#src/http/replay.ts';
import { answer } from '#src/http/send.ts';
import { loadEvent, loadRow } from '#src/voting-events/access.ts';
import { isFinalAt } from '#src/voting-events/lifecycle.ts';
import type { VotingEvent } from '#src/voting-events/types.ts';
import * as operations from './notification-operations.ts';
import { findNotification, listNotifications } from './notification-repository.ts';
import { notifyVotersBody, viewNotification } from './notification-schemas.ts';
import { notifyVoters } from './notify-voters.ts';

/** Mails to many voters (completions 10.2). Mounted before the routes of single voters. */
export function notificationRouter(deps: Deps): Hono<Env> {
  const event = loadEvent(deps);
  const notification = loadRow(deps, findNotification);
  const keepsBack = (row: VotingEvent): boolean => row.type === 'election' && !isFinalAt(row, deps.clock.now());
  const router = new Hono<Env>();
  router.on(...operations.notifyVoters, event, replayIfAnswered(), body(notifyVotersBody), (c) =>
    change(c, async (tx) => ({
      status: 202,
      body: { data: await notifyVoters(tx, deps, c.get('target'), c.get('body')) },
    })),
  );
  router.all('/voting-events/:idOrCode/voters/notify', noOtherMethod);
  router.on(...operations.listNotifications, event, async (c) => {
    const { event: row } = c.get('target');
    const found = await listNotifications(deps.db, row.id, c.get('query'));
    return answer(c, listNewest(found, found.rows.map((one) => viewNotification(one, keepsBack(row))).reverse()));
  });
  router.on(...operations.getNotification, notification, async (c) => {
    const { row, event: of } = c.get('target');
    return answer(c, ok(viewNotification(row, keepsBack(of))));
  });
  return router;
}
