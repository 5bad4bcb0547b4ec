import { z } from 'zod';
import { timeShape } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { searchField } from '#src/http/fields.ts';
import { windowFields } from '#src/http/newest.ts';
import type { notifications } from './tables.ts';

/** Whom mails go to. */
export const AUDIENCES = ['all', 'not_invited', 'not_voted'] as const;

export type Audience = (typeof AUDIENCES)[number];

export const NOTIFICATION_KINDS = ['key', 'reminder'] as const;

export type NotificationKind = (typeof NOTIFICATION_KINDS)[number];

export type Notification = Readonly<typeof notifications.$inferSelect>;

const audience = z.enum(AUDIENCES);
const kind = z.enum(NOTIFICATION_KINDS);

export const notifyVotersBody = z.strictObject({
  audience: audience.describe(
    'Approved voters with an e-mail address: `all` of them, those without a valid voter key, or those who have not voted.',
  ),
  kind: kind.describe('`key`: the invitation with the voter key. `reminder`: a reminder, with a further key.'),
});

export const listNotificationsQuery = z.strictObject({
  search: searchField().optional(),
  audience: audience.optional(),
  kind: kind.optional(),
  ...windowFields(),
});

/** What a request for mails to many voters answers. */
export const queuedMailsView = z
  .object({
    id: z.string(),
    queued: z
      .int()
      .meta({ description: 'Voters who will be mailed: an estimate where the roll has more than 200,000.' }),
  })
  .meta({ id: 'QueuedMails', examples: [{ id: EXAMPLE.notification, queued: 2 }] });

/** Mails to many voters, and how far they have come (completions 10.2). */
export const notificationView = z
  .object({
    id: z.string(),
    kind,
    audience,
    total: z.int().meta({ description: 'Voters of the audience with an e-mail address.' }),
    sent: z.int(),
    failed: z.int().meta({ description: 'Refused by the receiving side, or given up after two days.' }),
    skipped: z.int().meta({
      description:
        'Had a mail of this kind a short time ago, left the audience before their turn, or were over a limit of mails.',
    }),
    startedAt: timeShape(),
    finishedAt: timeShape().nullable(),
  })
  .meta({
    id: 'Notification',
    description:
      'Mails to many voters. Of mails to those who have not voted, all count as `sent` until the result is final: who was left out had voted.',
    examples: [
      {
        id: EXAMPLE.notification,
        kind: 'key',
        audience: 'not_invited',
        total: 2,
        sent: 1,
        failed: 0,
        skipped: 0,
        startedAt: EXAMPLE.openedAt,
        finishedAt: null,
      },
    ],
  });

/** @param keepsBack whether the event keeps back who voted: then a figure must not say how many of the audience had */
export function viewNotification(row: Notification, keepsBack: boolean): z.output<typeof notificationView> {
  const { id, kind: of, audience: to, total, sent, failed, skipped, voted, createdAt, finishedAt } = row;
  const figures =
    to === 'not_voted' && keepsBack
      ? { sent: sent + failed + skipped + voted, failed: 0, skipped: 0 }
      : { sent, failed, skipped: skipped + voted };
  return { id, kind: of, audience: to, total, ...figures, startedAt: createdAt, finishedAt };
}
