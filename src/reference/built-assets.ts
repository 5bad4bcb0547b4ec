import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { makeOnce } from '#src/platform/make-once.ts';
import { readVersion } from '#src/platform/version.ts';

const FOLDER = path.resolve(import.meta.dirname, '../../build');

/** A file of `build/`, where `npm run build:assets` puts it. */
interface ListedAsset {
  readonly use: 'verifier' | 'verifierPage' | 'sdk';
  readonly name: string;
  readonly bytes: number;
  /** In hex. */
  readonly sha256: string;
}

/** `build/assets.json` */
export interface AssetList {
  readonly version: string;
  /** SHA-256 over everything that the assets are made of. */
  readonly sources: string;
  /** SHA-256 of the types beside the sources of the SDK. */
  readonly types: string;
  readonly assets: readonly ListedAsset[];
}

export interface Asset extends ListedAsset {
  readonly content: Buffer<ArrayBuffer>;
}

type Assets = Readonly<Record<ListedAsset['use'], Asset>>;

/** The assets were not built, or not from this checkout. */
export class AssetsMissing extends Error {
  constructor(what: string) {
    super(`${what}: run npm run build:assets, with the development dependencies installed`);
  }
}

async function read(name: string): Promise<Buffer<ArrayBuffer>> {
  try {
    return await readFile(path.join(FOLDER, name));
  } catch (fault) {
    if (Reflect.get(Object(fault), 'code') === 'ENOENT') throw new AssetsMissing(`build/${name} is missing`);
    throw fault;
  }
}

/** The verifier and the SDK as they are served. @throws AssetsMissing */
export const readAssets = makeOnce(async (): Promise<Assets> => {
  const { version, assets }: AssetList = JSON.parse((await read('assets.json')).toString());
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
