import { readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { readMail } from '#test/harness/read-mail.ts';
import type { DriverMail } from './driver.ts';

const VOTER_KEY = /(?<![0-9A-Z-])[0-9A-Z]{4}(?:-[0-9A-Z]{4}){3}(?![0-9A-Z-])/;
function parseMail(raw: Buffer): DriverMail {
  const { to, subject, text } = readMail(raw);
  return { to, subject, text, voterKey: VOTER_KEY.exec(text)?.[0] };
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
