import { GivenUp, type JobRun } from '#src/jobs/queue.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import { type Mail, type Mailer, MailFault, toMailFault } from './mailer.ts';

/** With the queue's pauses, which grow to six hours, the last of these is two days after the first. */
export const MAIL_ATTEMPTS = 18;

/** What becomes of a mail that the receiving side answered. */
export type MailOutcome = 'sent' | 'recipient_refused';

/**
 * Sends the mail of a job. An attempt whose end is unknown is followed by another under the same Message-ID, so that
 * receivers recognise both as one mail.
 * @throws GivenUp where the server refuses the mail for good, and MailFault where trying again may help
 */
export async function deliverMail(
  { mailer, secrets }: { readonly mailer: Mailer; readonly secrets: Secrets },
  run: JobRun,
  mail: Omit<Mail, 'id'>,
): Promise<MailOutcome> {
  const id = secrets.mac('message-id', run.id).subarray(0, 16).toString('hex');
  try {
    await mailer.send({ ...mail, id });
    return 'sent';
  } catch (fault) {
    const known = fault instanceof MailFault ? fault : toMailFault(fault);
    if (known.kind === 'temporary') throw fault;
    if (known.kind === 'recipient_refused') return 'recipient_refused';
    throw new GivenUp(`the mail server answered ${known.reply ?? known.code}`);
  }
}
