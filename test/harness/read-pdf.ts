import { inflateSync } from 'node:zlib';

function objectsOf(bytes: Uint8Array): Map<number, { text: string; stream: Buffer | undefined }> {
  const source = Buffer.from(bytes).toString('latin1');
  const objects = new Map<number, { text: string; stream: Buffer | undefined }>();
  let at = 0;
  for (;;) {
    const head = /(\d+) 0 obj\n/g;
    head.lastIndex = at;
    const match = head.exec(source);
    if (match === null) return objects;
    const start = match.index + match[0].length;
    const streamAt = source.indexOf('stream\n', start);
    const endAt = source.indexOf('endobj', start);
    const hasStream = streamAt !== -1 && streamAt < endAt;
    const text = source.slice(start, hasStream ? streamAt : endAt);
    const length = Number(/\/Length (\d+)/.exec(text)?.[1] ?? 0);
    const raw = Buffer.from(source.slice(streamAt + 7, streamAt + 7 + length), 'latin1');
    const packed = text.includes('/FlateDecode');
    objects.set(Number(match[1]), { text, stream: hasStream ? (packed ? inflateSync(raw) : raw) : undefined });
    at = hasStream ? streamAt + 7 + length : endAt;
  }
}

const utf16 = (hex: string): string => Buffer.from(hex.replaceAll(' ', ''), 'hex').swap16().toString('utf16le');

/** Glyph to text, as a reader's copy and search take it (ToUnicode). */
function unicodeOf(map: string): Map<number, string> {
  const unicode = new Map<number, string>();
  for (const [, block = ''] of map.matchAll(/beginbfrange([\s\S]*?)endbfrange/g)) {
    for (const [, first = '', , list = ''] of block.matchAll(/<([0-9a-f]+)> <([0-9a-f]+)> \[([^\]]*)\]/gi)) {
      [...list.matchAll(/<([0-9a-f ]*)>/gi)].forEach(([, hex = ''], index) => {
        unicode.set(Number.parseInt(first, 16) + index, utf16(hex));
      });
    }
  }
  return unicode;
}

function textString(written: string): string {
  const bytes = Buffer.from(
    written.replace(
      /\\([nrtbf()\\])/g,
      (_, one: string) => ({ n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' })[one] ?? one,
    ),
    'latin1',
  );
  return bytes[0] === 0xfe && bytes[1] === 0xff
    ? bytes.subarray(2).swap16().toString('utf16le')
    : bytes.toString('latin1');
}

const LITERAL = String.raw`\(((?:\\[\s\S]|[^\\)])*)\)`;

/** Text of a page in the order of its content; a span that says how it is read is read so. */
function pageText(content: string, fonts: ReadonlyMap<string, ReadonlyMap<number, string>>): string {
  const tokens = new RegExp(
    String.raw`/(\w+) [\d.]+ Tf|\[([^\]]*)\] TJ|/ActualText ${LITERAL}|\b(BDC|BMC|EMC|ET)\b`,
    'g',
  );
  let text = '';
  let font: ReadonlyMap<number, string> = new Map();
  let waiting: string | undefined;
  const marks: boolean[] = [];
  for (const [, name, glyphs, actual, mark] of content.matchAll(tokens)) {
    if (name !== undefined) font = fonts.get(name) ?? new Map();
    if (actual !== undefined) waiting = textString(actual);
    if (mark === 'BDC' || mark === 'BMC') {
      marks.push(waiting !== undefined);
      if (waiting !== undefined) text += waiting;
      waiting = undefined;
    }
    if (mark === 'ET' && !marks.includes(true)) text += '\n';
    if (mark === 'EMC') {
      marks.pop();
      if (!marks.includes(true)) text += '\n';
    }
    if (glyphs === undefined || marks.includes(true)) continue;
    for (const [, hex = ''] of glyphs.matchAll(/<([0-9a-f]+)>/gi)) {
      for (const [code] of hex.matchAll(/.{4}/g)) text += font.get(Number.parseInt(code, 16)) ?? '\ufffd';
    }
  }
  return text;
}

/**
 * What a reader sees in a PDF that pdfkit wrote: its text by pages, its title, its outline, the texts that stand for figures. Knows no more
 * of the format than the files of this service use.
 */
export function readPdf(bytes: Uint8Array) {
  const objects = objectsOf(bytes);
  const reference = (text: string, name: string): number =>
    Number(new RegExp(`/${name} (\\d+) 0 R`).exec(text)?.[1] ?? Number.NaN);
  const get = (id: number) => objects.get(id) ?? { text: '', stream: undefined };
  const pages = [...objects.values()].filter(({ text }) => /\/Type \/Page\b/.test(text));
  const fontsOf = (text: string): Map<string, Map<number, string>> => {
    const own = /\/Font <<([\s\S]*?)>>/.exec(get(reference(text, 'Resources')).text)?.[1] ?? '';
    return new Map(
      [...own.matchAll(/\/(\w+) (\d+) 0 R/g)].map(([, name = '', id]) => {
        const map = get(reference(get(Number(id)).text, 'ToUnicode')).stream;
        return [name, unicodeOf(map?.toString('latin1') ?? '')];
      }),
    );
  };
  const texts = [...objects.values()].map(({ text }) => text);
  const strings = (pattern: string): string[] =>
    texts.flatMap((text) =>
      [...text.matchAll(new RegExp(`/${pattern} ${LITERAL}`, 'g'))].map(([, one = '']) => textString(one)),
    );
  const subjectId = Number(/\/Subject (\d+) 0 R/.exec(texts.join('\n'))?.[1]);
  const box = /\/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]/.exec(pages[0]?.text ?? '');
  return {
    pages: pages.map(({ text }) =>
      pageText(get(reference(text, 'Contents')).stream?.toString('latin1') ?? '', fontsOf(text)),
    ),
    /** Of the document's information. */
    subject: textString(new RegExp(`^${LITERAL}`).exec(get(subjectId).text)?.[1] ?? ''),
    alternatives: strings('Alt'),
    outline: texts
      .filter((text) => text.includes('/Dest') && text.includes('/Parent'))
      .flatMap((text) => {
        const title = new RegExp(`/Title ${LITERAL}`).exec(text)?.[1];
        return title === undefined ? [] : [textString(title)];
      }),
    /** Width and height of the first page, in points. */
    size: [Number(box?.[1]), Number(box?.[2])],
    /** The document's catalogue and structure, as written. */
    objects: new Map([...objects].map(([id, { text }]) => [id, text])),
  };
}
