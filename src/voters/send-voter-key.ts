import { z } from 'zod';
import { findMailLimit } from '#src/accounts/take-mail.ts';
import { inPatientTransaction, inTransaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import type { Deps } from '#src/deps.ts';
import { defineJob, GivenUp, type Job, type JobRun, PutOff, wasTried } from '#src/jobs/queue.ts';
import type { MailPart } from '#src/mail/compose-mail.ts';
import type { MailWords } from '#src/mail/mail-words.ts';
import { deliverMail, MAIL_ATTEMPTS, type Mail, type MailOutcome } from '#src/mail/mailer.ts';
import { eventMail, voterPageUrl, votingTimes } from '#src/voting-events/event-mail.ts';
import { reportForged } from '#src/voting-events/forged-rows.ts';
import { statusAt } from '#src/voting-events/lifecycle.ts';
import { REHEARSED_MS } from '#src/voting-events/rehearsal.ts';
import { findEventById, holdEvent } from '#src/voting-events/repository.ts';
import { aboutOf, type VotingEvent } from '#src/voting-events/voting-event.ts';
import { messageOfRun, publish } from '#src/webhooks/record-event.ts';
import { type ExpiryDeps, expireRefused } from './expire-registrations.ts';
import { findVoter, storeVoter } from './repository.ts';
import { type Voter, viewVoter } from './voter.ts';
import {
  deleteVoterKey,
  generateKeySeed,
  hashStoredKey,
  insertVoterKey,
  makeVoterKey,
  noteBeforeRehearsal,
} from './voter-key.ts';
import { mayBeMailed } from './voter-tag.ts';

interface KeyMail {
  readonly kind: 'key' | 'reminder';
  readonly to: string;
  readonly key: string;
  readonly nowMs: number;
  /** Whether somebody asked for this mail in the voter's name; false if an organizer mails the whole roll. */
  readonly isAsked: boolean;
}

/** An ordinary name: no digits, no address, nothing that a mail program turns into a link. */
const PLAIN_NAME = /^[\p{L}\p{M}](?:[\p{L}\p{M} '’-]|\.(?= |$)){0,39}$/u;

/**
 * Whether a voter's text comes from a stranger: a registrant who has not used a key that was mailed to the address. A mail with such
 * a text could bring advertising to any address, in the name of this service.
 */
const isStranger = ({ source, status }: Voter): boolean => source === 'registration' && status === 'pending';

/** The mail with a voter key, the link to the voting page, the times of voting, and the organizers' contact. */
export function keyMail(
  event: VotingEvent,
  voter: Voter,
  { kind, to, key, nowMs, isAsked }: KeyMail,
): Omit<Mail, 'id'> {
  const place = { voterKey: key, voterId: isStranger(voter) ? null : voter.voterId, email: to };
  const link = voterPageUrl(event.votingPageUrl, place);
  const brings = ({ hello, ...words }: MailWords): MailPart[] => [
    hello(isStranger(voter) && !PLAIN_NAME.test(voter.name) ? null : voter.name),
    words[kind].intro(event.title),
    ...(kind === 'reminder' ? [words.reminder.key] : []),
    { code: key },
    words.key.use,
    ...(link === null ? [] : [{ link, label: words.votingPage }]),
    ...votingTimes(event, nowMs),
    ...(kind === 'reminder' ? [words.reminder.voted] : []),
    ...(isAsked ? [words.key.notAsked] : []),
  ];
  return eventMail(event, to, (words) => ({ subject: words[kind].subject(event.title), parts: brings(words) }));
}

function waitingMail(event: VotingEvent, to: string, status: 'pending' | 'rejected'): Omit<Mail, 'id'> {
  return eventMail(event, to, ({ hello, registration, waiting }) => ({
    subject: registration.subject(event.title),
    parts: [hello(null), waiting.intro(event.title), waiting[status]],
  }));
}

const payload = z.strictObject({
  eventId: z.string(),
  /** Null for an unknown voter. The job is queued as for a known voter, but sends nothing. */
  voterId: z.string().nullable(),
  /** Seed of the key: each attempt of the job derives and mails the same key. */
  seed: z.string(),
  /** Start of the rehearsal in which the key was requested, or null. No mail is sent after that rehearsal, nor during a later one. */
  rehearsalSince: z.int().nullable(),
});
type SendVoterKey = z.output<typeof payload>;
export const SEND_VOTER_KEY = { name: 'send_voter_key', maxAttempts: MAIL_ATTEMPTS, group: 'mails', payload } as const;

export type SendVoterKeyDeps = ExpiryDeps & Pick<Deps, 'mailer'>;

export function voterKeyMail(
  { id: eventId, rehearsalSince }: Pick<VotingEvent, 'id' | 'rehearsalSince'>,
  voterId: string | null,
): SendVoterKey {
  return { eventId, voterId, seed: generateKeySeed(), rehearsalSince };
}

/** Derives the key only when the mail is written. So jobs contain no key, and the database contains only its hash. */
export const sendVoterKeyJob = (deps: SendVoterKeyDeps): Job<SendVoterKey> =>
  defineJob({
    ...SEND_VOTER_KEY,
    async work(request, run) {
      if (request.voterId === null) return;
      const event = await findEventById(deps.db, request.eventId);
      const voter = event === undefined ? undefined : await findVoter(deps.db, event.id, request.voterId);
      if (event === undefined || voter === undefined || voter.email === null) return;
      if (event.rehearsalSince !== null && request.rehearsalSince === null)
        throw new PutOff((await readNow(deps.db)) + REHEARSED_MS);
      if (event.rehearsalSince !== request.rehearsalSince) return;
      if (!mayBeMailed(deps.secrets, event, voter)) return reportForged(deps, event.id, voter.id);
      const nowMs = await readNow(deps.db);
      if (statusAt(event, nowMs) === 'closed') return;
      if ((await findMailLimit(deps, run, event, voter.email)) !== undefined) return;
      if (voter.status === 'rejected' || (voter.status === 'pending' && event.voterApproval === 'manual')) {
        const words = waitingMail(event, voter.email, voter.status);
        await deliverVoterMail(deps, run, event, voter, { ...words, holdsKey: false });
        return;
      }
      const key = makeVoterKey(deps.secrets, voter, request.seed);
      await mailKey(deps, event, voter, { kind: 'key', to: voter.email, key, nowMs, isAsked: true }, run);
    },
  });

async function mailKey(
  deps: SendVoterKeyDeps,
  event: VotingEvent,
  voter: Voter,
  mail: KeyMail,
  run: JobRun,
): Promise<void> {
  const keyHash = hashStoredKey(deps.secrets, voter, mail.key);
  // Store the key before the mail is sent, because it must work on arrival. If the address has changed meanwhile, it is not stored.
  if (!(await inTransaction(deps.db, (tx) => insertVoterKey(tx, event, voter, mail.to, keyHash)))) return;
  const outcome = await deliverVoterMail(deps, run, event, voter, { ...keyMail(event, voter, mail), holdsKey: true });
  // After a later attempt, the key stays valid, because the mail of an earlier attempt may have arrived.
  if (outcome === 'sent' || (await wasTried(deps.db, run))) return;
  await deleteVoterKey(deps.db, event.id, voter.id, keyHash);
  if (voter.source === 'registration') await expireRefused(deps, event, voter.id, mail.to);
}

type VoterMailDeps = Pick<Deps, 'db' | 'ids' | 'clock' | 'secrets' | 'mailer'>;

type VoterMail = Omit<Mail, 'id'> & { readonly holdsKey: boolean };

/**
 * Sends a mail to a voter, and publishes `voter.mail_failed` if it fails finally: see `deliverMail`.
 * @param event as it was when the mail was written. If a rehearsal has begun or ended since, the voter is not changed.
 */
export async function deliverVoterMail(
  deps: VoterMailDeps,
  run: JobRun,
  event: Pick<VotingEvent, 'rehearsalSince'>,
  voter: Pick<Voter, 'votingEventId' | 'id' | 'keyGeneration'>,
  { holdsKey, ...mail }: VoterMail,
): Promise<MailOutcome> {
  const finish = (isSent: boolean) => recordOutcome(deps, run, event, voter, holdsKey, isSent);
  const outcome = await deliverMail(deps, run, mail).catch(async (fault: unknown) => {
    if (run.last || fault instanceof GivenUp) await finish(false);
    throw fault;
  });
  await finish(outcome === 'sent');
  return outcome;
}

async function recordOutcome(
  deps: VoterMailDeps,
  run: JobRun,
  read: Pick<VotingEvent, 'rehearsalSince'>,
  { votingEventId, id, keyGeneration }: Pick<Voter, 'votingEventId' | 'id' | 'keyGeneration'>,
  holdsKey: boolean,
  isSent: boolean,
): Promise<void> {
  if (isSent && !holdsKey) return;
  const keyStatus = isSent ? 'sent' : 'failed';
  await inPatientTransaction(deps.db, async (tx) => {
    // This lock waits for a job that may be rewriting the roll, and so would lose this change.
    const event = await holdEvent(tx, votingEventId);
    const voter = event === undefined ? undefined : await findVoter(tx, votingEventId, id);
    if (event === undefined || voter === undefined || event.rehearsalSince !== read.rehearsalSince) return;
    // The voter was changed meanwhile: all earlier keys have ended, with the key of this mail.
    if (voter.keyGeneration !== keyGeneration) return;
    await noteBeforeRehearsal(tx, votingEventId, id);
    if (holdsKey) await storeVoter(tx, votingEventId, id, { keyStatus });
    if (isSent) return;
    // Show this mail's `keyStatus`, even if the voter has used a key: the message must not reveal who has voted.
    const failed = viewVoter(holdsKey ? { ...voter, keyStatus } : voter);
    // A later attempt may publish this again. Receivers recognise the message by its ID.
    await publish(tx, deps, aboutOf(event), 'voter.mail_failed', [failed], await messageOfRun(tx, run));
  });
}
