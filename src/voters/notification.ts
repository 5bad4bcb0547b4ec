import { and, desc, eq, isNull, sql } from 'drizzle-orm';
import { z } from 'zod';
import { type Executor, firstOf, readNumber, type Transaction, valuesOf } from '#src/database/client.ts';
import { createdWithin, holdsText } from '#src/database/search.ts';
import { timeShape } from '#src/http/answer-shapes.ts';
import { cutNewest, MOST_ROWS, type Newest, windowFields } from '#src/http/cursor.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { searchField } from '#src/http/fields.ts';
import { HOUR_MS } from '#src/platform/clock.ts';
import { notificationMails, notifications, notifiedVoters } from './tables.ts';
import { beforeOpeningField } from './voter.ts';

const AUDIENCES = ['all', 'not_invited', 'not_voted'] as const;

export type Audience = (typeof AUDIENCES)[number];

const NOTIFICATION_KINDS = ['key', 'reminder'] as const;

export type NotificationKind = (typeof NOTIFICATION_KINDS)[number];

export type Notification = Readonly<typeof notifications.$inferSelect>;

const audience = z.enum(AUDIENCES);
const kind = z.enum(NOTIFICATION_KINDS);

export const notifyVotersBody = z.strictObject({
  audience: audience.describe(
    'Approved voters with an e-mail address: `all` of them, those without a valid voter key, or those who have not voted.',
  ),
  kind: kind.describe('`key`: the invitation with the voter key. `reminder`: a reminder, with a further key.'),
  beforeOpening: beforeOpeningField(),
});

export const listNotificationsQuery = z.strictObject({
  search: searchField().optional(),
  audience: audience.optional(),
  kind: kind.optional(),
  ...windowFields(),
});

export const queuedMailsView = z
  .object({
    id: z.string(),
    queued: z
      .int()
      .meta({ description: 'Voters who will be mailed: an estimate where the roll has more than 200,000.' }),
  })
  .meta({ id: 'QueuedMails', examples: [{ id: EXAMPLE.notification, queued: 2 }] });

/** Mails to many voters, and their progress (completions 10.2). */
export const notificationView = z
  .object({
    id: z.string(),
    kind,
    audience,
    total: z.int().meta({ description: 'Voters of the audience with an e-mail address.' }),
    handled: z.int().meta({
      description:
        'Voters whose mail has come to its end, however it did. Of mails to those who have not voted in steps of 100, or all at once.',
    }),
    sent: z.int().nullable(),
    failed: z.int().nullable().meta({ description: 'Refused by the receiving side, or given up after two days.' }),
    skipped: z.int().nullable().meta({
      description: 'Had a mail of this kind a short time ago, or left the audience before their turn.',
    }),
    pausedUntil: timeShape().nullable().meta({
      description:
        'When all may be mailed again who were skipped because they had a mail of this kind a short time ago.',
    }),
    limitReached: z.boolean().meta({
      description: "Whether the plan's mails of the day are used up: the others go out when the day is over.",
    }),
    failing: z.boolean().meta({ description: 'Whether the mail server refused the last 20 tries.' }),
    startedAt: timeShape(),
    finishedAt: timeShape().nullable(),
  })
  .meta({
    id: 'Notification',
    description:
      'Mails to many voters. Of mails to those who have not voted, `sent`, `failed` and `skipped` are null until the result is final: who was left out had voted.',
    examples: [
      {
        id: EXAMPLE.notification,
        kind: 'key',
        audience: 'not_invited',
        total: 2,
        handled: 1,
        sent: 1,
        failed: 0,
        skipped: 0,
        pausedUntil: null,
        limitReached: false,
        failing: false,
        startedAt: EXAMPLE.openedAt,
        finishedAt: null,
      },
    ],
  });

/** @param keepsBack whether the event hides who has voted; then no figure may show how many of the audience have voted */
export function viewNotification(
  row: Notification,
  keepsBack: boolean,
  nowMs: number,
): z.output<typeof notificationView> {
  const { id, kind: of, audience: to, total, sent, failed, skipped, voted, createdAt, finishedAt } = row;
  const isSilent = to === 'not_voted' && keepsBack;
  const done = sent + failed + skipped + voted;
  return {
    ...{ id, kind: of, audience: to, total },
    handled: isSilent && finishedAt === null ? done - (done % HANDLED_TOGETHER) : done,
    ...(isSilent ? { sent: null, failed: null, skipped: null } : { sent, failed, skipped: skipped + voted }),
    pausedUntil: row.pausedUntil,
    limitReached: finishedAt === null && row.limitedUntil !== null && row.limitedUntil > nowMs,
    failing: row.refusedTries >= FAILING_TRIES,
    startedAt: createdAt,
    finishedAt,
  };
}

