import { de } from './words/de.ts';
import { en, type MailWords } from './words/en.ts';
import { es } from './words/es.ts';
import { fr } from './words/fr.ts';

export type { MailWords } from './words/en.ts';

export const LANGUAGES = ['en', 'de', 'es', 'fr'] as const;
export type Language = (typeof LANGUAGES)[number];

const WORDS: Readonly<Record<Language, MailWords>> = { en, de, es, fr };

export const mailWords = (language: Language): MailWords => WORDS[language];
