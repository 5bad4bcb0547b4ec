import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { createTransport } from 'nodemailer';
import { GivenUp, type JobRun, markOf } from '#src/jobs/queue.ts';
import { writeWhole } from '#src/platform/files.ts';
import { type Log, summariseFault } from '#src/platform/log.ts';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';

/** Why a mail failed, and whether a retry may help. */
type MailFaultKind =
  /** A temporary refusal or unknown outcome. The mail may have left, so a retry uses the same Message-ID. */
  | 'temporary'
  /** The receiving side refused the recipient permanently. */
  | 'recipient_refused'
  /** The mail server refused the sender or the mail itself permanently. */
  | 'mail_refused';

/** Why a mail server did not accept a mail. Contains only codes of the server's answer, whose text may name addresses. */
export class MailFault extends Error {
  override readonly name = 'MailFault';
  readonly kind: MailFaultKind;
  /** nodemailer's error code, such as `ECONNECTION`. */
  readonly code: string;
  /** The codes of the answer, and the SMTP command, such as `550 5.1.1 to RCPT TO`; undefined without an answer. */
  readonly reply: string | undefined;

  constructor(kind: MailFaultKind, code: string, reply: string | undefined) {
    super(`a mail was not taken (${kind})`);
    this.kind = kind;
    this.code = code;
    this.reply = reply;
  }
}

const COMMANDS = ['CONN', 'EHLO', 'HELO', 'STARTTLS', 'AUTH', 'MAIL FROM', 'RCPT TO', 'DATA'];
/** The enhanced status code (RFC 3463: class, subject, detail) after the three-digit reply code. */
const ENHANCED = /^\d{3}[ -]([245]\.\d{1,3}\.\d{1,3})\b/;

function kindOf(permanent: boolean, command: string | undefined): MailFaultKind {
  if (!permanent) return 'temporary';
  if (command === 'RCPT TO') return 'recipient_refused';
  // A refused connection or log-in is temporary: the operator can fix it, and the mail is retried meanwhile.
  return command === 'MAIL FROM' || command === 'DATA' ? 'mail_refused' : 'temporary';
}

export function toMailFault(fault: unknown): MailFault {
  if (!(fault instanceof Error)) return new MailFault('temporary', 'EUNKNOWN', undefined);
  const { code, command, responseCode, response } = fault as {
    readonly code?: unknown;
    readonly command?: unknown;
    readonly responseCode?: unknown;
    readonly response?: unknown;
  };
  const named = typeof command === 'string' ? COMMANDS.find((name) => command.startsWith(name)) : undefined;
  const answered = typeof responseCode === 'number' ? responseCode : undefined;
  const enhanced = typeof response === 'string' ? ENHANCED.exec(response)?.[1] : undefined;
  const words = [answered, enhanced, named === undefined ? undefined : `to ${named}`];
  const reply = answered === undefined ? undefined : words.filter((word) => word !== undefined).join(' ');
  const permanent = answered !== undefined && answered >= 500 && answered < 600;
  return new MailFault(kindOf(permanent, named), typeof code === 'string' ? code : 'EUNKNOWN', reply);
}

export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** The same content as HTML. */
  readonly html?: string;
  readonly replyTo?: string;
  /** Letters and digits, the same for every attempt, so that receivers recognise a mail that arrives twice. */
  readonly id: string;
}

export interface Mailer {
  /** Resolves once the mail server has accepted the mail. @throws MailFault */
  send(mail: Mail): Promise<void>;
  close(): void;
}

const ENCODED_WORD_BYTES = 45;

/** Encodes a subject that contains `=?`: nodemailer sends it unchanged, and a mail program would decode it to another text. */
function subjectText(subject: string): string {
  if (!subject.includes('=?')) return subject;
  const words: string[] = [];
  let word = '';
  for (const character of subject) {
    if (Buffer.byteLength(word + character) > ENCODED_WORD_BYTES) {
      words.push(word);
      word = '';
    }
    word += character;
  }
  return [...words, word].map((part) => `=?UTF-8?B?${Buffer.from(part).toString('base64')}?=`).join(' ');
}