/** Progress of mails to `not_voted` moves in steps of this size: how long a single mail takes would show whether its voter has voted. */
const HANDLED_TOGETHER = 100;
const FAILING_TRIES = 20;

/** Minimum hours between two mails of one kind to one voter (completions 10.2). */
export const PAUSE_HOURS: Readonly<Record<NotificationKind, number>> = { key: 24, reminder: 6 };
const pauseMs = (kind: NotificationKind): number => PAUSE_HOURS[kind] * HOUR_MS;

/** Larger rolls are counted by a job while it lists the voters. Until then, `total` is an estimate. */
const COUNTED_EXACTLY = 200_000;

/** SQL: whether a voter `v` may get keys. A voter whom a first key approved may only when the approval is disclosed. */
export const MAY_VOTE = sql`v.status = 'approved' AND NOT v.approved_by_key
  AND v.deleted_at IS NULL AND v.erased_at IS NULL AND v.source <> 'poll'`;

/**
 * SQL: whether a voter `v` is in an audience. For `not_voted`, all mailable voters are, because no figure may show how many have voted
 * (completions 10.2); the job of a voter who has voted sends no mail.
 */
function inAudience(audience: Audience) {
  const mailable = sql`v.email IS NOT NULL AND ${MAY_VOTE}`;
  return audience !== 'not_invited'
    ? mailable
    : sql`${mailable} AND NOT EXISTS (SELECT 1 FROM voter_keys k
      WHERE k.voting_event_id = v.voting_event_id AND k.voter_id = v.id)`;
}

type Mailing = Pick<Notification, 'kind' | 'rehearsal'>;

/** The kind under which a mail is noted in `notified_voters`. Mails of a rehearsal have their own kinds (completions 10.5). */
const notedAs = ({ kind, rehearsal }: Mailing) => (rehearsal ? (`rehearsal ${kind}` as const) : kind);

const isPausing = (mailing: Mailing) => sql`EXISTS (SELECT 1 FROM notified_voters n
  WHERE n.voting_event_id = v.voting_event_id AND n.voter_id = v.id AND n.kind = ${notedAs(mailing)}
    AND n.notified_at > now_ms() - ${pauseMs(mailing.kind)}::bigint)`;

/**
 * The greatest ID on the roll, empty for an empty roll: a list of the present voters ends there. A new ID of this process could be
 * smaller: another process whose clock is ahead has added voters, or the database's clock was set back.
 */
export async function lastVoterId(executor: Executor, eventId: string): Promise<string> {
  const last = sql`SELECT id FROM voters WHERE voting_event_id = ${eventId} ORDER BY id DESC LIMIT 1`;
  return (await valuesOf<string>(executor, last))[0] ?? '';
}

/** Counts the voters of an audience. @returns `due` leaves out voters who recently got a mail of this kind */
export async function countAudience(
  tx: Transaction,
  eventId: string,
  audience: Audience,
  mailing: Mailing,
): Promise<{ readonly total: number; readonly due: number }> {
  const { rows } = await tx.execute<{ total: number; due: number; is_large: boolean; roll: number }>(sql`
    WITH roll AS MATERIALIZED (SELECT v.* FROM voters v WHERE v.voting_event_id = ${eventId} LIMIT ${COUNTED_EXACTLY + 1}),
    -- Conditions that stand in WHERE are joins: in a FILTER each voter would be looked up by itself.
    audience AS MATERIALIZED (SELECT v.voting_event_id, v.id FROM roll v WHERE ${inAudience(audience)})
    SELECT (SELECT count(*) FROM audience)::int AS total,
      (SELECT count(*) FROM audience v WHERE NOT ${isPausing(mailing)})::int AS due,
      (SELECT count(*) FROM roll) > ${COUNTED_EXACTLY} AS is_large,
      (SELECT p.total::int FROM voter_places(${eventId}) AS p) AS roll`);
  const [row] = rows;
  if (row === undefined) throw new Error('a count returned no row');
  // For `not_voted`, `due` must not show how many voters have not voted.
  if (audience === 'not_voted') row.due = row.total;
  return row.is_large ? { total: row.roll, due: row.roll } : { total: row.total, due: row.due };
}

const byId = (eventId: string, id: string) => and(eq(notifications.votingEventId, eventId), eq(notifications.id, id));

export const findNotification = (executor: Executor, eventId: string, id: string): Promise<Notification | undefined> =>
  firstOf(executor.select().from(notifications).where(byId(eventId, id)));

