import { z } from 'zod';
import type { Executor } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { defineJob, enqueue, type Job } from '#src/jobs/queue.ts';
import { deliverMail, MAIL_ATTEMPTS } from '#src/mail/mailer.ts';
import { findAccount } from './repository.ts';

const payload = z.strictObject({ accountId: z.string(), subject: z.string(), text: z.string() });
const MAIL_ACCOUNT = { name: 'mail_account', maxAttempts: MAIL_ATTEMPTS, group: 'mails', payload } as const;

/** Queues a mail to the owner of an account, in the caller's transaction. @param write makes the text, from the account's name */
export async function mailAccount(
  executor: Executor,
  accountId: string,
  subject: string,
  write: (name: string) => string,
): Promise<void> {
  const account = await findAccount(executor, accountId);
  const text = `Hello,\n\n${write(account?.name ?? '')}\n`;
  await enqueue(executor, MAIL_ACCOUNT, { accountId, subject, text });
}

/** Sends the mail if the account has a contact address. */
export const mailAccountJob = (deps: Pick<Deps, 'db' | 'secrets' | 'mailer'>): Job<z.output<typeof payload>> =>
  defineJob({
    ...MAIL_ACCOUNT,
    async work({ accountId, subject, text }, run) {
      const to = (await findAccount(deps.db, accountId))?.contactEmail ?? null;
      if (to !== null) await deliverMail(deps, run, { to, subject, text });
    },
  });
