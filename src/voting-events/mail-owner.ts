import { z } from 'zod';
import { findAccount } from '#src/accounts/repository.ts';
import { takeMailOrWait } from '#src/accounts/take-mail.ts';
import { readNow } from '#src/database/database-clock.ts';
import type { Deps } from '#src/deps.ts';
import { defineJob, type Job, type JobRun, PutOff } from '#src/jobs/queue.ts';
import { mailWords } from '#src/mail/mail-words.ts';
import { deliverMail, MAIL_ATTEMPTS } from '#src/mail/mailer.ts';
import { MINUTE_MS } from '#src/platform/clock.ts';
import { eventDate } from './event-mail.ts';
import { isFinalAt, type Lifecycle, statusAt } from './lifecycle.ts';
import { findEventById } from './repository.ts';
import type { VotingEvent } from './voting-event.ts';

/** The payload contains the end, so that a job does nothing if the end has been moved. */
export const closing = z.strictObject({ eventId: z.string(), endsAt: z.int() });
export type Closing = z.output<typeof closing>;
const notOpened = z.strictObject({ eventId: z.string(), missedStartAt: z.int() });

const mails = { maxAttempts: MAIL_ATTEMPTS, group: 'mails' } as const;
export const MAIL_CLOSING = { ...mails, name: 'mail_event_closing', payload: closing } as const;
export const MAIL_NOT_OPENED = { ...mails, name: 'mail_event_not_opened', payload: notOpened } as const;

/** The status of an event as if no rehearsal were running: neither a rehearsal nor the close of its round changes when the event closes. */
export const realStatusAt = (event: Lifecycle, nowMs: number) =>
  statusAt(event.rehearsalSince === null ? event : { ...event, rehearsalSince: null, closedAt: null }, nowMs);

/**
 * Whether an event has not ended, and its end is still that for which a job was queued.
 * @throws PutOff while a mistaken close can be undone (completions 3, rule 2)
 */
export function isClosing(event: VotingEvent, endsAt: number, nowMs: number): boolean {
  if (event.endsAt !== endsAt || endsAt <= nowMs) return false;
  const status = realStatusAt(event, nowMs);
  if (status === 'closed' && !isFinalAt(event, nowMs)) throw new PutOff(nowMs + MINUTE_MS);
  return status === 'open' || status === 'scheduled';
}

type OwnerMailDeps = Pick<Deps, 'db' | 'secrets' | 'mailer'>;

interface OwnerMail {
  readonly subject: string;
  readonly lines: readonly string[];
}

/** Mails the owner in the language of the event, at the contact address of the account, or else of the event. */
async function mailOwner(
  deps: OwnerMailDeps,
  run: JobRun,
  eventId: string,
  write: (event: VotingEvent, nowMs: number) => OwnerMail | undefined,
): Promise<void> {
  const event = await findEventById(deps.db, eventId);
  const mail = event === undefined ? undefined : write(event, await readNow(deps.db));
  if (event === undefined || mail === undefined) return;
  const account = await findAccount(deps.db, event.accountId);
  const to = account?.contactEmail ?? event.contactEmail;
  if (to === null) return;
  await takeMailOrWait(deps, run, event, to);
  await deliverMail(deps, run, {
    to,
    subject: mail.subject,
    text: [mailWords(event.language).hello(null), '', ...mail.lines, ''].join('\n'),
  });
}

export function mailClosingJob(deps: OwnerMailDeps): Job<Closing> {
  const work = (closing: Closing, run: JobRun) =>
    mailOwner(deps, run, closing.eventId, (event, nowMs) =>
      isClosing(event, closing.endsAt, nowMs) ? closingMail(event, closing.endsAt) : undefined,
    );
  return defineJob({ ...MAIL_CLOSING, work });
}

const callOf = ({ code }: VotingEvent): string => `PATCH /voting-events/${code}`;

function closingMail(event: VotingEvent, endsAt: number): OwnerMail {
  const { title, code, language } = event;
  const { closing: words } = mailWords(language);
  return {
    subject: words.subject(title),
    lines: [
      words.intro(title, code, eventDate(event, language, endsAt)),
      words.confirmable,
      '',
      words.later(callOf(event)),
    ],
  };
}

export const mailNotOpenedJob = (deps: OwnerMailDeps): Job<z.output<typeof notOpened>> =>
  defineJob({
    ...MAIL_NOT_OPENED,
    work: (missed, run) =>
      mailOwner(deps, run, missed.eventId, (event) =>
        event.missedStartAt === missed.missedStartAt ? notOpenedMail(event, missed.missedStartAt) : undefined,
      ),
  });

function notOpenedMail(event: VotingEvent, missedStartAt: number): OwnerMail {
  const { title, code, language, missing } = event;
  const { notOpened: words } = mailWords(language);
  return {
    subject: words.subject(title),
    lines: [
      words.intro(title, code, eventDate(event, language, missedStartAt)),
      ...(missing.length === 0 ? [] : ['', words.missing]),
      ...missing.map((part) => `- ${part.title === null ? '' : `${part.title}: `}${part.message}`),
      '',
      words.opens(callOf(event)),
    ],
  };
}
