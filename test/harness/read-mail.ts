import type { TestService } from './test-service.ts';

/** A mail as people see it. */
export interface ReadMail {
  readonly to: string;
  readonly subject: string;
  /** The plain text. */
  readonly text: string;
  /** The same as HTML; empty where there is none. */
  readonly html: string;
}

const ENCODED_WORD = /=\?utf-8\?([qb])\?([^?]*)\?=(?:\s+(?==\?))?/gi;

function decodeQuotedPrintable(text: string): Buffer {
  const joined = text.replace(/=\r?\n/g, '');
  const bytes: number[] = [];
  for (let at = 0; at < joined.length; at += 1) {
    const hex = joined[at] === '=' ? /^[0-9A-F]{2}/i.exec(joined.slice(at + 1, at + 3))?.[0] : undefined;
    bytes.push(hex === undefined ? joined.charCodeAt(at) : Number.parseInt(hex, 16));
    if (hex !== undefined) at += 2;
  }
  return Buffer.from(bytes);
}

function decodeWords(text: string): string {
  const parts: Buffer[] = [];
  let from = 0;
  for (const match of text.matchAll(ENCODED_WORD)) {
    const [whole, kind = '', content = ''] = match;
    parts.push(Buffer.from(text.slice(from, match.index)));
    parts.push(
      kind.toLowerCase() === 'b' ? Buffer.from(content, 'base64') : decodeQuotedPrintable(content.replaceAll('_', ' ')),
    );
    from = match.index + whole.length;
  }
  return Buffer.concat([...parts, Buffer.from(text.slice(from))]).toString('utf8');
}

interface Entity {
  readonly header: (name: string) => string;
  readonly body: string;
}

function readEntity(message: string): Entity {
  const end = /\r?\n\r?\n/.exec(message);
  const head = message.slice(0, end?.index).replace(/\r?\n[ \t]+/g, ' ');
  return {
    header: (name) => new RegExp(`^${name}: *(.*)$`, 'im').exec(head)?.[1]?.trim() ?? '',
    body: end === null ? '' : message.slice(end.index + end[0].length),
  };
}

function contentOf({ header, body }: Entity): string {
  const encoding = header('Content-Transfer-Encoding').toLowerCase();
  const bytes =
    encoding === 'quoted-printable'
      ? decodeQuotedPrintable(body)
      : Buffer.from(body, encoding === 'base64' ? 'base64' : 'latin1');
  return bytes.toString('utf8').replaceAll('\r\n', '\n');
}

/** The parts of a mail, itself where it has none. */
function partsOf(entity: Entity): Entity[] {
  const boundary = /boundary="([^"]+)"/.exec(entity.header('Content-Type'))?.[1];
  if (boundary === undefined) return [entity];
  return entity.body
    .split(`--${boundary}`)
    .slice(1, -1)
    .map((part) => readEntity(part.replace(/^\r?\n/, '').replace(/\r?\n$/, '')));
}

export function readMail(raw: Buffer | string): ReadMail {
  // A byte is a character until it is known what they are encoded as.
  const entity = readEntity((typeof raw === 'string' ? Buffer.from(raw) : raw).toString('latin1'));
  const parts = partsOf(entity);
  const ofType = (type: string): string => {
    const part = parts.find(({ header }) => header('Content-Type').startsWith(type));
    return part === undefined ? '' : contentOf(part);
  };
  const to = Buffer.from(entity.header('To'), 'latin1').toString('utf8');
  return {
    to: /<([^<>]*)>$/.exec(to)?.[1] ?? to,
    subject: decodeWords(Buffer.from(entity.header('Subject'), 'latin1').toString('utf8')),
    text: ofType('text/plain'),
    html: ofType('text/html'),
  };
}

/** The mails of a service so far, newest last. */
export const readMails = (service: TestService): ReadMail[] => service.mails().map(readMail);
