import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { valuesOf } from './request-headers.ts';

const compress = promisify(gzip);
/** Below this a compressed answer saves no packet. */
const WORTH_COMPRESSING = 1_400;

/** A JSON answer that is made once and given many times; its tag lets a caller ask whether it still holds. */
export class KeptText {
  readonly bytes: Buffer<ArrayBuffer>;
  /** Weak: the compressed answer says the same in other bytes. */
  readonly etag: string;
  #gzipped: Promise<Buffer<ArrayBuffer>> | undefined;

  constructor(body: unknown) {
    this.bytes = Buffer.from(JSON.stringify(body));
    this.etag = `W/"${createHash('sha256').update(this.bytes).digest('base64url').slice(0, 22)}"`;
  }

  /** The compressed bytes where they are worth it, made when they are first asked for. */
  gzipped(): Promise<Buffer<ArrayBuffer>> | undefined {
    if (this.bytes.length < WORTH_COMPRESSING) return undefined;
    this.#gzipped ??= compress(this.bytes);
    return this.#gzipped;
  }
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
