import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import { Hono } from 'hono';
import type { Env } from '#src/http/env.ts';
import { operation } from '#src/http/operation.ts';
import { answer } from '#src/http/send.ts';
import { notFound } from '#src/platform/errors.ts';
import { makeOnce } from '#src/platform/make-once.ts';
import { bundle } from './bundle-verifier.ts';

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

/** Files as a tar archive (POSIX ustar). The same files give the same bytes. */
function packTar(files: readonly PackedFile[]): Buffer {
  const entries = files.flatMap(({ name, content }) => [
    headerOf(name, content.length),
    content,
    Buffer.alloc(-content.length & (BLOCK_BYTES - 1)),
  ]);
  return Buffer.concat([...entries, Buffer.alloc(2 * BLOCK_BYTES)]);
}

const FOLDER = path.resolve(import.meta.dirname, '../../sdk/typescript');

/** The SDK as npm installs it. */
interface SdkPackage {
  /** `voting-service-1.0.0.tgz` */
  readonly fileName: string;
  readonly content: Uint8Array<ArrayBuffer>;
}

/** @param from a file of the SDK's folder */
const readPacked = async (from: string): Promise<PackedFile> => ({
  name: `package/${path.basename(from)}`,
  content: await readFile(path.join(FOLDER, from)),
});

/** Compiles the SDK and packs it with its types. */
async function bundleSdk(): Promise<SdkPackage> {
  const { name, version }: { name: string; version: string } = JSON.parse(
    await readFile(path.join(FOLDER, 'package.json'), 'utf8'),
  );
  const { text } = await bundle({
    entryPoints: [path.join(FOLDER, 'src/index.ts')],
    platform: 'neutral',
    target: 'es2022',
    format: 'esm',
  });
  const types = (await readdir(path.join(FOLDER, 'types'))).toSorted().map((file) => `types/${file}`);
  const files = await Promise.all(['package.json', 'README.md', ...types, 'src/schema.d.ts'].map(readPacked));
  const program = { name: 'package/index.js', content: Buffer.from(text) };
  const content = await promisify(gzip)(packTar([...files, program]), { level: constants.Z_BEST_COMPRESSION });
  return { fileName: `${name}-${version}.tgz`, content: new Uint8Array(content) };
}

const HEADERS = { 'Cache-Control': 'public, max-age=300' };

/** The SDK for customers. It is compiled in another process, when it is first asked for. */
export function sdkRouter(): Hono<Env> {
  const readPackage = makeOnce(bundleSdk);
  const router = new Hono<Env>();
  router.on(
    ...operation({
      operationId: 'getSdk',
      summary: 'Download the SDK for TypeScript and JavaScript',
      description:
        'A package without dependencies: `npm install` takes this address. The guide [SDK](/reference/sdk) shows how it is used.',
      method: 'GET',
      path: '/:file',
      scope: 'none',
      answers: { 200: { description: 'The package.', contentType: 'application/gzip' } },
    }),
    async (c) => {
      const { fileName, content } = await readPackage();
      if (c.req.param('file') !== fileName) throw notFound();
      return answer(c, { status: 200, bytes: { content, type: 'application/gzip' }, headers: HEADERS });
    },
  );
  return router;
}
