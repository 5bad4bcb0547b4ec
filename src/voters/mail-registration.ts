import { z } from 'zod';
import { findMailLimit } from '#src/accounts/take-mail.ts';
import { inTransaction, type Transaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import type { Deps } from '#src/deps.ts';
import { defineJob, type Job, wasTried } from '#src/jobs/queue.ts';
import { MAIL_ATTEMPTS, type Mail } from '#src/mail/mailer.ts';
import { emailKey } from '#src/platform/email-address.ts';
import { eventMail } from '#src/voting-events/event-mail.ts';
import { reportForged } from '#src/voting-events/forged-rows.ts';
import { statusAt } from '#src/voting-events/lifecycle.ts';
import { findEventById, holdEvent } from '#src/voting-events/repository.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { sealConfirmation } from './confirm-address.ts';
import { type ExpiryDeps, expireRefused } from './expire-registrations.ts';
import { clearDeadline, setDeadline } from './registration-repository.ts';
import { findVoter } from './repository.ts';
import { deliverVoterMail } from './send-voter-key.ts';
import { mayBeMailed } from './voter-tag.ts';

const payload = z.strictObject({ eventId: z.string(), voterId: z.string() });
export const MAIL_REGISTRATION = {
  name: 'mail_registration',
  maxAttempts: MAIL_ATTEMPTS,
  group: 'mails',
  payload,
} as const;

type MailRegistrationDeps = ExpiryDeps & Pick<Deps, 'mailer' | 'config'>;

export const mailRegistrationJob = (deps: MailRegistrationDeps): Job<z.output<typeof payload>> =>
  defineJob({
    ...MAIL_REGISTRATION,
    async work({ eventId, voterId }, run) {
      const event = await findEventById(deps.db, eventId);
      const voter = event === undefined ? undefined : await findVoter(deps.db, event.id, voterId);
      if (event === undefined || voter === undefined || voter.email === null || voter.status !== 'pending') return;
      if (statusAt(event, await readNow(deps.db)) === 'closed') return;
      if (!mayBeMailed(deps.secrets, event, voter)) return reportForged(deps, event.id, voterId);
      const { email } = voter;
      // The mail limit is exhausted. Without a mail there is no link that could be used in time, so the registration never expires.
      if ((await findMailLimit(deps, run, event, email)) !== undefined) return;
      const link = `${deps.config.baseUrl}/confirm-address/${sealConfirmation(deps.secrets, event.id, voterId, email)}`;
      // Set the deadline before the mail is sent, because the voter may use the link at once.
      const expires = event.voterApproval === 'automatic';
      if (expires) await changeDeadline(deps, eventId, (tx) => setDeadline(tx, eventId, voterId, emailKey(email)));
      try {
        const words = registrationMail(event, email, link);
        const outcome = await deliverVoterMail(deps, run, event, voter, { ...words, holdsKey: false });
        // After a later attempt, the registration waits for its deadline, because the mail of an earlier attempt may have arrived.
        if (outcome === 'recipient_refused' && !(await wasTried(deps.db, run)))
          await expireRefused(deps, event, voterId, email);
      } catch (fault) {
        if (expires) await changeDeadline(deps, eventId, (tx) => clearDeadline(tx, eventId, voterId));
        throw fault;
      }
    },
  });

/** Changes a deadline. Taking the event's lock waits for a job that may be rewriting the roll. */
const changeDeadline = (
  { db }: MailRegistrationDeps,
  eventId: string,
  change: (tx: Transaction) => Promise<void>,
): Promise<void> =>
  inTransaction(db, async (tx) => {
    await holdEvent(tx, eventId);
    await change(tx);
  });

function registrationMail(event: VotingEvent, to: string, link: string): Omit<Mail, 'id'> {
  return eventMail(event, to, ({ hello, registration }) => ({
    subject: registration.subject(event.title),
    parts: [
      hello(null),
      registration.intro(event.title),
      event.voterApproval === 'automatic' ? registration.untilUsed : registration.untilDecided,
      { link, label: registration.confirm },
      registration.notYou,
    ],
  }));
}
