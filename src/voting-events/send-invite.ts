import { z } from 'zod';
import { takeMail } from '#src/accounts/take-mail.ts';
import type { Database } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import { defineJob, type Job, type JobRun } from '#src/jobs/queue.ts';
import { deliverMail, MAIL_ATTEMPTS } from '#src/mail/deliver-mail.ts';
import type { Mail, Mailer } from '#src/mail/mailer.ts';
import type { Clock } from '#src/platform/clock.ts';
import type { SealedPlace, Secrets } from '#src/platform/secrets.ts';
import { eventMail } from './event-mail.ts';
import { type Invite, inviteStatusAt } from './invite.ts';
import { findInvite, findSealedToken, forgetToken } from './invite-repository.ts';
import { findEventById } from './repository.ts';
import type { VotingEvent } from './voting-event.ts';

const payload = z.strictObject({ eventId: z.string(), inviteId: z.string() });
type SendInvite = z.output<typeof payload>;
export const SEND_INVITE = { name: 'send_invite', maxAttempts: MAIL_ATTEMPTS, group: 'mails', payload } as const;

interface SendInviteDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly mailer: Mailer;
  /** Where the API is reached, for the line to paste. */
  readonly config: { readonly baseUrl: string };
}

export function sealedTokenPlace(eventId: string, inviteId: string): SealedPlace {
  return { table: 'event_invites', column: 'sealed_token', row: `${eventId}/${inviteId}` };
}

/** The token is opened here and forgotten once its mail is on the way; a retry sends the same one. */
export function sendInviteJob(deps: SendInviteDeps): Job<SendInvite> {
  return defineJob({ ...SEND_INVITE, work: (request, run) => sendInvite(deps, request, run) });
}

async function sendInvite(deps: SendInviteDeps, { eventId, inviteId }: SendInvite, run: JobRun): Promise<void> {
  const event = await findEventById(deps.db, eventId);
  const invite = await findInvite(deps.db, eventId, inviteId);
  const sealed = await findSealedToken(deps.db, eventId, inviteId);
  if (event === undefined || invite === undefined || sealed === undefined) return;
  if (inviteStatusAt(invite, await readNow(deps.db)) !== 'pending') return;
  const token = deps.secrets.open(sealed, sealedTokenPlace(eventId, inviteId)).toString('utf8');
  // The attempts at a mail count as one.
  const counted = { to: invite.email, accountId: event.accountId, votingEventId: event.id };
  if (run.attempt > 1 || (await takeMail(deps.db, deps.secrets, counted)))
    await deliverMail(deps, run, inviteMail(event, invite, token, deps.config.baseUrl));
  await forgetToken(deps.db, eventId, inviteId);
}

function inviteMail(event: VotingEvent, invite: Invite, token: string, baseUrl: string): Omit<Mail, 'id'> {
  const request = [
    `curl ${baseUrl}/invites/accept \\`,
    '  -H "Authorization: Bearer $YOUR_KEY" \\',
    "  -H 'Content-Type: application/json' \\",
    `  -d '{"token":"${token}"}'`,
  ].join('\n');
  return eventMail(event, invite.email, ({ hello, invite: words }) => ({
    subject: words.subject(event.title),
    parts: [
      hello(null),
      words[invite.role](event.title),
      words.token,
      { code: token },
      words.accept,
      { code: request },
      words.validity,
    ],
  }));
}
