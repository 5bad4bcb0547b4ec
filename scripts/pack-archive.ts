import { gzipSync } from 'fflate';

/** A file of an archive. */
interface PackedFile {
  /** At most 100 ASCII characters. */
  readonly name: string;
  readonly content: Buffer;
}

const BLOCK_BYTES = 512;
/** Where the sum of the header's bytes stands: it is computed with spaces there. */
const SUM_AT = 148;
/** The same in every archive: lock files of customers hold the hash of its bytes. 1985 is npm's own choice. */
const MODIFIED_SECONDS = 499_162_500;

const octal = (value: number, length: number): string => `${value.toString(8).padStart(length - 1, '0')}\0`;

function headerOf(name: string, bytes: number): Buffer {
  if (!/^[\x20-\x7e]{1,100}$/.test(name)) throw new Error(`no name for a file of an archive: ${name}`);
  const fields: readonly [at: number, text: string][] = [
    [0, name],
    [100, octal(0o644, 8)],
    [108, octal(0, 8)],
    [116, octal(0, 8)],
    [124, octal(bytes, 12)],
    [136, octal(MODIFIED_SECONDS, 12)],
    [SUM_AT, ' '.repeat(8)],
    [156, '0'],
    [257, 'ustar\x0000'],
  ];
  const header = Buffer.alloc(BLOCK_BYTES);
  for (const [at, text] of fields) header.write(text, at, 'latin1');
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${octal(sum, 7)} `, SUM_AT, 'latin1');
  return header;
}

/** Files as a tar archive (POSIX ustar). */
function packTar(files: readonly PackedFile[]): Buffer {
  const entries = files.flatMap(({ name, content }) => [
    headerOf(name, content.length),
    content,
    Buffer.alloc(-content.length & (BLOCK_BYTES - 1)),
  ]);
  return Buffer.concat([...entries, Buffer.alloc(2 * BLOCK_BYTES)]);
}

/**
 * Files as a `.tgz`. The same files give the same bytes on every machine: node:zlib writes the operating system into the
 * header and compresses by what the processor can do.
 */
export const packArchive = (files: readonly PackedFile[]): Buffer =>
  Buffer.from(gzipSync(packTar(files), { level: 9, mtime: 0 }));
