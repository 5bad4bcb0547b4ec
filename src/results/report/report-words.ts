import type { Language } from './exact-figures.ts';
import { de } from './words/de.ts';
import { en, type ReportWords } from './words/en.ts';
import { es } from './words/es.ts';
import { fr } from './words/fr.ts';

export type { ReportWords } from './words/en.ts';

const WORDS: Readonly<Record<Language, ReportWords>> = { en, de, es, fr };

export const reportWords = (language: Language): ReportWords => WORDS[language];
