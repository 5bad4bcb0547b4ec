import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import path from 'node:path';
import { create, type Font } from 'fontkit';

/** Font files of one face; paths are relative to its package. */
interface Face {
  readonly package: string;
  readonly regular: string;
  readonly bold: string;
}

const scripts = <Name extends string>(...names: readonly Name[]): Readonly<Record<Name, Face>> =>
  Object.fromEntries(
    names.map((name) => {
      const file = (weight: number): string => `files/noto-sans-${name}-${name}-${weight}-normal.woff`;
      return [name, { package: `@fontsource/noto-sans-${name}`, regular: file(400), bold: file(600) }];
    }),
    // The cast is safe: the keys are `names`.
  ) as Record<Name, Face>;

const EMOJI = 'files/noto-emoji-emoji-400-normal.woff';

/** The report's font faces, all Noto (SIL Open Font License). Each is for the scripts that the earlier faces lack. */
const FACES = {
  // Latin with all its diacritics, Greek, Cyrillic, Devanagari.
  latin: face('latin', 'NotoSans-Regular.ttf', 'NotoSans-SemiBold.ttf'),
  hebrew: face('hebrew', 'NotoSansHebrew-Regular.ttf', 'NotoSansHebrew-Bold.ttf'),
  arabic: face('arabic', 'NotoNaskhArabic-Regular.ttf', 'NotoNaskhArabic-Bold.ttf'),
  ...scripts('armenian', 'georgian', 'ethiopic'),
  ...scripts('bengali', 'gurmukhi', 'gujarati', 'oriya', 'tamil', 'telugu', 'kannada', 'malayalam', 'sinhala'),
  ...scripts('thai', 'lao', 'khmer', 'myanmar'),
  japanese: face('jp', 'NotoSansJP-Regular.otf', 'NotoSansJP-Bold.otf'),
  korean: face('kr', 'NotoSansKR-Regular.otf', 'NotoSansKR-Bold.otf'),
  chinese: face('sc', 'NotoSansHans-Regular.otf', 'NotoSansHans-Bold.otf'),
  // The emoji have one colour, like the text.
  emoji: { package: '@fontsource/noto-emoji', regular: EMOJI, bold: EMOJI },
} as const satisfies Readonly<Record<string, Face>>;

function face(name: string, regular: string, bold: string): Face {
  return { package: `@embedpdf/fonts-${name}`, regular: `fonts/${regular}`, bold: `fonts/${bold}` };
}

export type FaceName = keyof typeof FACES;
// The cast is safe: FACES is a literal.
export const FACE_NAMES = Object.keys(FACES) as readonly FaceName[];

/** Han characters have national shapes. A text is set in the first of these faces that has all its Han characters. */
export const HAN_FACES: readonly FaceName[] = ['japanese', 'chinese', 'korean'];

/** The path of a face's file. @throws Error if its package is not installed */
export function fontPath(name: FaceName, bold: boolean): string {
  const { package: packageName, ...files } = FACES[name];
  const manifest = findPackageJSON(packageName, import.meta.url);
  if (manifest === undefined) throw new Error(`the package ${packageName} is not installed`);
  return path.join(path.dirname(manifest), bold ? files.bold : files.regular);
}

/** Whether bold text has its own file. If two names stood for one file, pdfkit would parse it at each use. */
export const hasBold = (name: FaceName): boolean => FACES[name].bold !== FACES[name].regular;

// A file is read when a text first needs it, and kept. The largest has 8 MB, and most reports need only the first face.
const files = new Map<string, Buffer>();
const fonts = new Map<FaceName, Font>();

export const fontFile = (name: FaceName, bold: boolean): Buffer =>
  files.getOrInsertComputed(`${name}/${bold}`, () => readFileSync(fontPath(name, bold)));

function readFont(name: FaceName): Font {
  const font = create(fontFile(name, false));
  if (!('hasGlyphForCodePoint' in font)) throw new Error(`${fontPath(name, false)} is no font`);
  return font;
}

/** Whether a face has a character. The bold face has the same characters. */
export const faceHas = (name: FaceName, codePoint: number): boolean =>
  fonts.getOrInsertComputed(name, readFont).hasGlyphForCodePoint(codePoint);
