import { z } from 'zod';
import { takeMail } from '#src/accounts/take-mail.ts';
import type { Database, Transaction } from '#src/database/client.ts';
import { defineJob, enqueue, type Job } from '#src/jobs/queue.ts';
import { deliverMail, MAIL_ATTEMPTS } from '#src/mail/deliver-mail.ts';
import type { Mailer } from '#src/mail/mailer.ts';
import type { SealedPlace, Secrets } from '#src/platform/secrets.ts';
import { eventMail } from '#src/voting-events/event-mail.ts';
import { findEventById } from '#src/voting-events/repository.ts';

/** The address is encrypted: the roll no longer holds it. */
const payload = z.strictObject({ eventId: z.string(), voterId: z.string(), sealedAddress: z.string() });
const MAIL_OLD_ADDRESS = { name: 'mail_old_address', maxAttempts: MAIL_ATTEMPTS, group: 'mails', payload } as const;

const placeOf = (eventId: string, voterId: string): SealedPlace => ({
  table: 'jobs',
  column: 'old_address',
  row: `${eventId}/${voterId}`,
});

/** Mails the old address that a voter's keys no longer go there: only its owner knows whether the change is right. */
export async function mailOldAddress(
  tx: Transaction,
  secrets: Secrets,
  eventId: string,
  voterId: string,
  address: string,
): Promise<void> {
  const sealedAddress = secrets.seal(address, placeOf(eventId, voterId));
  await enqueue(tx, MAIL_OLD_ADDRESS, { eventId, voterId, sealedAddress });
}

export function mailOldAddressJob(deps: {
  readonly db: Database;
  readonly secrets: Secrets;
  readonly mailer: Mailer;
}): Job<z.output<typeof payload>> {
  return defineJob({
    ...MAIL_OLD_ADDRESS,
    async work({ eventId, voterId, sealedAddress }, run) {
      const event = await findEventById(deps.db, eventId);
      if (event === undefined) return;
      const to = deps.secrets.open(sealedAddress, placeOf(eventId, voterId)).toString('utf8');
      // The attempts at a mail count as one.
      if (
        run.attempt === 1 &&
        !(await takeMail(deps.db, deps.secrets, { to, accountId: event.accountId, votingEventId: event.id }))
      )
        return;
      const mail = eventMail(event, to, ({ hello, addressChanged }) => ({
        subject: addressChanged.subject(event.title),
        parts: [hello(null), addressChanged.intro(event.title), addressChanged.warning],
      }));
      await deliverMail(deps, run, mail);
    },
  });
}