export async function listNotifications(
  executor: Executor,
  eventId: string,
  { search, audience, kind, ...window }: z.output<typeof listNotificationsQuery>,
): Promise<Newest<Notification>> {
  const rows = await executor
    .select()
    .from(notifications)
    .where(
      and(
        eq(notifications.votingEventId, eventId),
        createdWithin(notifications, 'ntf', window),
        audience === undefined ? undefined : eq(notifications.audience, audience),
        kind === undefined ? undefined : eq(notifications.kind, kind),
        holdsText(search, notifications.id, notifications.kind, notifications.audience),
      ),
    )
    .orderBy(desc(notifications.id))
    .limit(MOST_ROWS + 1);
  return cutNewest(rows, false);
}

export function lockUnlisted(tx: Transaction, eventId: string, id: string): Promise<Notification | undefined> {
  const unlisted = and(byId(eventId, id), isNull(notifications.listedAt));
  return firstOf(tx.select().from(notifications).where(unlisted).for('update'));
}

/** Number of a notification's mails without an outcome; counts up to `most`. */
export function countWaitingMails(tx: Transaction, { votingEventId, id }: Notification, most: number) {
  const waiting = sql`SELECT 1 FROM notification_mails m
    WHERE m.voting_event_id = ${votingEventId} AND m.notification_id = ${id} LIMIT ${most}`;
  return readNumber(tx, sql`SELECT count(*) FROM (${waiting}) AS waiting`);
}

/**
 * Claims the next voters of the audience. The claim is the voter's row of this kind in `notified_voters`, so only one of several
 * concurrent notifications mails the voter. Call with the notification locked.
 * @returns the voters to mail, and whether all voters are listed
 */
export async function listNextVoters(
  tx: Transaction,
  notification: Notification,
  limit: number,
): Promise<{ readonly voterIds: readonly string[]; readonly isLast: boolean }> {
  const { votingEventId, id, kind, audience, listedTo, listUntil } = notification;
  const noted = notedAs(notification);
  const { rows } = await tx.execute<{
    last: string | null;
    looked: number;
    wanted: number;
    claimed: string[] | null;
    paused: string | null;
  }>(sql`
    WITH page AS (
      SELECT v.* FROM voters v WHERE v.voting_event_id = ${votingEventId} AND v.id > ${listedTo} AND v.id <= ${listUntil}
      ORDER BY v.id LIMIT ${limit}
    ), wanted AS (
      SELECT v.id FROM page v WHERE ${inAudience(audience)}
    ), paused AS (
      SELECT max(n.notified_at) + ${pauseMs(kind)}::bigint AS until FROM notified_voters n JOIN wanted w ON w.id = n.voter_id
      WHERE n.voting_event_id = ${votingEventId} AND n.kind = ${noted} AND n.notified_at > now_ms() - ${pauseMs(kind)}::bigint
    ), claimed AS (
      INSERT INTO notified_voters AS n (voting_event_id, voter_id, kind, notified_at, notification_id)
      SELECT ${votingEventId}, w.id, ${noted}, now_ms(), ${id} FROM wanted w ORDER BY w.id
      ON CONFLICT (voting_event_id, voter_id, kind) DO UPDATE
        SET notified_at = excluded.notified_at, notification_id = excluded.notification_id
      WHERE n.notified_at <= now_ms() - ${pauseMs(kind)}::bigint
      RETURNING voter_id
    ), mails AS (
      INSERT INTO notification_mails (voting_event_id, notification_id, voter_id)
      SELECT ${votingEventId}, ${id}, c.voter_id FROM claimed c RETURNING voter_id
    )
    SELECT (SELECT max(p.id) FROM page p) AS last, (SELECT count(*)::int FROM page) AS looked,
      (SELECT count(*)::int FROM wanted) AS wanted, (SELECT array_agg(m.voter_id ORDER BY m.voter_id) FROM mails m) AS claimed,
      (SELECT until FROM paused) AS paused`);
  const [row] = rows;
  const voterIds = row?.claimed ?? [];
  const isLast = (row?.looked ?? 0) < limit;
  await note(tx, notification, {
    listedTo: row?.last ?? listedTo,
    skipped: sql`${notifications.skipped} + ${(row?.wanted ?? 0) - voterIds.length}`,
    ...(row?.paused == null ? {} : { pausedUntil: sql`greatest(paused_until, ${row.paused}::bigint)` }),
    ...(isLast ? { listedAt: sql`now_ms()` } : {}),
  });
  return { voterIds, isLast };
}

export type MailEnd = 'sent' | 'failed' | 'skipped' | 'voted';

export async function isWaitingMail(executor: Executor, { votingEventId, id }: Notification, voterId: string) {
  return (await executor.$count(notificationMails, mailOf(votingEventId, id, voterId))) > 0;
}

