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
      await transport.sendMail({ from, ...mail });
    },
    close: () => transport.close(),
  };
}

/** Writes each mail as a file that mail programs open: what a machine without a mail server does. */
export function createFileMailer(folder: string, from: string, nowMs: () => number): Mailer {
  const transport = createTransport({ streamTransport: true, buffer: true, newline: 'unix' });
  return {
    async send(mail) {
      const { message } = await transport.sendMail({ from, ...mail, date: new Date(nowMs()) });
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const name = `${new Date(nowMs()).toISOString().replace(/[:.]/g, '-')}-${randomUUID().slice(0, 8)}.eml`;
      const partial = path.join(folder, `.${name}`);
      await writeFile(partial, message as Buffer, { mode: 0o600 });
      await rename(partial, path.join(folder, name));
    },
    close: () => undefined,
  };
}
