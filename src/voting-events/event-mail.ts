import { composeMail, type MailPart } from '#src/mail/compose-mail.ts';
import { type Language, type MailWords, mailWords } from '#src/mail/mail-words.ts';
import type { Mail } from '#src/mail/mailer.ts';
import type { VotingEvent } from './voting-event.ts';

/** A moment as people of an event read it: in the time zone of the event, which is named. */
function eventDate({ timeZone }: Pick<VotingEvent, 'timeZone'>, language: Language, atMs: number): string {
  return new Intl.DateTimeFormat(language, {
    weekday: 'long',
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    hour: 'numeric',
    minute: '2-digit',
    timeZoneName: 'short',
    timeZone,
  }).format(atMs);
}

export function votingTimes(event: VotingEvent, nowMs: number): string[] {
  const { startsAt, endsAt, openedAt, language } = event;
  const words = mailWords(language);
  const date = (atMs: number): string => eventDate(event, language, atMs);
  return [
    ...(openedAt === null && startsAt !== null && startsAt > nowMs ? [words.opens(date(startsAt))] : []),
    ...(endsAt === null ? [] : [words.closes(date(endsAt))]),
  ];
}

/** A mail about an event in its language, with its logo, and how to reach its organizers. Of a rehearsal it says so first. */
export function eventMail(
  event: VotingEvent,
  to: string,
  write: (words: MailWords) => { readonly subject: string; readonly parts: readonly MailPart[] },
): Omit<Mail, 'id'> {
  const { language, logoUrl, contactEmail } = event;
  const words = mailWords(language);
  const { subject, parts } = write(words);
  const contact = contactEmail === null ? [] : [words.contact(contactEmail)];
  const rehearsal = event.rehearsalSince === null ? [] : [words.rehearsal];
  const mail = composeMail({ to, language, subject, logoUrl, parts: [...rehearsal, ...parts, ...contact] });
  return contactEmail === null ? mail : { ...mail, replyTo: contactEmail };
}