const mailOf = (eventId: string, id: string, voterId: string) =>
  and(
    eq(notificationMails.votingEventId, eventId),
    eq(notificationMails.notificationId, id),
    eq(notificationMails.voterId, voterId),
  );

/** The claim of a voter, unless another notification has taken the voter since, which it may once the pause is over. */
const claimOf = (notification: Notification, voterId: string) =>
  and(
    eq(notifiedVoters.votingEventId, notification.votingEventId),
    eq(notifiedVoters.voterId, voterId),
    eq(notifiedVoters.kind, notedAs(notification)),
    eq(notifiedVoters.notificationId, notification.id),
  );

export const isClaimed = async (executor: Executor, notification: Notification, voterId: string): Promise<boolean> =>
  (await executor.$count(notifiedVoters, claimOf(notification, voterId))) > 0;

/** Begins the voter's pause when the mail leaves: it may have waited since its voter was claimed. @returns false if not claimed any more */
export async function beginPause(tx: Transaction, notification: Notification, voterId: string): Promise<boolean> {
  const pause = { notifiedAt: sql`now_ms()` };
  return (await tx.update(notifiedVoters).set(pause).where(claimOf(notification, voterId)).returning()).length > 0;
}

/**
 * Counts the outcome of a mail once, even if its job runs again.
 * @param forget whether the voter may be mailed again at once
 * @returns whether this call counted it
 */
export async function endMail(
  tx: Transaction,
  notification: Notification,
  voterId: string,
  end: MailEnd,
  forget: boolean,
): Promise<boolean> {
  const { votingEventId, id } = notification;
  const ended = await tx
    .delete(notificationMails)
    .where(mailOf(votingEventId, id, voterId))
    .returning();
  if (ended.length === 0) return false;
  if (forget) await tx.delete(notifiedVoters).where(claimOf(notification, voterId));
  const tries = end === 'sent' ? { refusedTries: 0 } : end === 'failed' ? { refusedTries: ONE_MORE_TRY } : {};
  await note(tx, notification, { [end]: sql`${notifications[end]} + 1`, ...tries });
  await finishIfDone(tx, votingEventId, id);
  return true;
}

/**
 * Opens a mail again that was counted as failed, for its job, which an operator runs again (completions 9.3). Call with the event locked.
 * @returns false if another notification has taken the voter since
 */
export async function reopenMail(tx: Transaction, notification: Notification, voterId: string): Promise<boolean> {
  const { votingEventId, id, failed } = notification;
  if (failed === 0) return false;
  const claim = { votingEventId, voterId, kind: notedAs(notification), notifiedAt: sql`now_ms()`, notificationId: id };
  // A failed mail to who has not voted has left the claim (`endMail`). It begins again, so that the voter's pause does.
  const taken = await tx
    .insert(notifiedVoters)
    .values(claim)
    .onConflictDoUpdate({
      target: [notifiedVoters.votingEventId, notifiedVoters.voterId, notifiedVoters.kind],
      set: { notifiedAt: claim.notifiedAt },
      setWhere: eq(notifiedVoters.notificationId, id),
    })
    .returning();
  if (taken.length === 0) return false;
  await tx.insert(notificationMails).values({ votingEventId, notificationId: id, voterId });
  await note(tx, notification, { failed: sql`${notifications.failed} - 1`, finishedAt: null });
  return true;
}

export const ONE_MORE_TRY = sql`${notifications.refusedTries} + 1`;

export async function note(executor: Executor, { votingEventId, id }: Notification, changes: object): Promise<void> {
  await executor.update(notifications).set(changes).where(byId(votingEventId, id));
}

/**
 * Finishes a notification once all voters are listed and all mails have an outcome. Run as a separate statement after counting an outcome:
 * if two mails end at the same time, the later statement sees both outcomes. Voters who were removed from the roll before they were
 * listed count as skipped.
 */
export async function finishIfDone(tx: Transaction, eventId: string, id: string): Promise<void> {
  await tx.execute(sql`
    UPDATE notifications n SET finished_at = now_ms(),
      total = CASE WHEN n.total > ${COUNTED_EXACTLY} THEN n.sent + n.failed + n.skipped + n.voted
        ELSE greatest(n.total, n.sent + n.failed + n.skipped + n.voted) END,
      skipped = CASE WHEN n.total > ${COUNTED_EXACTLY} THEN n.skipped
        ELSE greatest(n.skipped, n.total - n.sent - n.failed - n.voted) END
    WHERE n.voting_event_id = ${eventId} AND n.id = ${id} AND n.listed_at IS NOT NULL AND n.finished_at IS NULL
      AND NOT EXISTS (SELECT 1 FROM notification_mails m WHERE m.voting_event_id = n.voting_event_id AND m.notification_id = n.id)`);
}
