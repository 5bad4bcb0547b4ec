import { z } from 'zod';
import { findAccount } from '#src/accounts/repository.ts';
import { takeMailOnce } from '#src/accounts/take-mail.ts';
import { type Database, inTransaction, type Transaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import { defineJob, enqueue, type Job, type JobRun } from '#src/jobs/queue.ts';
import { deliverMail, MAIL_ATTEMPTS } from '#src/mail/deliver-mail.ts';
import type { Mailer } from '#src/mail/mailer.ts';
import { DAY_MS } from '#src/platform/clock.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import { publish, type RecordDeps } from '#src/webhooks/record-event.ts';
import { type Lifecycle, statusAt } from './lifecycle.ts';
import { findEventById, holdEvent } from './repository.ts';
import { type VotingEvent, viewEvent } from './voting-event.ts';

/** The end stands in the payload: a job for an end that was moved meanwhile does nothing. */
const payload = z.strictObject({ eventId: z.string(), endsAt: z.int() });
type Closing = z.output<typeof payload>;
const PUBLISH_CLOSING = { name: 'announce_event_closing', maxAttempts: 10, payload } as const;
const MAIL_CLOSING = { name: 'mail_event_closing', maxAttempts: MAIL_ATTEMPTS, group: 'mails', payload } as const;

const NOTICE_MS = DAY_MS;

/** What an event was before a change that may schedule its end. */
type Before = Pick<VotingEvent, 'startsAt' | 'endsAt' | 'openedAt' | 'closedAt' | 'ready'>;

/** A rehearsal changes nothing of when the event itself closes. */
const realStatusAt = (event: Omit<Lifecycle, 'rehearsalSince'>, nowMs: number) =>
  statusAt({ ...event, rehearsalSince: null }, nowMs);

/**
 * Has the end of an event announced 24 hours ahead (completions 3, rule 2), or at once where it is nearer: once for each end
 * that is set, and for a draft once it is a draft no more.
 */
export async function scheduleClosing(
  tx: Transaction,
  before: Before | undefined,
  event: VotingEvent,
  nowMs: number,
): Promise<void> {
  const { id: eventId, endsAt } = event;
  if (endsAt === null || endsAt <= nowMs || realStatusAt(event, nowMs) === 'draft') return;
  const isNewEnd = before?.endsAt !== endsAt;
  if (!isNewEnd && before !== undefined && realStatusAt(before, nowMs) !== 'draft') return;
  const options = { key: `announce:${eventId}:closing`, runAtMs: endsAt - NOTICE_MS };
  await enqueue(tx, PUBLISH_CLOSING, { eventId, endsAt }, options);
}

interface ClosingDeps extends RecordDeps {
  readonly db: Database;
}

/** The event whose end is still the one that was scheduled, while it is ahead. */
function isClosing(event: VotingEvent, endsAt: number, nowMs: number): boolean {
  const status = realStatusAt(event, nowMs);
  return event.endsAt === endsAt && (status === 'open' || status === 'scheduled');
}

export function publishClosingJob(deps: ClosingDeps): Job<Closing> {
  return defineJob({
    ...PUBLISH_CLOSING,
    work: (closing) =>
      inTransaction(deps.db, async (tx) => {
        const event = await holdEvent(tx, closing.eventId);
        const nowMs = await readNow(tx);
        if (event === undefined || !isClosing(event, closing.endsAt, nowMs)) return;
        const about = { accountId: event.accountId, votingEventId: event.id };
        await publish(tx, deps, about, 'voting_event.closing', [viewEvent(event, nowMs)]);
        await enqueue(tx, MAIL_CLOSING, closing);
      }),
  });
}

interface MailClosingDeps {
  readonly db: Database;
  readonly secrets: Secrets;
  readonly mailer: Mailer;
}

/** Mails the owner: the account's address, or the one that the event names for its organizer. */
export function mailClosingJob(deps: MailClosingDeps): Job<Closing> {
  return defineJob({ ...MAIL_CLOSING, work: (closing, run) => mailClosing(deps, closing, run) });
}

async function mailClosing(deps: MailClosingDeps, { eventId, endsAt }: Closing, run: JobRun): Promise<void> {
  const event = await findEventById(deps.db, eventId);
  if (event === undefined || !isClosing(event, endsAt, await readNow(deps.db))) return;
  const account = await findAccount(deps.db, event.accountId);
  const to = account?.contactEmail ?? event.contactEmail;
  if (to === null) return;
  if (!(await takeMailOnce(deps, run, event, to))) return;
  const end = new Intl.DateTimeFormat('en', { dateStyle: 'full', timeStyle: 'short', timeZone: event.timeZone });
  await deliverMail(deps, run, {
    to,
    subject: `"${event.title}" is about to close`,
    text: [
      'Hello,',
      '',
      `the voting event "${event.title}" (${event.code}) closes on ${end.format(endsAt)} (${event.timeZone}).`,
      'Ballots that are cast until then can be confirmed for 15 minutes more.',
      '',
      `A later end is set with PATCH /voting-events/${event.code} and "endsAt", as long as it takes ballots.`,
      '',
    ].join('\n'),
  });
}
