import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import { findMailLimit, type MailLimit } from '#src/accounts/take-mail.ts';
import { type Database, inPatientTransaction, inTransaction, type Transaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import { defineJob, enqueue, enqueueLast, GivenUp, type Job, type JobRun } from '#src/jobs/queue.ts';
import { deliverMail, MAIL_ATTEMPTS } from '#src/mail/mailer.ts';
import { monotonicMs, SECOND_MS } from '#src/platform/clock.ts';
import { reportForged } from '#src/voting-events/forged-rows.ts';
import { statusAt } from '#src/voting-events/lifecycle.ts';
import { findEventById, holdEvent } from '#src/voting-events/repository.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import {
  countWaitingMails,
  endMail,
  findNotification,
  finishIfDone,
  isWaitingMail,
  listNextVoters,
  lockUnlisted,
  type MailEnd,
  type Notification,
  note,
  ONE_MORE_TRY,
} from './notification.ts';
import { findVoter } from './repository.ts';
import { keyMail, publishMailFailure, type SendVoterKeyDeps } from './send-voter-key.ts';
import type { Voter } from './voter.ts';
import {
  deleteVoterKey,
  hashStoredKey,
  insertVoterKey,
  makeVoterKey,
  noteBeforeRehearsal,
  storeKeyMailEnd,
} from './voter-key.ts';
import { mayBeMailed } from './voter-tag.ts';

const listPayload = z.strictObject({ eventId: z.string(), notificationId: z.string() });
export type ListNotified = z.output<typeof listPayload>;
export const LIST_NOTIFIED = { name: 'list_notified_voters', maxAttempts: 25, payload: listPayload } as const;

/** Voters that one transaction looks at. */
const VOTERS_AT_A_TIME = 500;
/** Mails of one notification that wait in the queue: it never holds a whole large roll. */
const MOST_WAITING = 1_000;
const LOOK_AGAIN_MS = SECOND_MS;
/** After so long the job makes room for others. */
const RUN_MS = 5 * SECOND_MS;

/** Turns the audience of a notification into mails, page by page: cut off at any point, it goes on where it was. */
export function listNotifiedVotersJob(db: Database): Job<ListNotified> {
  return defineJob({
    ...LIST_NOTIFIED,
    async work(request) {
      const until = monotonicMs() + RUN_MS;
      for (;;) {
        const step = await inTransaction(db, (tx) => listPage(tx, request));
        if (step === 'done') return;
        if (step === 'full' || monotonicMs() > until) break;
        await setImmediate();
      }
      const runAtMs = (await readNow(db)) + LOOK_AGAIN_MS;
      await enqueue(db, LIST_NOTIFIED, request, { key: request.notificationId, runAtMs });
    },
  });
}

async function listPage(tx: Transaction, { eventId, notificationId }: ListNotified): Promise<'more' | 'full' | 'done'> {
  const notification = await lockUnlisted(tx, eventId, notificationId);
  if (notification === undefined) return 'done';
  if ((await countWaitingMails(tx, notification, MOST_WAITING)) >= MOST_WAITING) return 'full';
  const { voterIds, isLast } = await listNextVoters(tx, notification, VOTERS_AT_A_TIME);
  const mails = voterIds.map((voterId) => ({ eventId, notificationId, voterId }));
  if (mails.length > 0) await enqueueLast(tx, MAIL_NOTIFIED, mails);
  if (!isLast) return 'more';
  await finishIfDone(tx, eventId, notificationId);
  return 'done';
}

const mailPayload = z.strictObject({ eventId: z.string(), notificationId: z.string(), voterId: z.string() });
type MailNotified = z.output<typeof mailPayload>;
const MAIL_NOTIFIED = {
  name: 'mail_notified_voter',
  maxAttempts: MAIL_ATTEMPTS,
  group: 'mails',
  payload: mailPayload,
} as const;

/** One mail of a notification. Each attempt at it carries the same key and Message-ID; its end is counted once. */
export const mailNotifiedVoterJob = (deps: SendVoterKeyDeps): Job<MailNotified> =>
  defineJob({
    ...MAIL_NOTIFIED,
    async work(request, run) {
      const event = await findEventById(deps.db, request.eventId);
      const notification = await findNotification(deps.db, request.eventId, request.notificationId);
      if (event === undefined || notification === undefined) return;
      if (!(await isWaitingMail(deps.db, notification, request.voterId))) return;
      const end = (how: MailEnd): Promise<void> => endNotifiedMail(deps, notification, request.voterId, how);
      const voter = await findVoter(deps.db, event.id, request.voterId);
      const nowMs = await readNow(deps.db);
      if (voter === undefined || voter.email === null || voter.status !== 'approved') return end('skipped');
      const status = statusAt(event, nowMs);
      if (status === 'closed' || status === 'draft') return end('skipped');
      if (!mayBeMailed(deps.secrets, event, voter)) {
        await reportForged(deps, event.id, voter.id);
        return end('skipped');
      }
      const limit = await findMailLimit(deps, run, event, voter.email);
      if (limit !== undefined) return putOff(deps, notification, request, limit);
      return end(await deliver(deps, { event, notification, voter, email: voter.email }, nowMs, run, end));
    },
  });

