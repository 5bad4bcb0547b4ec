import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { makeOnce } from '#src/platform/make-once.ts';
import { readVersion } from '#src/platform/version.ts';

const FOLDER = path.resolve(import.meta.dirname, '../../build');

/** The shape of `build/assets.json`, in which `npm run build:assets` lists the files beside it. */
const listShape = z.object({
  version: z.string(),
  sources: z.string().describe('SHA-256 over everything that the assets are made of.'),
  types: z.string().describe('SHA-256 of what is made beside the sources of the SDK.'),
  assets: z.array(
    z.object({
      use: z.enum(['verifier', 'verifierPage', 'sdk']),
      name: z.string(),
      bytes: z.int(),
      sha256: z.string().describe('In hex.'),
    }),
  ),
});

export type AssetList = z.output<typeof listShape>;
type ListedAsset = AssetList['assets'][number];

export interface Asset extends ListedAsset {
  readonly content: Buffer<ArrayBuffer>;
}

type Assets = Readonly<Record<ListedAsset['use'], Asset>>;

/** The assets were not built, or were built from another checkout. */
export class AssetsMissing extends Error {
  constructor(what: string) {
    super(`${what}: run npm run build:assets, with the development dependencies installed`);
  }
}

async function read(name: string): Promise<Buffer<ArrayBuffer>> {
  try {
    return await readFile(path.join(FOLDER, name));
  } catch (fault) {
    const code = Reflect.get(Object(fault), 'code');
    throw new AssetsMissing(`build/${name} ${code === 'ENOENT' ? 'is missing' : `cannot be read (${code})`}`);
  }
}

async function readList(): Promise<AssetList> {
  const text = (await read('assets.json')).toString();
  try {
    return listShape.parse(JSON.parse(text));
  } catch {
    throw new AssetsMissing('build/assets.json is not as it was built');
  }
}

/** Reads the verifier and the SDK in the form in which they are served. @throws AssetsMissing */
export const readAssets = makeOnce(async (): Promise<Assets> => {
  const { version, assets } = await readList();
  const ours = readVersion();
  if (version !== ours) throw new AssetsMissing(`build/ is of version ${version}, this is ${ours}`);
  const readAsset = async (use: ListedAsset['use']): Promise<Asset> => {
    const listed = assets.find((asset) => asset.use === use);
    if (listed === undefined) throw new AssetsMissing(`build/assets.json lists no ${use}`);
    const content = await read(listed.name);
    if (createHash('sha256').update(content).digest('hex') !== listed.sha256)
      throw new AssetsMissing(`build/${listed.name} is not as it was built`);
    return { ...listed, content };
  };
  return {
    verifier: await readAsset('verifier'),
    verifierPage: await readAsset('verifierPage'),
    sdk: await readAsset('sdk'),
  };
});
