import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import { type Database, inTransaction, type Transaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import { defineJob, enqueue, enqueueLast, type Job } from '#src/jobs/queue.ts';
import { monotonicMs, SECOND_MS } from '#src/platform/clock.ts';
import { MAIL_NOTIFIED } from './mail-notified-voter.ts';
import { countWaitingMails, finishIfDone, listNextVoters, lockUnlisted } from './notification-repository.ts';

const payload = z.strictObject({ eventId: z.string(), notificationId: z.string() });
export type ListNotified = z.output<typeof payload>;
export const LIST_NOTIFIED = { name: 'list_notified_voters', maxAttempts: 25, payload } as const;

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
