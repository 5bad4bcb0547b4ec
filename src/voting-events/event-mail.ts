import { urlField } from '#src/http/fields.ts';
import { composeMail, type MailPart } from '#src/mail/compose-mail.ts';
import { type Language, type MailWords, mailWords } from '#src/mail/mail-words.ts';
import type { Mail } from '#src/mail/mailer.ts';
import type { Issue } from '#src/platform/errors.ts';
import type { VotingEvent } from './voting-event.ts';

/** A time in words, in the event's time zone, which the words name. */
export function eventDate({ timeZone }: Pick<VotingEvent, 'timeZone'>, language: Language, atMs: number): string {
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

/** A mail about an event, in the event's language, with its logo and contact address. In a rehearsal, it begins with a notice. */
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

/** Placeholders in the fragment of a voting page's URL. Mails and letters replace them with the voter's values. */
const PLACEHOLDERS = ['{voterKey}', '{voterId}', '{email}'] as const;

interface VoterPlace {
  readonly voterKey: string;
  readonly voterId: string | null;
  readonly email: string | null;
}

/** Allows placeholders only in the fragment: a key in the path or query would appear in server logs and in `Referer`. */
function placeholderFault(address: string): string | undefined {
  const start = address.indexOf('#');
  const [page, fragment] = start === -1 ? [address, ''] : [address.slice(0, start), address.slice(start)];
  if (/[{}]/.test(page)) return 'may hold {voterKey}, {voterId} and {email} in its fragment alone, behind a #';
  const rest = PLACEHOLDERS.reduce((text, name) => text.replaceAll(name, ''), fragment);
  return /[{}]/.test(rest) ? 'may hold no braces but those of {voterKey}, {voterId} and {email}' : undefined;
}

/** The URL where voters vote. `pageIssues` decides for each event whether a loopback URL with `http` is allowed. */
export const votingPageUrlField = () =>
  urlField({ loopback: true, fault: placeholderFault }).describe(
    'Where voters vote: mails and letters lead there. Its fragment may hold `{voterKey}`, `{voterId}` and `{email}`, which become the voter’s own.',
  );

/** Whether loopback URLs without https are allowed: if the database is embedded, or payments are play money. */
export const takesLoopback = (
  embedded: boolean,
  { paymentLivemode }: { readonly paymentLivemode: boolean | null },
): boolean => embedded || paymentLivemode === false;

/** Refuses a voting page without https, unless `takesLoopback` allows it for tests. */
export function pageIssues(
  embedded: boolean,
  event: { readonly votingPageUrl: string | null; readonly paymentLivemode: boolean | null },
): Issue[] {
  const { votingPageUrl } = event;
  if (votingPageUrl === null || votingPageUrl.startsWith('https:') || takesLoopback(embedded, event)) return [];
  return [{ field: 'votingPageUrl', message: 'must begin with https://' }];
}

/** The URL of the voting page for one voter; null if the event has no voting page. */
export function voterPageUrl(votingPageUrl: string | null, voter: VoterPlace): string | null {
  if (votingPageUrl === null) return null;
  const values = { '{voterKey}': voter.voterKey, '{voterId}': voter.voterId ?? '', '{email}': voter.email ?? '' };
  return votingPageUrl.replaceAll(/\{(?:voterKey|voterId|email)\}/g, (name) =>
    encodeURIComponent(values[name as keyof typeof values]),
  );
}
