import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import { findMailLimit } from '#src/accounts/take-mail.ts';
import { type Database, inPatientTransaction, inTransaction, type Transaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import { defineJob, enqueue, enqueueLast, GivenUp, type Job, type JobRun, PutOff, wasTried } from '#src/jobs/queue.ts';
import { deliverMail, MAIL_ATTEMPTS } from '#src/mail/mailer.ts';
import { monotonicMs, SECOND_MS } from '#src/platform/clock.ts';
import { reportForged } from '#src/voting-events/forged-rows.ts';
import { statusAt } from '#src/voting-events/lifecycle.ts';
import { REHEARSED_MS } from '#src/voting-events/rehearsal.ts';
import { findEventById, holdEvent } from '#src/voting-events/repository.ts';
import { aboutOf, type VotingEvent } from '#src/voting-events/voting-event.ts';
import { publish } from '#src/webhooks/record-event.ts';
import {
  beginPause,
  countWaitingMails,
  endMail,
  findNotification,
  finishIfDone,
  isClaimed,
  isWaitingMail,
  listNextVoters,
  lockUnlisted,
  type MailEnd,
  type Notification,
  note,
  ONE_MORE_TRY,
  reopenMail,
} from './notification.ts';
import { findVoter, storeVoter } from './repository.ts';
import { keyMail, type SendVoterKeyDeps } from './send-voter-key.ts';
import { type Voter, viewVoter } from './voter.ts';
import { deleteVoterKey, hashStoredKey, insertVoterKey, makeVoterKey, noteBeforeRehearsal } from './voter-key.ts';
import { mayBeMailed } from './voter-tag.ts';

const listPayload = z.strictObject({ eventId: z.string(), notificationId: z.string() });
export type ListNotified = z.output<typeof listPayload>;
export const LIST_NOTIFIED = { name: 'list_notified_voters', maxAttempts: 25, payload: listPayload } as const;

const VOTERS_AT_A_TIME = 500;
/** Most queued mails of a notification, so that a large roll does not fill the queue. */
const MOST_WAITING = 1_000;
const LOOK_AGAIN_MS = SECOND_MS;
/** Time limit of one run. After it, the job queues itself again, so that other jobs can run. */
const RUN_MS = 5 * SECOND_MS;

/** Queues a mail for each voter of the audience, page by page. An interrupted job resumes after the last committed page. */
export const listNotifiedVotersJob = (db: Database): Job<ListNotified> =>
  defineJob({
    ...LIST_NOTIFIED,
    async work(request) {
      const until = monotonicMs() + RUN_MS;
      let step = await inTransaction(db, (tx) => listPage(tx, request));
      while (step === 'more' && monotonicMs() <= until) {
        await setImmediate();
        step = await inTransaction(db, (tx) => listPage(tx, request));
      }
      if (step === 'done') return;
      const runAtMs = (await readNow(db)) + (step === 'rests' ? REHEARSED_MS : LOOK_AGAIN_MS);
      await enqueue(db, LIST_NOTIFIED, request, { key: request.notificationId, runAtMs });
    },
  });

/** Whether the mailing rests: it is a real mailing, and its event is rehearsed now. */
const rests = (event: VotingEvent | undefined, { rehearsal }: Notification): boolean =>
  event !== undefined && event.rehearsalSince !== null && !rehearsal;

async function listPage(
  tx: Transaction,
  { eventId, notificationId }: ListNotified,
): Promise<'more' | 'full' | 'rests' | 'done'> {
  // Lock the event before the notification. Otherwise the wipe of a rehearsal would miss the row that this transaction changes.
  const event = await holdEvent(tx, eventId);
  const notification = await lockUnlisted(tx, eventId, notificationId);
  if (notification === undefined) return 'done';
  if (rests(event, notification)) return 'rests';
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

/** Sends one mail of a notification. All attempts have the same key and Message-ID, and the outcome is counted once. */
export const mailNotifiedVoterJob = (deps: SendVoterKeyDeps): Job<MailNotified> =>
  defineJob({
    ...MAIL_NOTIFIED,
    async work(request, run) {
      const event = await findEventById(deps.db, request.eventId);
      const notification = await findNotification(deps.db, request.eventId, request.notificationId);
      if (event === undefined || notification === undefined) return;
      if (!(await isWaitingMail(deps.db, notification, request.voterId))) {
        // Ended by an earlier attempt. Only a failed job, which an operator runs again, begins with the first attempt once more.
        if (run.attempt > 1 || !(await reopen(deps, notification, request.voterId))) return;
      }
      if (rests(event, notification)) throw new PutOff((await readNow(deps.db)) + REHEARSED_MS);
      const voter = await findVoter(deps.db, event.id, request.voterId);
      const end = (how: MailEnd, forget?: boolean): Promise<void> =>
        endNotifiedMail(deps, notification, request.voterId, how, voter, forget);
      const nowMs = await readNow(deps.db);
      if (voter === undefined || voter.email === null || voter.status !== 'approved') return end('skipped');
      const status = statusAt(event, nowMs);
      // All voters get this outcome, so that a new mailing reveals nothing. It may follow at once: a mistaken close can be undone.
      if (status === 'closed' || status === 'draft') return end('skipped', true);
      if (!mayBeMailed(deps.secrets, event, voter)) {
        await reportForged(deps, event.id, voter.id);
        return end('skipped');
      }
      // The mail waited for longer than the voter's pause, and another notification mails the voter.
      if (!(await isClaimed(deps.db, notification, voter.id))) return end('skipped');
      const limit = await findMailLimit(deps, run, event, voter.email);
      // Put the mail off until the limit begins again. It is then sent if the event still takes votes.
      if (limit?.isOfPlan) await note(deps.db, notification, { limitedUntil: limit.until });
      if (limit !== undefined) throw new PutOff(limit.until + SECOND_MS);
      return end(await deliver(deps, { event, notification, voter, email: voter.email }, nowMs, run, end));
    },
  });

interface Addressed {
  readonly event: VotingEvent;
  readonly notification: Notification;
  readonly voter: Voter;
  readonly email: string;
}

/** Whether `keyStatus` shows the outcome of a mail. With the audience `not_voted`, it would show who has not voted (completions 5.6). */
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
  // Store the key before the mail is sent, because it must work on arrival. If the address has changed meanwhile, it is not stored.
  const isStored = await inTransaction(deps.db, async (tx) => {
    if (!(await insertVoterKey(tx, event, voter, email, keyHash))) return false;
    if (!(await beginPause(tx, notification, voter.id))) throw new PutOff(nowMs);
    if (!isTold(notification)) await showKeyMail(tx, notification, voter.id, 'sent');
    return true;
  });
  if (!isStored) return 'skipped';
  // A voter who has voted gets no mail. The key is stored and the mail counted as for all others, to hide this from readers of the rows.
  if (!isTold(notification) && voter.hasVoted) return 'voted';
  const mail = keyMail(event, voter, { kind: notification.kind, to: email, key, nowMs, isAsked: false });
  const outcome = await deliverMail(deps, run, mail).catch(async (fault: unknown) => {
    if (run.last || fault instanceof GivenUp) await end('failed');
    else await note(deps.db, notification, { refusedTries: ONE_MORE_TRY });
    throw fault;
  });
  if (outcome === 'sent') return 'sent';
  // After a later attempt, the key stays valid, because the mail of an earlier attempt may have arrived.
  if (isTold(notification) && !(await wasTried(deps.db, run)))
    await deleteVoterKey(deps.db, event.id, voter.id, keyHash);
  return 'failed';
}

/** Stores the outcome of a mail with a key in the voter's `keyStatus`. Call with the event locked (`holdEvent`). */
async function showKeyMail(
  tx: Transaction,
  { votingEventId, rehearsal }: Notification,
  voterId: string,
  end: 'sent' | 'failed',
): Promise<void> {
  // Only a rehearsal's mail is undone at its end. The outcome of a real mail stays, even if a rehearsal began while it was sent.
  if (rehearsal) await noteBeforeRehearsal(tx, votingEventId, voterId);
  await storeVoter(tx, votingEventId, voterId, { keyStatus: end });
}

const reopen = (deps: SendVoterKeyDeps, notification: Notification, voterId: string): Promise<boolean> =>
  inPatientTransaction(deps.db, async (tx) => {
    await holdEvent(tx, notification.votingEventId);
    const current = await findNotification(tx, notification.votingEventId, notification.id);
    return current !== undefined && reopenMail(tx, current, voterId);
  });

/** Counts the outcome of a mail. If `keyStatus` does not show it, the pause before the voter's next mail applies even after a failure. */
async function endNotifiedMail(
  deps: SendVoterKeyDeps,
  notification: Notification,
  voterId: string,
  end: MailEnd,
  mailed: Pick<Voter, 'keyGeneration'> | undefined,
  forget = isTold(notification) && end !== 'sent',
): Promise<void> {
  await inPatientTransaction(deps.db, async (tx) => {
    // This lock waits for a job that may be rewriting the roll, and so would lose this change.
    const event = await holdEvent(tx, notification.votingEventId);
    // The end of the rehearsal has deleted the notification.
    if ((await findNotification(tx, notification.votingEventId, notification.id)) === undefined) return;
    // An earlier attempt has done all of this, but lost the answer to its commit.
    if (!(await endMail(tx, notification, voterId, end, forget))) return;
    if (isTold(notification) && (end === 'sent' || end === 'failed')) {
      const voter = await findVoter(tx, notification.votingEventId, voterId);
      // If the voter was changed meanwhile, all earlier keys have ended, with the key of this mail.
      const isOfMail = voter?.keyGeneration === mailed?.keyGeneration;
      if (isOfMail) await showKeyMail(tx, notification, voterId, end);
      if (isOfMail && end === 'failed' && event !== undefined && voter !== undefined)
        await publish(tx, deps, aboutOf(event), 'voter.mail_failed', [viewVoter({ ...voter, keyStatus: end })]);
    }
  });
}
