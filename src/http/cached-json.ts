import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { makeOnce } from '#src/platform/make-once.ts';
import { streamText } from '#src/platform/stream-text.ts';
import { valuesOf } from './request-headers.ts';

const compress = promisify(gzip);
const decompress = promisify(gunzip);
/** In bytes: a shorter answer fits into one packet without compression. */
const WORTH_COMPRESSING = 1_400;

/** JSON made once and sent often, with an ETag. From the first compressed answer on, only compressed bytes are kept. */
export class CachedJson {
  /** Weak, because the plain and the compressed answer share it. */
  readonly etag: string;
  readonly #length: number;
  #plain: Buffer<ArrayBuffer> | undefined;
  #gzipped: Buffer<ArrayBuffer> | undefined;
  readonly #onShrunk: (shrunk: CachedJson) => void;

  private constructor(plain: Buffer<ArrayBuffer>, hash: Buffer, onShrunk: (shrunk: CachedJson) => void) {
    this.etag = `W/"${hash.toString('base64url').slice(0, 22)}"`;
    this.#length = plain.length;
    this.#plain = plain;
    this.#onShrunk = onShrunk;
  }

  /**
   * Joins pieces of JSON text, and lets other requests run in between: the ballot of a thousand candidates has 19 MB.
   * @param onShrunk called when the compressed bytes take the place of the others
   */
  static async of(
    pieces: Iterable<string>,
    onShrunk: (shrunk: CachedJson) => void = () => undefined,
  ): Promise<CachedJson> {
    const hash = createHash('sha256');
    const chunks: Buffer[] = [];
    for await (const chunk of streamText(pieces)) {
      hash.update(chunk);
      chunks.push(Buffer.from(chunk));
    }
    return new CachedJson(Buffer.concat(chunks), hash.digest(), onShrunk);
  }

  /** Bytes that this answer takes in memory now. */
  get heldBytes(): number {
    return (this.#plain?.length ?? 0) + (this.#gzipped?.length ?? 0);
  }

  /** The uncompressed bytes. */
  async plain(): Promise<Buffer<ArrayBuffer>> {
    if (this.#plain !== undefined) return this.#plain;
    if (this.#gzipped === undefined) throw new Error('a kept text is held in one of its forms');
    return decompress(this.#gzipped);
  }

  /** The compressed bytes, made at the first call; undefined if the answer is too short to compress. */
  gzipped(): Buffer<ArrayBuffer> | Promise<Buffer<ArrayBuffer>> | undefined {
    if (this.#length < WORTH_COMPRESSING) return undefined;
    if (this.#gzipped !== undefined) return this.#gzipped;
    return this.#compress();
  }

  readonly #compress = makeOnce(async () => {
    const gzipped = await compress(await this.plain());
    this.#gzipped = gzipped;
    this.#plain = undefined;
    this.#onShrunk(this);
    return gzipped;
  });
}

/** Whether the caller has this answer already: `If-None-Match` names its tag, weakly compared (RFC 9110, 13.1.2). */
export function hasAlready(rawHeaders: readonly string[], etag: string): boolean {
  const plain = etag.replace(/^W\//, '');
  return valuesOf(rawHeaders, 'if-none-match')
    .join(',')
    .split(',')
    .some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === plain);
}

/** Whether the caller takes gzip: named, or by `*`, and not with the weight 0 (RFC 9110, 12.5.3). */
export function takesGzip(rawHeaders: readonly string[]): boolean {
  const weights = new Map<string, boolean>();
  for (const part of valuesOf(rawHeaders, 'accept-encoding').join(',').toLowerCase().split(',')) {
    const [coding = '', ...parameters] = part.split(';').map((piece) => piece.trim());
    weights.set(coding, !parameters.some((one) => /^q=0(?:\.0{0,3})?$/.test(one)));
  }
  return weights.get('gzip') ?? weights.get('x-gzip') ?? weights.get('*') ?? false;
}
