import type { MailPart } from '#src/mail/compose-mail.ts';
import type { MailWords } from '#src/mail/mail-words.ts';
import type { Mail } from '#src/mail/mailer.ts';
import { eventMail, votingTimes } from '#src/voting-events/event-mail.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { voterPageUrl } from '#src/voting-events/voting-page.ts';
import type { Voter } from './voter.ts';

/** Why a key is mailed: it was asked for, or the organizer reminds voters of the event. */
type KeyMailKind = 'key' | 'reminder';

export interface KeyMail {
  readonly kind: KeyMailKind;
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
export function waitingMail(event: VotingEvent, to: string, status: 'pending' | 'rejected'): Omit<Mail, 'id'> {
  return eventMail(event, to, ({ hello, registration, waiting }) => ({
    subject: registration.subject(event.title),
    parts: [hello(null), waiting.intro(event.title), waiting[status]],
  }));
}
