import bidiFactory, { type Bidi } from 'bidi-js';
import { FACE_NAMES, type FaceName, faceHas, HAN_FACES } from './font-shelf.ts';

/** A part of a line with one face and one direction, in the form that the font gets. */
export interface TextRun {
  readonly text: string;
  readonly face: FaceName;
  /** Whether the font must set it from right to left. */
  readonly rightToLeft: boolean;
  /** Whether the text is a code point that replaces a character that no face has. */
  readonly missing: boolean;
}

interface Piece {
  readonly text: string;
  readonly face: FaceName;
  readonly missing: boolean;
  /** Whether it is not drawn. It is part of the text only because it determines the order of its neighbours. */
  readonly hidden: boolean;
}

// bidi-js's types describe an ES module, but Node loads CommonJS, where the default export is the factory.
const bidi = (bidiFactory as unknown as () => Bidi)();

const HAN = /\p{Script=Han}/u;
/** Characters without their own script keep the face of the character before them. */
const SHARED = /[\p{Script=Common}\p{Script=Inherited}]/u;
const IGNORABLE = /\p{Default_Ignorable_Code_Point}/u;
/** A joiner decides how the letters beside it join, so the font needs it. */
const JOINER = /[\u200c\u200d]/;
const STRONG_RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}]/u;
/** Characters that the first face certainly has, and that run from left to right. */
const PLAIN = /^[\x20-\x7e\u00a0-\u00ff\u2013\u2014\u2018-\u201d\u2026]*$/;

const [ISOLATE, ISOLATE_END] = ['\u2068', '\u2069'];
const ISOLATES = /[\u2068\u2069]/g;

/** Isolates a right-to-left name within a sentence: otherwise it would reorder the figures after it. */
export const isolate = (name: string): string =>
  STRONG_RIGHT_TO_LEFT.test(name) ? `${ISOLATE}${name}${ISOLATE_END}` : name;

/** Repeats the marks of `isolate` in each line, if a name continues over several lines. */
export function isolateLines(lines: readonly string[]): string[] {
  let open = 0;
  return lines.map((line) => {
    const before = open;
    for (const character of line) {
      if (character === ISOLATE) open += 1;
      else if (character === ISOLATE_END) open -= 1;
    }
    return `${ISOLATE.repeat(before)}${line}${ISOLATE_END.repeat(open)}`;
  });
}

export const withoutIsolates = (text: string): string => text.replace(ISOLATES, '');

export const isPlain = (text: string): boolean => PLAIN.test(text);

const codePointOf = (character: string): number => character.codePointAt(0) ?? 0;

function hanFaceOf(characters: readonly string[]): FaceName | undefined {
  const han = characters.filter((character) => HAN.test(character)).map(codePointOf);
  if (han.length === 0) return undefined;
  return HAN_FACES.find((face) => han.every((codePoint) => faceHas(face, codePoint)));
}

/** Chooses a face for every character. A character that no face has is replaced by its code point. */
function choosePieces(text: string): Piece[] {
  const characters = [...text];
  const hanFace = hanFaceOf(characters);
  const pieces: Piece[] = [];
  let current = 'latin' as FaceName;
  for (const character of characters) {
    const codePoint = codePointOf(character);
    const isDrawn = !IGNORABLE.test(character) || (JOINER.test(character) && faceHas(current, codePoint));
    if (!isDrawn) {
      pieces.push({ text: character, face: current, missing: false, hidden: true });
      continue;
    }
    // Do not take spaces after an emoji from the emoji face, where a space is as wide as an emoji.
    const isKept = SHARED.test(character) && current !== 'emoji' && faceHas(current, codePoint);
    const kept: FaceName | undefined = isKept ? current : undefined;
    const han = hanFace !== undefined && HAN.test(character) ? hanFace : undefined;
    const face: FaceName | undefined = kept ?? han ?? FACE_NAMES.find((name) => faceHas(name, codePoint));
    if (face !== undefined) {
      current = face;
      pieces.push({ text: character, face, missing: false, hidden: false });
    } else {
      const name = `[U+${codePoint.toString(16).toUpperCase().padStart(4, '0')}]`;
      pieces.push({ text: name, face: 'latin', missing: true, hidden: false });
    }
  }
  return pieces;
}

interface LevelRun extends Piece {
  readonly level: number;
}

/** Joins neighbouring pieces with the same face and embedding level (Unicode Bidirectional Algorithm). */
function joinRuns(pieces: readonly Piece[]): LevelRun[] {
  const whole = pieces.map((piece) => piece.text).join('');
  const { levels } = bidi.getEmbeddingLevels(whole);
  const runs: LevelRun[] = [];
  let at = 0;
  for (const piece of pieces) {
    const level = levels[at] ?? 0;
    at += piece.text.length;
    if (piece.hidden) continue;
    const last = runs.at(-1);
    if (last !== undefined && last.level === level && last.face === piece.face && last.missing === piece.missing) {
      runs[runs.length - 1] = { ...last, text: last.text + piece.text };
    } else runs.push({ ...piece, level });
  }
  return runs;
}

/** Rule L2 of the algorithm: for each level from the highest down, reverses every sequence of runs at or above the level. */
function reorder(runs: LevelRun[]): LevelRun[] {
  const ordered = [...runs];
  const highest = Math.max(0, ...runs.map((run) => run.level));
  for (let level = highest; level > 0; level -= 1) {
    for (let start = 0; start < ordered.length; start += 1) {
      let end = start;
      while ((ordered[end]?.level ?? -1) >= level) end += 1;
      if (end > start) ordered.splice(start, end - start, ...ordered.slice(start, end).reverse());
      start = end;
    }
  }
  return ordered;
}

function visual(run: LevelRun): TextRun {
  const { face, missing } = run;
  if (run.level % 2 === 0) return { text: run.text, face, missing, rightToLeft: false };
  const mirrored = [...run.text].map((character) => bidi.getMirroredCharacter(character) ?? character);
  // The font reverses a run that contains letters, but not a run of only spaces and marks.
  if (STRONG_RIGHT_TO_LEFT.test(run.text)) return { text: mirrored.join(''), face, missing, rightToLeft: true };
  return { text: mirrored.reverse().join(''), face, missing, rightToLeft: false };
}

/** Splits a line into runs in visual order, from left to right. */
export function splitRuns(line: string): TextRun[] {
  if (line === '') return [];
  if (isPlain(line)) return [{ text: line, face: 'latin', rightToLeft: false, missing: false }];
  return reorder(joinRuns(choosePieces(line))).map(visual);
}
