import { Hono } from 'hono';
import type { z } from 'zod';
import { changeBy, recordChange } from '#src/accounts/changes.ts';
import { MAILS_A_DAY } from '#src/accounts/take-mail.ts';
import type { Transaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { accepted, ok } from '#src/http/answer.ts';
import { change, takeIdempotencyKey } from '#src/http/answer-once.ts';
import { answersAccepted, answersOne } from '#src/http/answer-shapes.ts';
import { body } from '#src/http/body.ts';
import { answersNewest, listNewest } from '#src/http/cursor.ts';
import type { Env } from '#src/http/env.ts';
import { noOtherMethod } from '#src/http/middleware.ts';
import { operation } from '#src/http/operation.ts';
import { refuse } from '#src/http/refusals.ts';
import { answer } from '#src/http/send.ts';
import { enqueue } from '#src/jobs/queue.ts';
import { orNotFound } from '#src/platform/errors.ts';
import { loadEvent, loadRow, type Organizer } from '#src/voting-events/access.ts';
import { keepsBack, requireMailable } from '#src/voting-events/lifecycle.ts';
import { holdEvent } from '#src/voting-events/repository.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import {
  countAudience,
  findNotification,
  lastVoterId,
  listNotifications,
  listNotificationsQuery,
  notificationView,
  notifyVotersBody,
  PAUSE_HOURS,
  queuedMailsView,
  viewNotification,
} from './notification.ts';
import { LIST_NOTIFIED, type ListNotified } from './notify-voters.ts';
import { notifications } from './tables.ts';
import type { VoterDeps } from './take-rows.ts';

/** Counts and queues mails to many voters (completions 10.2). @throws ApiError 409 `not_an_election`, 409 as `requireMailable` says */
async function notifyVoters(
  tx: Transaction,
  deps: VoterDeps,
  organizer: Organizer,
  { audience, kind, beforeOpening }: z.output<typeof notifyVotersBody>,
): Promise<{ readonly id: string; readonly queued: number }> {
  const event = orNotFound(await holdEvent(tx, organizer.event.id));
  if (event.type === 'poll') throw refuse('poll_without_keys');
  const nowMs = deps.clock.now();
  requireMailable(event, nowMs, beforeOpening === true);
  const rehearsal = event.rehearsalSince !== null;
  const { total, due } = await countAudience(tx, event.id, audience, { kind, rehearsal });
  const listUntil = await lastVoterId(tx, event.id);
  const id = deps.ids.sortable('ntf');
  const row = { votingEventId: event.id, id, kind, audience, total, listUntil };
  await tx.insert(notifications).values({ ...row, rehearsal, createdAt: nowMs });
  await enqueue<ListNotified>(tx, LIST_NOTIFIED, { eventId: event.id, notificationId: id }, { key: id });
  await recordChange(tx, deps, changeBy(organizer, 'voters.notified', id, { after: { audience, kind, total } }));
  return { id, queued: due };
}

const aDay = (plan: keyof typeof MAILS_A_DAY): string => MAILS_A_DAY[plan].toLocaleString('en');

/** Mounted before `voterRouter`: GET `/voters/notify` must get a 405, not read a voter with the ID `notify` (completions 10.2). */
export function notificationRouter(deps: Deps): Hono<Env> {
  const event = loadEvent(deps);
  const notification = loadRow(deps, findNotification);
  const isKeptBack = (row: VotingEvent): boolean => keepsBack(row, deps.clock.now());
  const router = new Hono<Env>();
  router.on(
    ...operation('notifyVoters', 'POST /voting-events/:idOrCode/voters/notify', {
      summary: 'Mail voter keys or reminders to many voters',
      scope: 'write',
      goesWithRehearsal: true,
      description: `Mails go out in the background and go on after any interruption; \`GET …/notifications/:id\` shows how far they are. A voter gets mails of one kind at least ${PAUSE_HOURS.key} hours apart, reminders ${PAUSE_HOURS.reminder} hours, whatever is asked for; single mails by \`…/voter-key\` are not counted in. Voters who wait for approval or were rejected get none. A plan sends ${aDay('free')}, ${aDay('pro')} or ${aDay('enterprise')} mails a day.`,
      answers: answersAccepted(queuedMailsView, 'The mails are on their way.'),
      refusals: ['not_an_election', 'mails_early', 'not_ready', 'mails_closed'],
      example: { audience: 'not_invited', kind: 'key' },
    }),
    event,
    takeIdempotencyKey(),
    body(notifyVotersBody),
    (c) => change(c, async (tx) => accepted(await notifyVoters(tx, deps, c.get('target'), c.get('body')))),
  );
  router.all('/voting-events/:idOrCode/voters/notify', noOtherMethod);
  router.on(
    ...operation('listNotifications', 'GET /voting-events/:idOrCode/notifications', {
      summary: 'List mails to many voters',
      scope: 'read',
      description: 'The newest 1,000 of what the filters find, newest last; `truncated` says that there are more.',
      answers: answersNewest(notificationView, 'The notifications, newest last.'),
      query: listNotificationsQuery,
    }),
    event,
    async (c) => {
      const { event: row } = c.get('target');
      const found = await listNotifications(deps.db, row.id, c.get('query'));
      return answer(
        c,
        listNewest(found, found.rows.map((one) => viewNotification(one, isKeptBack(row), deps.clock.now())).reverse()),
      );
    },
  );
  router.on(
    ...operation('getNotification', 'GET /voting-events/:idOrCode/notifications/:id', {
      summary: 'Read how far mails to many voters are',
      scope: 'read',
      answers: answersOne(notificationView, 'The notification.'),
    }),
    notification,
    async (c) => {
      const { row, event: of } = c.get('target');
      return answer(c, ok(viewNotification(row, isKeptBack(of), deps.clock.now())));
    },
  );
  return router;
}