/** Marks automatic mails, to which auto-responders must not reply (RFC 3834). */
const HEADERS = { 'Auto-Submitted': 'auto-generated' };

/** @param from the sender, as in `Name <address>`, whose domain ends the Message-ID */
function messageId(id: string, from: string): string {
  const domain = /@([A-Za-z0-9.-]+)>?\s*$/.exec(from)?.[1] ?? 'localhost.localdomain';
  return `<${id}@${domain}>`;
}

function messageOf({ to, subject, text, html, replyTo, id }: Mail, from: string) {
  const content = { text, ...(html === undefined ? {} : { html }), ...(replyTo === undefined ? {} : { replyTo }) };
  return { from, to, subject: subjectText(subject), ...content, headers: HEADERS, messageId: messageId(id, from) };
}

interface SmtpOptions {
  readonly url: string;
  readonly from: string;
  /** The envelope sender, which receives bounces; the sender's address when undefined. */
  readonly bounces: string | undefined;
  /** Number of pooled connections, and so of mails sent at a time. */
  readonly connections: number;
  readonly log: Log;
}

/** Sends over SMTP. If the URL contains a password, the server must offer TLS, so that the password is never sent in clear. */
export function createSmtpMailer({ url, from, bounces, connections, log }: SmtpOptions): Mailer {
  const transport = createTransport({
    url,
    pool: true,
    maxConnections: connections,
    maxMessages: Number.POSITIVE_INFINITY,
    requireTLS: new URL(url).password !== '',
    connectionTimeout: TIME_LIMITS.smtpMs,
    greetingTimeout: TIME_LIMITS.smtpMs,
    socketTimeout: TIME_LIMITS.smtpReplyMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  // An idle connection was lost. It is only logged, because the next mail opens a new connection.
  transport.on('error', (fault) => log.warn({ fault: summariseFault(toMailFault(fault)) }, 'a mail server went away'));
  return {
    async send(mail) {
      const envelope = bounces === undefined ? {} : { envelope: { from: bounces, to: mail.to } };
      try {
        await transport.sendMail({ ...messageOf(mail, from), ...envelope });
      } catch (fault) {
        const known = toMailFault(fault);
        log.warn(
          { mail: mail.id, kind: known.kind, fault: summariseFault(known) },
          'the mail server did not take a mail',
        );
        throw known;
      }
    },
    close: () => transport.close(),
  };
}

/** Writes each mail as an .eml file, for machines without a mail server. */
export function createFileMailer(folder: string, from: string, nowMs: () => number): Mailer {
  const transport = createTransport({ streamTransport: true, buffer: true, newline: 'unix' });
  return {
    async send(mail) {
      const { message } = await transport.sendMail({
        ...messageOf(mail, from),
        date: new Date(nowMs()),
      });
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const name = `${new Date(nowMs()).toISOString().replace(/[:.]/g, '-')}-${randomUUID().slice(0, 8)}.eml`;
      await writeWhole(path.join(folder, name), message as Buffer, 0o600);
    },
    close: () => undefined,
  };
}

/** With the queue's pauses, which grow to six hours, the last attempt is two days after the first. */
export const MAIL_ATTEMPTS = 18;

/** Final outcomes of a mail; all others are thrown as errors. */
export type MailOutcome = 'sent' | 'recipient_refused';

/** Delivers a mail. All attempts of a job use one Message-ID. @throws GivenUp if refused permanently, MailFault if a retry may help */
export async function deliverMail(
  { mailer }: { readonly mailer: Mailer },
  run: JobRun,
  mail: Omit<Mail, 'id'>,
): Promise<MailOutcome> {
  // The mark is random and moves with the job: it says nothing, and stays the same under another secret key or in another database.
  const id = markOf(run).replaceAll('-', '');
  try {
    await mailer.send({ ...mail, id });
    return 'sent';
  } catch (fault) {
    const known = fault instanceof MailFault ? fault : toMailFault(fault);
    if (known.kind === 'temporary') throw fault;
    if (known.kind === 'recipient_refused') return 'recipient_refused';
    throw new GivenUp(`the mail server answered ${known.reply ?? known.code}`);
  }
}
