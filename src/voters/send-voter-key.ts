import { z } from 'zod';
import { takeMailOnce } from '#src/accounts/take-mail.ts';
import { inTransaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import type { Deps } from '#src/deps.ts';
import { defineJob, type Job, type JobRun } from '#src/jobs/queue.ts';
import type { MailPart } from '#src/mail/compose-mail.ts';
import { MAIL_ATTEMPTS } from '#src/mail/deliver-mail.ts';
import type { MailWords } from '#src/mail/mail-words.ts';
import type { Mail } from '#src/mail/mailer.ts';
import { eventMail, votingTimes } from '#src/voting-events/event-mail.ts';
import { reportForged } from '#src/voting-events/forged-rows.ts';
import { statusAt } from '#src/voting-events/lifecycle.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { voterPageUrl } from '#src/voting-events/voting-page.ts';
import { deliverVoterMail } from './deliver-voter-mail.ts';
import { type ExpiryDeps, expireRefused } from './expire-registrations.ts';
import { findVoter } from './repository.ts';
import type { Voter } from './voter.ts';
import { generateKeySeed, hashStoredKey, makeVoterKey } from './voter-key.ts';
import { deleteVoterKey, insertVoterKey } from './voter-key-repository.ts';
import { mayBeMailed } from './voter-tag.ts';

interface KeyMail {
  readonly kind: 'key' | 'reminder';
  readonly to: string;
  readonly key: string;
  readonly nowMs: number;
}

/** A name as people have them: no figures, no address, nothing that a mail program makes a link of. */
const PLAIN_NAME = /^[\p{L}\p{M}](?:[\p{L}\p{M} '’-]|\.(?= |$)){0,39}$/u;

/**
 * What registrants write is a stranger's text until they use a key that was mailed to the address: a mail that repeats it
 * could carry advertising to any address in the name of this service.
 */
const isStranger = ({ source, status }: Voter): boolean => source === 'registration' && status === 'pending';

const shownName = (voter: Voter): string | null =>
  isStranger(voter) && !PLAIN_NAME.test(voter.name) ? null : voter.name;

/** The mail that brings a voter key: with the way to the voting page, when voting ends, and how to reach the organizers. */
export function keyMail(event: VotingEvent, voter: Voter, { kind, to, key, nowMs }: KeyMail): Omit<Mail, 'id'> {
  const place = { voterKey: key, voterId: isStranger(voter) ? null : voter.voterId, email: to };
  const link = voterPageUrl(event.votingPageUrl, place);
  const brings = ({ hello, ...words }: MailWords): MailPart[] => [
    hello(shownName(voter)),
    words[kind].intro(event.title),
    ...(kind === 'reminder' ? [words.reminder.key] : []),
    { code: key },
    words.key.use,
    ...(link === null ? [] : [{ link, label: words.votingPage }]),
    ...votingTimes(event, nowMs),
    kind === 'reminder' ? words.reminder.voted : words.key.notAsked,
  ];
  return eventMail(event, to, (words) => ({ subject: words[kind].subject(event.title), parts: brings(words) }));
}

/** What somebody gets who asked for a key and is not approved. */
function waitingMail(event: VotingEvent, to: string, status: 'pending' | 'rejected'): Omit<Mail, 'id'> {
  return eventMail(event, to, ({ hello, registration, waiting }) => ({
    subject: registration.subject(event.title),
    parts: [hello(null), waiting.intro(event.title), waiting[status]],
  }));
}

const payload = z.strictObject({
  eventId: z.string(),
  /** Null for an unknown voter: the request takes the same path and sends nothing. */
  voterId: z.string().nullable(),
  /** What the key is made from: every attempt of a job mails the same one. */
  seed: z.string(),
  /** The rehearsal in which it was asked for, by its beginning; null outside of one. The mail goes out in no other world. */
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

/** The key is made here, when the mail is written: it stands in no job, and only its hash stands in the database. */
export const sendVoterKeyJob = (deps: SendVoterKeyDeps): Job<SendVoterKey> =>
  defineJob({
    ...SEND_VOTER_KEY,
    async work(request, run) {
      if (request.voterId === null) return;
      const event = await findEventById(deps.db, request.eventId);
      const voter = event === undefined ? undefined : await findVoter(deps.db, event.id, request.voterId);
      if (event === undefined || voter === undefined || voter.email === null) return;
      if (event.rehearsalSince !== request.rehearsalSince) return;
      if (!mayBeMailed(deps.secrets, event, voter)) return reportForged(deps, event.id, voter.id);
      const nowMs = await readNow(deps.db);
      if (statusAt(event, nowMs) === 'closed') return;
      if (!(await takeMailOnce(deps, run, event, voter.email))) return;
      if (voter.status === 'rejected' || (voter.status === 'pending' && event.voterApproval === 'manual')) {
        const words = waitingMail(event, voter.email, voter.status);
        await deliverVoterMail(deps, run, event, voter, { ...words, holdsKey: false });
        return;
      }
      const key = makeVoterKey(deps.secrets, voter, request.seed);
      await mailKey(deps, event, voter, { kind: 'key', to: voter.email, key, nowMs }, run);
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
  // Stored before it is sent: a key that arrives must work at once. Not for a voter whose address has changed meanwhile.
  if (!(await inTransaction(deps.db, (tx) => insertVoterKey(tx, event, voter, mail.to, keyHash)))) return;
  const outcome = await deliverVoterMail(deps, run, event, voter, { ...keyMail(event, voter, mail), holdsKey: true });
  if (outcome === 'sent') return;
  // The mail of an earlier attempt may have left: a key that arrives must be valid.
  if (run.attempt === 1) await deleteVoterKey(deps.db, event.id, voter.id, keyHash);
  if (voter.source === 'registration') await expireRefused(deps, event, voter.id);
}
