import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import path from 'node:path';
import { type Coverage, readCoverage } from './font-coverage.ts';

/** One face of the report's type, all Noto (SIL Open Font License), each for the scripts that those before it lack. */
interface Face {
  readonly name: string;
  readonly package: string;
  readonly regular: string;
  readonly bold: string;
}

const FACES = [
  // Latin with all its marks, Greek, Cyrillic, Devanagari.
  { name: 'latin', package: 'latin', regular: 'NotoSans-Regular.ttf', bold: 'NotoSans-SemiBold.ttf' },
  { name: 'hebrew', package: 'hebrew', regular: 'NotoSansHebrew-Regular.ttf', bold: 'NotoSansHebrew-Bold.ttf' },
  { name: 'arabic', package: 'arabic', regular: 'NotoNaskhArabic-Regular.ttf', bold: 'NotoNaskhArabic-Bold.ttf' },
  { name: 'japanese', package: 'jp', regular: 'NotoSansJP-Regular.otf', bold: 'NotoSansJP-Bold.otf' },
  { name: 'korean', package: 'kr', regular: 'NotoSansKR-Regular.otf', bold: 'NotoSansKR-Bold.otf' },
  { name: 'chinese', package: 'sc', regular: 'NotoSansHans-Regular.otf', bold: 'NotoSansHans-Bold.otf' },
] as const satisfies readonly Face[];

export type FaceName = (typeof FACES)[number]['name'];
export const FACE_NAMES: readonly FaceName[] = FACES.map(({ name }) => name);

/** Han is one script with national shapes: a text is set whole in the first of these that has all of it. */
export const HAN_FACES: readonly FaceName[] = ['japanese', 'chinese', 'korean'];

function fileOf(name: FaceName, bold: boolean): string {
  const face = FACES.find((one) => one.name === name);
  if (face === undefined) throw new Error(`no face ${name}`);
  const packageName = `@embedpdf/fonts-${face.package}`;
  const manifest = findPackageJSON(packageName, import.meta.url);
  if (manifest === undefined) throw new Error(`the package ${packageName} is not installed`);
  return path.join(path.dirname(manifest), 'fonts', bold ? face.bold : face.regular);
}

// Files are read when the first text needs them, and kept: the largest has 8 MB, and most reports need the first alone.
const files = new Map<string, Buffer>();
const coverages = new Map<FaceName, Coverage>();

export function fontFile(name: FaceName, bold: boolean): Buffer {
  const key = `${name}/${bold}`;
  const kept = files.get(key) ?? readFileSync(fileOf(name, bold));
  files.set(key, kept);
  return kept;
}

/** Whether a face has a character. Its bold has the same ones. */
export function faceHas(name: FaceName, codePoint: number): boolean {
  let coverage = coverages.get(name);
  if (coverage === undefined) {
    coverage = readCoverage(fontFile(name, false));
    coverages.set(name, coverage);
  }
  return coverage.has(codePoint);
}
