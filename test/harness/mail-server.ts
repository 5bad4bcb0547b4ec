import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { recipientOf, voterKeyIn } from './mails.ts';

interface ReceivedMail {
  readonly to: string;
  readonly messageId: string;
  readonly voterKey: string | undefined;
  readonly text: string;
  readonly sender: string;
}

/** What the server does with a mail once it has all of it. An answer that never comes is one that hangs. */
type MailAnswer = (mail: ReceivedMail, times: number) => Promise<{ code: number; words: string } | undefined>;

export type MailServer = Awaited<ReturnType<typeof startMailServer>>;

class Refused extends Error {
  readonly responseCode: number;
  constructor(code: number, words: string) {
    super(words);
    this.responseCode = code;
  }
}

/** A mail server over real SMTP. */
export async function startMailServer() {
  const received: ReceivedMail[] = [];
  const taken: ReceivedMail[] = [];
  const refused = new Map<string, number>();
  let answer: MailAnswer = async () => undefined;
  let connections = 0;
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    disableReverseLookup: true,
    closeTimeout: 100,
    onConnect(_session, next) {
      connections += 1;
      next();
    },
    onRcptTo({ address }, _session, next) {
      const code = refused.get(address);
      next(code === undefined ? undefined : new Refused(code, `5.1.1 <${address}> is not here`));
    },
    onData(stream, session, next) {
      let text = '';
      stream.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
      stream.on('end', () => {
        const mail: ReceivedMail = {
          to: recipientOf(text.replaceAll('\r', '')),
          messageId: /^Message-ID: (\S+)/m.exec(text)?.[1] ?? '',
          voterKey: voterKeyIn(text.replaceAll('\r', '')),
          text,
          sender: session.envelope.mailFrom === false ? '' : session.envelope.mailFrom.address,
        };
        received.push(mail);
        void answer(mail, received.length).then((refusal) => {
          if (refusal !== undefined) return next(new Refused(refusal.code, refusal.words));
          taken.push(mail);
          next();
        });
      });
    },
  });
  // A client that is killed breaks its connection off.
  server.on('error', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  return {
    url: `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`,
    /** Mails whose text came in whole, answered or not. */
    received,
    /** Mails that were taken. */
    taken,
    connections: () => connections,
    /** A recipient is refused from now on, with this code. */
    refuse: (to: string, code: number): void => void refused.set(to, code),
    answerWith(other: MailAnswer): void {
      answer = other;
    },
    stop: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}
