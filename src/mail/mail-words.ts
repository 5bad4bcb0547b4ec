import { de } from './words/de.ts';
import { en } from './words/en.ts';
import { es } from './words/es.ts';
import { fr } from './words/fr.ts';

export const LANGUAGES = ['en', 'de', 'es', 'fr'] as const;
export type Language = (typeof LANGUAGES)[number];

/** What mails of an event say, in one language. Titles and names are marked as the words of others wherever they stand. */
export interface MailWords {
  /** Null where the name is not repeated. */
  readonly hello: (name: string | null) => string;
  readonly votingPage: string;
  readonly opens: (date: string) => string;
  readonly closes: (date: string) => string;
  readonly contact: (address: string) => string;
  readonly rehearsal: string;
  /** What a referendum is answered with. */
  readonly options: { readonly yes: string; readonly no: string; readonly abstain: string };
  readonly key: {
    readonly subject: (title: string) => string;
    readonly intro: (title: string) => string;
    /** How it is used, and that it is secret. */
    readonly use: string;
    readonly notAsked: string;
  };
  /** What a printed letter says besides. */
  readonly letter: {
    readonly intro: (title: string) => string;
    /** What is typed in, by what is sent with the key, and that the key is secret. */
    readonly use: { readonly voterId: string; readonly email: string };
    readonly key: string;
    readonly voterId: (id: string) => string;
    readonly email: (address: string) => string;
    readonly scan: string;
    readonly page: (address: string) => string;
    readonly opened: string;
  };
  readonly reminder: {
    readonly subject: (title: string) => string;
    readonly intro: (title: string) => string;
    readonly key: string;
    readonly voted: string;
  };
  readonly waiting: {
    readonly intro: (title: string) => string;
    readonly pending: string;
    readonly rejected: string;
  };
  readonly registration: {
    readonly subject: (title: string) => string;
    readonly intro: (title: string) => string;
    readonly untilUsed: string;
    readonly untilDecided: string;
    readonly confirm: string;
    readonly notYou: string;
  };
  readonly addressChanged: {
    readonly subject: (title: string) => string;
    readonly intro: (title: string) => string;
    readonly warning: string;
  };
  readonly invite: {
    readonly subject: (title: string) => string;
    readonly viewer: (title: string) => string;
    readonly editor: (title: string) => string;
    readonly token: string;
    readonly accept: string;
    readonly validity: string;
  };
}

const WORDS: Readonly<Record<Language, MailWords>> = { en, de, es, fr };

export const mailWords = (language: Language): MailWords => WORDS[language];
