import { randomUUID } from 'node:crypto';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createTransport } from 'nodemailer';
import { GivenUp, type JobRun } from '#src/jobs/queue.ts';
import { type Log, summariseFault } from '#src/platform/log.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';

/** Which side a mail failed on, and for how long. */
type MailFaultKind =
  /** Nothing is known of the mail: it may have left. Trying again with the same Message-ID is right. */
  | 'temporary'
  /** The receiving side refused the recipient for good. */
  | 'recipient_refused'
  /** The mail server refused the sender or the mail itself for good. */
  | 'mail_refused';

/** Why a mail was not taken. Holds no word of the server's answer: those name addresses. */
export class MailFault extends Error {
  override readonly name = 'MailFault';
  readonly kind: MailFaultKind;
  /** The library's class of the fault, as in `ECONNECTION`. */
  readonly code: string;
  /** The answer's codes and what it answered, as in `550 5.1.1 to RCPT TO`; undefined where there was none. */
  readonly reply: string | undefined;

  constructor(kind: MailFaultKind, code: string, reply: string | undefined) {
    super(`a mail was not taken (${kind})`);
    this.kind = kind;
    this.code = code;
    this.reply = reply;
  }
}

const COMMANDS = ['CONN', 'EHLO', 'HELO', 'STARTTLS', 'AUTH', 'MAIL FROM', 'RCPT TO', 'DATA'];
/** RFC 3463: class, subject and detail, after the code of three figures. */
const ENHANCED = /^\d{3}[ -]([245]\.\d{1,3}\.\d{1,3})\b/;

function commandOf(command: unknown): string | undefined {
  return typeof command === 'string' ? COMMANDS.find((name) => command.startsWith(name)) : undefined;
}

function kindOf(permanent: boolean, command: string | undefined): MailFaultKind {
  if (!permanent) return 'temporary';
  if (command === 'RCPT TO') return 'recipient_refused';
  // What a server says of the connection or the log-in is mended by the operator, and the mail waits for that.
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
  const named = commandOf(command);
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
  /** The same words for programs that show HTML. */
  readonly html?: string;
  readonly replyTo?: string;
  /** The same for every attempt at one mail, so that a mail that arrives twice is seen to be one: letters and digits. */
  readonly id: string;
}

export interface Mailer {
  /** Resolves once the mail server took the mail. @throws MailFault */
  send(mail: Mail): Promise<void>;
  close(): void;
}

const ENCODED_WORD_BYTES = 45;

/**
 * A subject that a mail program shows as it is. The library leaves plain ASCII alone, also where it looks like an encoded
 * word, and then something else is shown than what was written: such a subject is encoded here.
 */
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

/** A mail that a program wrote needs no answer: programs that answer mails leave it alone (RFC 3834). */
const HEADERS = { 'Auto-Submitted': 'auto-generated' };

/** @param from the sender as in `Name <address>`: mails are named under its domain */
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
  /** Where mails that cannot be delivered come back to; the sender's address when undefined. */
  readonly bounces: string | undefined;
  /** Mails that are sent at a time, each over a connection that many use. */
  readonly connections: number;
  readonly log: Log;
}

/** Sends over SMTP. A password is never sent in clear: where the address holds one, the server must offer TLS. */
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
  // A connection that breaks while nothing is sent: the next mail opens another.
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

/** Writes each mail as a file that mail programs open: what a machine without a mail server does. */
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
      const partial = path.join(folder, `.${name}`);
      await writeFile(partial, message as Buffer, { mode: 0o600 });
      await rename(partial, path.join(folder, name));
    },
    close: () => undefined,
  };
}

/** With the queue's pauses, which grow to six hours, the last of these is two days after the first. */
export const MAIL_ATTEMPTS = 18;

/** What becomes of a mail that the receiving side answered. */
export type MailOutcome = 'sent' | 'recipient_refused';

/**
 * Sends the mail of a job. An attempt whose end is unknown is followed by another under the same Message-ID, so that
 * receivers recognise both as one mail.
 * @throws GivenUp where the server refuses the mail for good, and MailFault where trying again may help
 */
export async function deliverMail(
  { mailer, secrets }: { readonly mailer: Mailer; readonly secrets: Secrets },
  run: JobRun,
  mail: Omit<Mail, 'id'>,
): Promise<MailOutcome> {
  const id = secrets.mac('message-id', run.id).subarray(0, 16).toString('hex');
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