interface Addressed {
  readonly event: VotingEvent;
  readonly notification: Notification;
  readonly voter: Voter;
  readonly email: string;
}

/** Sends a mail later that a limit keeps back: it goes out when the limit is over, as long as the event takes votes. */
async function putOff(
  deps: SendVoterKeyDeps,
  notification: Notification,
  request: MailNotified,
  { until, isOfPlan }: MailLimit,
): Promise<void> {
  if (isOfPlan) await note(deps.db, notification, { limitedUntil: until });
  const key = `${request.notificationId}/${request.voterId}`;
  await enqueue(deps.db, MAIL_NOTIFIED, request, { key, runAtMs: until + SECOND_MS });
}

/**
 * Whether the voters show how their mails ended. Those of the audience `not_voted` must not: who got one, and who could not get one,
 * has not voted (completions 5.6).
 */
const isTold = ({ audience }: Notification): boolean => audience !== 'not_voted';

async function deliver(
  deps: SendVoterKeyDeps,
  { event, notification, voter, email }: Addressed,
  nowMs: number,
  run: JobRun,
  end: (how: MailEnd) => Promise<void>,
): Promise<MailEnd> {
  const key = makeVoterKey(deps.secrets, voter, notification.id);
  const keyHash = hashStoredKey(deps.secrets, voter, key);
  // Stored before it is sent: a key that arrives must work at once. Not for a voter whose address has changed meanwhile.
  const isStored = await inTransaction(deps.db, async (tx) => {
    if (!(await insertVoterKey(tx, event, voter, email, keyHash))) return false;
    if (!isTold(notification)) await showKeyMail(tx, event.id, voter.id, 'sent');
    return true;
  });
  if (!isStored) return 'skipped';
  // A voter who has voted gets no mail, but all that comes with one: a key that is never sent, and a mail fewer within the limits.
  if (!isTold(notification) && voter.hasVoted) return 'voted';
  const mail = keyMail(event, voter, { kind: notification.kind, to: email, key, nowMs });
  const outcome = await deliverMail(deps, run, mail).catch(async (fault: unknown) => {
    if (run.last || fault instanceof GivenUp) await end('failed');
    else await note(deps.db, notification, { refusedTries: ONE_MORE_TRY });
    throw fault;
  });
  if (outcome === 'sent') return 'sent';
  // On a later attempt the key stays: the mail of an earlier one may have left, and a key that arrives must be valid.
  if (run.attempt === 1 && isTold(notification)) await deleteVoterKey(deps.db, event.id, voter.id, keyHash);
  return 'failed';
}

/** Shows at a voter how the mail with a key ended. Call with the event held. */
async function showKeyMail(tx: Transaction, eventId: string, voterId: string, end: 'sent' | 'failed'): Promise<void> {
  await noteBeforeRehearsal(tx, eventId, voterId);
  await storeKeyMailEnd(tx, eventId, voterId, end);
}

/** Counts how a mail ended. Where the voter does not show it, the pause until the next mail holds whatever became of this one. */
async function endNotifiedMail(
  deps: SendVoterKeyDeps,
  notification: Notification,
  voterId: string,
  end: MailEnd,
): Promise<void> {
  await inPatientTransaction(deps.db, async (tx) => {
    // A job may be rewriting the roll under the lock that this one waits for: without it a change would be lost.
    const event = await holdEvent(tx, notification.votingEventId);
    // Wiped with its rehearsal meanwhile.
    if ((await findNotification(tx, notification.votingEventId, notification.id)) === undefined) return;
    if (isTold(notification) && (end === 'sent' || end === 'failed')) {
      const voter = await findVoter(tx, notification.votingEventId, voterId);
      await showKeyMail(tx, notification.votingEventId, voterId, end);
      if (end === 'failed' && event !== undefined && voter !== undefined)
        await publishMailFailure(tx, deps, event, { ...voter, keyStatus: end });
    }
    await endMail(tx, notification, voterId, end, isTold(notification) && end !== 'sent');
  });
}
