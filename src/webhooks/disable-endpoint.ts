import { z } from 'zod';
import { findAccount } from '#src/accounts/repository.ts';
import type { Database, Transaction } from '#src/database/client.ts';
import { defineJob, enqueue, type Job } from '#src/jobs/queue.ts';
import { deliverMail, MAIL_ATTEMPTS } from '#src/mail/deliver-mail.ts';
import type { Mailer } from '#src/mail/mailer.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import { type RecordDeps, recordEvent } from './record-event.ts';
import { updateEndpoint } from './repository.ts';
import { type DisabledReason, viewEndpoint, type WebhookEndpoint } from './webhook-endpoint.ts';

const payload = z.strictObject({ accountId: z.string(), endpointId: z.string(), url: z.string(), reason: z.string() });
type MailOwner = z.output<typeof payload>;
const MAIL_DISABLED_ENDPOINT = {
  name: 'mail_disabled_endpoint',
  maxAttempts: MAIL_ATTEMPTS,
  group: 'mails',
  payload,
} as const;

const REASONS: Readonly<Record<DisabledReason, string>> = {
  manual: 'it was switched off',
  gone: 'it answered 410 Gone',
  consecutive_failures: 'it has failed ten times or more, and took nothing for three days',
  url_not_allowed: 'its address is not one that may be called',
};

/** Switches an endpoint off because of what it does, and mails its owner. What waits for it goes on when it is switched on again. */
export async function disableEndpoint(
  tx: Transaction,
  deps: RecordDeps,
  endpoint: WebhookEndpoint,
  reason: DisabledReason,
): Promise<void> {
  if (endpoint.status === 'disabled') return;
  const disabled = await updateEndpoint(tx, endpoint.id, {
    status: 'disabled',
    disabledReason: reason,
    updatedAt: deps.clock.now(),
  });
  const { accountId, votingEventId } = endpoint;
  await recordEvent(tx, deps, {
    type: 'webhook_endpoint.disabled',
    data: viewEndpoint(disabled),
    change: {
      accountId,
      votingEventId,
      keyId: null,
      action: 'webhook_endpoint.disabled',
      resource: endpoint.id,
      after: { reason },
    },
  });
  // The address may hold a token in its query: the mail names host and path only.
  const { origin, pathname } = new URL(endpoint.url);
  const url = `${origin}${pathname}`;
  await enqueue(tx, MAIL_DISABLED_ENDPOINT, { accountId, endpointId: endpoint.id, url, reason: REASONS[reason] });
}

/** Mails the owner, where the account has an address for such mail. */
export function mailDisabledEndpointJob(deps: {
  readonly db: Database;
  readonly secrets: Secrets;
  readonly mailer: Mailer;
}): Job<MailOwner> {
  return defineJob({
    ...MAIL_DISABLED_ENDPOINT,
    async work({ accountId, endpointId, url, reason }, run) {
      const account = await findAccount(deps.db, accountId);
      if (account === undefined || account.contactEmail === null) return;
      await deliverMail(deps, run, {
        to: account.contactEmail,
        subject: 'A webhook endpoint was switched off',
        text: `Hello,\n\nthe webhook endpoint ${endpointId} (${url}) of "${account.name}" was switched off: ${reason}.\n\nWhat happens meanwhile is kept and can be sent again. Switch it on with\nPATCH /webhook-endpoints/${endpointId} and { "status": "active" }.\n`,
      });
    },
  });
}
