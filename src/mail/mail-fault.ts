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

/** What a fault of the mail library says, in our words. */
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
