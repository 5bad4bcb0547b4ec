/** Which code points a font has glyphs for. */
export interface Coverage {
  has(codePoint: number): boolean;
}

const CODE_POINTS = 0x110000;

/** Reads the character map of an OpenType font (formats 4 and 12, which every Unicode font has). @throws Error for another file */
export function readCoverage(font: Buffer): Coverage {
  const tables = font.readUInt16BE(4);
  for (let table = 0; table < tables; table += 1) {
    const entry = 12 + table * 16;
    if (font.toString('latin1', entry, entry + 4) === 'cmap')
      return readCharacterMap(font, font.readUInt32BE(entry + 8));
  }
  throw new Error('a font has no character map');
}

function readCharacterMap(font: Buffer, start: number): Coverage {
  const bits = new Uint8Array(CODE_POINTS / 8);
  const add = (codePoint: number): void => {
    const at = codePoint >> 3;
    bits[at] = (bits[at] ?? 0) | (1 << (codePoint & 7));
  };
  const subtables = font.readUInt16BE(start + 2);
  for (let index = 0; index < subtables; index += 1) {
    const at = start + font.readUInt32BE(start + 4 + index * 8 + 4);
    const format = font.readUInt16BE(at);
    if (format === 12) readGroups(font, at, add);
    if (format === 4) readSegments(font, at, add);
  }
  return { has: (codePoint) => ((bits[codePoint >> 3] ?? 0) & (1 << (codePoint & 7))) !== 0 };
}

function readGroups(font: Buffer, at: number, add: (codePoint: number) => void): void {
  const groups = font.readUInt32BE(at + 12);
  for (let group = 0; group < groups; group += 1) {
    const entry = at + 16 + group * 12;
    const end = font.readUInt32BE(entry + 4);
    for (let codePoint = font.readUInt32BE(entry); codePoint <= end; codePoint += 1) add(codePoint);
  }
}

function readSegments(font: Buffer, at: number, add: (codePoint: number) => void): void {
  const doubled = font.readUInt16BE(at + 6);
  const [ends, starts, deltas, offsets] = [at + 14, at + 16 + doubled, at + 16 + doubled * 2, at + 16 + doubled * 3];
  for (let segment = 0; segment < doubled; segment += 2) {
    const [end, first] = [font.readUInt16BE(ends + segment), font.readUInt16BE(starts + segment)];
    const offset = font.readUInt16BE(offsets + segment);
    const delta = font.readUInt16BE(deltas + segment);
    for (let codePoint = first; codePoint <= end && codePoint !== 0xffff; codePoint += 1) {
      const glyph =
        offset === 0
          ? (codePoint + delta) & 0xffff
          : font.readUInt16BE(offsets + segment + offset + (codePoint - first) * 2);
      if (glyph !== 0) add(codePoint);
    }
  }
}
