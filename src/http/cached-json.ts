import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { createGunzip, gzip } from 'node:zlib';
import { makeOnce } from '#src/platform/make-once.ts';
import { CHUNK_LENGTH, streamText } from '#src/platform/stream-text.ts';
import { valuesOf } from './request-headers.ts';

const compress = promisify(gzip);
/** In bytes: a shorter answer fits into one packet without compression. */
const WORTH_COMPRESSING = 1_400;
const UNPACKING = { chunkSize: CHUNK_LENGTH };

type Bytes = Buffer<ArrayBuffer>;

/** JSON made once and sent often, with an ETag. From the first compressed answer on, only compressed bytes are kept. */
export class CachedJson {
  /** Weak, because the plain and the compressed answer share it. */
  readonly etag: string;
  readonly #length: number;
  #held: { readonly plain: Bytes } | { readonly gzipped: Bytes };
  readonly #onShrunk: (shrunk: CachedJson) => void;

  private constructor(plain: Bytes, hash: Buffer, onShrunk: (shrunk: CachedJson) => void) {
    this.etag = `W/"${hash.toString('base64url').slice(0, 22)}"`;
    this.#length = plain.length;
    this.#held = { plain };
    this.#onShrunk = onShrunk;
  }

  /**
   * Joins pieces of JSON text, and lets other requests run in between: the ballot of a thousand candidates has 19 MB.
   * @param onShrunk called when the compressed bytes have replaced the plain bytes
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
    return ('plain' in this.#held ? this.#held.plain : this.#held.gzipped).length;
  }

  /**
   * The uncompressed bytes: whole, or their number and a stream that unpacks them as fast as the client reads. If they were unpacked at
   * once, each client that stops reading would hold the 19 MB of a ballot.
   */
  plain(): { readonly whole: Bytes } | { readonly length: number; readonly open: () => AsyncIterable<Uint8Array> } {
    const held = this.#held;
    if ('plain' in held) return { whole: held.plain };
    return { length: this.#length, open: () => Readable.from([held.gzipped]).pipe(createGunzip(UNPACKING)) };
  }

  /** The compressed bytes, made at the first call; undefined if the answer is too short to compress. */
  gzipped(): Bytes | Promise<Bytes> | undefined {
    if (this.#length < WORTH_COMPRESSING) return undefined;
    return 'gzipped' in this.#held ? this.#held.gzipped : this.#compress();
  }

  readonly #compress = makeOnce(async () => {
    const gzipped = 'plain' in this.#held ? await compress(this.#held.plain) : this.#held.gzipped;
    this.#held = { gzipped };
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
