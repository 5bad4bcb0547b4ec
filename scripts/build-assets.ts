import '#src/platform/quick-start.ts';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { explainFileFault } from '#src/platform/files.ts';
import type { AssetList } from '#src/reference/built-assets.ts';

/**
 * `npm run build:assets`: the verifier as a page and as one file, and the SDK as a package, from their sources, into `build/`;
 * the types of the API and its operations beside the sources of the SDK. Prints name, bytes and SHA-256 of each file.
 * `--if-needed`: does nothing where they are there and their sources are as they were.
 *
 * Several processes may build at once, in a checkout that others serve from: each file appears whole, the list of all last.
 */

const ROOT = path.resolve(import.meta.dirname, '..');
const BUILD = path.join(ROOT, 'build');
const LIST = path.join(BUILD, 'assets.json');
const SDK = path.join(ROOT, 'sdk/typescript');
const TYPES = path.join(SDK, 'src/schema.d.ts');
const OPERATIONS = path.join(SDK, 'src/operations.ts');
/** Stand beside the sources of the SDK. */
const MADE = [TYPES, OPERATIONS];
/** The API document is made of everything in `src`. */
const SOURCES = ['package.json', 'package-lock.json', 'scripts', 'sdk', 'src', 'verifier'];

const hashOf = (content: string | Uint8Array): string => createHash('sha256').update(content).digest('hex');

const filesOf = (place: string): string[] =>
  /\.\w+$/.test(place)
    ? [place]
    : readdirSync(place, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => path.join(entry.parentPath, entry.name));

function hashSources(): string {
  const files = SOURCES.flatMap((name) => filesOf(path.join(ROOT, name))).filter((file) => !MADE.includes(file));
  const hashes = files.map((file) => `${path.relative(ROOT, file)} ${hashOf(readFileSync(file))}`);
  return hashOf(hashes.toSorted().join('\n'));
}

/** Whether everything was built from sources with this hash, and is still as it was built. */
function isBuilt(sources: string): boolean {
  try {
    const list: AssetList = JSON.parse(readFileSync(LIST, 'utf8'));
    const files = list.assets.map(({ name, sha256 }) => [path.join(BUILD, name), sha256]);
    return (
      list.sources === sources &&
      files.every(([file = '', sha256]) => hashOf(readFileSync(file)) === sha256) &&
      list.types === hashOf(MADE.map((file) => readFileSync(file, 'utf8')).join(''))
    );
  } catch {
    return false;
  }
}

/** The SDK as npm installs it: the program, its declarations, and what it says of itself. */
async function packSdk(folder: string): Promise<{ name: string; content: Buffer }> {
  const { bundleSdk } = await import('./bundle.ts');
  const { packArchive } = await import('./pack-archive.ts');
  const declarations = path.join(folder, 'types');
  const tsc = path.join(ROOT, 'node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [tsc, '--project', SDK, '--outDir', declarations], { stdio: ['ignore', 2, 2] });
  const types = readdirSync(declarations).toSorted();
  const files = [
    ...['package.json', 'README.md'].map((name) => path.join(SDK, name)),
    ...types.map((name) => path.join(declarations, name)),
    TYPES,
  ].map((file) => ({ name: `package/${path.basename(file)}`, content: readFileSync(file) }));
  const program = { name: 'package/index.js', content: Buffer.from(await bundleSdk()) };
  const { name, version }: { name: string; version: string } = JSON.parse(
    readFileSync(path.join(SDK, 'package.json'), 'utf8'),
  );
  return { name: `${name}-${version}.tgz`, content: packArchive([...files, program]) };
}

/** @param folder where files are written before they are moved to their places */
async function buildAssets(sources: string, folder: string): Promise<AssetList> {
  const put = (file: string, content: string | Uint8Array): void => {
    const written = path.join(folder, path.basename(file));
    writeFileSync(written, content);
    renameSync(written, file);
  };
  const { makeApiDocument } = await import('./api-document.ts');
  const { makeSdkTypes } = await import('./make-sdk-types.ts');
  const { bundleVerifier, bundleVerifierPage } = await import('./bundle.ts');
  const { makeSdkOperations } = await import('./make-sdk-operations.ts');
  const document = await makeApiDocument();
  const [types, operations] = [await makeSdkTypes(document), makeSdkOperations(document)];
  put(TYPES, types);
  put(OPERATIONS, operations);
  const made = [
    { use: 'verifier', name: 'voting-verifier.mjs', content: Buffer.from(await bundleVerifier()) },
    { use: 'verifierPage', name: 'verifier-page.js', content: Buffer.from(await bundleVerifierPage()) },
    { use: 'sdk', ...(await packSdk(folder)) },
  ] as const;
  for (const { name, content } of made) put(path.join(BUILD, name), content);
  const { version }: { version: string } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8'));
  const assets = made.map(({ use, name, content }) => ({ use, name, bytes: content.length, sha256: hashOf(content) }));
  const list: AssetList = { version, sources, types: hashOf(types + operations), assets };
  put(LIST, `${JSON.stringify(list, null, 2)}\n`);
  return list;
}

/** One line where a person can mend it; undefined for everything else. */
function plainReason(fault: unknown): string | undefined {
  const [, missing] =
    /^Cannot find (?:package|module) '([^'./][^']*)'/.exec(String(Reflect.get(Object(fault), 'message'))) ?? [];
  if (missing !== undefined) return `${missing} is not installed. Run npm ci, with the development dependencies`;
  return explainFileFault(fault);
}

const ifNeeded = process.argv.includes('--if-needed');
const sources = hashSources();
if (!ifNeeded || !isBuilt(sources)) {
  process.stdout.write('Building the verifier and the SDK …\n');
  let folder: string | undefined;
  try {
    mkdirSync(BUILD, { recursive: true });
    folder = mkdtempSync(path.join(BUILD, '.making-'));
    const { assets } = await buildAssets(sources, folder);
    if (!ifNeeded)
      for (const { name, bytes, sha256 } of assets)
        process.stdout.write(`${name}  ${bytes} bytes  SHA-256 ${sha256}\n`);
  } catch (fault) {
    const reason = plainReason(fault);
    if (reason === undefined) throw fault;
    process.stderr.write(`Cannot build: ${reason}.\n`);
    process.exitCode = 1;
  } finally {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  }
}
