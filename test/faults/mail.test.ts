import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { afterEach, describe, expect, test } from 'vitest';
import { createSmtpMailer, type Mailer, MailFault } from '#src/mail/mailer.ts';
import { createLog } from '#src/platform/log.ts';

let server: SMTPServer;
let mailer: Mailer;
const received: string[] = [];

const mailerTo = (url: string): Mailer =>
  createSmtpMailer({
    url,
    from: 'Votes <votes@club.example>',
    bounces: 'bounces@club.example',
    connections: 5,
    log: createLog('silent'),
  });

async function receive(refuse: boolean): Promise<void> {
  server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onRcptTo: (_address, _session, answer) => answer(refuse ? new Error('no such mailbox') : undefined),
    onData(stream, _session, answer) {
      let text = '';
      stream.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
      stream.on('end', () => {
        received.push(text);
        answer();
      });
    },
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.server.address() as AddressInfo;
  mailer = mailerTo(`smtp://127.0.0.1:${port}`);
}

afterEach(async () => {
  mailer.close();
  await new Promise<void>((resolve) => server.close(() => resolve()));
});

describe('mail over SMTP', () => {
  test('reaches a real receiver with sender, recipient, subject and text', async () => {
    await receive(false);
    await mailer.send({ to: 'vera@club.example', subject: 'Your voter key for Räte', text: 'KEY-1', id: 'one' });
    expect(received.at(-1)).toMatch(/^From: Votes <votes@club.example>$/m);
    expect(received.at(-1)).toMatch(/^To: vera@club.example/m);
    expect(received.at(-1)).toContain('KEY-1');
  });

  test('never sends a password in clear', async () => {
    await receive(false);
    const { port } = server.server.address() as AddressInfo;
    mailer.close();
    mailer = mailerTo(`smtp://votes:secret@127.0.0.1:${port}`);
    const before = received.length;
    const fault = await mailer
      .send({ to: 'vera@club.example', subject: 'x', text: 'x', id: 'one' })
      .catch((one: unknown) => one);
    expect(fault).toMatchObject({ kind: 'temporary', code: 'ETLS' });
    expect(received).toHaveLength(before);
  });

  test.each([`Voter key for =?utf-8?Q?Your_bank?= ${'ä'.repeat(60)}`, 'Voter key for =?utf-8?Q?Your_bank?='])(
    'shows a subject as it was written, also where it looks like one that is encoded: %s',
    async (subject) => {
      await receive(false);
      await mailer.send({ to: 'vera@club.example', subject, text: 'x', id: 'one' });
      const header = /^Subject:([\s\S]*?)\r?\n(?=\S)/m.exec(received.at(-1) ?? '')?.[1] ?? '';
      const words = [...header.matchAll(/=\?UTF-8\?B\?([^?]*)\?=/gi)].map(([, word = '']) =>
        Buffer.from(word, 'base64'),
      );
      expect(Buffer.concat(words).toString('utf8')).toBe(subject);
      expect(header.replace(/=\?UTF-8\?B\?[^?]*\?=/gi, '').trim()).toBe('');
    },
  );

  test('fails when the receiver refuses, and tells a refusal for good from a server that is away', async () => {
    await receive(true);
    const fault = await mailer
      .send({ to: 'nobody@club.example', subject: 'x', text: 'x', id: 'one' })
      .catch((one: unknown) => one);
    expect(fault).toBeInstanceOf(MailFault);
    expect(fault).toMatchObject({ kind: 'recipient_refused', reply: '550 to RCPT TO' });
    mailer.close();
    mailer = mailerTo('smtp://127.0.0.1:1');
    const away = await mailer
      .send({ to: 'nobody@club.example', subject: 'x', text: 'x', id: 'one' })
      .catch((one: unknown) => one);
    expect(away).toMatchObject({ kind: 'temporary', code: 'ESOCKET' });
  });
});
