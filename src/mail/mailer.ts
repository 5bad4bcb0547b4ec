import { randomUUID } from 'node:crypto';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createTransport } from 'nodemailer';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';

export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

export interface Mailer {
  /** Resolves once the mail server took the mail, or throws. */
  send(mail: Mail): Promise<void>;
  close(): void;
}

/**
 * Whether the receiving side refused the recipient for good (5xx on RCPT TO): trying again would change nothing. A refusal of
 * the sender, of the log-in or of the content says nothing of the address.
 */
export function isRefusedForGood(fault: unknown): boolean {
  if (!(fault instanceof Error)) return false;
  const { command, responseCode } = fault as { readonly command?: unknown; readonly responseCode?: unknown };
  return command === 'RCPT TO' && typeof responseCode === 'number' && responseCode >= 500 && responseCode < 600;
}

const ENCODED_WORD_BYTES = 45;

/**
 * A subject that a mail program shows as it is. The library leaves plain ASCII alone, also where it looks like an encoded
 * word, and then something else is shown than what was written: such a subject is encoded here.
 */
export function subjectText(subject: string): string {
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

/** Sends over SMTP. */
export function createSmtpMailer(smtpUrl: string, from: string): Mailer {
  const transport = createTransport({
    url: smtpUrl,
    connectionTimeout: TIME_LIMITS.smtpMs,
    greetingTimeout: TIME_LIMITS.smtpMs,
    socketTimeout: TIME_LIMITS.smtpMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    async send(mail) {
      await transport.sendMail({ from, ...mail, subject: subjectText(mail.subject) });
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
        ...{ from, ...mail, subject: subjectText(mail.subject) },
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
