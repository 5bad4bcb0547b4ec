import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import { bundle } from './bundle-verifier.ts';
import { type PackedFile, packTar } from './pack-tar.ts';

const FOLDER = path.resolve(import.meta.dirname, '../../sdk/typescript');

/** The SDK as npm installs it. */
export interface SdkPackage {
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
export async function bundleSdk(): Promise<SdkPackage> {
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
