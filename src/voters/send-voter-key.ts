import { z } from 'zod';
import { takeMail } from '#src/accounts/take-mail.ts';
import { inTransaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import { defineJob, GivenUp, type Job, type JobRun } from '#src/jobs/queue.ts';
import { deliverMail, MAIL_ATTEMPTS } from '#src/mail/deliver-mail.ts';
import type { Mail, Mailer } from '#src/mail/mailer.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import { statusAt } from '#src/voting-events/lifecycle.ts';
import { findEventById, holdEvent } from '#src/voting-events/repository.ts';
import type { VotingEvent } from '#src/voting-events/types.ts';
import { type ExpiryDeps, expireRefused } from './expire-registrations.ts';
import { findVoter, updateVoter } from './repository.ts';
import type { Voter } from './types.ts';
import { generateKeySeed, hashStoredKey, makeVoterKey } from './voter-key.ts';
import { deleteVoterKey, insertVoterKey } from './voter-key-repository.ts';

const payload = z.strictObject({
  eventId: z.string(),
  /** Null for an unknown voter: the request takes the same path and sends nothing. */
  voterId: z.string().nullable(),
  /** Jobs of earlier versions have none, and make another key with each attempt. */
  seed: z.string().default(generateKeySeed),
});
type SendVoterKey = z.output<typeof payload>;
export const SEND_VOTER_KEY = { name: 'send_voter_key', maxAttempts: MAIL_ATTEMPTS, group: 'mails', payload } as const;

export interface SendVoterKeyDeps extends ExpiryDeps {
  readonly secrets: Secrets;
  readonly mailer: Mailer;
}

/** What to enqueue for a key of a voter, or of an unknown person. */
export function voterKeyMail(eventId: string, voterId: string | null): SendVoterKey {
  return { eventId, voterId, seed: generateKeySeed() };
}

/** The key is made here, when the mail is written: it stands in no job, and only its hash stands in the database. */
export function sendVoterKeyJob(deps: SendVoterKeyDeps): Job<SendVoterKey> {
  return defineJob({ ...SEND_VOTER_KEY, work: (request, run) => sendVoterKey(deps, request, run) });
}

async function sendVoterKey(deps: SendVoterKeyDeps, request: SendVoterKey, run: JobRun): Promise<void> {
  if (request.voterId === null) return;
  const event = await findEventById(deps.db, request.eventId);
  const voter = event === undefined ? undefined : await findVoter(deps.db, event.id, request.voterId);
  if (event === undefined || voter === undefined || voter.email === null) return;
  if (statusAt(event, await readNow(deps.db)) === 'closed') return;
  // The attempts at a mail count as one.
  const counted = { to: voter.email, accountId: event.accountId };
  if (run.attempt === 1 && !(await takeMail(deps.db, deps.secrets, counted))) return;
  if (voter.status === 'rejected' || (voter.status === 'pending' && event.voterApproval === 'manual')) {
    await deliverMail(deps, run, waitingMail(event, voter.email, voter.status));
    return;
  }
  await mailKey(deps, event, voter, voter.email, makeVoterKey(deps.secrets, request.seed), run);
}

async function mailKey(
  deps: SendVoterKeyDeps,
  event: VotingEvent,
  voter: Voter,
  to: string,
  key: string,
  run: JobRun,
): Promise<void> {
  const keyHash = hashStoredKey(deps.secrets, event.id, voter.id, key);
  // Stored before it is sent: a key that arrives must work at once. Not for a voter whose address has changed meanwhile.
  if (!(await inTransaction(deps.db, (tx) => insertVoterKey(tx, event.id, voter.id, to, keyHash)))) return;
  const outcome = await deliverMail(deps, run, keyMail(event, voter, to, key)).catch(async (fault: unknown) => {
    if (run.last || fault instanceof GivenUp) await setKeyStatus(deps, event.id, voter, 'failed');
    throw fault;
  });
  await setKeyStatus(deps, event.id, voter, outcome === 'sent' ? 'sent' : 'failed');
  if (outcome === 'sent') return;
  // The mail of an earlier attempt may have left: a key that arrives must be valid.
  if (run.attempt === 1) await deleteVoterKey(deps.db, event.id, voter.id, keyHash);
  if (voter.source === 'registration') await expireRefused(deps, event, voter.id);
}

async function setKeyStatus(
  deps: SendVoterKeyDeps,
  eventId: string,
  voter: Voter,
  keyStatus: 'sent' | 'failed',
): Promise<void> {
  if (voter.keyStatus === 'used') return;
  await inTransaction(deps.db, async (tx) => {
    // A job may be rewriting the roll under the lock that this one waits for: without it a change would be lost.
    await holdEvent(tx, eventId);
    await updateVoter(tx, eventId, voter.id, { keyStatus });
  });
}

/** A name as people have them: no figures, no address, nothing that a mail program makes a link of. */
const PLAIN_NAME = /^[\p{L}\p{M}](?:[\p{L}\p{M} '’-]|\.(?= |$)){0,39}$/u;

/**
 * A registrant's name is a stranger's text until they use a key that was mailed to the address: a mail that repeats it
 * could carry advertising to any address in the name of this service.
 */
function greeting({ name, source, status }: Voter): string {
  const strange = source === 'registration' && status === 'pending';
  return strange && !PLAIN_NAME.test(name) ? 'Hello,' : `Hello ${name},`;
}

function keyMail(event: VotingEvent, voter: Voter, to: string, key: string): Omit<Mail, 'id'> {
  return {
    to,
    subject: `Your voter key for "${event.title}"`,
    text: [
      greeting(voter),
      '',
      `this is your voter key for the voting event that its organizers call "${event.title}":`,
      '',
      `    ${key}`,
      '',
      'Type it in on the voting page, with or without the dashes. It is yours alone: whoever has it can vote in your name.',
      'You did not ask for a key? Then you need not do anything.',
      '',
    ].join('\n'),
  };
}

function waitingMail(event: VotingEvent, to: string, status: 'pending' | 'rejected'): Omit<Mail, 'id'> {
  const words =
    status === 'pending'
      ? 'Your registration still waits for the approval of the organizers. Ask for a key again once they have approved it.'
      : 'The organizers have not approved your registration, so there is no key for you. Please turn to them.';
  return {
    to,
    subject: `Your registration for "${event.title}"`,
    text: `Hello,\n\na voter key for the voting event that its organizers call "${event.title}" was asked for.\n\n${words}\n`,
  };
}
