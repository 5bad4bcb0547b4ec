import { readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import type { DriverMail } from './driver.ts';

const VOTER_KEY = /(?<![0-9A-Z-])[0-9A-Z]{4}(?:-[0-9A-Z]{4}){3}(?![0-9A-Z-])/;
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

function parseMail(raw: Buffer): DriverMail {
  // A byte is a character until it is known what they are encoded as.
  const message = raw.toString('latin1');
  const end = /\r?\n\r?\n/.exec(message);
  const head = message.slice(0, end?.index).replace(/\r?\n[ \t]+/g, ' ');
  const body = end === null ? '' : message.slice(end.index + end[0].length);
  const header = (name: string): string => new RegExp(`^${name}: *(.*)$`, 'im').exec(head)?.[1]?.trim() ?? '';
  const encoding = header('Content-Transfer-Encoding').toLowerCase();
  const bytes =
    encoding === 'quoted-printable'
      ? decodeQuotedPrintable(body)
      : Buffer.from(body, encoding === 'base64' ? 'base64' : 'latin1');
  const text = bytes.toString('utf8').replaceAll('\r\n', '\n');
  const to = Buffer.from(header('To'), 'latin1').toString('utf8');
  return {
    to: /<([^<>]*)>$/.exec(to)?.[1] ?? to,
    subject: decodeWords(Buffer.from(header('Subject'), 'latin1').toString('utf8')),
    text,
    voterKey: VOTER_KEY.exec(text)?.[0],
  };
}

/** Mails beside the contract's: the link that confirms a registered address, and the notice to an address that was changed. */
const isAddition = ({ subject, text }: DriverMail): boolean =>
  subject.startsWith('Your address was changed') ||
  (subject.startsWith('Your registration') && /https?:\/\//.test(text));

/** The folder that the services write their mails to. */
export class MailFolder {
  readonly #folder: string;
  readonly #read = new Map<string, DriverMail>();

  constructor(dataDir: string) {
    this.#folder = path.join(dataDir, 'mail');
  }

  async #names(): Promise<string[]> {
    try {
      // A name with a dot in front is of a mail that is being written. Names begin with the time.
      return (await readdir(this.#folder)).filter((name) => name.endsWith('.eml') && !name.startsWith('.')).sort();
    } catch (fault) {
      if (fault instanceof Error && Reflect.get(fault, 'code') === 'ENOENT') return [];
      throw fault;
    }
  }

  async list(): Promise<DriverMail[]> {
    const mails: DriverMail[] = [];
    for (const name of await this.#names()) {
      const mail = this.#read.get(name) ?? parseMail(await readFile(path.join(this.#folder, name)));
      this.#read.set(name, mail);
      mails.push(mail);
    }
    return mails.filter((mail) => !isAddition(mail));
  }

  async empty(): Promise<void> {
    this.#read.clear();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
