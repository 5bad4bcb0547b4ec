import { z } from 'zod';
import { type AnswerShapes, answersOne } from '#src/http/answer-shapes.ts';
import { answersNewest } from '#src/http/newest.ts';
import { operation } from '#src/http/operation.ts';
import { listNotificationsQuery, notificationView, queuedMailsView } from './notification-schemas.ts';

const answersQueuedMails: AnswerShapes = {
  202: { description: 'The mails are on their way.', schema: z.object({ data: queuedMailsView }) },
};

export const notifyVoters = operation({
  operationId: 'notifyVoters',
  summary: 'Mail voter keys or reminders to many voters',
  method: 'POST',
  path: '/voting-events/:idOrCode/voters/notify',
  scope: 'write',
  description:
    'Mails go out in the background and go on after any interruption; `GET …/notifications/:id` shows how far they are. A voter gets mails of one kind at least 24 hours apart, reminders 6 hours, whatever is asked for; single mails by `…/voter-key` are not counted in. Voters who wait for approval or were rejected get none. A plan sends 500, 200,000 or 20,000,000 mails a day.',
  answers: answersQueuedMails,
  refusals: ['not_an_election', 'mails_closed'],
  example: { audience: 'not_invited', kind: 'key' },
});

export const listNotifications = operation({
  operationId: 'listNotifications',
  summary: 'List mails to many voters',
  method: 'GET',
  path: '/voting-events/:idOrCode/notifications',
  scope: 'read',
  description: 'The newest 1,000 of what the filters find, newest last; `truncated` says that there are more.',
  answers: answersNewest(notificationView, 'The notifications, newest last.'),
  query: listNotificationsQuery,
});

export const getNotification = operation({
  operationId: 'getNotification',
  summary: 'Read how far mails to many voters are',
  method: 'GET',
  path: '/voting-events/:idOrCode/notifications/:id',
  scope: 'read',
  answers: answersOne(notificationView, 'The notification.'),
});
