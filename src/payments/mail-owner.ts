import { z } from 'zod';
import { findAccount } from '#src/accounts/repository.ts';
import type { Database, Executor } from '#src/database/client.ts';
import { defineJob, enqueue, type Job } from '#src/jobs/queue.ts';
import { deliverMail, MAIL_ATTEMPTS, type Mailer } from '#src/mail/mailer.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import type { PaymentBusiness } from './payment.ts';

const MAILS = {
  unready: {
    subject: 'Your payment business takes no payments',
    text: 'the payment provider refuses the account. Payers are refused meanwhile, and what was paid waits. Look at the account and its\nkeys in the dashboard of the provider; a new key is handed in by the operator.',
  },
  comparison: {
    subject: 'Your payments could not be compared with your payment provider',
    text: 'its payments could not be held against the lists of the provider for two days. Refunds and disputes whose messages\nwere lost are not noticed meanwhile. Ask the operator of the service to look at it.',
  },
} as const;

const about = z.enum(['unready', 'comparison']);
const payload = z.strictObject({ accountId: z.string(), businessId: z.string(), displayName: z.string(), about });
type MailOwner = z.output<typeof payload>;
const MAIL_BUSINESS_OWNER = {
  name: 'mail_business_owner',
  maxAttempts: MAIL_ATTEMPTS,
  group: 'mails',
  payload,
} as const;

export async function mailBusinessOwner(
  executor: Executor,
  { id, accountId, displayName }: PaymentBusiness,
  about: MailOwner['about'],
): Promise<void> {
  await enqueue(executor, MAIL_BUSINESS_OWNER, { accountId, businessId: id, displayName, about });
}

/** Mails the owner if the account has a contact address. */
export function mailBusinessOwnerJob(deps: {
  readonly db: Database;
  readonly secrets: Secrets;
  readonly mailer: Mailer;
}): Job<MailOwner> {
  return defineJob({
    ...MAIL_BUSINESS_OWNER,
    async work({ accountId, businessId, displayName, about }, run) {
      const account = await findAccount(deps.db, accountId);
      if (account === undefined || account.contactEmail === null) return;
      const { subject, text } = MAILS[about];
      await deliverMail(deps, run, {
        to: account.contactEmail,
        subject,
        text: `Hello,\n\nabout the payment business "${displayName}" (${businessId}) of "${account.name}":\n${text}\n`,
      });
    },
  });
}
